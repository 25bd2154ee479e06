package session

import (
	"runtime"
	"runtime/debug"
)

// ThisBuild returns the build of this program and its target, which includes the level of the architecture. Both must be
// equal on all peers of a game that computes with floats: with GOAMD64=v3 products are fused with additions.
func ThisBuild() (build, target string) {
	target = runtime.GOARCH
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "", target
	}
	build = info.Main.Version
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			build = s.Value
		case "vcs.modified":
			if s.Value == "true" {
				build += "+modified"
			}
		case "GOAMD64", "GOARM64", "GOARM", "GO386", "GOMIPS", "GOMIPS64", "GOPPC64", "GORISCV64":
			target += "/" + s.Value
		}
	}
	return Clip(build, MaxBuild), Clip(target, MaxTarget)
}
