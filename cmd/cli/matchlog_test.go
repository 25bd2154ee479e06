package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tendon/cmd/cli/durable"
	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/crumbs"
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback/record"
)

// crumbsAt runs the program of crumbs.
func crumbsAt(t *testing.T, args ...string) *process {
	t.Helper()
	return startProgram(t, os.Args[0], append(os.Environ(), asCrumbs+"=1"), args...)
}

// ticksIn fits a line of a bot that has been in the match up to a tick.
func ticksIn(least float64) func(string, map[string]any) bool {
	return func(event string, f map[string]any) bool {
		c, _ := f["client"].(map[string]any)
		tick, _ := c["tick"].(float64)
		return playing(event, f) && tick >= least
	}
}

// logServer is a server whose match is recorded, and a bot's log of it.
type logServer struct {
	t              *testing.T
	*process       // the server
	address, token string
	dir, log       string
}

func startLogServer(t *testing.T, strategy string) *logServer {
	t.Helper()
	s := &logServer{t: t, dir: t.TempDir()}
	s.log = filepath.Join(s.dir, "match.log")
	s.process = crumbsAt(t, "serve", "--listen", "127.0.0.1:0", "--sync", strategy, "--record", s.dir)
	s.address = s.until(is("listening"))["public"].(string)
	s.token = s.until(is("join"))["token"].(string)
	return s
}

// opened reads the log file.
func (s *logServer) opened() *record.Record {
	s.t.Helper()
	data, err := os.ReadFile(s.log)
	if err != nil {
		s.t.Fatal(err)
	}
	j, err := record.Open(data, crumbs.Game())
	if err != nil {
		s.t.Fatal(err)
	}
	return j
}

// compare checks that the log leads to the states that the server recorded, and returns its last tick.
func (s *logServer) compare() ecs.Tick {
	s.t.Helper()
	if code := s.end(os.Interrupt); code != app.ExitFine {
		s.t.Fatalf("the server exits with %d", code)
	}
	data, err := os.ReadFile(recordingIn(s.t, s.dir))
	if err != nil {
		s.t.Fatal(err)
	}
	r, err := record.Open(data, crumbs.Game())
	if err != nil {
		s.t.Fatal(err)
	}
	log := s.opened()
	w, err := log.WorldAt(log.Last().Tick)
	if err != nil {
		s.t.Fatal(err)
	}
	var state image.Snapshot
	w.Image().Save(&state)
	for e := range r.Ticks(w.Tick(), w.Tick()) {
		if e.Checksum != state.Checksum() {
			s.t.Errorf("the log leads to checksum %x at tick %d, the server recorded %x", state.Checksum(), e.Tick, e.Checksum)
		}
		return e.Tick
	}
	s.t.Fatalf("the recording has no tick %d, where the log ends", w.Tick())
	return 0
}

// A client that was killed comes back without a new token, and continues from its log without loading a state. In the end
// the log equals the recording of the server.
func TestAClientThatWasKilledContinuesFromItsLog(t *testing.T) {
	for _, strategy := range []string{"lockstep", "relay"} {
		t.Run(strategy, func(t *testing.T) {
			slow(t)
			s := startLogServer(t, strategy)
			bot := crumbsAt(t, "join", s.address, "--token", s.token, "--bot", "--log", s.log)
			bot.until(ticksIn(150))
			if code := bot.end(syscall.SIGKILL); code != -1 {
				t.Fatalf("the killed bot exits with %d", code)
			}
			before := s.opened()
			if before.Last().Tick < 100 {
				t.Fatalf("after 150 ticks the log ends at %d", before.Last().Tick)
			}
			again := crumbsAt(t, "join", s.address, "--bot", "--log", s.log)
			if f := again.until(is("log")); f["used"] != true || f["tick"] != float64(before.Last().Tick) {
				t.Errorf("the event of the log that ends at tick %d is %v", before.Last().Tick, f)
			}
			again.until(ticksIn(float64(before.Last().Tick) + 150))
			if code := again.end(os.Interrupt); code != app.ExitFine {
				t.Errorf("the second bot exits with %d", code)
			}
			after := s.opened()
			if after.Start() != before.Start() || after.Header().Match != before.Header().Match {
				t.Errorf("the log begins at tick %d of match %x, before it began at %d of %x: a state was loaded", after.Start(), after.Header().Match,
					before.Start(), before.Header().Match)
			}
			if last := s.compare(); last < before.Last().Tick+100 {
				t.Errorf("the log ends at tick %d, when the first bot was killed it ended at %d", last, before.Last().Tick)
			}
		})
	}
}

// A log that is damaged or no log is reported, and the match is loaded from the server. A log with a torn end loses only
// that.
func TestALogThatCannotBeUsedIsReportedAndTheMatchIsLoaded(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(t *testing.T, path string)
		used  bool
	}{
		{"torn", func(t *testing.T, path string) { cut(t, path, 3) }, true},
		{"damaged", func(t *testing.T, path string) { scribble(t, path, 60) }, false},
		{"something else", func(t *testing.T, path string) { write(t, path, []byte("this is a shopping list"), 0o600) }, false},
		{"empty", func(t *testing.T, path string) { write(t, path, nil, 0o600) }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			slow(t)
			s := startLogServer(t, "lockstep")
			bot := crumbsAt(t, "join", s.address, "--token", s.token, "--bot", "--log", s.log)
			bot.until(ticksIn(120))
			bot.end(syscall.SIGKILL)
			c.spoil(t, s.log)
			again := crumbsAt(t, "join", s.address, "--bot", "--log", s.log)
			f := again.until(is("log"))
			why, _ := f["why"].(string)
			if f["used"] != c.used || !c.used && !strings.Contains(why, "record: ") {
				t.Errorf("the log event is %v", f)
			}
			again.until(ticksIn(200))
			again.end(os.Interrupt)
			s.compare()
		})
	}
}

// A log of another match than the server's is replaced by the state that the server sends.
func TestALogOfAnotherMatchIsReplaced(t *testing.T) {
	slow(t)
	first, second := startLogServer(t, "lockstep"), startLogServer(t, "lockstep")
	bot := crumbsAt(t, "join", first.address, "--token", first.token, "--bot", "--log", second.log)
	bot.until(ticksIn(120))
	bot.end(syscall.SIGKILL)
	old := second.opened().Header().Match
	again := crumbsAt(t, "join", second.address, "--token", second.token, "--bot", "--log", second.log)
	again.until(is("log"))
	f := again.until(is("log"))
	again.until(ticksIn(60))
	again.end(os.Interrupt)
	match := second.opened().Header().Match
	if match == old {
		t.Errorf("the log is still of match %x", match)
	}
	why := f["why"].(string)
	if f["used"] != false || !strings.Contains(why, fmt.Sprintf("match %016x", old)) || !strings.Contains(why, fmt.Sprintf("match %016x", match)) {
		t.Errorf("the event of a log of match %x is %v", old, f)
	}
	second.compare()
}

// Two processes that write one log would damage it and disconnect each other.
func TestALogIsForOneProcessAtATime(t *testing.T) {
	log := filepath.Join(t.TempDir(), "match.log")
	release, err := durable.Lock(log + ".lock")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	refused(t, do(t, crumbs.Game(), "join", "127.0.0.1:7777", "--bot", "--log", log), log, "another process uses it", "choose another --log")
}

func cut(t *testing.T, path string, bytes int64) {
	t.Helper()
	info, err := os.Stat(path)
	if err == nil {
		err = os.Truncate(path, info.Size()-bytes)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func scribble(t *testing.T, path string, at int) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[at] ^= 0xff
	write(t, path, data, 0o600)
}
