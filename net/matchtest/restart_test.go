package matchtest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/net/client"
	"tendon/net/room"
	"tendon/net/simnet"
	"tendon/systems"
	"tendon/systems/lockstep"
	"tendon/systems/relay"
)

// restartable are the strategies that the tests of restarts play.
var restartable = []systems.Strategy{relay.Strategy, lockstep.Strategy}

// A client gives a silent server up after so long, here.
const silence = 2 * systems.Second

// journalled returns a match of players on links of a profile, with a journal.
func journalled(t *testing.T, s systems.Strategy, players int, profile string, change func(*room.Config)) *Harness {
	t.Helper()
	h, err := New(Config{Game: Dots(), Strategy: s, Seed: 7, Journal: true, Room: change})
	if err != nil {
		t.Fatal(err)
	}
	for range players {
		h.Join(restarting(profile))
	}
	return h
}

func restarting(profile string) Plan {
	p, _ := simnet.ByName(profile)
	return Plan{Profile: p, Change: func(c *client.Config) { c.Timeout = silence }}
}

// eachStrategy runs a test with every strategy.
func eachStrategy(t *testing.T, f func(t *testing.T, s systems.Strategy)) {
	for _, s := range restartable {
		t.Run(s.Name, func(t *testing.T) { f(t, s) })
	}
}

// again begins the room again and plays until everybody is back, and a while.
func again(t *testing.T, h *Harness, most time.Duration) {
	t.Helper()
	if err := h.Recover(); err != nil {
		t.Fatal(err)
	}
	back(t, h, most)
}

func back(t *testing.T, h *Harness, most time.Duration) {
	t.Helper()
	for end := h.Net.Now() + most; ; h.Run(time.Second / 60) {
		waits := ""
		for i, c := range h.Clients {
			if !c.left && (!c.Live() || c.server.refused) {
				waits = fmt.Sprintf("client %d is %v (%v)", i, c.Core.State(), c.Core.Err())
			}
		}
		if waits == "" {
			break
		}
		if h.Net.Now() > end {
			t.Fatalf("%v after the restart: %s", most, waits)
		}
	}
	h.Run(3 * time.Second)
}

// goesOn demands that everybody is in the match, keeps up, sits where it sat, and that nothing confirmed was changed.
func goesOn(t *testing.T, h *Harness, seats []int) {
	t.Helper()
	if err := h.Err(); err != nil {
		t.Error(err)
	}
	for i, c := range h.Clients {
		if c.left {
			continue
		}
		before := c.Checked
		h.Run(time.Second)
		if st := c.Core.Stats(); !c.Live() || st.Strategy.Confirmed+40 < h.Room.Tick() || c.Checked < before+40 || st.Session.Malformed > 0 {
			t.Errorf("client %d is %v at tick %d, the server at %d; %d ticks compared, %d messages malformed", i, c.Core.State(),
				st.Strategy.Confirmed, h.Room.Tick(), c.Checked-before, st.Session.Malformed)
		}
		if i < len(seats) && c.Seat() != seats[i] {
			t.Errorf("client %d sat on seat %d and now sits on %d", i, seats[i], c.Seat())
		}
	}
	for _, p := range h.Room.AppendPeers(nil) {
		if p.Session.Malformed > 0 {
			t.Errorf("the server could not read %d messages of %s", p.Session.Malformed, p.Identity.Name)
		}
	}
}

func seatsOf(h *Harness) (seats []int) {
	for _, c := range h.Clients {
		seats = append(seats, c.Seat())
	}
	return seats
}

// confirmedBy returns the newest tick that a client has confirmed.
func confirmedBy(c *Client) ecs.Tick { return c.Core.Stats().Strategy.Confirmed }

// The first promise of a journal: after kill -9 the match is what everybody saw, and goes on with everybody, who come
// back by themselves. Nothing is handed in, since nothing was lost; the match goes on as soon as the last one is back.
// Nobody needs an image, also who had not heard all: the journal knows what followed the state that he holds.
func TestAKilledServerGoesOnWithTheSameMatch(t *testing.T) {
	eachStrategy(t, func(t *testing.T, s systems.Strategy) {
		for _, profile := range []string{"P2", "P5"} {
			h := journalled(t, s, 3, profile, nil)
			spectator := restarting(profile)
			spectator.Spectator = true
			h.Join(spectator)
			h.RunUntil(12 * time.Second)
			// Two lack some of the last ticks: a player and the spectator.
			now := h.Net.Now()
			for _, c := range []*Client{h.Clients[0], h.Clients[3]} {
				h.Net.Partition(c.node, h.server, now, now+500*time.Millisecond)
			}
			h.Run(400 * time.Millisecond)
			seats, tick := seatsOf(h), h.Room.Tick()
			h.Crash(0)
			h.Run(time.Second)
			if a, b := confirmedBy(h.Clients[0]), confirmedBy(h.Clients[3]); a+20 > tick || b+20 > tick {
				t.Errorf("%s: confirmed are ticks %d and %d of %d", profile, a, b, tick)
			}
			again(t, h, 10*time.Second)
			goesOn(t, h, seats)
			st := h.Room.Stats()
			if h.Rewritten != 0 || st.Adopted != 0 || st.TailsRefused != 0 || h.Room.Tick() < tick+60 {
				t.Errorf("%s: %d ticks computed otherwise, %+v, the server was killed at tick %d", profile, h.Rewritten, st, tick)
			}
			if st.Images != 0 {
				t.Errorf("%s: %d images were made for clients who hold a state that the journal leads on from", profile, st.Images)
			}
			for i, c := range h.Clients {
				if n := c.Core.Stats().Reconnects; n == 0 || n > 4 {
					t.Errorf("%s: client %d connected again %d times", profile, i, n)
				}
			}
		}
	})
}

// The second: what a power cut took from the journal the clients give back, as far as any of them confirmed it. The
// longest tail counts, whoever comes first.
func TestWhatAPowerCutTookIsHandedInByTheClients(t *testing.T) {
	eachStrategy(t, func(t *testing.T, s systems.Strategy) {
		for _, profile := range []string{"P2", "P5"} {
			h := journalled(t, s, 3, profile, nil)
			h.RunUntil(12 * time.Second)
			// One is cut off before the others: its tail is shorter.
			now := h.Net.Now()
			h.Net.Partition(h.Clients[0].node, h.server, now, now+500*time.Millisecond)
			h.Run(300 * time.Millisecond)
			seats, newest, shortest := seatsOf(h), ecs.Tick(0), h.Room.Tick()
			h.Crash(90)
			h.Run(time.Second)
			for _, c := range h.Clients {
				newest, shortest = max(newest, confirmedBy(c)), min(shortest, confirmedBy(c))
			}
			if err := h.Recover(); err != nil {
				t.Fatal(err)
			}
			began := h.Room.Tick()
			back(t, h, 30*time.Second)
			goesOn(t, h, seats)
			if st := h.Room.Stats(); st.Adopted != uint64(newest-began) || shortest+10 > newest || began > shortest || st.TailsRefused != 0 {
				t.Errorf("%s: the journal ended at tick %d, clients had ticks %d to %d: %+v", profile, began, shortest, newest, st)
			}
		}
	})
}

// A client that confirmed what nobody can hand in differs from the match as it now is: the harness must see that, or it
// would prove nothing.
func TestTicksThatAreComputedOtherwiseAreSeen(t *testing.T) {
	eachStrategy(t, func(t *testing.T, s systems.Strategy) {
		h := journalled(t, s, 2, "P2", nil)
		h.RunUntil(5 * time.Second)
		h.Crash(90)
		for _, c := range h.Clients {
			c.left = true
			c.Core.Leave() // and nobody has a tail any more
		}
		again(t, h, time.Second)
		h.Run(60 * time.Second)
		if h.Room.Tick() < 300 || h.Rewritten == 0 || h.Clients[0].Rewritten == 0 || h.Err() == nil {
			t.Errorf("the server is at tick %d: %d ticks computed otherwise, %d of them confirmed by client 0", h.Room.Tick(), h.Rewritten, h.Clients[0].Rewritten)
		}
	})
}

// Nobody who comes back is no reason to wait for ever, and players who do not come back leave in the end.
func TestNobodyComesBack(t *testing.T) {
	eachStrategy(t, func(t *testing.T, s systems.Strategy) {
		h := journalled(t, s, 2, "P2", nil)
		h.RunUntil(5 * time.Second)
		h.Crash(30)
		for _, c := range h.Clients {
			c.left = true
			c.Core.Leave()
		}
		if err := h.Recover(); err != nil {
			t.Fatal(err)
		}
		tick := h.Room.Tick()
		h.Run(14 * time.Second)
		if h.Room.Tick() != tick || h.Room.Stats().Players != 2 {
			t.Errorf("the server did not wait: tick %d, then %d, with %d players", tick, h.Room.Tick(), h.Room.Stats().Players)
		}
		h.Run(2 * time.Second)
		if h.Room.Tick() == tick {
			t.Error("the server waits for longer than it should")
		}
		h.Run(25 * time.Second)
		if n := h.Room.Stats().Players; n != 0 || h.Room.World().Players() != 0 {
			t.Errorf("%d seats are held, players %b", n, h.Room.World().Players())
		}
		late := h.Join(restarting("P2"))
		h.Run(5 * time.Second)
		if !late.Live() || late.Mismatches > 0 {
			t.Errorf("who came later is %v, differed at %d ticks", late.Core.State(), late.Mismatches)
		}
	})
}

// A restart is one crash; two in a row, the second while clients come back or load, are what a bad night looks like.
func TestCrashAfterCrash(t *testing.T) {
	eachStrategy(t, func(t *testing.T, s systems.Strategy) {
		for _, up := range []time.Duration{300 * time.Millisecond, 1500 * time.Millisecond, 4 * time.Second} {
			for _, writes := range []int{0, 45} {
				h := journalled(t, s, 3, "P3", nil)
				h.RunUntil(10 * time.Second)
				seats := seatsOf(h)
				h.Crash(writes)
				h.Run(500 * time.Millisecond)
				if err := h.Recover(); err != nil {
					t.Fatal(err)
				}
				h.Run(up)
				h.Crash(0)
				h.Run(200 * time.Millisecond)
				again(t, h, 35*time.Second)
				goesOn(t, h, seats)
				if h.Rewritten != 0 {
					t.Errorf("up for %v, %d writes lost: %d ticks computed otherwise", up, writes, h.Rewritten)
				}
			}
		}
	})
}

// Who is loading the first image when the server dies has nothing, and gets it from the next one.
func TestAServerDiesWhileClientsLoad(t *testing.T) {
	eachStrategy(t, func(t *testing.T, s systems.Strategy) {
		for after := time.Duration(0); after < 700*time.Millisecond; after += 110 * time.Millisecond {
			h, err := New(Config{Game: crowd(), Strategy: s, Seed: 7, Journal: true})
			if err != nil {
				t.Fatal(err)
			}
			h.Join(restarting("P3"))
			h.RunUntil(4 * time.Second)
			h.Join(restarting("P3"))
			h.Run(after)
			h.Crash(0)
			h.Run(time.Second)
			again(t, h, 25*time.Second)
			goesOn(t, h, nil)
		}
	})
}

// errFull is what a full disk says.
var errFull = errors.New("no space left")

// A disk that is full for a while stops the match, and nothing else happens: it goes on with everybody in it.
func TestAFullDiskStopsTheMatchForAWhile(t *testing.T) {
	eachStrategy(t, func(t *testing.T, s systems.Strategy) {
		h := journalled(t, s, 3, "P3", nil)
		h.RunUntil(8 * time.Second)
		seats := seatsOf(h)
		h.Journal.Fail = errFull
		h.Run(100 * time.Millisecond)
		tick, confirmed := h.Room.Tick(), confirmedBy(h.Clients[0])
		late := h.Join(restarting("P3"))
		h.Run(3 * time.Second)
		for i, c := range h.Clients {
			if confirmedBy(c) >= tick {
				t.Errorf("client %d confirmed tick %d, which is not written: the server waits at %d", i, confirmedBy(c), tick)
			}
		}
		if h.Room.Tick() != tick || h.Room.Stats().Unwritten < 100 || confirmed > tick || late.Live() {
			t.Errorf("the server went on from %d to %d: %+v", tick, h.Room.Tick(), h.Room.Stats())
		}
		h.Journal.Fail = nil
		back(t, h, 5*time.Second)
		h.Run(15 * time.Second) // who predicts ran ahead of a server that stood still, and delayed its inputs
		goesOn(t, h, seats)
		for i, c := range h.Clients {
			if st := c.Core.Stats(); st.Reconnects != 0 || st.Resyncs != 0 {
				t.Errorf("client %d: %d reconnects, %d resyncs", i, st.Reconnects, st.Resyncs)
			}
		}
		h.Crash(0) // what was written in two halves is whole
		again(t, h, 10*time.Second)
		goesOn(t, h, seats)
		if h.Rewritten != 0 {
			t.Errorf("%d ticks computed otherwise", h.Rewritten)
		}
	})
}
