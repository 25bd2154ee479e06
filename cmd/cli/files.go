package cli

import (
	"errors"
	"io/fs"
	"os"
)

// writable makes a directory and checks that files can be created in it.
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

// isDirectory reports whether a path is a directory.
func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
