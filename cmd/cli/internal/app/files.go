package app

import (
	"errors"
	"io/fs"
	"os"
)

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
