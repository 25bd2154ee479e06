package app

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"

	"tendon/net/session"
)

// Build names the build: the module's revision or version, the compiler and the target.
func Build() string {
	revision, target := session.ThisBuild()
	if revision == "" || revision == "(devel)" {
		revision = "unversioned"
	}
	return revision + " " + runtime.Version() + " " + runtime.GOOS + "/" + target
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
