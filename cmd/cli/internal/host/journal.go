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

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/journals"
	"tendon/ecs"
	"tendon/net/netcode"
	"tendon/net/server"
)

// OpenJournals sets Journals: it opens a directory of journals and recovers the matches in it. It sets Game, Strategy, Params, Flags
// and Report of j, and sets Build to that of this program if it is empty. The operator receives the events. Without keys it sets the key
// that is stored with the journals, so that tokens outlive the server.
func (c *Config) OpenJournals(a *app.App, j journals.Config) error {
	if j.Build == "" {
		j.Build = app.Build()
	}
	if _, err := os.Stat(j.Dir); err == nil && !app.IsDirectory(j.Dir) {
		return fmt.Errorf("--journal %s is not a directory: choose another --journal", j.Dir)
	}
	j.Game, j.Strategy, j.Params, j.Flags = a.Game, c.Strategy.Name, c.Strategy.Params, c.Flags.CommandLine()
	j.Report = func(e journals.Event) { reportJournal(a, e, "disk") }
	s, err := journals.Open(j)
	switch {
	case errors.Is(err, journals.ErrLocked):
		return fmt.Errorf("%w: stop that server or choose another --journal", err)
	case errors.Is(err, fs.ErrPermission), errors.As(err, new(*fs.PathError)), errors.As(err, new(*os.LinkError)):
		remedy := "choose another --journal"
		if journals.Exist(j.Dir) {
			remedy = fmt.Sprintf("free space on the disk of %s or make the directory writable; with another --journal, the matches in it do not continue", j.Dir)
		}
		return fmt.Errorf("journals cannot be written: %w; %s", err, remedy)
	case err != nil:
		return err
	}
	c.Journals, c.UsedTokens = s, s.UsedTokens()
	found, last, rooms := s.Waiting(), ecs.Tick(0), []app.Fields{}
	for _, m := range found {
		tick := m.Journal.Last().Tick
		last = max(last, tick)
		rooms = append(rooms, app.Fields{"room": m.Journal.Header().Room, "file": m.File, "tick": tick})
	}
	a.Emit("recovered", app.Fields{"matches": len(found), "tick": last, "rooms": rooms})
	if len(found) > 0 {
		a.Logf("%s recovered, up to tick %d; waiting for the players to come back", app.Counted(len(found), "match", "matches"), last)
	}
	if c.Bans, err = s.Bans(); err != nil {
		return errors.Join(err, s.Close())
	}
	failed := false
	c.SaveBans = func(list []server.Ban) error {
		err := s.SaveBans(list)
		if err != nil {
			a.Logf("the list of banned clients cannot be written: %v; a restart may lose the last changes; the server tries again every 10 s", err)
			a.Emit("bans_failed", app.Fields{"error": err.Error()})
		} else if failed {
			a.Logf("the list of banned clients can be written again")
			a.Emit("bans_saved", app.Fields{"bans": len(list)})
		}
		failed = err != nil
		return err
	}
	if len(c.Keys) == 0 {
		err = c.storedKey(a, j.Dir)
	}
	if err == nil && j.Sync != journals.Always { // otherwise no confirmed tick can be lost
		c.historyKey, err = hkdf.Key(sha256.New, c.Keys[0][:], nil, "tendon final ticks", sha256.Size)
	}
	if err != nil {
		return errors.Join(err, s.Close())
	}
	return nil
}

// storedKey sets the key that is stored with the journals, and generates it at the first start. It reports a missing key of an
// earlier server.
func (c *Config) storedKey(a *app.App, dir string) error {
	path, load, lost := filepath.Join(dir, "server.key"), server.LoadKey, false
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		load, lost = server.GenerateKey, journals.Exist(dir)
	}
	key, err := load(path)
	if err == nil && lost {
		a.Logf("%s is missing, but there are journals of an earlier server. A new key was generated, and players with tokens of the old key cannot return. Stop the server and put the old key back, or mint new tokens", path)
		a.Emit("key_lost", app.Fields{"file": path})
	}
	c.Keys = []netcode.Key{key}
	return err
}

// journalTexts are the line of JSON and the text of each kind of event. The flag is an additional field of the line.
var journalTexts = map[journals.Kind]struct {
	name, text, flag string
	value            bool
}{
	journals.Started:        {name: "journal", flag: "resumed"},
	journals.Resumed:        {name: "journal", flag: "resumed", value: true, text: "room ROOM continues from tick TICK"},
	journals.Unused:         {name: "journal_removed"},
	journals.Torn:           {name: "journal_torn", text: "FILE: ERROR"},
	journals.Empty:          {name: "journal_removed", text: "FILE contains no match and was removed: ERROR"},
	journals.Failed:         {name: "journal_failed", flag: "final", text: "the journal of room ROOM cannot be written: ERROR; the match waits, and continues by itself when it can"},
	journals.Broken:         {name: "journal_failed", flag: "final", value: true, text: "the journal of room ROOM cannot be written: ERROR; the match waits until the server is started again"},
	journals.Recovered:      {name: "journal_recovered", text: "the journal of room ROOM can be written again, the match continues"},
	journals.Ended:          {name: "journal_ended", flag: "abandoned"},
	journals.Abandoned:      {name: "journal_ended", flag: "abandoned", value: true, text: "no player came back to room ROOM: its match is over"},
	journals.NotArchived:    {name: "journal_failed", text: "the match of room ROOM is over, but its journal FILE cannot be renamed: ERROR; the next start tries it again"},
	journals.NotKept:        {name: "journal_failed", flag: "final", value: true, text: "the last state of room ROOM cannot be written: ERROR; its match continues where the journal ends"},
	journals.TokensFailed:   {name: "tokens_failed", text: "used tokens cannot be recorded in FILE: ERROR; until they can, no client can connect, clients try again, and matches that run are not affected"},
	journals.TokensRemoved:  {name: "tokens_removed", text: "FILE was removed or replaced: it is written again, with all tokens that this server knows"},
	journals.Changed:        {name: "journal_changed", text: "room ROOM continues from tick TICK with the rules of this build; the ticks before are in FILE"},
	journals.OtherBuild:     {name: "journal_refused", text: "FILE: ERROR; clients of room ROOM are refused until the file is moved away or the build that wrote it is started"},
	journals.Slow:           {name: "journal_slow", text: "the STORE is slow: ERROR"},
	journals.TokensLost:     {name: "tokens_lost", text: "FILE cannot be used: ERROR; tokens that were issued before this start may have been used and are refused: mint new ones"},
	journals.Removed:        {name: "journal_removed_directory", text: "the directory of the journals, FILE, is gone: ERROR; until then its matches wait and no room can be opened"},
	journals.Quarantined:    {name: "journal_quarantined", text: "ERROR; it was moved to FILE, and its match does not continue. To continue it, stop the server, put an undamaged copy back, and start the build that wrote it"},
	journals.NotQuarantined: {name: "journal_skipped", text: "ERROR; it is left as it is and its match does not continue; the other matches do"},
	journals.Lost:           {name: "journal_lost", text: "another server of the cluster continues room ROOM"},
	journals.Refused:        {name: "journal_failed", text: "room ROOM cannot be opened, since its journal cannot be written: ERROR; its clients receive the reason"},
}

// reportJournal shows an event of a journal to the operator. store is where the journal is: disk or cluster.
func reportJournal(a *app.App, n journals.Event, store string) {
	kind, f := journalTexts[n.Kind], app.Fields{"room": n.Room, "file": n.File, "tick": n.Tick}
	if n.Err != nil {
		f["error"] = n.Err.Error()
	}
	if kind.flag != "" {
		f[kind.flag] = kind.value
	}
	if n.Kind == journals.Resumed {
		f["returned"], f["paused"] = n.Returned, n.Paused
	}
	if n.Paused {
		kind.text += " and is still paused"
	}
	if n.Returned > 0 {
		kind.text += fmt.Sprintf("; players returned %s that its journal had lost", app.Counted(int(n.Returned), "tick", "ticks"))
	}
	if kind.text != "" {
		a.Logf("%s", strings.NewReplacer("STORE", store, "ROOM", n.Room, "FILE", n.File, "TICK", fmt.Sprint(n.Tick), "ERROR", fmt.Sprint(n.Err)).Replace(kind.text))
	}
	a.Emit(kind.name, f)
}
