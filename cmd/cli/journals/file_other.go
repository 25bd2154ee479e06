//go:build !linux

package journals

import "os"

func newDiskFile(f *os.File) (file, error) { return f, nil }
