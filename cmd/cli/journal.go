package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/cespare/xxhash/v2"

	"tendon/cmd/cli/journals"
	"tendon/ecs"
	"tendon/net/netcode"
	"tendon/net/server"
	"tendon/net/session"
)

// openJournals opens a directory of journals and recovers the matches in it. The operator receives its events.
func openJournals(a *app, dir string, fsync journals.Sync, c *hostConfig) (*journals.Store, error) {
	build, err := journalBuild()
	if err != nil {
		return nil, fmt.Errorf("this build cannot be identified: %w; mount /proc, or build from a clean checkout, so that the program knows its revision", err)
	}
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("--journal %s is no directory: choose another --journal", dir)
	}
	s, err := journals.Open(journals.Config{Dir: dir, Game: a.game, Build: build, Strategy: c.strategy.Name, Params: c.strategy.Params,
		Flags: c.flags, Sync: fsync, Report: func(e journals.Event) { reportJournal(a, e) }})
	switch {
	case errors.Is(err, journals.ErrLocked):
		return nil, fmt.Errorf("%w: stop that server or choose another --journal", err)
	case errors.Is(err, fs.ErrPermission) || errors.As(err, new(*fs.PathError)):
		return nil, fmt.Errorf("journals cannot be written: %w; choose another --journal", err)
	case err != nil:
		return nil, err
	}
	reportRecovered(a, s.Waiting())
	return s, nil
}

// reportRecovered lists the recovered matches.
func reportRecovered(a *app, found []journals.Match) {
	last, rooms := ecs.Tick(0), []fields{}
	for _, m := range found {
		tick := m.Journal.Last().Tick
		last = max(last, tick)
		rooms = append(rooms, fields{"room": m.Journal.Header().Room, "file": m.File, "tick": tick})
	}
	a.emit("recovered", fields{"matches": len(found), "tick": last, "rooms": rooms})
	if len(found) > 0 {
		a.say("%d matches recovered, up to tick %d; they continue when their players come back", len(found), last)
	}
}

// reportJournal prints an event of a journal.
func reportJournal(a *app, n journals.Event) {
	f := fields{"room": n.Room, "file": n.File, "tick": n.Tick}
	if n.Err != nil {
		f["error"] = n.Err.Error()
	}
	switch n.Kind {
	case journals.Started, journals.Resumed:
		f["resumed"] = n.Kind == journals.Resumed
		if n.Kind == journals.Resumed {
			a.say("room %s continues from tick %d", n.Room, n.Tick)
		}
		a.emit("journal", f)
	case journals.Torn:
		a.say("%s: %v", n.File, n.Err)
		a.emit("journal_torn", f)
	case journals.Empty:
		a.say("%s holds no match and was removed: %v", n.File, n.Err)
		a.emit("journal_removed", f)
	case journals.Failed, journals.Broken:
		f["final"] = n.Kind == journals.Broken
		end := "until it can"
		if n.Kind == journals.Broken {
			end = "until the server is started again"
		}
		a.say("the journal of room %s cannot be written: %v; the match waits %s", n.Room, n.Err, end)
		a.emit("journal_failed", f)
	case journals.Recovered:
		a.say("the journal of room %s can be written again, the match continues", n.Room)
		a.emit("journal_recovered", f)
	case journals.Ended, journals.Abandoned:
		f["abandoned"] = n.Kind == journals.Abandoned
		if n.Kind == journals.Abandoned {
			a.say("no player came back to room %s: its match is over", n.Room)
		}
		a.emit("journal_ended", f)
	case journals.NotArchived:
		a.say("the match of room %s is over, but the next start would recover it, since its journal cannot be renamed: %v; move %s away", n.Room, n.Err, n.File)
		a.emit("journal_failed", f)
	case journals.Slow:
		a.say("the disk is slow: %v; a power cut may lose that much play, more than --fsync allows", n.Err)
		a.emit("journal_slow", f)
	case journals.Refused:
		a.say("room %s cannot be opened, since its journal cannot be written: %v; make room on the disk or choose another --journal", n.Room, n.Err)
		a.emit("journal_failed", f)
	}
}

// storedKey returns the key that is stored with the journals, so that reconnect tokens outlive the server. The first server
// makes it.
func storedKey(dir string) (netcode.Key, error) {
	path := filepath.Join(dir, "server.key")
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return server.GenerateKey(path)
	}
	return loadKey(path)
}

// journalBuild returns the name of the build in journals: its revision and target and, if sources may have changed without
// a new revision, a hash of the executable.
func journalBuild() (string, error) {
	revision, target := session.ThisBuild()
	build := revision + " " + target + " " + buildString()
	if revision != "" && revision != "(devel)" && !strings.HasSuffix(revision, "+modified") && !strings.HasSuffix(revision, "+dirty") {
		return build, nil
	}
	path := "/proc/self/exe" // the running executable, even if the file was replaced
	if _, err := os.Stat(path); err != nil {
		if path, err = os.Executable(); err != nil {
			return "", err
		}
	}
	program, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s, executable %016x", build, xxhash.Sum64(program)), nil
}
