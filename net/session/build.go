package session

import (
	"runtime"
	"runtime/debug"
)

// ThisBuild says which build of the program runs and for which target: what two peers of a game that computes with
// floats must have in common. GOARCH alone does not do: with GOAMD64=v3 products are fused with additions.
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
	return clip(build, MaxBuild), clip(target, MaxTarget)
}
