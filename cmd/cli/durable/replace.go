package durable

import (
	"errors"
	"os"
)

// Replace writes a file of mode 0600 and replaces an existing one. After a crash or a power cut the file is the complete old
// one or the complete new one. Replace first writes path.new, so only one goroutine may call it for a path at a time.
func Replace(path string, content []byte) error {
	_ = os.Remove(path + ".new") // of a process that was killed, or a pipe, which would block
	f, err := os.OpenFile(path+".new", os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = Rename(path+".new", path)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(path+".new"))
	}
	return err
}
