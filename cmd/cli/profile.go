package cli

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/pkg/profile"
)

// modes are the profiles by the names that --profile takes.
var modes = map[string]func(*profile.Profile){
	"cpu":       profile.CPUProfile,
	"mem":       profile.MemProfileHeap,
	"allocs":    profile.MemProfileAllocs,
	"block":     profile.BlockProfile,
	"mutex":     profile.MutexProfile,
	"goroutine": profile.GoroutineProfile,
	"trace":     profile.TraceProfile,
	"clock":     profile.ClockProfile,
}

// startProfile starts the profile that was asked for and returns what ends it. The directory is tried first, since the
// profiler ends the process where it cannot write.
func (a *app) startProfile() (stop func(), err error) {
	mode, dir := a.common.Profile, a.common.ProfileDir
	if mode == "none" {
		return func() {}, nil
	}
	if err := writable(dir); err != nil {
		return nil, fmt.Errorf("the profile cannot be written: %w; choose another --profile-dir", err)
	}
	p := profile.Start(modes[mode], profile.ProfilePath(dir), profile.NoShutdownHook, profile.Quiet)
	a.say("profiling %s into %s", mode, dir)
	return p.Stop, nil
}

// writable makes a directory and checks that files can be made in it.
func writable(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".try-*")
	if err != nil {
		return err
	}
	f.Close()
	return os.Remove(filepath.Join(dir, filepath.Base(f.Name())))
}
