package session

import (
	"crypto/rand"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/cespare/xxhash/v2"

	"tendon/net/wire"
)

// ThisBuild returns the build of this program and its target, which includes the level of the architecture. Both must be
// equal on all peers of a game that computes with floats: with GOAMD64=v3 products are fused with additions.
//
// A build from a clean checkout or of a released version is named after its revision or version. Any other build is named after
// a hash of its executable, so that two such builds are equal only if their executables are. A process that cannot read its
// executable, as in a browser, has a build of its own.
func ThisBuild() (build, target string) { return thisBuild() }

var thisBuild = sync.OnceValues(func() (build, target string) {
	target = runtime.GOARCH
	build = "unversioned"
	certain := false
	if info, ok := debug.ReadBuildInfo(); ok {
		if v := info.Main.Version; v != "" && v != "(devel)" {
			build, certain = v, !strings.HasSuffix(v, "+dirty")
		}
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				build, certain = s.Value, true
			case "vcs.modified":
				if s.Value == "true" {
					build, certain = build+"+modified", false
				}
			case "GOAMD64", "GOARM64", "GOARM", "GO386", "GOMIPS", "GOMIPS64", "GOPPC64", "GORISCV64":
				target += "/" + s.Value
			}
		}
	}
	if !certain {
		if program, err := executable(); err == nil {
			build = fmt.Sprintf("executable %016x, %s", xxhash.Sum64(program), build)
		} else {
			build = fmt.Sprintf("process %s, %s", rand.Text(), build)
		}
	}
	return wire.Clip(build, MaxBuild), wire.Clip(target, MaxTarget)
})

// executable returns the content of the running executable, even if its file was replaced.
func executable() ([]byte, error) {
	if program, err := os.ReadFile("/proc/self/exe"); err == nil {
		return program, nil
	}
	path, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}
