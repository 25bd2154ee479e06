package matches

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"

	"tendon/cmd/cli/durable"
)

// Store is a file of records that this process writes. While it is open, no other process can open the file, and the query
// socket beside it answers readers. An added record survives a crash of the process and of the machine. Several goroutines
// may use a Store. After damage was found, the file is not used any more, and every method returns that error.
type Store struct {
	path    string
	db      *bolt.DB
	socket  *querySocket
	limit   time.Duration         // of Close
	writing sync.Mutex            // held by Add
	damage  atomic.Pointer[error] // the first damage that was found
	file    fs.FileInfo           // when it was opened
}

const (
	openTimeout  = 2 * time.Second // of the wait for the lock, which a reader may hold for a page
	closeTimeout = 5 * time.Second // of Close, and of a Recorder's: a disk may not answer
)

// Open opens a file of records, or creates it. It refuses the file of another program and does not change it.
func Open(path string) (*Store, error) {
	db, err := openFile(path, false, openTimeout)
	if err != nil {
		return nil, err
	}
	s := &Store{path: path, db: db, limit: closeTimeout}
	if s.file, err = os.Stat(path); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	if err = s.use(func() error { return db.Update(adopt) }); err == nil {
		err = durable.SyncDirectory(filepath.Dir(path))
	}
	if err == nil {
		s.socket, err = openSocket(socketOf(path), s.page, queryTimeout)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), s.closeFile())
	}
	return s, nil
}

// Unusable returns a Store whose file is not used, because Open returned an error. Every method returns that error.
func Unusable(path string, err error) *Store {
	s := &Store{path: path, limit: closeTimeout}
	err = s.disuse(err)
	if errors.Is(err, ErrDamaged) { // this process has the lock, so readers need the socket
		s.socket, _ = openSocket(socketOf(path), s.page, queryTimeout)
	}
	return s
}

// use calls f, which uses the file, unless damage was found before. A panic of bbolt may leave its locks held for ever, and
// further writes could destroy what is left. The same holds for a disk that failed to write.
func (s *Store) use(f func() error) error {
	if err := s.damage.Load(); err != nil {
		return *err
	}
	returned := false
	err := guarded(func() error {
		err := f()
		returned = true
		return err
	})
	if !returned || errors.Is(err, syscall.EIO) || errors.Is(err, errGone) {
		err = s.disuse(err)
	}
	return err
}

// disuse returns the error of a file that is not used any more.
func (s *Store) disuse(err error) error {
	err = fmt.Errorf("%w; %s is left as it is and not used any more: move it away and start the server again", err, s.path)
	s.damage.CompareAndSwap(nil, &err)
	return err
}

// errGone is the error of a file that is not in its place.
var errGone = errors.New("matches: the file was removed or replaced")

// check returns an error if the file was removed, replaced or overwritten since it was opened.
func (s *Store) check() error {
	s.writing.Lock()
	defer s.writing.Unlock()
	return s.use(func() error {
		if durable.Gone(s.file, s.path) {
			return errGone
		}
		return s.db.View(func(tx *bolt.Tx) error {
			if tx.Bucket(bucket) == nil {
				panic("the records are gone")
			}
			return nil
		})
	})
}

// Damaged reports whether damage was found, so that the file is not used any more.
func (s *Store) Damaged() bool { return s.damage.Load() != nil }

// page reads one page for the query socket.
func (s *Store) page(q query) (a answer, err error) {
	err = s.use(func() error { return s.db.View(func(tx *bolt.Tx) error { return a.read(tx, q) }) })
	return a, err
}

// Add stores a record durably and returns its id; r.ID is ignored. A tick of a match in a room has one record: if there is
// one, Add returns its id and stores nothing. Records with Match 0 are always different.
func (s *Store) Add(r Record) (id uint64, err error) {
	s.writing.Lock() // bbolt's own lock may stay held
	defer s.writing.Unlock()
	err = s.use(func() error {
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

// Close closes the query socket and the file. It may be called once; Add must not be called after it. It fails after 5 s if the
// disk does not answer. A damaged file stays locked until this process ends.
func (s *Store) Close() error {
	closed := make(chan error, 1)
	go func() { closed <- errors.Join(s.socket.close(), s.closeFile()) }()
	select {
	case err := <-closed:
		return err
	case <-time.After(s.limit):
		return fmt.Errorf("matches: %s cannot be closed: the disk does not answer", s.path)
	}
}

// closeFile closes the file, unless it is damaged: bbolt would wait for its own lock.
func (s *Store) closeFile() error {
	if s.damage.Load() != nil {
		return nil
	}
	return s.db.Close()
}
