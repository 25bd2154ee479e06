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

// The file is a bbolt database. In its first bucket, keys are ids, big-endian, so that their order is the order of adding;
// values are records as JSON. The bucket's name carries the version of this layout.
var bucket = []byte("tendon matches 1")

// A second bucket says which ends of matches are recorded: its keys are match, tick and room, its values ids. It is
// complete up to the id that is its sequence, since a build that does not know it may have added records behind it.
var endsBucket = []byte("tendon matches 1 ends")

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

// adopt makes the buckets of a new file, brings those of an old one up to date and refuses a file that holds anything
// else.
func adopt(tx *bolt.Tx) error {
	empty, err := foreign(tx)
	if err == nil && empty {
		_, err = tx.CreateBucket(bucket)
	}
	if err != nil {
		return err
	}
	ends, err := tx.CreateBucketIfNotExists(endsBucket)
	if err != nil {
		return err
	}
	last := ends.Sequence()
	c := tx.Bucket(bucket).Cursor()
	for k, v := c.Seek(binary.BigEndian.AppendUint64(nil, last+1)); len(k) == 8; k, v = c.Next() {
		last = binary.BigEndian.Uint64(k)
		if r, err := decode(last, v); err == nil { // whoever reads a damaged one is told
			if err := ends.Put(endKey(&r), k); err != nil {
				return err
			}
		}
	}
	if last == ends.Sequence() {
		return nil
	}
	return ends.SetSequence(last)
}

// endKey is the key of a match's end.
func endKey(r *Record) []byte {
	key := binary.BigEndian.AppendUint64(make([]byte, 0, 16+len(r.Room)), r.Match)
	return append(binary.BigEndian.AppendUint64(key, r.Tick), r.Room...)
}

// recorded returns the id of the record of the same end of the same match, if there is one. A match without a number is
// no other's.
func recorded(tx *bolt.Tx, r *Record) (id uint64, ok bool) {
	if r.Match == 0 {
		return 0, false
	}
	k := tx.Bucket(endsBucket).Get(endKey(r))
	if len(k) != 8 {
		return 0, false
	}
	return binary.BigEndian.Uint64(k), true
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
	key := binary.BigEndian.AppendUint64(nil, id)
	if err := b.Put(key, value); err != nil {
		return 0, err
	}
	ends := tx.Bucket(endsBucket)
	if err := ends.Put(endKey(&r), key); err != nil {
		return 0, err
	}
	return id, ends.SetSequence(id)
}

// socketOf returns where the process that has the file open is asked. Links to one file lead to one socket.
func socketOf(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return path + ".sock"
}
