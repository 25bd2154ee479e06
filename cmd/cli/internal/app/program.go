package app

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/pkg/profile"

	"tendon/net/cost"
	"tendon/net/session"
)

// Build returns the name of the build, with the compiler and the target.
func Build() string {
	build, target := session.ThisBuild()
	return build + " " + runtime.Version() + " " + runtime.GOOS + "/" + target
}

// Program returns the command that starts this program again, as a shell accepts it. It is the name by which the program was
// called, or go run if the executable is a temporary one.
func Program() string {
	info, ok := debug.ReadBuildInfo()
	executable, err := os.Executable()
	temporary := err == nil && strings.Contains(filepath.ToSlash(executable), "/go-build")
	if ok && temporary && info.Main.Path != "" && strings.HasPrefix(info.Path, info.Main.Path) {
		return "go run " + Quoted(info.Path)
	}
	return Quoted(os.Args[0])
}

// Quoted returns a word as a shell accepts it.
func Quoted(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(`/\._-+:=@%`, r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// Writable makes a directory and checks that files can be created in it.
func Writable(dir string) error {
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

// Replaceable checks that a file can be written, if it exists.
func Replaceable(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// IsDirectory reports whether a path is a directory.
func IsDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

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
