package main

import (
	"io"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"tendon/cmd/arena/rules"
	"tendon/ecs"
	"tendon/ecs/race"
	"tendon/net/client"
	"tendon/net/link"
	"tendon/net/room"
	"tendon/net/session"
	"tendon/rollback/record"
	"tendon/systems"
	"tendon/systems/lockstep"
	"tendon/systems/predict"
	"tendon/systems/reckon"
	"tendon/systems/relay"
	"tendon/systems/verify"
)

// wire is a connection between a room and a client whose packets arrive at once.
type wire struct {
	server, client *link.Link
	core           *client.Core
	peer           systems.Peer
}

// measured is a room of the arena with four bots.
type measured struct {
	room  *room.Room
	wires []*wire
	now   systems.Time
}

func newMeasured(t testing.TB, g *ecs.Game, s systems.Strategy) *measured {
	t.Helper()
	w, err := record.NewWriter(io.Discard, g, record.HeaderOf(g, 1, ""))
	if err != nil {
		t.Fatal(err)
	}
	c := room.Config{Game: g, Seed: 1, Match: 1, Strategy: s, HistoryKey: make([]byte, 32)}
	c.Sinks = []room.Sink{{Tick: func(f systems.FinalTick) { err = w.Tick(f.FinalTick) }, Commit: w.Flush}}
	m := &measured{}
	if m.room, err = room.New(c, 0); err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		v := &wire{server: link.New(), client: link.New()}
		v.core, err = client.NewCore(client.Config{Game: g, Strategies: []systems.Strategy{s}, Bot: true, BotSeed: uint64(i),
			Dial: func() (session.Transport, error) { return v.client, nil }})
		if err == nil {
			v.peer, err = m.room.Enter(v.server, room.Identity{Seat: room.AnySeat, ClientID: uint64(i + 1)}, 0)
		}
		if err != nil {
			t.Fatal(err)
		}
		m.wires = append(m.wires, v)
	}
	return m
}

// run plays for a time, in virtual time.
func (m *measured) run(t *testing.T, d time.Duration) {
	t.Helper()
	start, begun := time.Now(), m.now
	for m.now < begun+d {
		m.now = begun + time.Since(start)
		m.room.Frame(m.now)
		for _, v := range m.wires {
			v.server.Flush(m.now, func(p []byte) { _ = v.client.Receive(p) })
			for ch, message, ok := v.client.Next(); ok; ch, message, ok = v.client.Next() {
				v.core.Receive(ch, message, m.now)
			}
			if err := v.core.Frame(m.now); err != nil {
				t.Fatal(err)
			}
			v.client.Flush(m.now, func(p []byte) { _ = v.server.Receive(p) })
			for ch, message, ok := v.server.Next(); ok; ch, message, ok = v.server.Next() {
				m.room.Receive(v.peer, ch, message, m.now)
			}
		}
		time.Sleep(time.Second / 60)
	}
}

// heap returns the bytes of live objects.
func heap() int {
	var s runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&s)
	return int(s.HeapAlloc)
}

// A room of the arena with four players holds no more than this after a minute: its state, histories, journal and the server's
// ends of the connections. The figures are in cmd/cli/DEPLOYING.md.
func TestTheMemoryOfARoomIsBounded(t *testing.T) {
	if !race.Long {
		t.Skip("minutes of matches: set TENDON_LONG")
	}
	for _, c := range []struct {
		systems.Strategy
		most float64 // MiB
	}{{relay.Strategy, 0.9}, {lockstep.Strategy, 1.2}, {predict.Strategy, 3}, {verify.New(verify.Config{}), 3}, {reckon.Strategy, 3}} {
		synctest.Test(t, func(t *testing.T) {
			m := newMeasured(t, rules.Game(), c.Strategy)
			m.run(t, time.Minute)
			for _, v := range m.wires {
				if v.core.State() != client.Live {
					t.Fatalf("%s: a client is %v", c.Name, v.core.State())
				}
				v.core, v.client = nil, nil
			}
			with := heap()
			runtime.KeepAlive(m)
			m = nil
			mib := float64(with-heap()) / (1 << 20)
			t.Logf("%-8s %5.1f MiB", c.Name, mib)
			if mib > c.most {
				t.Errorf("%s: a room holds %.1f MiB, want at most %v", c.Name, mib, c.most)
			}
		})
	}
}
