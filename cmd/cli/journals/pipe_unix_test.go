//go:build unix

package journals

import "syscall"

// pipe makes a named pipe, where the system has them.
func pipe(path string) error { return syscall.Mkfifo(path, 0o600) }
