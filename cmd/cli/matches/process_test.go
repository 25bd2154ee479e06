//go:build unix

package matches

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// The test starts its own binary as a server that is killed, or whose disk is full.
const (
	childRole = "TENDON_MATCHES_CHILD"
	childFile = "TENDON_MATCHES_FILE"
)

func TestMain(m *testing.M) {
	switch os.Getenv(childRole) {
	case "adds":
		addForEver(os.Getenv(childFile))
	case "full":
		addUntilFull(os.Getenv(childFile))
	default:
		os.Exit(m.Run())
	}
}

// check ends a child at an error.
func check(err error) {
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

// addForEver prints each id after Add has returned.
func addForEver(path string) {
	s, err := Open(path)
	check(err)
	for n := uint64(1); ; n++ {
		r := sample(n)
		r.Room = fmt.Sprint("server-", os.Getpid()) // the match of another child is another match
		id, err := s.Add(r)
		check(err)
		fmt.Println(id)
	}
}

// addUntilFull adds records until the file may not grow, and one more when it may.
func addUntilFull(path string) {
	signal.Ignore(syscall.SIGXFSZ)
	s, err := Open(path)
	check(err)
	info, err := os.Stat(path)
	check(err)
	var limit syscall.Rlimit
	check(syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit))
	tight := limit
	tight.Cur = uint64(info.Size())
	check(syscall.Setrlimit(syscall.RLIMIT_FSIZE, &tight))
	before, refused := uint64(0), error(nil)
	for n := uint64(1); refused == nil; n++ {
		var id uint64
		if id, refused = s.Add(sample(n)); refused == nil {
			before = id
		}
	}
	check(syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit))
	after, err := s.Add(sample(1 << 40))
	check(err)
	check(s.Close())
	fmt.Printf("%d then %v then %d\n", before, refused, after)
}

// child starts this binary in a role.
func child(t *testing.T, role, path string) *exec.Cmd {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(executable)
	cmd.Env = append(os.Environ(), childRole+"="+role, childFile+"="+path)
	return cmd
}

// A stored record survives kill -9, and the files of a killed server do not disturb the next one.
func TestAKilledServerLosesNoStoredRecord(t *testing.T) {
	path := filepath.Join(t.TempDir(), "matches.db")
	last := uint64(0)
	for round := range 3 {
		cmd := child(t, "adds", path)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		begun := last
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var id uint64
			if _, err := fmt.Sscan(lines.Text(), &id); err != nil || id <= last {
				t.Errorf("after record %d: %q", last, lines.Text())
			}
			if last = id; last == begun+25 {
				if err := cmd.Process.Kill(); err != nil { // it adds records until then
					t.Fatal(err)
				}
			}
		}
		_ = cmd.Wait() // killed
		if info, err := os.Lstat(path + ".sock"); err != nil || info.Mode()&os.ModeSocket == 0 {
			t.Fatalf("round %d: a killed server leaves its socket, else this test proves nothing: %v, %v", round, info, err)
		}
		got := all(t, path, "")
		if uint64(len(got)) < last || last < begun+25 {
			t.Errorf("round %d: %d records of %d that were stored", round, len(got), last)
		}
		for _, r := range got {
			if r.ID > begun && r.Match != r.ID-begun {
				t.Errorf("round %d: record %d is of match %d, want %d", round, r.ID, r.Match, r.ID-begun)
			}
		}
		last = uint64(len(got)) // one more may be stored whose id was not printed
	}
	s := open(t, path)
	if id := add(t, s, sample(1)); id != last+1 {
		t.Errorf("id %d after %d", id, last)
	}
	if got := all(t, path, ""); uint64(len(got)) != last+1 {
		t.Errorf("%d records with the next server", len(got))
	}
}

// A full disk is an error each time. Stored records stay, and adding works again when there is room.
func TestAFullDiskIsAnErrorAndNoStoredRecordIsLost(t *testing.T) {
	path := filepath.Join(t.TempDir(), "matches.db")
	out, err := child(t, "full", path).CombinedOutput()
	var before, after uint64
	head, tail, whole := strings.Cut(string(out), " then ")
	_, headErr := fmt.Sscan(head, &before)
	_, tailErr := fmt.Sscan(tail[strings.LastIndex(tail, " ")+1:], &after)
	if err := errors.Join(err, headErr, tailErr); err != nil || !whole || !strings.Contains(tail, "cannot store a record: ") || before == 0 {
		t.Fatalf("%v: %s", err, out)
	}
	if got := all(t, path, ""); uint64(len(got)) != before+1 || got[0].ID != after || got[0].Match != 1<<40 {
		t.Errorf("%d records, want %d and one more", len(got), before)
	}
}

// Opening a pipe would wait for its other end.
func TestAPipeIsRefusedAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	if _, err := Open(path); !errors.Is(err, ErrForeign) {
		t.Errorf("Open: %v", err)
	}
	if err := failing(t, path); !errors.Is(err, ErrForeign) {
		t.Errorf("Read: %v", err)
	}
}
