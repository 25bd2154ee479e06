package host

import (
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/cespare/xxhash/v2"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/journals"
	"tendon/ecs"
	"tendon/net/netcode"
	"tendon/net/server"
	"tendon/net/session"
)

// OpenJournals sets Journals: it opens a directory of journals and recovers the matches in it. The operator receives its
// events. Without keys it sets the key that is stored with the journals, so that tokens outlive the server.
func (c *Config) OpenJournals(a *app.App, dir string, fsync journals.Sync) error {
	build, err := JournalBuild()
	if err != nil {
		return fmt.Errorf("this build cannot be identified: %w; mount /proc, or build from a clean checkout, so that the program knows its revision", err)
	}
	if _, err := os.Stat(dir); err == nil && !app.IsDirectory(dir) {
		return fmt.Errorf("--journal %s is not a directory: choose another --journal", dir)
	}
	s, err := journals.Open(journals.Config{Dir: dir, Game: a.Game, Build: build, Strategy: c.Strategy.Name, Params: c.Strategy.Params,
		Flags: c.Flags.CommandLine(), Sync: fsync, Report: func(e journals.Event) { reportJournal(a, e) }})
	switch {
	case errors.Is(err, journals.ErrLocked):
		return fmt.Errorf("%w: stop that server or choose another --journal", err)
	case errors.Is(err, fs.ErrPermission) || errors.As(err, new(*fs.PathError)):
		return fmt.Errorf("journals cannot be written: %w; choose another --journal", err)
	case err != nil:
		return err
	}
	c.Journals = s
	found, last, rooms := s.Waiting(), ecs.Tick(0), []app.Fields{}
	for _, m := range found {
		tick := m.Journal.Last().Tick
		last = max(last, tick)
		rooms = append(rooms, app.Fields{"room": m.Journal.Header().Room, "file": m.File, "tick": tick})
	}
	a.Emit("recovered", app.Fields{"matches": len(found), "tick": last, "rooms": rooms})
	if len(found) > 0 {
		a.Logf("%d matches recovered, up to tick %d; they continue when their players come back", len(found), last)
	}
	if len(c.Keys) == 0 {
		err = c.storedKey(dir)
	}
	if err == nil && fsync != journals.Always { // otherwise no confirmed tick can be lost
		c.historyKey, err = hkdf.Key(sha256.New, c.Keys[0][:], nil, "tendon final ticks", sha256.Size)
	}
	if err != nil {
		return errors.Join(err, s.Close())
	}
	return nil
}

// storedKey sets the key that is stored with the journals, and generates it at the first start.
func (c *Config) storedKey(dir string) error {
	path, load := filepath.Join(dir, "server.key"), server.LoadKey
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		load = server.GenerateKey
	}
	key, err := load(path)
	c.Keys = []netcode.Key{key}
	return err
}

// journalTexts are the line of JSON and the text of each kind of event. The flag is an additional field of the line.
var journalTexts = map[journals.Kind]struct {
	name, text, flag string
	value            bool
}{
	journals.Started:     {name: "journal", flag: "resumed"},
	journals.Resumed:     {name: "journal", flag: "resumed", value: true, text: "room ROOM continues from tick TICK"},
	journals.Torn:        {name: "journal_torn", text: "FILE: ERROR"},
	journals.Empty:       {name: "journal_removed", text: "FILE holds no match and was removed: ERROR"},
	journals.Failed:      {name: "journal_failed", flag: "final", text: "the journal of room ROOM cannot be written: ERROR; the match waits until it can"},
	journals.Broken:      {name: "journal_failed", flag: "final", value: true, text: "the journal of room ROOM cannot be written: ERROR; the match waits until the server is started again"},
	journals.Recovered:   {name: "journal_recovered", text: "the journal of room ROOM can be written again, the match continues"},
	journals.Ended:       {name: "journal_ended", flag: "abandoned"},
	journals.Abandoned:   {name: "journal_ended", flag: "abandoned", value: true, text: "no player came back to room ROOM: its match is over"},
	journals.NotArchived: {name: "journal_failed", text: "the match of room ROOM is over, but its journal FILE cannot be renamed: ERROR; the next start tries it again"},
	journals.Slow:        {name: "journal_slow", text: "the disk is slow: ERROR; a power cut may lose that much play, more than --fsync allows"},
	journals.Refused:     {name: "journal_failed", text: "room ROOM cannot be opened, since its journal cannot be written: ERROR; make room on the disk or choose another --journal"},
}

func reportJournal(a *app.App, n journals.Event) {
	kind, f := journalTexts[n.Kind], app.Fields{"room": n.Room, "file": n.File, "tick": n.Tick}
	if n.Err != nil {
		f["error"] = n.Err.Error()
	}
	if kind.flag != "" {
		f[kind.flag] = kind.value
	}
	if kind.text != "" {
		a.Logf("%s", strings.NewReplacer("ROOM", n.Room, "FILE", n.File, "TICK", fmt.Sprint(n.Tick), "ERROR", fmt.Sprint(n.Err)).Replace(kind.text))
	}
	a.Emit(kind.name, f)
}

// JournalBuild returns the name of the build in journals, with a hash of the executable if sources may have changed without
// a new revision.
func JournalBuild() (string, error) {
	revision, _ := session.ThisBuild()
	if revision != "" && revision != "(devel)" && !strings.HasSuffix(revision, "+modified") && !strings.HasSuffix(revision, "+dirty") {
		return app.Build(), nil
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
	return fmt.Sprintf("%s, executable %016x", app.Build(), xxhash.Sum64(program)), nil
}
