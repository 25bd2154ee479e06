package app

import (
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
)

// Build names the build: the module's version or revision, the compiler and the target.
func Build() string {
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

// Program returns the command that starts this program again, as a shell accepts it.
func Program() string {
	module, pkg := "", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		module, pkg = info.Main.Path, info.Path
	}
	executable, err := os.Executable()
	if err != nil {
		return Quoted(os.Args[0])
	}
	here, err := os.Getwd()
	if err != nil {
		return Quoted(os.Args[0])
	}
	return invocation(os.Args[0], executable, module, pkg, here)
}

// invocation returns the command that starts a program again: the name it was called by, or go run if its executable is a
// temporary one of go run. here is the working directory, inside the module.
func invocation(called, executable, module, pkg, here string) string {
	temporary := false
	for dir := range strings.SplitSeq(filepath.ToSlash(executable), "/") {
		temporary = temporary || strings.HasPrefix(dir, "go-build")
	}
	inside, ok := strings.CutPrefix(pkg, module)
	if !temporary || !ok || module == "" {
		return Quoted(called)
	}
	root := here
	for !isFile(filepath.Join(root, "go.mod")) {
		up := filepath.Dir(root)
		if up == root {
			return Quoted(called)
		}
		root = up
	}
	dir, err := filepath.Rel(here, filepath.Join(root, filepath.FromSlash(inside)))
	if err != nil {
		return Quoted(called)
	}
	if dir = filepath.ToSlash(dir); dir != "." && !strings.HasPrefix(dir, "..") {
		dir = "./" + dir
	}
	return "go run " + Quoted(dir)
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
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
