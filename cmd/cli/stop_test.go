package cli

import (
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tendon/cmd/cli/internal/app"
	"tendon/net/client"
	"tendon/net/session"
)

// anotherBuild returns a copy of this program that counts as another build.
func anotherBuild(t *testing.T) string {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(executable)
	if err != nil {
		t.Fatal(err)
	}
	return write(t, filepath.Join(t.TempDir(), "another"), append(program, 0), 0o700)
}

// replace stops the server and starts another build of it on the same port.
func (c *group) replace(executable string) {
	c.t.Helper()
	if code := c.end(c.t, syscall.SIGTERM); code != app.ExitFine || !strings.Contains(c.out.String(), `"event":"kept","matches":2`) {
		c.t.Fatalf("%s: the server exits with %d:\n%s", c.name, code, c.out)
	}
	begun := time.Now()
	final := c.final()
	c.crumbsServer = serveProgram(c.t, executable, "1", c.at.String(), c.dir, c.flags...)
	c.at = netip.MustParseAddrPort(awaitEvent(c.t, c.out, c.ended, "listening").text("public"))
	c.than = c.recovered(c.t)
	for room, tick := range final {
		if c.than[room] < tick {
			c.t.Errorf("%s: room %s is recovered at tick %d of %d", c.name, room, c.than[room], tick)
		}
	}
	playOn(c.t, []*group{c}, 1)
	c.t.Logf("%s: every client plays %v after the start of the next server", c.name, time.Since(begun).Round(time.Millisecond))
}

// A server that is stopped with SIGTERM keeps its matches, and another build continues them. Every tick that was confirmed stays
// as it was, and clients come back by themselves.
func TestAStoppedServerKeepsItsMatchesForTheNextBuild(t *testing.T) {
	slow(t)
	groups := groupsOf(t, false, "keep", "duel", "main")
	other := anotherBuild(t)
	playOn(t, groups, 100)
	for _, c := range groups {
		c.replace(other)
	}
	playEnough(t, groups)
	for _, c := range groups {
		waits := awaitEvent(t, c.out, c.ended, "waiting")
		if seats, _ := waits["seats"].([]any); len(seats) != 2 || strings.Count(c.out.String(), `"event":"waiting"`) != 2 {
			t.Errorf("%s: the server waits for %v", c.name, waits)
		}
		if code := c.end(t, syscall.SIGTERM); code != app.ExitFine {
			t.Errorf("%s: the server exits with %d:\n%s", c.name, code, c.out)
		}
		c.verify()
	}
}

// A build with another layout names the journal and does not start. With --other-build refuse it starts, and clients of the match
// receive why they are refused.
func TestABuildOfAnotherLayoutRefusesTheClientsOfAMatch(t *testing.T) {
	slow(t)
	c := groupsOf(t, true, "keep", "main")[1]
	playOn(t, []*group{c}, 60)
	if code := c.end(t, syscall.SIGTERM); code != app.ExitFine {
		t.Fatalf("the server exits with %d", code)
	}
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	names := files(t, c.dir)
	s := serveProgram(t, executable, "wider", c.at.String(), c.dir, c.flags...)
	if code := <-s.ended; code != app.ExitUsage || !strings.Contains(s.out.String(), "start the build that wrote it, or move the journal away") {
		t.Errorf("exit code %d: %s", code, s.out)
	}
	s = serveProgram(t, executable, "wider", c.at.String(), c.dir, append(c.flags, "--other-build", "refuse")...)
	awaitEvent(t, s.out, s.ended, "listening")
	awaitEvent(t, s.out, s.ended, "journal_refused")
	for i, w := range c.all {
		for range mostFrames {
			if w.Frame(time.Now()) != nil {
				break
			}
			time.Sleep(time.Second / 60)
		}
		if !errors.Is(w.Err(), &session.Error{Code: session.CodeOtherBuild}) {
			t.Errorf("client %d received %v", i, w.Err())
		}
	}
	if code := s.end(t, syscall.SIGTERM); code != app.ExitFine || strings.Join(files(t, c.dir), " ") != strings.Join(names, " ") {
		t.Errorf("exit code %d, files %q, were %q", code, files(t, c.dir), names)
	}
}

// A server that finishes its matches continues after the first signal, and ends them after the second.
func TestASecondSignalEndsTheMatchesThatFinish(t *testing.T) {
	slow(t)
	c := groupsOf(t, true, "finish", "main")[1]
	playOn(t, []*group{c}, 60)
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	awaitEvent(t, c.out, c.ended, "stopping")
	c.than = c.final()
	playOn(t, []*group{c}, 120)
	if _, after, _ := strings.Cut(c.out.String(), `"event":"stopping"`); !strings.Contains(after, `"event":"stats"`) {
		t.Errorf("no statistics while the matches finish:\n%s", after)
	}
	if code := c.end(t, syscall.SIGTERM); code != app.ExitFine || !strings.Contains(c.out.String(), "journal_ended") {
		t.Errorf("the server exits with %d:\n%s", code, c.out)
	}
	for i, w := range c.all {
		for range mostFrames {
			if w.Frame(time.Now()) != nil {
				break
			}
			time.Sleep(time.Second / 60)
		}
		if !errors.Is(w.Err(), &session.Error{Code: session.CodeShutdown}) || w.State() != client.Ended {
			t.Errorf("client %d is %v with %v", i, w.State(), w.Err())
		}
	}
}
