package matches

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	bolt "go.etcd.io/bbolt"

	"tendon/cmd/cli/durable"
)

// Store is a file of records that this process writes. While it is open nobody else can open the file, and whoever
// wants to read it is answered beside it. A record that was added survives a crash of the process and of the machine.
// It may be used by several goroutines.
type Store struct {
	path string
	db   *bolt.DB
	desk *desk
}

// openPatience is how long Open waits for the lock: longer than anybody needs to read a page.
const openPatience = 2 * time.Second

// Open opens a file of records, or makes it. Another program's file is refused and left as it is.
func Open(path string) (*Store, error) {
	db, created, err := openFile(path, false, openPatience)
	if err != nil {
		return nil, err
	}
	s := &Store{path: path, db: db}
	err = guarded(func() error { return db.Update(adopt) })
	if err == nil && created {
		err = durable.SyncDirectory(filepath.Dir(path))
	}
	if err == nil {
		s.desk, err = openDesk(socketOf(path), s.page, askPatience)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), db.Close())
	}
	return s, nil
}

// errRecorded ends a transaction that has nothing to add.
var errRecorded = errors.New("matches: recorded before")

// Add keeps a record for good and returns its id; the record's own is not looked at. It returns when the disk has it.
// There is one record of a tick of a match in a room: the first that was added stays, and its id is returned. Match 0 is
// no number, and always another match.
func (s *Store) Add(r Record) (id uint64, err error) {
	err = guarded(func() error {
		return s.db.Update(func(tx *bolt.Tx) error {
			var there bool
			if id, there = recorded(tx, &r); there {
				return errRecorded // so that nothing is written
			}
			id, err = put(tx, r)
			return err
		})
	})
	if err != nil && !errors.Is(err, errRecorded) {
		return 0, fmt.Errorf("matches: %s takes no record: %w", s.path, err)
	}
	return id, nil
}

// page reads one page.
func (s *Store) page(q question) (a answer, err error) {
	err = guarded(func() error {
		return s.db.View(func(tx *bolt.Tx) error { a, err = pageOf(tx, q); return err })
	})
	return a, err
}

// Close ends the answering and closes the file. It may be called once, and Add not after it.
func (s *Store) Close() error {
	return errors.Join(s.desk.close(), s.db.Close())
}
