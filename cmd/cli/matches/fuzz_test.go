package matches

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"tendon/net/wire/vectors"
)

// FuzzQuery sends lines to a socket with 300 matches. Each has one answer: a page that follows from the query, or an error, and
// takes memory for one page. A query that is understood is understood again as the same.
func FuzzQuery(f *testing.F) {
	const stored = 300
	db, err := openFile(filepath.Join(f.TempDir(), "matches.db"), false, openTimeout)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { db.Close() })
	if err := db.Update(adopt); err != nil {
		f.Fatal(err)
	}
	if err := db.Update(func(tx *bolt.Tx) (err error) {
		for i := uint64(0); i < stored && err == nil; i++ {
			r := sample(i + 1)
			_, err = put(tx, &r)
		}
		return err
	}); err != nil {
		f.Fatal(err)
	}
	for _, q := range []query{{}, {Before: 1}, {Before: stored}, {Room: "room-3"}, {Room: "room-3", Before: 1<<64 - 1}, {Room: strings.Repeat("x", 900), Before: 7}} {
		line, err := json.Marshal(q)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(line)
	}
	for _, line := range []string{"", "null", `{"before":-1}`, `{"room":7}`, "[[[[", "{}\n{}", strings.Repeat(" ", maxQuery) + "{}"} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		var asked []query
		s := &querySocket{timeout: time.Hour, slots: make(chan struct{}, 1), closing: context.Background(), page: func(q query) (answer, error) {
			asked = append(asked, q)
			return pageOf(db, q)
		}}
		var a answer
		if n := vectors.Allocated(func() { a = exchange(t, s, line) }); n > 4<<20 {
			t.Fatalf("%d bytes allocated for %d", n, len(line))
		}
		if a.Error != "" {
			if len(asked) > 0 || len(a.Records) > 0 {
				t.Fatalf("%q is asked as %+v and answered with %d records and %q", line, asked, len(a.Records), a.Error)
			}
			return
		}
		if len(asked) != 1 || len(a.Records) > pageRecords {
			t.Fatalf("%q is asked as %+v and answered with %d records", line, asked, len(a.Records))
		}
		q := asked[0]
		next := q.Before
		if next == 0 || next > stored {
			next = stored + 1
		}
		for _, r := range a.Records {
			if r.ID >= next || r.ID < a.Next || q.Room != "" && r.Room != q.Room {
				t.Fatalf("%+v is answered with record %d of room %q after %d, next %d", q, r.ID, r.Room, next, a.Next)
			}
			next = r.ID
		}
		if q.Room == "" && len(a.Records) < pageRecords && next > 1 || a.Next >= stored {
			t.Fatalf("%+v is answered with %d records down to %d, next %d", q, len(a.Records), next, a.Next)
		}
		text, err := json.Marshal(q)
		if err != nil {
			t.Fatal(err)
		}
		if asked = nil; len(text) < maxQuery {
			if exchange(t, s, text); len(asked) != 1 || asked[0] != q {
				t.Fatalf("%q is asked as %+v, then as %+v", line, q, asked)
			}
		}
	})
}

// memoryConn is a connection whose peer has sent all of in and stores the answer in out.
type memoryConn struct {
	net.Conn
	in  bytes.Reader
	out bytes.Buffer
}

func (c *memoryConn) Read(b []byte) (int, error)  { return c.in.Read(b) }
func (c *memoryConn) Write(b []byte) (int, error) { return c.out.Write(b) }
func (c *memoryConn) Close() error                { return nil }
func (c *memoryConn) SetDeadline(time.Time) error { return nil }

// exchange sends a line over a connection and returns the answer.
func exchange(t *testing.T, s *querySocket, line []byte) (a answer) {
	t.Helper()
	c := &memoryConn{}
	c.in.Reset(line)
	s.slots <- struct{}{}
	s.answer(c)
	text := c.out.Bytes()
	if len(text) > maxAnswer || bytes.Count(text, []byte("\n")) != 1 || len(s.slots) > 0 {
		t.Fatalf("%q is answered with %q", line, text)
	}
	if err := json.Unmarshal(text, &a); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return a
}
