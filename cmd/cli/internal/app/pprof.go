package app

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/pkg/profile"

	"tendon/net/cost"
)

// pprofKinds are the values of --profile, each with the file that the profiler writes.
var pprofKinds = map[string]struct {
	set  func(*profile.Profile)
	file string
}{
	"cpu":       {profile.CPUProfile, "cpu.pprof"},
	"mem":       {profile.MemProfileHeap, "mem.pprof"},
	"allocs":    {profile.MemProfileAllocs, "mem.pprof"},
	"block":     {profile.BlockProfile, "block.pprof"},
	"mutex":     {profile.MutexProfile, "mutex.pprof"},
	"goroutine": {profile.GoroutineProfile, "goroutine.pprof"},
	"trace":     {profile.TraceProfile, "trace.out"},
	"clock":     {profile.ClockProfile, "clock.pprof"},
}

// Profile starts a profile, or none. The returned function ends it and replaces a profile of the same kind in the directory.
// The profiler ends the process if it cannot write, so this checks the file first. CPU samples carry the labels of package
// cost.
func (a *App) Profile(kind, dir string) (stop func(), err error) {
	if kind == "none" {
		return func() {}, nil
	}
	path := filepath.Join(dir, pprofKinds[kind].file)
	if err = Writable(dir); err == nil {
		err = Replaceable(path)
	}
	if err != nil {
		return nil, fmt.Errorf("the profile cannot be written: %w; choose another --profile-dir", err)
	}
	begun, unlabel := time.Now(), func() {}
	if kind == "cpu" {
		unlabel = cost.LabelSamples()
	}
	p := profile.Start(pprofKinds[kind].set, profile.ProfilePath(dir), profile.NoShutdownHook, profile.Quiet)
	a.Logf("profiling %s into %s", kind, path)
	a.Emit("profile", Fields{"profile": kind, "file": path})
	return func() {
		if kind == "clock" { // it samples 99 times a second and divides by the number of samples
			time.Sleep(time.Until(begun.Add(time.Second / 10)))
		}
		p.Stop()
		unlabel()
	}, nil
}
