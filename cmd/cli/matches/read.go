package matches

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"os"
	"time"

	bolt "go.etcd.io/bbolt"
)

// readTimeout is how long a reader waits for a process that has the file open, which is a moment for each record it adds.
const readTimeout = 5 * time.Second

// Read returns the records of a room ("": of all rooms), newest first. An error ends it: fs.ErrNotExist for a missing file,
// ErrLocked for one that another process has open for longer. The body of the loop runs without a lock.
func Read(path, room string) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for before := uint64(0); ; {
			list, next, err := readPage(path, room, before)
			if err != nil {
				yield(Record{}, err)
				return
			}
			for _, r := range list {
				if !yield(r, nil) {
					return
				}
			}
			if before = next; before == 0 {
				return
			}
		}
	}
}

// readPage opens the file for one page: the newest records of a room ("": all) whose id is below before (0: all), newest
// first. next is the before of the next page, and 0 on the last one. A page may be empty if the room has few matches.
func readPage(path, room string, before uint64) (list []Record, next uint64, err error) {
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Size() == 0 {
		return nil, 0, nil // a server was killed while it created the file
	}
	db, err := openFile(path, true, readTimeout)
	if err != nil {
		return nil, 0, err
	}
	err = guarded(func() error {
		return db.View(func(tx *bolt.Tx) (err error) {
			list, next, err = pageOf(tx, room, before)
			return err
		})
	})
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return list, next, errors.Join(err, db.Close())
}

// Bounds of one page, since a reader keeps the writer waiting.
const (
	pageRecords = 256
	pageBytes   = 1 << 20 // as JSON; the last record may go over it
	pageScanned = 4096    // records compared with the room
)

func pageOf(tx *bolt.Tx, room string, before uint64) (list []Record, next uint64, err error) {
	if empty, err := foreign(tx); empty || err != nil {
		return nil, 0, err
	}
	c := tx.Bucket(bucket).Cursor()
	k, v := c.Last()
	if before > 0 {
		if at, _ := c.Seek(binary.BigEndian.AppendUint64(nil, before)); at != nil {
			k, v = c.Prev()
		} else {
			k, v = c.Last()
		}
	}
	size, id := 0, uint64(0)
	for scanned := 0; k != nil; k, v = c.Prev() {
		if len(list) == pageRecords || size >= pageBytes || scanned == pageScanned {
			return list, id, nil
		}
		if len(k) != 8 {
			return nil, 0, ErrDamaged
		}
		id = binary.BigEndian.Uint64(k)
		r, err := decode(id, v)
		if err != nil {
			return nil, 0, err
		}
		scanned++
		if room == "" || r.Room == room {
			list, size = append(list, r), size+len(v)
		}
	}
	return list, 0, nil
}
