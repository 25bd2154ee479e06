package cli

import (
	"runtime"
	"runtime/debug"
)

// buildString names the build: the module's version or revision, the compiler and the target.
func buildString() string {
	build := "unversioned"
	if info, ok := debug.ReadBuildInfo(); ok {
		if info.Main.Version != "" && info.Main.Version != "(devel)" {
			build = info.Main.Version
		}
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" && len(s.Value) >= 12 {
				build = s.Value[:12]
			}
		}
	}
	return build + " " + runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH
}
