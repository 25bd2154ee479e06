package matches

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"os"
	"time"

	bolt "go.etcd.io/bbolt"
)

const (
	readPatience = time.Second           // for a lock whose holder comes or goes
	readRetry    = 20 * time.Millisecond // between two attempts
	noWait       = time.Nanosecond       // bbolt takes 0 for ever
)

// Read returns the records of a room ("": of all rooms), newest first, as they are when it is called: from the server
// that has the file open, or from the file. An error ends it. A file that is not there is fs.ErrNotExist, one that
// somebody holds who does not answer is ErrLocked. Nothing is held while the loop's body runs.
func Read(path, room string) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		q := question{Room: room}
		for {
			a, err := fetch(path, q)
			if err != nil {
				yield(Record{}, err)
				return
			}
			for _, r := range a.Records {
				if !yield(r, nil) {
					return
				}
			}
			if q.Before = a.Next; q.Before == 0 {
				return
			}
		}
	}
}

// fetch reads one page, wherever it is to be had. A server that is just starting has the lock and does not answer yet,
// and one that is stopping answers no more and has it still, so both are tried again for a moment.
func fetch(path string, q question) (answer, error) {
	began := time.Now()
	for {
		a, unanswered := ask(socketOf(path), q, askPatience)
		if unanswered == nil {
			return a, nil
		}
		a, err := pageOfFile(path, q)
		if !errors.Is(err, ErrLocked) {
			return a, err
		}
		if time.Since(began) > readPatience {
			return a, fmt.Errorf("%w, and it does not say what is in it (%w)", err, unanswered)
		}
		time.Sleep(readRetry)
	}
}

// ask asks the process that has the file open.
func ask(socket string, q question, patience time.Duration) (a answer, err error) {
	if target, err := os.Readlink(socket); err == nil {
		socket = target // the link's own name may be too long
	}
	c, err := net.DialTimeout("unix", socket, patience)
	if err != nil {
		return a, err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(patience))
	if err := json.NewEncoder(c).Encode(q); err != nil {
		return a, err
	}
	if err := json.NewDecoder(io.LimitReader(c, maxAnswer)).Decode(&a); err != nil {
		return answer{}, fmt.Errorf("matches: the answer is not whole: %w", err)
	}
	switch {
	case a.Error != "":
		return answer{}, fmt.Errorf("matches: the server: %s", a.Error)
	case len(a.Records) > pageRecords, q.Before > 0 && a.Next >= q.Before: // would never end
		return answer{}, errors.New("matches: the answer is none")
	}
	return a, nil
}

// pageOfFile opens the file for one page.
func pageOfFile(path string, q question) (a answer, err error) {
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Size() == 0 {
		return a, nil // a server was killed while it made the file
	}
	db, _, err := openFile(path, true, noWait)
	if err != nil {
		return a, err
	}
	err = guarded(func() error {
		return db.View(func(tx *bolt.Tx) error { a, err = pageOf(tx, q); return err })
	})
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return a, errors.Join(err, db.Close())
}
