package play

import (
	"context"
	"io"
	"os"
	"testing"
	"time"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/crumbs"
	"tendon/cmd/cli/internal/host"
	"tendon/cmd/cli/internal/netflags"
	"tendon/cmd/cli/internal/player"
	"tendon/cmd/cli/internal/syncflags"
	"tendon/net/client"
)

// The player reaches the server through the network of the flags, so the measured round trip is at least that of the flags.
func TestThePlayerIsBehindTheNetworkOfTheFlags(t *testing.T) {
	if os.Getenv("TENDON_LONG") == "" {
		t.Skip("plays in real time")
	}
	rtt := 150 * time.Millisecond
	v := &Verb{Flags: host.Flags{Flags: syncflags.Flags{Sync: "predict"}}, Bots: 1, Name: "ann", NetFlags: netflags.NetFlags{RTT: &rtt}}
	v.Audits, v.Closing, v.Smoothing = 20, "optimistic", "decaying" // the defaults
	a := app.New(t.Context(), crumbs.Game(), io.Discard, io.Discard)
	m, err := v.start(a)
	if err != nil {
		t.Fatal(err)
	}
	defer m.finish(a)
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
	defer cancel()
	if err := player.New("", m.you, a.Game).Run(ctx); err != nil {
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
	v := &Verb{Flags: host.Flags{Flags: syncflags.Flags{Sync: "relay"}}, Bots: 1, Name: "ann"}
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
			if err := m.you.Frame(time.Now()); err != nil || n > 1000 {
				t.Fatalf("%v: %v, playing %s", err, m.you.State(), m.you.Playing())
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	until(func() bool { return m.you.State() == client.Live && m.you.World().Tick() > 5 })
	m.next(a)
	until(func() bool { return m.you.State() == client.Live && m.you.Playing() == "lockstep" })
}
