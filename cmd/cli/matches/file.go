package matches

import (
	"encoding/binary"
	"encoding/json"
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

// The file is a bbolt database. The keys of its first bucket are ids, big-endian, so that their order is the order of adding.
// The values are records as JSON. The bucket's name contains the version of this layout.
var bucket = []byte("tendon matches 1")

// The second bucket is an index of the ends of matches: its keys are match, tick and room, its values ids.
var endsBucket = []byte("tendon matches 1 ends")

// ErrForeign is the error of a file that another program wrote, or whose beginning is damaged.
var ErrForeign = errors.New("matches: the file is damaged, or is not a file of matches of this version")

// ErrLocked is the error of a file that another process has open.
var ErrLocked = errors.New("matches: another process has the file open")

// openFile opens the database. timeout bounds the wait for the lock. A missing file is created, readable by its user only,
// unless readOnly is set. A damaged file may stay locked until this process ends.
func openFile(path string, readOnly bool, timeout time.Duration) (db *bolt.DB, err error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() { // a pipe would block
		return nil, fmt.Errorf("%s: %w", path, ErrForeign)
	}
	options := &bolt.Options{ReadOnly: readOnly, Timeout: timeout, FreelistType: bolt.FreelistMapType}
	err = guarded(func() error { db, err = bolt.Open(path, 0o600, options); return err })
	switch {
	case err == nil:
		return db, nil
	case errors.Is(err, berrors.ErrTimeout):
		err = ErrLocked
	case errors.Is(err, berrors.ErrInvalid), errors.Is(err, berrors.ErrVersionMismatch), errors.Is(err, berrors.ErrChecksum):
		err = ErrForeign
	case errors.As(err, new(*fs.PathError)):
		return nil, err // with the path
	}
	return nil, fmt.Errorf("%s: %w", path, err)
}

// guarded turns a panic into an error. bbolt panics on a damaged page, and reading behind the end of a truncated file is a
// fault; neither may end a server.
func guarded(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", ErrDamaged, r)
		}
	}()
	return f()
}

// adopt creates the buckets of a new file, or the index of a file without one. It refuses a file with other contents.
func adopt(tx *bolt.Tx) error {
	if _, err := foreign(tx); err != nil || tx.Bucket(endsBucket) != nil {
		return err
	}
	records, err := tx.CreateBucketIfNotExists(bucket)
	ends, failed := tx.CreateBucket(endsBucket)
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	return records.ForEach(func(k, v []byte) error {
		if r, err := decode(0, v); err == nil { // readers report a damaged record
			return ends.Put(endOf(&r), k)
		}
		return nil
	})
}

// endOf returns a record's key in the index.
func endOf(r *Record) []byte {
	return append(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, r.Match), r.Tick), r.Room...)
}

// foreign reports whether there is no bucket yet; a database with other buckets is an error.
func foreign(tx *bolt.Tx) (empty bool, err error) {
	if tx.Bucket(bucket) != nil {
		return false, nil
	}
	return true, tx.ForEach(func([]byte, *bolt.Bucket) error { return ErrForeign })
}

// errRecorded ends the transaction of a record that exists, so that nothing is written.
var errRecorded = errors.New("matches: recorded before")

// put adds a record within a transaction. If the same tick of the same match has one, it returns the id of that one with
// errRecorded. Matches without a number are always different.
func put(tx *bolt.Tx, r *Record) (uint64, error) {
	b, ends, end := tx.Bucket(bucket), tx.Bucket(endsBucket), endOf(r)
	if k := ends.Get(end); r.Match != 0 && len(k) == 8 {
		return binary.BigEndian.Uint64(k), errRecorded
	}
	b.FillPercent = 0.9 // ids ascend, so a page that was split receives no more keys
	id, err := b.NextSequence()
	if err != nil {
		return 0, err
	}
	value, err := json.Marshal(r)
	switch {
	case err != nil: // a time outside the years 0 to 9999
		return 0, fmt.Errorf("matches: the record cannot be encoded as JSON: %w", err)
	case len(value) > maxRecord:
		return 0, ErrTooLarge
	}
	key := binary.BigEndian.AppendUint64(nil, id)
	return id, errors.Join(b.Put(key, value), ends.Put(end, key))
}

// socketOf returns the path of the query socket of a file. Links to one file have one socket.
func socketOf(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return path + ".sock"
}
