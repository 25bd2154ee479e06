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

// The second bucket is an index of the ends of matches: its keys are match, tick and room, its values ids. It is complete up
// to the id in its sequence, since a build without this bucket may have added records after it.
var endsBucket = []byte("tendon matches 1 ends")

// ErrForeign is the error of a file that another program wrote.
var ErrForeign = errors.New("matches: the file is not a file of matches, or another version wrote it")

// ErrLocked is the error of a file that another process has open.
var ErrLocked = errors.New("matches: another process has the file open")

// openFile opens the database and reports whether it created the file. timeout bounds the wait for the lock. A missing file is
// created, readable by its user only, unless readOnly is set. A damaged file may stay locked until this process ends.
func openFile(path string, readOnly bool, timeout time.Duration) (db *bolt.DB, created bool, err error) {
	info, err := os.Stat(path)
	created = errors.Is(err, fs.ErrNotExist) && !readOnly
	switch {
	case created:
	case err != nil:
		return nil, false, err
	case !info.Mode().IsRegular(): // a pipe would block
		return nil, false, fmt.Errorf("%s: %w", path, ErrForeign)
	}
	options := &bolt.Options{ReadOnly: readOnly, Timeout: timeout, FreelistType: bolt.FreelistMapType}
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

// adopt creates the buckets of a new file and completes the index of an old one. It refuses a file with other contents.
func adopt(tx *bolt.Tx) error {
	if _, err := foreign(tx); err != nil {
		return err
	}
	records, err := tx.CreateBucketIfNotExists(bucket)
	if err != nil {
		return err
	}
	ends, err := tx.CreateBucketIfNotExists(endsBucket)
	if err != nil {
		return err
	}
	last := ends.Sequence()
	c := records.Cursor()
	for k, v := c.Seek(binary.BigEndian.AppendUint64(nil, last+1)); len(k) == 8; k, v = c.Next() {
		last = binary.BigEndian.Uint64(k)
		if r, err := decode(last, v); err == nil { // readers report a damaged record
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

// recorded returns the id of the record of the same tick of the same match, if there is one. Matches without a number are
// always different.
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
	key, ends := binary.BigEndian.AppendUint64(nil, id), tx.Bucket(endsBucket)
	return id, errors.Join(b.Put(key, value), ends.Put(endKey(&r), key), ends.SetSequence(id))
}

// socketOf returns the path of the query socket of a file. Links to one file have one socket.
func socketOf(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return path + ".sock"
}
