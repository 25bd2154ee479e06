package matchtest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/ecs/race"
	"tendon/net/client"
	"tendon/net/matchsim"
	"tendon/net/matchsim/halves"
	"tendon/net/simnet"
	"tendon/systems"
	"tendon/systems/lockstep"
	"tendon/systems/relay"
)

// recovering is a match with a journal, for tests that crash its room.
type recovering struct {
	*matchsim.Match
	t *testing.T
}

// clientTimeout is how long a client waits for the server before it reconnects.
const clientTimeout = 2 * systems.Second

func newRecovering(t *testing.T, game *ecs.Game, s systems.Strategy, players int, profile string) recovering {
	t.Helper()
	m, err := matchsim.New(matchsim.Config{Game: game, Strategy: s, Seed: 7, Journal: true})
	if err != nil {
		t.Fatal(err)
	}
	for range players {
		m.Join(reconnecting(profile))
	}
	return recovering{m, t}
}

func reconnecting(profile string) matchsim.Plan {
	p, _ := simnet.ByName(profile)
	return matchsim.Plan{Profile: p, Change: func(c *client.Config) { c.Timeout = clientTimeout }}
}

// forRecoverable runs a test with each strategy whose clients can return lost ticks.
func forRecoverable(t *testing.T, f func(t *testing.T, s systems.Strategy)) {
	for _, s := range []systems.Strategy{relay.Strategy, lockstep.Strategy} {
		if race.Enabled && s.Name != relay.Strategy.Name {
			continue // one goroutine
		}
		t.Run(s.Name, func(t *testing.T) { f(t, s) })
	}
}

// wantJournal fails if the journal of a match does not lead to the state of the room. It returns the strategy of the last change in
// the journal.
func wantJournal(t *testing.T, m *matchsim.Match) (strategy string) {
	t.Helper()
	resume, err := m.Journal.Resume()
	if err != nil {
		t.Fatal(err)
	}
	var state image.Snapshot
	resume.World.Image().Save(&state)
	name, tick := m.Room.Strategy().Name, m.Room.Tick()
	if want, _ := m.Checksum(tick); state.Tick() != tick || state.Checksum() != want {
		t.Errorf("%s: the journal leads to tick %d and checksum %x, the room is at tick %d with %x", name, state.Tick(), state.Checksum(), tick, want)
	}
	return resume.Strategy
}

// recover recovers the room and waits for all clients.
func (r recovering) recover(most time.Duration) {
	r.t.Helper()
	if err := r.Recover(); err != nil {
		r.t.Fatal(err)
	}
	r.waitForAll(most)
}

// waitForAll runs until all clients are live on an accepted connection, and for three seconds more.
func (r recovering) waitForAll(most time.Duration) {
	r.t.Helper()
	for end := r.Net.Now() + most; ; r.Run(time.Second / 60) {
		waits := ""
		for i, c := range r.Clients {
			if _, accepted := c.Connection(); !c.Left && (!c.Live() || !accepted) {
				waits = fmt.Sprintf("client %d is %v (%v)", i, c.Core.State(), c.Core.Err())
			}
		}
		if waits == "" {
			break
		}
		if r.Net.Now() > end {
			r.t.Fatalf("%v after the restart: %s", most, waits)
		}
	}
	r.Run(3 * time.Second)
}

// wantInStep fails unless all clients are in the match, keep up and have their seats, and no confirmed tick has changed.
func (r recovering) wantInStep(seats []int) {
	t := r.t
	t.Helper()
	if err := r.Err(); err != nil {
		t.Error(err)
	}
	for i, c := range r.Clients {
		if c.Left {
			continue
		}
		before := c.Checked
		r.Run(time.Second)
		if st := c.Core.Stats(); !c.Live() || st.Strategy.Confirmed+40 < r.Room.Tick() || c.Checked < before+40 || st.Session.Malformed > 0 {
			t.Errorf("client %d is %v at tick %d, the server at %d; %d ticks compared, %d messages malformed", i, c.Core.State(),
				st.Strategy.Confirmed, r.Room.Tick(), c.Checked-before, st.Session.Malformed)
		}
		if i < len(seats) && c.Seat() != seats[i] {
			t.Errorf("client %d had seat %d and has seat %d", i, seats[i], c.Seat())
		}
	}
	for _, p := range r.Room.AppendPeers(nil) {
		if p.Session.Malformed > 0 {
			t.Errorf("the server could not read %d messages of %s", p.Session.Malformed, p.Identity.Name)
		}
	}
}

func (r recovering) seats() (seats []int) {
	for _, c := range r.Clients {
		seats = append(seats, c.Seat())
	}
	return seats
}

// confirmedBy returns the newest tick that a client has confirmed.
func confirmedBy(c *matchsim.Client) ecs.Tick { return c.Core.Stats().Strategy.Confirmed }

// After kill -9 the match goes on where it was, and all clients reconnect by themselves. Nothing was lost, so clients
// return no ticks. No client needs an image, not even one that lacked some ticks: the journal has the ticks after its
// state.
func TestAKilledServerResumesTheMatch(t *testing.T) {
	forRecoverable(t, func(t *testing.T, s systems.Strategy) {
		for _, profile := range []string{"P2", "P5"} {
			r := newRecovering(t, halves.Dots(), s, 3, profile)
			spectator := reconnecting(profile)
			spectator.Spectator = true
			r.Join(spectator)
			r.RunUntil(12 * time.Second)
			// A player and the spectator lack some of the last ticks.
			now := r.Net.Now()
			for _, c := range []*matchsim.Client{r.Clients[0], r.Clients[3]} {
				r.Net.Partition(c.Node, r.Server, now, now+500*time.Millisecond)
			}
			r.Run(400 * time.Millisecond)
			seats, tick := r.seats(), r.Room.Tick()
			r.Crash(0)
			r.Run(time.Second)
			if a, b := confirmedBy(r.Clients[0]), confirmedBy(r.Clients[3]); a+20 > tick || b+20 > tick {
				t.Errorf("%s: confirmed are ticks %d and %d of %d", profile, a, b, tick)
			}
			r.recover(10 * time.Second)
			r.wantInStep(seats)
			st := r.Room.Stats()
			if r.Rewritten != 0 || st.Adopted != 0 || st.TailsRefused != 0 || r.Room.Tick() < tick+60 {
				t.Errorf("%s: %d ticks computed differently, %+v, the server was killed at tick %d", profile, r.Rewritten, st, tick)
			}
			if st.Images != 0 {
				t.Errorf("%s: %d images were made for clients whose state the journal continues", profile, st.Images)
			}
			for i, c := range r.Clients {
				if n := c.Core.Stats().Reconnects; n == 0 || n > 4 {
					t.Errorf("%s: client %d reconnected %d times", profile, i, n)
				}
			}
		}
	})
}

// Ticks that a power cut removed from the journal are returned by the clients, up to the newest that any of them can prove.
// The longest tail is used, whichever client connects first.
func TestTicksLostInAPowerCutAreReturnedByTheClients(t *testing.T) {
	forRecoverable(t, func(t *testing.T, s systems.Strategy) {
		for _, profile := range []string{"P2", "P5"} {
			r := newRecovering(t, halves.Dots(), s, 3, profile)
			r.RunUntil(12 * time.Second)
			// One client is cut off before the others, so its tail is shorter.
			now := r.Net.Now()
			r.Net.Partition(r.Clients[0].Node, r.Server, now, now+500*time.Millisecond)
			r.Run(300 * time.Millisecond)
			seats, newest, shortest := r.seats(), ecs.Tick(0), r.Room.Tick()
			r.Crash(90)
			r.Run(time.Second)
			for i, c := range r.Clients {
				proven := c.Core.Stats().Proven
				newest, shortest = max(newest, proven), min(shortest, proven)
				if proven > confirmedBy(c) || proven+30 < confirmedBy(c) { // a proof or two may be lost
					t.Errorf("%s: client %d can prove ticks up to %d of %d", profile, i, proven, confirmedBy(c))
				}
			}
			if err := r.Recover(); err != nil {
				t.Fatal(err)
			}
			began := r.Room.Tick()
			r.waitForAll(30 * time.Second)
			r.wantInStep(seats)
			if st := r.Room.Stats(); st.Adopted != uint64(newest-began) || shortest+10 > newest || began > shortest || st.TailsRefused != 0 {
				t.Errorf("%s: the journal ended at tick %d, clients can prove ticks up to %d to %d: %+v", profile, began, shortest, newest, st)
			}
		}
	})
}

// If no client returns the lost ticks, the recovered room computes them differently. The match must report that.
func TestRewrittenTicksAreReported(t *testing.T) {
	forRecoverable(t, func(t *testing.T, s systems.Strategy) {
		r := newRecovering(t, halves.Dots(), s, 2, "P2")
		r.RunUntil(5 * time.Second)
		r.Crash(90)
		for _, c := range r.Clients {
			c.Leave() // no client has a tail any more
		}
		r.recover(time.Second)
		r.Run(60 * time.Second)
		if r.Room.Tick() < 300 || r.Rewritten == 0 || r.Clients[0].Rewritten == 0 || r.Err() == nil {
			t.Errorf("the server is at tick %d: %d ticks computed differently, %d of them confirmed by client 0", r.Room.Tick(), r.Rewritten, r.Clients[0].Rewritten)
		}
	})
}

// A recovered room that no client returns to waits for a bounded time, and its players leave in the end.
func TestARecoveredRoomWithoutClientsGoesOn(t *testing.T) {
	forRecoverable(t, func(t *testing.T, s systems.Strategy) {
		r := newRecovering(t, halves.Dots(), s, 2, "P2")
		r.RunUntil(5 * time.Second)
		r.Crash(30)
		for _, c := range r.Clients {
			c.Leave()
		}
		if err := r.Recover(); err != nil {
			t.Fatal(err)
		}
		tick := r.Room.Tick()
		r.Run(14 * time.Second)
		if r.Room.Tick() != tick || r.Room.Stats().Players != 2 {
			t.Errorf("the server did not wait: tick %d, then %d, with %d players", tick, r.Room.Tick(), r.Room.Stats().Players)
		}
		r.Run(2 * time.Second)
		if r.Room.Tick() == tick {
			t.Error("the server waits for longer than its bound")
		}
		r.Run(25 * time.Second)
		if n := r.Room.Stats().Players; n != 0 || r.Room.World().Players() != 0 {
			t.Errorf("%d seats are held, players %b", n, r.Room.World().Players())
		}
		late := r.Join(reconnecting("P2"))
		r.Run(5 * time.Second)
		if !late.Live() || late.Mismatches > 0 {
			t.Errorf("a later client is %v, differed at %d ticks", late.Core.State(), late.Mismatches)
		}
	})
}

// The second crash happens while clients reconnect or load.
func TestTwoCrashesInARow(t *testing.T) {
	forRecoverable(t, func(t *testing.T, s systems.Strategy) {
		for _, up := range []time.Duration{300 * time.Millisecond, 1500 * time.Millisecond, 4 * time.Second} {
			if race.Enabled && up < 4*time.Second {
				continue
			}
			for _, writes := range []int{0, 45} {
				r := newRecovering(t, halves.Dots(), s, 3, "P3")
				r.RunUntil(10 * time.Second)
				seats := r.seats()
				r.Crash(writes)
				r.Run(500 * time.Millisecond)
				if err := r.Recover(); err != nil {
					t.Fatal(err)
				}
				r.Run(up)
				r.Crash(0)
				r.Run(200 * time.Millisecond)
				r.recover(35 * time.Second)
				r.wantInStep(seats)
				if r.Rewritten != 0 {
					t.Errorf("up for %v, %d writes lost: %d ticks computed differently", up, writes, r.Rewritten)
				}
			}
		}
	})
}

// A client that is loading its first image when the server dies receives one from the recovered server.
func TestACrashWhileAClientLoads(t *testing.T) {
	forRecoverable(t, func(t *testing.T, s systems.Strategy) {
		for after := time.Duration(0); after < 700*time.Millisecond; after += 110 * time.Millisecond {
			r := newRecovering(t, largeGame(), s, 1, "P3")
			r.RunUntil(4 * time.Second)
			r.Join(reconnecting("P3"))
			r.Run(after)
			r.Crash(0)
			r.Run(time.Second)
			r.recover(25 * time.Second)
			r.wantInStep(nil)
		}
	})
}

var errDiskFull = errors.New("no space left")

// A disk that is full for a while stops the match and nothing else: the match then goes on with all its clients.
func TestAFullDiskStopsTheMatchForAWhile(t *testing.T) {
	forRecoverable(t, func(t *testing.T, s systems.Strategy) {
		r := newRecovering(t, halves.Dots(), s, 3, "P3")
		r.RunUntil(8 * time.Second)
		seats := r.seats()
		r.Journal.Fail = errDiskFull
		r.Run(100 * time.Millisecond)
		tick, confirmed := r.Room.Tick(), confirmedBy(r.Clients[0])
		late := r.Join(reconnecting("P3"))
		r.Run(3 * time.Second)
		for i, c := range r.Clients {
			if confirmedBy(c) >= tick {
				t.Errorf("client %d confirmed tick %d, which is not written: the server waits at %d", i, confirmedBy(c), tick)
			}
		}
		if r.Room.Tick() != tick || r.Room.Stats().Unwritten < 100 || confirmed > tick || late.Live() {
			t.Errorf("the server went on from %d to %d: %+v", tick, r.Room.Tick(), r.Room.Stats())
		}
		r.Journal.Fail = nil
		r.waitForAll(5 * time.Second)
		r.Run(15 * time.Second) // clients that predict ran ahead of the stopped server, and their input delays shrink slowly
		r.wantInStep(seats)
		for i, c := range r.Clients {
			if st := c.Core.Stats(); st.Reconnects != 0 || st.Resyncs != 0 {
				t.Errorf("client %d: %d reconnects, %d resyncs", i, st.Reconnects, st.Resyncs)
			}
		}
		r.Crash(0) // a block written in two halves must be whole
		r.recover(10 * time.Second)
		r.wantInStep(seats)
		if r.Rewritten != 0 {
			t.Errorf("%d ticks computed differently", r.Rewritten)
		}
	})
}
