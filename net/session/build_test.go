package session

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"
)

// Test binaries have no version.
func TestABuildWithoutAVersionIsNamedAfterItsExecutable(t *testing.T) {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	build, _ := ThisBuild()
	if want := fmt.Sprintf("executable %016x", xxhash.Sum64(program)); !strings.HasPrefix(build, want) {
		t.Errorf("the build is %q, want it to begin with %q", build, want)
	}
}
