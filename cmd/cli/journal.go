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
	"tendon/systems"
)

// openJournals takes a directory of journals and brings back the matches in it. What happens is told to the operator.
func openJournals(a *app, dir string, fsync journals.Sync, strategy systems.Strategy) (*journals.Keeper, error) {
	build, err := journalBuild()
	if err != nil {
		return nil, fmt.Errorf("this build cannot be told from others: %w; mount /proc, or build from a clean checkout, so that the program knows its revision", err)
	}
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("--journal %s is no directory: choose another --journal", dir)
	}
	k, err := journals.Open(journals.Config{Dir: dir, Game: a.game, Build: build, Strategy: strategy.Name, Params: strategy.Params,
		Sync: fsync, Told: func(n journals.News) { tellJournal(a, n) }})
	other := (*journals.StrategyError)(nil)
	switch {
	case errors.As(err, &other):
		return nil, otherStrategy(other)
	case errors.Is(err, journals.ErrLocked):
		return nil, fmt.Errorf("%w: stop that server or choose another --journal", err)
	case errors.Is(err, fs.ErrPermission) || errors.As(err, new(*fs.PathError)):
		return nil, fmt.Errorf("journals cannot be kept: %w; choose another --journal", err)
	case err != nil:
		return nil, err
	}
	tellFound(a, k.Found())
	return k, nil
}

// tellFound says which matches were brought back.
func tellFound(a *app, found []journals.Found) {
	last, rooms := ecs.Tick(0), []fields{}
	for _, f := range found {
		last = max(last, f.Tick)
		rooms = append(rooms, fields{"room": f.Room, "file": f.File, "tick": f.Tick})
	}
	a.emit("brought_back", fields{"matches": len(found), "tick": last, "rooms": rooms})
	if len(found) > 0 {
		a.say("%d matches brought back, up to tick %d; they go on when their players come back", len(found), last)
	}
}

// tellJournal says what happened to a journal.
func tellJournal(a *app, n journals.News) {
	f := fields{"room": n.Room, "file": n.File, "tick": n.Tick}
	if n.Err != nil {
		f["error"] = n.Err.Error()
	}
	switch n.Kind {
	case journals.Begun, journals.Resumed:
		f["resumed"] = n.Kind == journals.Resumed
		if n.Kind == journals.Resumed {
			a.say("room %s goes on from tick %d", n.Room, n.Tick)
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
	case journals.Mended:
		a.say("the journal of room %s can be written again, the match goes on", n.Room)
		a.emit("journal_mended", f)
	case journals.Ended, journals.Forsaken:
		f["forsaken"] = n.Kind == journals.Forsaken
		if n.Kind == journals.Forsaken {
			a.say("nobody came back to room %s: its match is over", n.Room)
		}
		a.emit("journal_ended", f)
	case journals.Unended:
		a.say("the match of room %s is over, but would be brought back, since its journal cannot be renamed: %v; move %s away", n.Room, n.Err, n.File)
		a.emit("journal_failed", f)
	case journals.Slow:
		a.say("the disk is slow: %v; a power cut may take so much of play, more than --fsync says", n.Err)
		a.emit("journal_slow", f)
	case journals.Refused:
		a.say("room %s cannot be opened, since it cannot be journalled: %v; make room on the disk or choose another --journal", n.Room, n.Err)
		a.emit("journal_failed", f)
	}
}

// keptKey returns the key that is kept with the journals, so that the tokens with which clients come back outlive the
// server. The first server makes it.
func keptKey(dir string) (netcode.Key, error) {
	path := filepath.Join(dir, "server.key")
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return server.GenerateKey(path)
	}
	return loadKey(path)
}

// journalBuild names the build as journals know it: its revision and target and, where sources may have changed without
// a new revision, a hash of the executable.
func journalBuild() (string, error) {
	revision, target := session.ThisBuild()
	build := revision + " " + target + " " + buildString()
	if revision != "" && revision != "(devel)" && !strings.HasSuffix(revision, "+modified") && !strings.HasSuffix(revision, "+dirty") {
		return build, nil
	}
	path := "/proc/self/exe" // what runs, even if the file was replaced
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
