package app

import (
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/pkg/profile"

	"tendon/net/cost"
	"tendon/net/session"
)

// Build returns the name of the build, with the compiler and the target.
func Build() string {
	build, target := session.ThisBuild()
	return build + " " + runtime.Version() + " " + runtime.GOOS + "/" + target
}

// ProgramVariable is the environment variable by which a process that starts this program again passes on the command that
// the user typed.
const ProgramVariable = "TENDON_PROGRAM"

// Program returns the command that starts this program again, as a shell accepts it. It is the name by which the program was
// called, or go run with the build's tags and its package, as a path from the working directory.
func Program() string { return program() }

var program = sync.OnceValue(func() string {
	if typed := os.Getenv(ProgramVariable); typed != "" {
		return typed
	}
	info, ok := debug.ReadBuildInfo()
	executable, err := os.Executable()
	if !ok || err != nil || !goRun.MatchString(filepath.ToSlash(executable)) {
		return Quoted(os.Args[0])
	}
	words := []string{"go", "run"}
	for _, word := range append(BuildFlags(), directoryPackage(info)) {
		words = append(words, Quoted(word))
	}
	return strings.Join(words, " ")
})

// BuildFlags returns the flags with which go build makes this program again.
func BuildFlags() (flags []string) {
	info, _ := debug.ReadBuildInfo()
	for i := 0; info != nil && i < len(info.Settings); i++ {
		switch s := info.Settings[i]; s.Key {
		case "-race":
			flags = append(flags, "-race")
		case "-tags":
			flags = append(flags, "-tags", s.Value)
		}
	}
	return flags
}

// Package returns the package of this program as an argument of go build.
func Package() (string, error) {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Path == "" {
		return "", errors.New("this program does not contain its package: build it with go build or go run in its module")
	}
	return directoryPackage(info), nil
}

// directoryPackage returns the package of a program as an argument of go run in the working directory.
func directoryPackage(info *debug.BuildInfo) string {
	here, _ := os.Getwd()
	return packageOf(info, mainFile(), here)
}

// BuildFile returns the name of the file in which the verb dev keeps a build.
func BuildFile(build string) string {
	name := fmt.Sprintf("%016x", xxhash.Sum64String(build))
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return name
}

// goRun matches the executable of go run: a file of a build that was just made, or one of the build cache.
var goRun = regexp.MustCompile(`/go-build[0-9]+/b[0-9]+/exe/|/[0-9a-f]{2}/[0-9a-f]{64}-d/`)

// packageOf returns the package of a program as an argument of go run in a directory. file has its main function, "" if unknown.
func packageOf(info *debug.BuildInfo, file, directory string) string {
	if info.Main.Sum != "" { // it is in the module cache
		return info.Path + "@" + info.Main.Version
	}
	if info.Path != "command-line-arguments" {
		file = filepath.Dir(file)
	}
	path, err := filepath.Rel(directory, file)
	switch path = filepath.ToSlash(path); {
	case err != nil:
		return info.Path
	case path == "." || path == ".." || strings.HasPrefix(path, "../"):
		return path
	}
	return "./" + path
}

// mainFile returns the file with the program's main function, "" on another goroutine than the first or with -trimpath.
func mainFile() string {
	callers := make([]uintptr, 64)
	frames := runtime.CallersFrames(callers[:runtime.Callers(1, callers)])
	for {
		f, more := frames.Next()
		if f.Function == "main.main" && filepath.IsAbs(f.File) {
			return f.File
		}
		if !more {
			return ""
		}
	}
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

// Fillable checks that files can be written into the folder that a flag names. It does not make the folder. The folder must be missing, empty,
// or contain a file named mark, which every earlier export of the same kind has. Names that begin with a dot do not count.
func Fillable(flag, dir, mark string) error {
	if at, err := os.Stat(dir); err == nil && !at.IsDir() {
		return fmt.Errorf("%s %s is a file: give a directory", flag, dir)
	}
	if err := fillable(dir, mark); err != nil {
		return fmt.Errorf("%s: %w", flag, err)
	}
	return nil
}

func fillable(dir, mark string) error {
	list, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		for err != nil && filepath.Dir(dir) != dir {
			dir = filepath.Dir(dir)
			_, err = os.Stat(dir)
		}
		return Writable(dir)
	}
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(e fs.DirEntry) bool { return strings.HasPrefix(e.Name(), ".") })
	if len(list) > 0 && !slices.ContainsFunc(list, func(e fs.DirEntry) bool { return e.Name() == mark }) {
		return fmt.Errorf("%s contains other files, such as %s: give an empty directory, or one of an earlier export (with %s)", dir, list[0].Name(), mark)
	}
	return Writable(dir)
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
// The profiler ends the process if it cannot create the file and ignores errors of writing, so this checks the file before and after.
// CPU samples carry the labels of package cost.
func (a *App) Profile(kind, dir string) (stop func() error, err error) {
	if kind == "none" {
		return func() error { return nil }, nil
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
	return func() error {
		if kind == "clock" { // it samples 99 times a second and divides by the number of samples
			time.Sleep(time.Until(begun.Add(time.Second / 10)))
		}
		p.Stop()
		unlabel()
		if err := wholeProfile(path); err != nil {
			return fmt.Errorf("the profile %s is not whole: %w; free space on its disk, or choose another --profile-dir", path, err)
		}
		return nil
	}, nil
}

// wholeProfile checks that a file has a profile. All but traces are compressed and end with a checksum. The end of a trace is not checked.
func wholeProfile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size() == 0 {
		return cmp.Or(err, errors.New("it is empty"))
	}
	if filepath.Ext(path) != ".pprof" {
		return nil
	}
	z, err := gzip.NewReader(f)
	if err == nil {
		_, err = io.Copy(io.Discard, z)
	}
	return err
}
