package matchtest

import (
	"testing"

	"tendon/systems/verify"
)

func TestVerifyConformsTry(t *testing.T) { Conformance(t, verify.Strategy) }
