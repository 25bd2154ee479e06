package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
)

// SyncDirectory makes created, renamed and removed files of a directory survive a power cut, where the system supports it.
func SyncDirectory(dir string) error {
	if runtime.GOOS == "windows" { // directories cannot be synced there
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	if err = d.Sync(); errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		err = nil // not supported by the file system
	}
	return errors.Join(err, d.Close())
}

// Rename moves a file within its directory.
func Rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return SyncDirectory(filepath.Dir(to))
}

// MakeDirectory creates a directory and its missing parents. An existing one stays as it is.
func MakeDirectory(dir string) error {
	err := os.Mkdir(dir, 0o755)
	above := filepath.Dir(dir)
	if errors.Is(err, fs.ErrNotExist) && above != dir {
		if err = MakeDirectory(above); err == nil {
			err = os.Mkdir(dir, 0o755)
		}
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil
	case err != nil:
		return err
	}
	return SyncDirectory(above)
}

// ErrLocked is the error of a lock that another process has.
var ErrLocked = errors.New("another process uses it")
