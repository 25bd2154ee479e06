package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/pkg/profile"

	"tendon/net/cost"
)

// mode is a way to profile, and the file that the profiler writes.
type mode struct {
	set  func(*profile.Profile)
	file string
}

// modes are the profiles by the names that --profile takes.
var modes = map[string]mode{
	"cpu":       {profile.CPUProfile, "cpu.pprof"},
	"mem":       {profile.MemProfileHeap, "mem.pprof"},
	"allocs":    {profile.MemProfileAllocs, "mem.pprof"},
	"block":     {profile.BlockProfile, "block.pprof"},
	"mutex":     {profile.MutexProfile, "mutex.pprof"},
	"goroutine": {profile.GoroutineProfile, "goroutine.pprof"},
	"trace":     {profile.TraceProfile, "trace.out"},
	"clock":     {profile.ClockProfile, "clock.pprof"},
}

// startProfile starts the profile that was asked for and returns what ends it.
func (a *app) startProfile() (stop func(), err error) {
	if _, asked := modes[a.common.Profile]; !asked {
		return func() {}, nil
	}
	return a.profileInto(a.common.Profile, a.common.ProfileDir)
}

// profileInto starts a profile and returns what ends it. The file is tried first, since the profiler ends the process
// where it cannot write. A profile of the same kind in the directory is replaced. Samples of the processor carry the
// labels of package cost.
func (a *app) profileInto(name, dir string) (stop func(), err error) {
	m := modes[name]
	path := filepath.Join(dir, m.file)
	err = writable(dir)
	if err == nil {
		err = replaceable(path)
	}
	if err != nil {
		return nil, fmt.Errorf("the profile cannot be written: %w; choose another --profile-dir", err)
	}
	begun := time.Now()
	unlabel := func() {}
	if name == "cpu" {
		unlabel = cost.LabelSamples()
	}
	p := profile.Start(m.set, profile.ProfilePath(dir), profile.NoShutdownHook, profile.Quiet)
	a.say("profiling %s into %s", name, path)
	a.emit("profile", fields{"profile": name, "file": path})
	return func() {
		if name == "clock" {
			time.Sleep(time.Until(begun.Add(clockLeast)))
		}
		p.Stop()
		unlabel()
	}, nil
}

// clockLeast is the shortest run that the clock profiler is stopped after: it samples 99 times a second, and divides by
// the number of samples.
const clockLeast = 100 * time.Millisecond

// writable makes a directory and checks that files can be made in it.
func writable(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".try-*")
	if err != nil {
		return err
	}
	err = f.Close()
	return errors.Join(err, os.Remove(f.Name()))
}

// replaceable checks that a file can be written, if it exists.
func replaceable(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}
