package matches

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// The file is a bbolt database with one bucket. Keys are ids, big-endian, so that their order is the order of adding;
// values are records as JSON. The bucket's name carries the version of this layout.
var bucket = []byte("tendon matches 1")

// ErrForeign is the error of a file that something else wrote.
var ErrForeign = errors.New("matches: the file is no record of matches, or one that another version wrote")

// ErrLocked is the error of a file that another process has open.
var ErrLocked = errors.New("matches: another process has the file open")

// openFile opens the database, waiting so long for its lock, and says whether it was made. A file that is not there is
// made unless it is only to be read; the file's user alone may read it then. A damaged file may stay locked until this
// process ends.
func openFile(path string, readOnly bool, patience time.Duration) (db *bolt.DB, created bool, err error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !readOnly:
		created = true
	case err != nil:
		return nil, false, err
	case !info.Mode().IsRegular(): // a pipe would be waited for
		return nil, false, fmt.Errorf("%s: %w", path, ErrForeign)
	}
	options := &bolt.Options{ReadOnly: readOnly, Timeout: patience, FreelistType: bolt.FreelistMapType}
	err = guarded(func() error { db, err = bolt.Open(path, 0o600, options); return err })
	switch {
	case err == nil:
		return db, created, nil
	case errors.Is(err, berrors.ErrTimeout):
		err = ErrLocked
	case errors.Is(err, berrors.ErrInvalid), errors.Is(err, berrors.ErrVersionMismatch), errors.Is(err, berrors.ErrChecksum):
		err = ErrForeign
	}
	return nil, false, fmt.Errorf("%s: %w", path, err)
}

// guarded turns a panic into an error. bbolt panics where a page is not what it must be, and the memory behind the end
// of a file that was cut short cannot be read at all; neither may end a server in which matches are played.
func guarded(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", ErrDamaged, r)
		}
	}()
	return f()
}

// adopt makes the bucket of a new file and refuses a file that holds anything else.
func adopt(tx *bolt.Tx) error {
	if empty, err := foreign(tx); !empty || err != nil {
		return err
	}
	_, err := tx.CreateBucket(bucket)
	return err
}

// foreign reports whether there is no bucket yet; a database with other buckets is an error.
func foreign(tx *bolt.Tx) (empty bool, err error) {
	if tx.Bucket(bucket) != nil {
		return false, nil
	}
	return true, tx.ForEach(func([]byte, *bolt.Bucket) error { return ErrForeign })
}

// put adds a record within a transaction.
func put(tx *bolt.Tx, r Record) (uint64, error) {
	b := tx.Bucket(bucket)
	b.FillPercent = 0.9 // ids ascend, so a page that was split is not inserted into again
	id, err := b.NextSequence()
	if err != nil {
		return 0, err
	}
	value, err := encode(r)
	if err != nil {
		return 0, err
	}
	return id, b.Put(binary.BigEndian.AppendUint64(nil, id), value)
}

// socketOf returns where the process that has the file open is asked. Links to one file lead to one socket.
func socketOf(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return path + ".sock"
}
