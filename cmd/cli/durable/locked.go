package durable

import "errors"

// ErrLocked says that another process has the lock.
var ErrLocked = errors.New("another process uses it")
