package broadcast

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// Source returns the files of a broadcast.
type Source interface {
	// Get returns a file of at most max bytes. The error wraps ErrNotFound if the file does not exist.
	Get(ctx context.Context, name string, max int) ([]byte, error)
}

// Files is a Source of a directory.
type Files struct{ fs.FS }

// Get reads a file.
func (s Files) Get(_ context.Context, name string, max int) ([]byte, error) {
	f, err := s.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s", ErrNotFound, name)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f, name, max)
}

// readAll reads at most max bytes.
func readAll(r io.Reader, name string, max int) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, int64(max)+1))
	if err == nil && len(data) > max {
		return nil, tooLarge(name, max)
	}
	return data, err
}

func tooLarge(name string, max int) error {
	return fmt.Errorf("%w: %s has more than %d bytes", ErrDamaged, name, max)
}
