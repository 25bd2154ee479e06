package matches

import (
	"encoding/binary"

	bolt "go.etcd.io/bbolt"
)

// question asks for one page: the newest records of a room ("": of all) whose id is below Before (0: of all).
type question struct {
	Room   string `json:"room"`
	Before uint64 `json:"before"`
}

// answer is one page, newest first. Next is the Before of the next page, and 0 on the last one. Next falls from page to
// page, though a page may be empty when a room's matches are rare.
type answer struct {
	Records []Record `json:"records"`
	Next    uint64   `json:"next"`
	Error   string   `json:"error,omitempty"`
}

// Bounds of one page, so that no transaction is long and no answer large. A read transaction keeps the writer from
// growing the file.
const (
	pageRecords = 256
	pageBytes   = 1 << 20 // as JSON; the last record may go over it
	pageLooked  = 4096    // records looked at for their room
)

// maxAnswer is the longest line of an answer, in bytes: a page, its last record and what is around them.
const maxAnswer = pageBytes + maxRecord + 1<<10

// pageOf reads one page.
func pageOf(tx *bolt.Tx, q question) (a answer, err error) {
	if empty, err := foreign(tx); empty || err != nil {
		return a, err
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
	for looked := 0; k != nil; k, v = c.Prev() {
		if len(a.Records) == pageRecords || size >= pageBytes || looked == pageLooked {
			a.Next = id
			break
		}
		if len(k) != 8 {
			return a, ErrDamaged
		}
		id = binary.BigEndian.Uint64(k)
		r, err := decode(id, v)
		if err != nil {
			return a, err
		}
		looked++
		if q.Room == "" || r.Room == q.Room {
			a.Records = append(a.Records, r)
			size += len(v)
		}
	}
	return a, nil
}
