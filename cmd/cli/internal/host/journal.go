package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/cespare/xxhash/v2"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/tokens"
	"tendon/cmd/cli/journals"
	"tendon/ecs"
	"tendon/net/netcode"
	"tendon/net/server"
	"tendon/net/session"
)

// OpenJournals opens a directory of journals and recovers the matches in it. The operator receives its events.
func OpenJournals(a *app.App, dir string, fsync journals.Sync, c *Config) (*journals.Store, error) {
	build, err := JournalBuild()
	if err != nil {
		return nil, fmt.Errorf("this build cannot be identified: %w; mount /proc, or build from a clean checkout, so that the program knows its revision", err)
	}
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("--journal %s is no directory: choose another --journal", dir)
	}
	s, err := journals.Open(journals.Config{Dir: dir, Game: a.Game, Build: build, Strategy: c.Strategy.Name, Params: c.Strategy.Params,
		Flags: c.Flags, Sync: fsync, Report: func(e journals.Event) { reportJournal(a, e) }})
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
func reportRecovered(a *app.App, found []journals.Match) {
	last, rooms := ecs.Tick(0), []app.Fields{}
	for _, m := range found {
		tick := m.Journal.Last().Tick
		last = max(last, tick)
		rooms = append(rooms, app.Fields{"room": m.Journal.Header().Room, "file": m.File, "tick": tick})
	}
	a.Emit("recovered", app.Fields{"matches": len(found), "tick": last, "rooms": rooms})
	if len(found) > 0 {
		a.Logf("%d matches recovered, up to tick %d; they continue when their players come back", len(found), last)
	}
}

// reportJournal prints an event of a journal.
func reportJournal(a *app.App, n journals.Event) {
	f := app.Fields{"room": n.Room, "file": n.File, "tick": n.Tick}
	if n.Err != nil {
		f["error"] = n.Err.Error()
	}
	switch n.Kind {
	case journals.Started, journals.Resumed:
		f["resumed"] = n.Kind == journals.Resumed
		if n.Kind == journals.Resumed {
			a.Logf("room %s continues from tick %d", n.Room, n.Tick)
		}
		a.Emit("journal", f)
	case journals.Torn:
		a.Logf("%s: %v", n.File, n.Err)
		a.Emit("journal_torn", f)
	case journals.Empty:
		a.Logf("%s holds no match and was removed: %v", n.File, n.Err)
		a.Emit("journal_removed", f)
	case journals.Failed, journals.Broken:
		f["final"] = n.Kind == journals.Broken
		end := "until it can"
		if n.Kind == journals.Broken {
			end = "until the server is started again"
		}
		a.Logf("the journal of room %s cannot be written: %v; the match waits %s", n.Room, n.Err, end)
		a.Emit("journal_failed", f)
	case journals.Recovered:
		a.Logf("the journal of room %s can be written again, the match continues", n.Room)
		a.Emit("journal_recovered", f)
	case journals.Ended, journals.Abandoned:
		f["abandoned"] = n.Kind == journals.Abandoned
		if n.Kind == journals.Abandoned {
			a.Logf("no player came back to room %s: its match is over", n.Room)
		}
		a.Emit("journal_ended", f)
	case journals.NotArchived:
		a.Logf("the match of room %s is over, but the next start would recover it, since its journal cannot be renamed: %v; move %s away", n.Room, n.Err, n.File)
		a.Emit("journal_failed", f)
	case journals.Slow:
		a.Logf("the disk is slow: %v; a power cut may lose that much play, more than --fsync allows", n.Err)
		a.Emit("journal_slow", f)
	case journals.Refused:
		a.Logf("room %s cannot be opened, since its journal cannot be written: %v; make room on the disk or choose another --journal", n.Room, n.Err)
		a.Emit("journal_failed", f)
	}
}

// StoredKey returns the key that is stored with the journals, so that reconnect tokens outlive the server. The first server
// makes it.
func StoredKey(dir string) (netcode.Key, error) {
	path := filepath.Join(dir, "server.key")
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return server.GenerateKey(path)
	}
	return tokens.LoadKey(path)
}

// JournalBuild returns the name of the build in journals: its revision and target and, if sources may have changed without
// a new revision, a hash of the executable.
func JournalBuild() (string, error) {
	revision, target := session.ThisBuild()
	build := revision + " " + target + " " + app.Build()
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
