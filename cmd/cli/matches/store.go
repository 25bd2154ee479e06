package matches

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"

	"tendon/cmd/cli/durable"
)

// Store is a file of records that only this process writes. The file is open while a record is added, and free for readers
// otherwise. An added record survives a crash of the process and of the machine. Several goroutines may use a Store.
type Store struct {
	path   string
	mu     sync.Mutex // held while the file is open
	unlock func() error
}

// writeTimeout is how long a Store waits for the file, which a reader may lock for a page.
const writeTimeout = 10 * time.Second

// Open opens a file of records, or creates it. It refuses the file of another program and does not change it.
func Open(path string) (*Store, error) {
	s := &Store{path: path}
	err := s.update(adopt)
	if err == nil {
		err = durable.SyncDirectory(filepath.Dir(path))
	}
	if err == nil {
		if real, linked := filepath.EvalSymlinks(path); linked == nil { // links to one file have one lock
			path = real
		}
		s.unlock, err = durable.Lock(path + ".lock")
	}
	if errors.Is(err, durable.ErrLocked) {
		err = ErrLocked
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.path, err)
	}
	return s, nil
}

// update opens the file for one transaction.
func (s *Store) update(f func(*bolt.Tx) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	db, err := openFile(s.path, false, writeTimeout)
	if err != nil {
		return err
	}
	return errors.Join(guarded(func() error { return db.Update(f) }), db.Close())
}

// Add stores a record durably and returns its id; r.ID is ignored. A tick of a match in a room has one record: if there is
// one, Add returns its id and stores nothing. Records with Match 0 are always different.
func (s *Store) Add(r Record) (id uint64, err error) {
	err = s.update(func(tx *bolt.Tx) (err error) {
		id, err = put(tx, &r)
		return err
	})
	if err != nil && !errors.Is(err, errRecorded) {
		return 0, fmt.Errorf("matches: %s cannot store a record: %w", s.path, err)
	}
	return id, nil
}

// Close lets another process write the file. It may be called once; Add must not be called after it.
func (s *Store) Close() error { return s.unlock() }
