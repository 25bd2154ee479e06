package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/crumbs"
	"tendon/rollback/record"
)

// The error of a server that finds journals of another configuration names the flags of both.
func TestAServerWithOtherFlagsThanItsJournalsNamesThem(t *testing.T) {
	for _, c := range []struct {
		name        string
		begun, here []string
		want        []string
	}{
		{"another strategy", nil, []string{"--sync", "lockstep"}, []string{"with --sync relay,", "this server with --sync lockstep", "start the server with --sync relay,"}},
		{"interval", []string{"--sync", "lockstep", "--interval", "5"}, []string{"--sync", "lockstep"}, []string{"begun with --sync lockstep --interval 5, this server with --sync lockstep:"}},
		{"margin", []string{"--sync", "lockstep", "--margin=-1"}, []string{"--sync", "lockstep", "--reliable"}, []string{"--sync lockstep --margin=-1,", "--sync lockstep --reliable"}},
		{"closing", []string{"--sync", "lockstep", "--closing", "waiting"}, []string{"--sync", "lockstep"}, []string{"--closing waiting"}},
		{"article", []string{"--sync", "lockstep", "--article"}, []string{"--sync", "lockstep"}, []string{"--sync lockstep --article,"}},
		{"reliable", []string{"--sync", "verify", "--reliable"}, []string{"--sync", "verify"}, []string{"--sync verify --reliable,", "this server with --sync verify:"}},
		{"predict", []string{"--sync", "predict", "--snapshots", "30"}, []string{"--sync", "predict"}, []string{"begun with --sync predict --snapshots 30, this server with --sync predict:"}},
		{"trusting", []string{"--sync", "reckon"}, []string{"--sync", "reckon", "--trusting"}, []string{"begun with --sync reckon, this server with --sync reckon --trusting:"}},
		{"interest", []string{"--sync", "predict"}, []string{"--sync", "predict", "--interest", "9", "--look-back=-1ns"}, []string{"this server with --sync predict --interest 9 --look-back=-1ns:"}},
		{"no clocks", []string{"--sync", "reckon"}, []string{"--sync", "reckon", "--assumed", "80ms", "--max-speed", "7", "--snapshots", "9"}, []string{"this server with --sync reckon --snapshots 9 --max-speed 7 --assumed 80ms:"}},
		{"tick rate", nil, []string{"--tick-rate", "30"}, []string{"60 ticks per second", "runs at 30", "--tick-rate 60"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := leftBy(t, c.begun)
			r := do(t, crumbs.Game(), append([]string{"serve", "--listen", "127.0.0.1:0", "--for", "1ms", "--journal", dir}, c.here...)...)
			refused(t, r, append(c.want, dir, "move the journal away")...)
		})
	}
}

// leftBy returns a directory with the journal of a match of a server with these flags.
func leftBy(t *testing.T, flags []string) (dir string) {
	t.Helper()
	f := syncFlagsOf(t, strings.Join(flags, " "))
	s, err := f.Strategy(crumbs.Game())
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(t.TempDir(), "journals")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	build := app.Build()
	game := crumbs.Game()
	h := record.HeaderOf(game, 1, build)
	h.Strategy, h.Flags, h.Params, h.Room, h.Match = s.Name, f.CommandLine(), s.Params, "main", 1
	file, err := os.Create(filepath.Join(dir, "main-1.journal"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	w, err := record.NewWriter(file, game, h)
	if err == nil {
		err = w.Tick(record.Tick{Tick: 1})
	}
	if err == nil {
		err = w.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
