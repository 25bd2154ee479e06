package durable

import (
	"errors"
	"io/fs"
	"os"
)

// Gone reports whether a path does not lead to a file any more: it was removed or replaced.
func Gone(file fs.FileInfo, path string) bool {
	at, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(file, at)
}
