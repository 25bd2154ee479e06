package matches

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	bolt "go.etcd.io/bbolt"

	"tendon/cmd/cli/durable"
)

// Store is a file of records that this process writes. While it is open, no other process can open the file, and the query
// socket beside it answers readers. An added record survives a crash of the process and of the machine. Several goroutines
// may use a Store.
type Store struct {
	path   string
	db     *bolt.DB
	socket *querySocket
}

// openTimeout is how long Open waits for the lock, which a reader may hold for a page.
const openTimeout = 2 * time.Second

// Open opens a file of records, or creates it. It refuses the file of another program and does not change it.
func Open(path string) (*Store, error) {
	db, err := openFile(path, false, openTimeout)
	if err != nil {
		return nil, err
	}
	s := &Store{path: path, db: db}
	if err = guarded(func() error { return db.Update(adopt) }); err == nil {
		err = durable.SyncDirectory(filepath.Dir(path))
	}
	if err == nil {
		s.socket, err = openSocket(socketOf(path), func(q query) (answer, error) { return pageOf(db, q) }, queryTimeout)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), db.Close())
	}
	return s, nil
}

// Add stores a record durably and returns its id; r.ID is ignored. A tick of a match in a room has one record: if there is
// one, Add returns its id and stores nothing. Records with Match 0 are always different.
func (s *Store) Add(r Record) (id uint64, err error) {
	err = guarded(func() error {
		return s.db.Update(func(tx *bolt.Tx) error {
			id, err = put(tx, &r)
			return err
		})
	})
	if err != nil && !errors.Is(err, errRecorded) {
		return 0, fmt.Errorf("matches: %s cannot store a record: %w", s.path, err)
	}
	return id, nil
}

// Close closes the query socket and the file. It may be called once; Add must not be called after it.
func (s *Store) Close() error {
	return errors.Join(s.socket.close(), s.db.Close())
}
