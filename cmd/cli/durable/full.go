package durable

import (
	"errors"
	"fmt"
	"syscall"
)

// Advised adds to the error of a full disk the directory, and the space to free in MiB. Other errors are returned as they are.
func Advised(err error, dir string, space int) error {
	if !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT) {
		return err
	}
	return fmt.Errorf("%w: free at least %d MiB on the disk of %s", err, space, dir)
}
