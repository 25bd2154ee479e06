// Package race reports how long a test may take. Under the race detector, allocation counts are meaningless and a test
// takes about ten times as long. Only tests import this package.
package race

import (
	"os"
	"testing"
)

// Long reports whether tests play at full length: TENDON_LONG is set, and the race detector is off.
var Long = !Enabled && os.Getenv("TENDON_LONG") != ""

// OneGoroutine skips a test under the race detector, which finds nothing in a test of one goroutine.
func OneGoroutine(t testing.TB) {
	t.Helper()
	if Enabled {
		t.Skip("one goroutine")
	}
}
