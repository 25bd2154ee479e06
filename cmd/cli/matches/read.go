package matches

import (
	"encoding/binary"
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
	readTimeout = time.Second           // for the lock of a server that starts or stops
	readRetry   = 20 * time.Millisecond // between two attempts
	noWait      = time.Nanosecond       // 0 would be no timeout in bbolt
)

// Read returns the records of a room ("": of all rooms), newest first: from the server that has the file open, or from the
// file. An error ends it: fs.ErrNotExist for a missing file, ErrLocked for one whose process does not answer. The body of
// the loop runs without a lock or a connection.
func Read(path, room string) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		q := query{Room: room}
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

// fetch reads one page from the socket or the file. A server that starts or stops has the lock and does not answer, so both
// are tried again for a moment.
func fetch(path string, q query) (answer, error) {
	began := time.Now()
	for {
		a, unanswered := ask(socketOf(path), q, queryTimeout)
		if unanswered == nil {
			return a, nil
		}
		a, err := pageOfFile(path, q)
		switch {
		case !errors.Is(err, ErrLocked):
			return a, err
		case errors.Is(unanswered, errAnswered):
			return a, unanswered
		}
		if time.Since(began) > readTimeout {
			return a, fmt.Errorf("%w, and it does not answer (%w)", err, unanswered)
		}
		time.Sleep(readRetry)
	}
}

// errAnswered is the error of a query that the server answered with an error.
var errAnswered = errors.New("matches: the server's answer")

// ask sends a query to the process that has the file open.
func ask(socket string, q query, timeout time.Duration) (a answer, err error) {
	if target, err := os.Readlink(socket); err == nil {
		socket = target // the link's own name may be too long
	}
	c, err := net.DialTimeout("unix", socket, timeout)
	if err != nil {
		return a, err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(timeout))
	if err := json.NewEncoder(c).Encode(q); err != nil {
		return a, err
	}
	if err := json.NewDecoder(io.LimitReader(c, maxAnswer)).Decode(&a); err != nil {
		return answer{}, fmt.Errorf("matches: the answer is incomplete: %w", err)
	}
	switch {
	case a.Error != "":
		return answer{}, fmt.Errorf("%w: %s", errAnswered, a.Error)
	case len(a.Records) > pageRecords, q.Before > 0 && a.Next >= q.Before: // would never end
		return answer{}, errors.New("matches: the answer is not valid")
	}
	return a, nil
}

// pageOfFile opens the file for one page.
func pageOfFile(path string, q query) (a answer, err error) {
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Size() == 0 {
		return a, nil // a server was killed while it created the file
	}
	db, err := openFile(path, true, noWait)
	if err != nil {
		return a, err
	}
	if a, err = pageOf(db, q); err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return a, errors.Join(err, db.Close())
}

// query selects one page: the newest records of a room ("": all) whose id is below Before (0: all).
type query struct {
	Room   string `json:"room"`
	Before uint64 `json:"before,string"`
}

// answer is one page, newest first. Next is the Before of the next page, and 0 on the last one. Next decreases from page to
// page. A page may be empty if the room has few matches.
type answer struct {
	Records []Record `json:"records"`
	Next    uint64   `json:"next,string"`
	Error   string   `json:"error,omitempty"`
}

// Bounds of one page, so that no transaction is long and no answer large. A read transaction keeps the writer from
// growing the file.
const (
	pageRecords = 256
	pageBytes   = 1 << 20 // as JSON; the last record may go over it
	pageScanned = 4096    // records compared with the room
)

// maxAnswer is the longest line of an answer, in bytes: a page, its last record and the JSON around them.
const maxAnswer = pageBytes + maxRecord + 1<<10

// pageOf reads one page.
func pageOf(db *bolt.DB, q query) (a answer, err error) {
	err = guarded(func() error {
		return db.View(func(tx *bolt.Tx) error { return a.read(tx, q) })
	})
	return a, err
}

func (a *answer) read(tx *bolt.Tx, q query) error {
	if empty, err := foreign(tx); empty || err != nil {
		return err
	}
	c := tx.Bucket(bucket).Cursor()
	k, v := c.Last()
	if q.Before > 0 {
		if at, _ := c.Seek(binary.BigEndian.AppendUint64(nil, q.Before)); at != nil {
			k, v = c.Prev()
		} else {
			k, v = c.Last()
		}
	}
	size, id := 0, uint64(0)
	for scanned := 0; k != nil; k, v = c.Prev() {
		if len(a.Records) == pageRecords || size >= pageBytes || scanned == pageScanned {
			a.Next = id
			break
		}
		if len(k) != 8 {
			return ErrDamaged
		}
		id = binary.BigEndian.Uint64(k)
		r, err := decode(id, v)
		if err != nil {
			return err
		}
		scanned++
		if q.Room == "" || r.Room == q.Room {
			a.Records = append(a.Records, r)
			size += len(v)
		}
	}
	return nil
}
