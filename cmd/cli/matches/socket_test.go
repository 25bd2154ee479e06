package matches

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// dial connects to the query socket of a file until the end of the test.
func dial(t *testing.T, path string) net.Conn {
	t.Helper()
	socket := socketOf(path)
	if target, err := os.Readlink(socket); err == nil {
		socket = target
	}
	c, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// names lists a directory.
func names(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// The socket gives access to the contents of the file, so it is as private as the file. The server removes it.
func TestFileAndSocketArePrivateAndTheServerRemovesTheSocket(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "matches.db")
	s := open(t, path)
	for _, name := range []string{path, path + ".sock"} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	shut(t, s)
	if left := names(t, dir); !reflect.DeepEqual(left, []string{"matches.db"}) {
		t.Errorf("left: %q", left)
	}
}

// A Unix socket's path has about 100 bytes, a file's has thousands.
func TestAFileWithALongPathIsReadWhileItsServerRuns(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	dir := filepath.Join(t.TempDir(), strings.Repeat("long", 30), strings.Repeat("longer", 30))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "matches.db")
	for range 2 {
		s := open(t, path)
		id := add(t, s, sample(1))
		if got := all(t, path, ""); len(got) != int(id) {
			t.Errorf("%d records, want %d", len(got), id)
		}
		// A killed server leaves the link.
		leftover, err := os.Readlink(path + ".sock")
		if err != nil {
			t.Fatal(err)
		}
		shut(t, s)
		if left := append(names(t, dir), names(t, temporary)...); !reflect.DeepEqual(left, []string{"matches.db"}) {
			t.Errorf("left: %q", left)
		}
		if err := os.Symlink(leftover, path+".sock"); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTheServerIsFoundByAnyNameOfTheFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "matches.db")
	add(t, open(t, path), sample(1))
	link := filepath.Join(dir, "link.db")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	for _, name := range []string{link, "matches.db", "./link.db"} {
		if got := all(t, name, ""); len(got) != 1 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestAFileInPlaceOfTheSocketIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "matches.db")
	if err := os.WriteFile(path+".sock", []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); err == nil || !strings.Contains(err.Error(), "is in the way") {
		t.Errorf("%v", err)
	}
	if kept, err := os.ReadFile(path + ".sock"); err != nil || string(kept) != "mine" {
		t.Errorf("%q, %v", kept, err)
	}
}

// Peers run as the same user, but may be faulty. They must not delay the server.
func TestFaultyPeersDoNotDelayTheServer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "matches.db")
	s := open(t, path)
	// With a long timeout, so that it does not hide that the server waits for a peer.
	err := s.socket.close()
	if err == nil {
		s.socket, err = openSocket(socketOf(path), s.socket.page, time.Hour)
	}
	if err != nil {
		t.Fatal(err)
	}
	fill(t, s, 1000)
	for _, nonsense := range []string{"\n", "\x00\xff\x01\n", "GET / HTTP/1.1\r\n\r\n", `{"before":-1}` + "\n", `{"room":7}` + "\n", "[]\n", strings.Repeat("[", maxQuery) + "\n"} {
		c := dial(t, path)
		if _, err := io.WriteString(c, nonsense); err != nil {
			t.Errorf("%q: %v", nonsense, err)
		}
		var a answer
		if err := json.NewDecoder(c).Decode(&a); err != nil || a.Error == "" || len(a.Records) > 0 {
			t.Errorf("%q is answered with %d records, error %q, %v", nonsense, len(a.Records), a.Error, err)
		}
	}
	huge := dial(t, path) // the server reads up to its limit and closes
	block := make([]byte, 1<<16)
	for range 1 << 10 {
		if _, err = huge.Write(block); err != nil {
			break
		}
	}
	if err == nil {
		t.Error("64 MiB were accepted in one query")
	}
	for range 3 {
		add(t, s, Record{Result: strings.Repeat("x", maxRecord/2)})
	}
	dial(t, path)                  // sends no query
	for range maxConnections / 2 { // a page exceeds a socket's buffer, so the server waits for each of these
		if _, err := io.WriteString(dial(t, path), "{}\n"); err != nil {
			t.Error(err)
		}
	}
	if id := add(t, s, sample(1000)); id != 1004 {
		t.Errorf("id %d", id)
	}
	if got := all(t, path, ""); len(got) != 1004 {
		t.Errorf("%d records beside peers that never read", len(got))
	}
	shut(t, s) // waits for no peer
}

// The number of connections is bounded. Further ones are closed until others have ended.
func TestConnectionsBeyondTheLimitAreClosed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "matches.db")
	s := open(t, path)
	add(t, s, sample(1))
	var idle []net.Conn
	for range maxConnections {
		idle = append(idle, dial(t, path))
	}
	if _, err := dial(t, path).Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("one too many: %v", err)
	}
	if err := failing(t, path); !errors.Is(err, ErrLocked) {
		t.Errorf("reading meanwhile: %v", err)
	}
	for _, c := range idle {
		c.Close()
	}
	if got := all(t, path, ""); len(got) != 1 { // is retried until the server has noticed
		t.Errorf("%+v", got)
	}
}

// Neither side waits for a silent peer longer than the timeout.
func TestSilentPeersTimeOut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "socket")
	impatient, err := openSocket(path, func(query) (answer, error) { return answer{}, nil }, time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("an answer without a query")
	}
	if err := impatient.close(); err != nil {
		t.Error(err)
	}
	stopped, err := net.Listen("unix", path) // accepts, and never answers: a stopped process
	if err != nil {
		t.Fatal(err)
	}
	defer stopped.Close()
	var timeout net.Error
	if _, err := ask(path, query{}, time.Millisecond); !errors.As(err, &timeout) || !timeout.Timeout() { // of the dial, or of the answer
		t.Errorf("%v", err)
	}
}

// The answering process may have died in the middle, or be another program.
func TestIncompleteAndForeignAnswersAreErrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "socket")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	whole, err := json.Marshal(answer{Records: []Record{sample(1), sample(2)}, Next: 4})
	if err != nil {
		t.Fatal(err)
	}
	many, err := json.Marshal(answer{Records: make([]Record, pageRecords+1)})
	if err != nil {
		t.Fatal(err)
	}
	reply := func(text string) (answer, error) {
		served := make(chan struct{})
		go func() {
			defer close(served)
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = bufio.NewReader(c).ReadString('\n')
			_, _ = io.WriteString(c, text)
			_ = c.Close()
		}()
		a, err := ask(path, query{Before: 5}, time.Minute)
		<-served
		return a, err
	}
	if a, err := reply(string(whole)); err != nil || len(a.Records) != 2 {
		t.Errorf("a whole answer: %+v, %v", a, err)
	}
	endless := strings.ReplaceAll(string(whole), `"next":"4"`, `"next":"5"`)
	for _, text := range []string{"", "hello\n", string(whole[:len(whole)-1]), string(whole[:20]), endless, string(many), `{"error":"no"}`,
		`{"records":[{"room":"` + strings.Repeat("x", maxAnswer) + `"}]}`} {
		if a, err := reply(text); err == nil || len(a.Records) > 0 {
			t.Errorf("%.40q is accepted as %+v", text, a)
		}
	}
}
