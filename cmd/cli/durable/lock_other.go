//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd || windows)

package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Lock takes a lock: a file that exists while a server runs. A killed server leaves it behind, so the error says to remove
// it.
func Lock(path string) (release func() error, err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%w; if that process was killed, remove %s", ErrLocked, path)
	}
	if err != nil {
		return nil, err
	}
	return func() error { return errors.Join(f.Close(), os.Remove(path)) }, nil
}
