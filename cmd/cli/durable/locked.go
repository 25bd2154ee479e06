package durable

import "errors"

// ErrLocked is the error of a lock that another process has.
var ErrLocked = errors.New("another process uses it")
