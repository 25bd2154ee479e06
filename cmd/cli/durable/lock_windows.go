package durable

import (
	"errors"
	"fmt"
	"syscall"
)

// sharingViolation is ERROR_SHARING_VIOLATION: another process has the file open.
const sharingViolation syscall.Errno = 32

// Lock takes a lock: a file that no other process can open until this one ends. It returns ErrLocked if another process has
// it.
func Lock(path string) (release func() error, err error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	h, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, 0, nil, syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if errors.Is(err, sharingViolation) {
		return nil, ErrLocked
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return func() error { return syscall.CloseHandle(h) }, nil
}
