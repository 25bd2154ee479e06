package matches

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	bolt "go.etcd.io/bbolt"

	"tendon/ecs/race"
)

// open opens a store that ends with the test.
func open(t *testing.T, path string) *Store {
	t.Helper()
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // the test may have closed it
		if s.db.Path() != "" {
			shut(t, s)
		}
	})
	return s
}

func shut(t *testing.T, s *Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func add(t *testing.T, s *Store, r Record) uint64 {
	t.Helper()
	id, err := s.Add(r)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// sample returns a record in which every field is set.
func sample(n uint64) Record {
	began := time.Date(2026, 11, 21, 10, 15, 0, 0, time.UTC).Add(time.Duration(n) * time.Minute)
	return Record{
		Room: fmt.Sprintf("room-%d", n%7), Match: n, Game: "crumbs", Strategy: "relay", Strategies: []string{"relay", "lockstep"}, Started: began, Ended: began.Add(95 * time.Second),
		Tick: 5700 + n, Result: "3:1 \"<winner>\"\n\x1b[31m", Verdict: "majority", Replays: 1, Recording: "recordings/r.tendonrec", Journal: "journals/j",
		Players: []Player{
			{Seat: 0, Client: 1<<64 - 1, Name: "Änne", Vote: "00ff"}, {Seat: 1, Client: 7, Vote: "00fe", Dissented: true, Doubled: true}, {Seat: 3, Silent: true},
		},
	}
}

// all reads a file to its end.
func all(t *testing.T, path, room string) (list []Record) {
	t.Helper()
	for r, err := range Read(path, room) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, r)
	}
	return list
}

// failing returns the error of reading a file.
func failing(t *testing.T, path string) error {
	t.Helper()
	for _, err := range Read(path, "") {
		if err != nil {
			return err
		}
	}
	t.Errorf("%s was read without an error", path)
	return nil
}

// fill adds many records in one transaction.
func fill(t *testing.T, s *Store, n uint64) {
	t.Helper()
	err := s.db.Update(func(tx *bolt.Tx) error {
		for i := range n {
			r := sample(i)
			r.Tick += tx.Bucket(bucket).Sequence() // of another match each time
			if _, err := put(tx, &r); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestRecordsSurviveReopeningInOrderAndWithEveryField(t *testing.T) {
	path := filepath.Join(t.TempDir(), "matches.db")
	var want []Record
	for round := range 3 {
		s := open(t, path)
		for i := range 5 {
			r := sample(uint64(5*round + i))
			r.ID = 99 // ignored
			if r.ID = add(t, s, r); r.ID != uint64(len(want)+1) {
				t.Errorf("record %d has id %d", len(want)+1, r.ID)
			}
			want = append(want, r)
		}
		shut(t, s)
	}
	slices.Reverse(want)
	if got := all(t, path, ""); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	v := reflect.ValueOf(want[0])
	for i := range v.NumField() { // else the comparison would miss a field that is not stored
		if v.Field(i).IsZero() {
			t.Errorf("the sample does not set %s", v.Type().Field(i).Name)
		}
	}
}

// Readers do not wait for the lock of a server, not even while it writes, and read the contents of the file.
func TestReadingWhileAServerWritesGivesTheContentsOfTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "matches.db")
	s := open(t, path)
	fill(t, s, 600)
	tx, err := s.db.Begin(true)
	if err != nil {
		t.Fatal(err)
	}
	beside := all(t, path, "")
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	shut(t, s)
	if after := all(t, path, ""); len(after) != 600 || !reflect.DeepEqual(beside, after) {
		t.Errorf("%d records beside the writer, %d in the file, or they differ", len(beside), len(after))
	}
}

func TestTenThousandRecordsAreReadPageByPage(t *testing.T) {
	race.OneGoroutine(t)
	path := filepath.Join(t.TempDir(), "matches.db")
	s := open(t, path)
	fill(t, s, 10_000)
	rare := sample(3)
	rare.Room = "rare"
	add(t, s, rare)
	fill(t, s, 4500) // more than a page scans
	check := func(where string) {
		before, n := uint64(1<<63), 0
		for r, err := range Read(path, "") {
			if err != nil || r.ID >= before {
				t.Fatalf("%s: record %d after %d, %v", where, r.ID, before, err)
			}
			before, n = r.ID, n+1
		}
		if n != 14_501 || before != 1 {
			t.Errorf("%s: %d records down to %d", where, n, before)
		}
		if got := all(t, path, "rare"); len(got) != 1 || got[0].ID != 10_001 {
			t.Errorf("%s: the room with one match: %+v", where, got)
		}
	}
	if a, err := pageOf(s.db, query{Room: "never"}); err != nil || len(a.Records) > 0 || a.Next != 14_501-pageScanned+1 {
		t.Errorf("one page scans %d records: next %d, %v", pageScanned, a.Next, err)
	}
	check("beside the server")
	shut(t, s)
	check("in the file")
}

// A blocked reader must not keep a server from starting. A reader that began with the file continues with the server.
func TestAReaderHoldsNothingBetweenRecords(t *testing.T) {
	path := filepath.Join(t.TempDir(), "matches.db")
	s := open(t, path)
	fill(t, s, 1000)
	shut(t, s)
	n := 0
	for _, err := range Read(path, "") {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n == 10 {
			s = open(t, path)
			add(t, s, sample(1)) // newer than the reading: not read
		}
		if n == 600 {
			shut(t, s)
		}
	}
	if n != 1000 {
		t.Errorf("%d records", n)
	}
}

func TestRecordsAddedConcurrentlyAreAllStored(t *testing.T) {
	path := filepath.Join(t.TempDir(), "matches.db")
	s := open(t, path)
	var writers sync.WaitGroup
	for w := range 8 {
		writers.Go(func() {
			for i := range 10 {
				if _, err := s.Add(Record{Match: uint64(10*w + i)}); err != nil {
					t.Error(err)
				}
				for _, err := range Read(path, "") {
					if err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	writers.Wait()
	kept := map[uint64]bool{}
	ids := map[uint64]bool{}
	for _, r := range all(t, path, "") {
		kept[r.Match], ids[r.ID] = true, true
	}
	if len(kept) != 80 || len(ids) != 80 || !ids[1] || !ids[80] {
		t.Errorf("of 80 matches %d are stored, under %d ids", len(kept), len(ids))
	}
}

func TestARecordThatIsTooLargeOrNotJSONIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "matches.db")
	s := open(t, path)
	if _, err := s.Add(Record{Result: strings.Repeat("x", maxRecord)}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("too large: %v", err)
	}
	if _, err := s.Add(Record{Ended: time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)}); err == nil {
		t.Error("a time that JSON cannot encode was stored")
	}
	// The largest records are read one by one, since a page ends when it is full.
	for range 3 {
		add(t, s, Record{Result: strings.Repeat("x", maxRecord-1024)})
	}
	if got := all(t, path, ""); len(got) != 3 || len(got[2].Result) != maxRecord-1024 {
		t.Errorf("%d records", len(got))
	}
}

// A game's result need not be text.
func TestTheTextInABinaryResultIsStored(t *testing.T) {
	path := filepath.Join(t.TempDir(), "matches.db")
	add(t, open(t, path), Record{Result: "a\xff\x00b"})
	if got := all(t, path, ""); len(got) != 1 || got[0].Result != "a\ufffd\x00b" {
		t.Errorf("%+v", got)
	}
}

func TestFieldsOfALaterVersionAreIgnored(t *testing.T) {
	path := filepath.Join(t.TempDir(), "matches.db")
	s := open(t, path)
	value, err := json.Marshal(map[string]any{"room": "main", "spectators": []int{1, 2}, "id": 77})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.db.Update(func(tx *bolt.Tx) error { return tx.Bucket(bucket).Put([]byte{7: 1}, value) }); err != nil {
		t.Fatal(err)
	}
	if got := all(t, path, ""); len(got) != 1 || got[0].Room != "main" || got[0].ID != 1 {
		t.Errorf("%+v", got)
	}
}

func TestAForeignFileIsRefusedAndNotChanged(t *testing.T) {
	dir := t.TempDir()
	other := filepath.Join(dir, "other.db")
	db, err := bolt.Open(other, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Update(func(tx *bolt.Tx) error { _, err := tx.CreateBucket([]byte("accounts")); return err }), db.Close()); err != nil {
		t.Fatal(err)
	}
	foreign, err := os.ReadFile(other)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{
		"text": []byte("a diary"), "long": bytes.Repeat([]byte("a diary\n"), 10_000), "zeros": make([]byte, 1<<16), "bbolt": foreign,
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path); !errors.Is(err, ErrForeign) {
			t.Errorf("%s: Open: %v", name, err)
		}
		if err := failing(t, path); !errors.Is(err, ErrForeign) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: Read: %v", name, err)
		}
		if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, content) {
			t.Errorf("%s was changed, %v", name, err)
		}
	}
	if _, err := Open(dir); !errors.Is(err, ErrForeign) {
		t.Errorf("a directory: %v", err)
	}
	if err := failing(t, dir); !errors.Is(err, ErrForeign) {
		t.Errorf("a directory: %v", err)
	}
}

func TestAMissingFileIsAnErrorAndAnEmptyOneIsNot(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "matches.db")
	if err := failing(t, path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Read: %v", err)
	}
	if _, err := Open(filepath.Join(dir, "missing", "matches.db")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Open: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil { // a server that is killed at its start leaves this
		t.Fatal(err)
	}
	if got := all(t, path, ""); len(got) > 0 {
		t.Errorf("%+v", got)
	}
	add(t, open(t, path), sample(1))
	if got := all(t, path, ""); len(got) != 1 {
		t.Errorf("%+v", got)
	}
}

// A file that is truncated, or in which a block is lost, must end neither a reader nor a server. Reading does not find every
// damage.
func TestADamagedFileIsAnErrorAndNoCrash(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "sound.db")
	s := open(t, path)
	fill(t, s, 500)
	shut(t, s)
	sound, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	page := os.Getpagesize()
	tries, seen := 0, 0
	try := func(content []byte) {
		t.Helper()
		tries++
		damaged := filepath.Join(dir, fmt.Sprintf("damaged-%d.db", tries)) // a new name each time: it may stay locked
		if err := os.WriteFile(damaged, content, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, err := range Read(damaged, "") {
			if err != nil {
				seen++
			}
		}
		if s, err := Open(damaged); err == nil {
			_, _ = s.Add(sample(1)) // may find the damage or not
			shut(t, s)
		}
	}
	t.Run("its server answers", func(t *testing.T) {
		cut := filepath.Join(dir, "cut.db")
		if err := os.WriteFile(cut, sound[:2*page], 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Open(cut)
		if !errors.Is(err, ErrDamaged) {
			t.Fatal(err)
		}
		s := Unusable(cut, err)
		if err := failing(t, cut); !errors.Is(err, errAnswered) || !strings.Contains(err.Error(), "is left as it is") || strings.Contains(err.Error(), "does not answer") {
			t.Error(err)
		}
		shut(t, s)
	})
	for n := 1; n < len(sound); n += 21 * page {
		try(sound[:n])
	}
	if seen == 0 {
		t.Error("no truncation was found")
	}
	seen = 0
	for at := 2 * page; at < len(sound); at += 9 * page {
		content := bytes.Clone(sound)
		clear(content[at : at+page])
		try(content)
	}
	if seen == 0 {
		t.Error("no lost block was found")
	}
}

// A file that is destroyed while a server uses it is an error of the first write and of every one after it. The file is not
// touched any more, and neither a write nor the end waits for bbolt.
func TestADestroyedFileIsNotUsedAnyMore(t *testing.T) {
	page := os.Getpagesize()
	for name, destroy := range map[string]func(content []byte){
		"zeros":        func(content []byte) { clear(content) },
		"ones":         func(content []byte) { copy(content, bytes.Repeat([]byte{0xff}, len(content))) },
		"text":         func(content []byte) { copy(content, bytes.Repeat([]byte("a diary\n"), len(content)/8)) },
		"all but meta": func(content []byte) { clear(content[2*page:]) },
	} {
		path := filepath.Join(t.TempDir(), "matches.db")
		s, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		fill(t, s, 500)
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		destroy(content)
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt(content, 0); errors.Join(err, f.Close()) != nil {
			t.Fatal(err)
		}
		var reports []error
		var lost []Record
		r := NewRecorder(s, func(err error) { reports = append(reports, err) }, func(r Record) { lost = append(lost, r) })
		for i := range 5 {
			r.Add(sample(uint64(1000 + i)))
		}
		if err := r.Close(); err == nil || !strings.Contains(err.Error(), "5 of the decided") || len(lost) != 5 || !s.Damaged() {
			t.Errorf("%s: %v", name, err)
		}
		if len(reports) != 1 || !errors.Is(reports[0], ErrDamaged) || !strings.Contains(reports[0].Error(), "move it away and start the server again") {
			t.Errorf("%s: reported %v", name, reports)
		}
		if _, err := s.page(query{}); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: a page: %v", name, err)
		}
		shut(t, s)
		if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, content) {
			t.Errorf("%s: the file was changed, %v", name, err)
		}
	}
}

// A file that is overwritten, removed or replaced is noticed before the next result. It is reported once, and left as it is.
func TestAFileThatIsNotUsableIsNoticedWithoutAResult(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"overwritten": func(path string) error {
			info, err := os.Stat(path)
			f, failed := os.OpenFile(path, os.O_WRONLY, 0)
			if err = errors.Join(err, failed); err != nil {
				return err
			}
			_, err = f.WriteAt(bytes.Repeat([]byte("a diary\n"), int(info.Size())/8), 0)
			return errors.Join(err, f.Close())
		},
		"removed": os.Remove,
		"replaced": func(path string) error {
			return errors.Join(os.Rename(path, path+".old"), os.WriteFile(path, nil, 0o600))
		},
	} {
		path := filepath.Join(t.TempDir(), "matches.db")
		s, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		fill(t, s, 5)
		if err := s.check(); err != nil {
			t.Fatalf("%s: before: %v", name, err)
		}
		if err := spoil(path); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := s.check(); err == nil || !strings.Contains(err.Error(), path+" is left as it is and not used any more") || !s.Damaged() {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := s.Add(sample(9)); err == nil {
			t.Errorf("%s: a record is stored", name)
		}
		shut(t, s)
	}
}

// A recorder checks its store at once and each second, and reports the first error.
func TestARecorderChecksItsStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		checks, bad := 0, errors.New("overwritten")
		var reports []error
		r := newRecorder(func() error {
			if checks++; checks > 3 {
				return bad
			}
			return nil
		}, nil, func(err error) { reports = append(reports, err) }, 2)
		time.Sleep(10*checkInterval + time.Millisecond)
		if err := r.Close(); err != nil || checks != 11 || len(reports) != 1 || !errors.Is(reports[0], bad) {
			t.Errorf("%v; %d checks, reported %v", err, checks, reports)
		}
	})
}

// A disk that failed to write may have lost what was written, so there is no next write.
func TestAFileIsNotUsedAfterAWriteThatFailed(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "matches.db"))
	calls := 0
	for range 2 {
		if err := s.use(func() error { calls++; return &fs.PathError{Op: "sync", Err: syscall.EIO} }); !errors.Is(err, syscall.EIO) {
			t.Error(err)
		}
	}
	if calls != 1 {
		t.Errorf("used %d times", calls)
	}
	if err := s.db.Close(); err != nil { // the test ends
		t.Error(err)
	}
}

func TestClosingAFileIsBounded(t *testing.T) {
	s, err := Open(filepath.Join(t.TempDir(), "matches.db"))
	if err != nil {
		t.Fatal(err)
	}
	tx, err := s.db.Begin(true) // a write that does not end
	if err != nil {
		t.Fatal(err)
	}
	s.limit = time.Millisecond
	if err := s.Close(); err == nil || !strings.Contains(err.Error(), "the disk does not answer") {
		t.Error(err)
	}
	if err := tx.Rollback(); err != nil {
		t.Error(err)
	}
}

func TestAFileWhoseProcessDoesNotAnswerIsLocked(t *testing.T) {
	t.Parallel() // it waits
	path := filepath.Join(t.TempDir(), "matches.db")
	shut(t, open(t, path))
	holder, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := failing(t, path); !errors.Is(err, ErrLocked) {
		t.Errorf("Read: %v", err)
	}
	if _, err := Open(path); !errors.Is(err, ErrLocked) {
		t.Errorf("Open: %v", err)
	}
	l, err := net.Listen("unix", socketOf(path)) // a process that closes every connection
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for c, err := l.Accept(); err == nil; c, err = l.Accept() {
			_ = c.Close()
		}
	}()
	if err := failing(t, path); !errors.Is(err, ErrLocked) {
		t.Errorf("Read: %v", err)
	}
	if err := holder.Close(); err != nil {
		t.Fatal(err)
	}
	if got := all(t, path, ""); len(got) > 0 { // the file is not locked, so the socket does not matter
		t.Errorf("%+v", got)
	}
}

func TestASecondServerIsRefusedAndTheFirstContinues(t *testing.T) {
	t.Parallel() // it waits
	path := filepath.Join(t.TempDir(), "matches.db")
	s := open(t, path)
	if _, err := Open(path); !errors.Is(err, ErrLocked) {
		t.Errorf("%v", err)
	}
	add(t, s, sample(1))
	if got := all(t, path, ""); len(got) != 1 {
		t.Errorf("%+v", got)
	}
}

// A result is recorded once, also after a restart that decides it again. The first record stays.
func TestTheEndOfAMatchIsRecordedOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "matches.db")
	s := open(t, path)
	first := add(t, s, sample(1))
	again := sample(1)
	again.Verdict, again.Result = "replay", "another"
	if id := add(t, s, again); id != first {
		t.Errorf("recorded as %d and as %d", first, id)
	}
	for _, differs := range []func(*Record){func(r *Record) { r.Room += "x" }, func(r *Record) { r.Match++ }, func(r *Record) { r.Tick++ }} {
		r := sample(1)
		differs(&r)
		add(t, s, r)
	}
	add(t, s, Record{Tick: 7})
	add(t, s, Record{Tick: 7}) // without a number: another match
	shut(t, s)
	s = open(t, path)
	if id := add(t, s, again); id != first {
		t.Errorf("after a restart it is recorded as %d", id)
	}
	if got := all(t, path, ""); len(got) != 6 || got[5].Verdict != "majority" {
		t.Errorf("%d records: %+v", len(got), got)
	}
}

// A file that was written before there was an index gets it when it is opened.
func TestAFileWithoutAnIndexIsCompleted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "matches.db")
	s := open(t, path)
	first := add(t, s, sample(1))
	add(t, s, sample(2))
	if err := s.db.Update(func(tx *bolt.Tx) error { return tx.DeleteBucket(endsBucket) }); err != nil {
		t.Fatal(err)
	}
	shut(t, s)
	s = open(t, path)
	if id := add(t, s, sample(1)); id != first {
		t.Errorf("the record of the same end has id %d, want %d", id, first)
	}
	if add(t, s, sample(3)); len(all(t, path, "")) != 3 {
		t.Errorf("%d records, want 3", len(all(t, path, "")))
	}
}

// A file of an earlier build has records whose ids are numbers.
func TestARecordWithNumbersAsIdsIsRead(t *testing.T) {
	r, err := decode(3, []byte(`{"id":0,"room":"a","match":18446744073709551615,"tick":9,"verdict":"server","players":[{"seat":1,"client":7,"name":"bob","silent":true}]}`))
	if err != nil || r.ID != 3 || r.Match != 1<<64-1 || r.Room != "a" || r.Tick != 9 || len(r.Players) != 1 || r.Players[0] != (Player{Seat: 1, Client: 7, Name: "bob", Silent: true}) {
		t.Errorf("%v: %+v", err, r)
	}
	if _, err := decode(3, []byte(`{"match":true}`)); !errors.Is(err, ErrDamaged) {
		t.Errorf("a record whose match is no number: %v", err)
	}
}
