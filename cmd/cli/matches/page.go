package matches

import (
	"encoding/binary"

	bolt "go.etcd.io/bbolt"
)

// query selects one page: the newest records of a room ("": all) whose id is below Before (0: all).
type query struct {
	Room   string `json:"room"`
	Before uint64 `json:"before"`
}

// answer is one page, newest first. Next is the Before of the next page, and 0 on the last one. Next decreases from page to
// page. A page may be empty if the room has few matches.
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
	pageScanned = 4096    // records compared with the room
)

// maxAnswer is the longest line of an answer, in bytes: a page, its last record and the JSON around them.
const maxAnswer = pageBytes + maxRecord + 1<<10

// pageOf reads one page.
func pageOf(tx *bolt.Tx, q query) (a answer, err error) {
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
	for scanned := 0; k != nil; k, v = c.Prev() {
		if len(a.Records) == pageRecords || size >= pageBytes || scanned == pageScanned {
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
		scanned++
		if q.Room == "" || r.Room == q.Room {
			a.Records = append(a.Records, r)
			size += len(v)
		}
	}
	return a, nil
}
