package play

import (
	"context"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/crumbs"
	"tendon/cmd/cli/internal/host"
	"tendon/cmd/cli/internal/netflags"
	"tendon/cmd/cli/internal/player"
	"tendon/cmd/cli/internal/syncflags"
	"tendon/ecs"
	"tendon/net/client"
)

// The player reaches the server through the network of the flags, so the measured round trip is at least that of the flags.
func TestThePlayerIsBehindTheNetworkOfTheFlags(t *testing.T) {
	if os.Getenv("TENDON_LONG") == "" {
		t.Skip("plays in real time")
	}
	rtt := 150 * time.Millisecond
	v := &Verb{Flags: host.Flags{Flags: syncflags.Flags{Sync: "predict"}}, Bots: new(1), Windows: 1, Name: "ann", NetFlags: netflags.NetFlags{RTT: &rtt}}
	v.Audits, v.Closing, v.Smoothing = 20, "optimistic", "decaying" // the defaults
	a := app.New(t.Context(), crumbs.Game(), io.Discard, io.Discard)
	m, err := v.start(a)
	if err != nil {
		t.Fatal(err)
	}
	defer m.finish(a)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	p := player.New("", m.you, a.Game)
	go app.Every(ctx, time.Second/10, func() {
		if p.Line().Confirmed > 120 {
			cancel()
		}
	})
	if err := p.Run(ctx); err != nil {
		t.Error(err)
	}
	if s := m.you.Stats(); s.Reconnects > 0 || m.you.Core.World() == nil || time.Duration(s.RTT) < rtt {
		t.Errorf("state %v, round trip %v, want at least %v", s.State, time.Duration(s.RTT), rtt)
	}
	if m.you.State() == client.Connecting {
		t.Error("the client has not joined")
	}
}

// The key changes the strategy of the running match, to the next that the game has all roles for.
func TestTheKeyChangesTheStrategy(t *testing.T) {
	if os.Getenv("TENDON_LONG") == "" {
		t.Skip("plays in real time")
	}
	v := &Verb{Flags: host.Flags{Flags: syncflags.Flags{Sync: "relay"}}, Bots: new(1), Windows: 1, Name: "ann"}
	v.Audits, v.Closing, v.Smoothing = 20, "optimistic", "decaying"
	a := app.New(t.Context(), crumbs.Game(), io.Discard, io.Discard)
	m, err := v.start(a)
	if err != nil {
		t.Fatal(err)
	}
	defer m.finish(a)
	defer m.you.Close()
	until := func(done func() bool) {
		t.Helper()
		for n := 0; !done(); n++ {
			if err := m.you.Frame(time.Now()); err != nil || n > 6000 {
				t.Fatalf("%v: %v, playing %s", err, m.you.State(), m.you.Playing())
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	until(func() bool { return m.you.State() == client.Live && m.you.World().Tick() > 5 })
	m.next(a)
	until(func() bool { return m.you.State() == client.Live && m.you.Playing() == "lockstep" })
}

// The bots are those that the game has room for beside the windows.
func TestWindowsAndBotsFitTheGame(t *testing.T) {
	bot := func(*ecs.World, ecs.Player, *ecs.Rand) ecs.InputBytes { return ecs.InputBytes{} }
	for _, c := range []struct {
		windows int
		bots    *int
		game    ecs.Game
		want    int
		problem string
	}{
		{1, nil, ecs.Game{MaxPlayers: 8, Bot: bot}, 3, ""},
		{2, nil, ecs.Game{MaxPlayers: 4, Bot: bot}, 2, ""},
		{2, nil, ecs.Game{MaxPlayers: 2, Bot: bot}, 0, ""},
		{1, nil, ecs.Game{MaxPlayers: 8}, 0, ""},
		{2, new(6), ecs.Game{MaxPlayers: 8, Bot: bot}, 6, ""},
		{2, new(7), ecs.Game{MaxPlayers: 8, Bot: bot}, 0, "give at most 6"},
		{1, new(-1), ecs.Game{MaxPlayers: 8, Bot: bot}, 0, "give at most 7"},
		{1, new(1), ecs.Game{MaxPlayers: 8}, 0, "the game has no bot"},
		{0, nil, ecs.Game{MaxPlayers: 8, Bot: bot}, 0, "give 1 to 8"},
		{9, nil, ecs.Game{MaxPlayers: 8, Bot: bot}, 0, "give 1 to 8"},
	} {
		got, err := (&Verb{Windows: c.windows, Bots: c.bots}).count(&c.game)
		if got != c.want && c.problem == "" || (err == nil) != (c.problem == "") || err != nil && !strings.Contains(err.Error(), c.problem) {
			t.Errorf("%+v: %d bots, %v", c, got, err)
		}
	}
}
