package matchtest

import (
	"fmt"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/net/client"
	"tendon/net/room"
	"tendon/net/simnet"
	"tendon/systems"
)

// Conformance holds a strategy to what rooms, clients and players rely on, over good, typical and bad links and with a
// state that is many pieces of an image. Somebody joins late, watches, comes back in time, comes back too late, leaves,
// has one wrong bit: each time what has to happen must happen, and nothing else. No tick of the room is late, the image
// goes out in pieces under its budget, and the others do not notice.
//
// Every tick that a client confirms is compared with the server's.
func Conformance(t *testing.T, s systems.Strategy) { conformance(t, s, links) }

func conformance(t *testing.T, s systems.Strategy, over []link) {
	for _, l := range over {
		for _, sc := range scenarios {
			t.Run(l.profile+"/"+sc.name, func(t *testing.T) {
				wrong, err := conform(s, l, sc)
				if err != nil {
					t.Fatal(err)
				}
				for _, w := range wrong {
					t.Error(w)
				}
			})
		}
	}
}

// links are what Conformance plays over, and how long it lets a match go on before something happens: all have joined by
// then, and input delays have settled.
var links = []link{{"P2", 6 * time.Second}, {"P3", 6 * time.Second}, {"P5", 16 * time.Second}}

type link struct {
	profile string
	warmup  time.Duration
}

// scenario is something that happens in a running match. It returns who is concerned by it; all others must not be.
type scenario struct {
	name string
	play func(*stage) (concerned *Client)
}

// conform plays a scenario and returns what was wrong.
func conform(s systems.Strategy, l link, sc scenario) (wrong []string, err error) {
	st, err := newStage(s, l.profile)
	if err != nil {
		return nil, err
	}
	st.RunUntil(l.warmup)
	for i, c := range st.Clients {
		if !c.Live() {
			return nil, fmt.Errorf("client %d is %v after %v", i, c.Core.State(), l.warmup)
		}
		c.server.most, c.server.largest = 0, 0
		st.before = append(st.before, c.Core.Stats())
	}
	st.began, st.orders = st.Room.Tick(), nil
	concerned := sc.play(st)
	st.judge(concerned)
	return st.wrong, nil
}

// What a stage is set up with.
const (
	stagePlayers = 3

	stageImageRate = 96 << 10         // bytes per second
	stageBurst     = 2*(16<<10) + 256 // what a session may send of an image at once, in bytes: two pieces
	stageKeepSeat  = 2 * systems.Second
	stageTimeout   = 2 * systems.Second
)

// stage is a running match of three players in a crowd, and what is noted of it.
type stage struct {
	*Harness
	strategy systems.Strategy
	profile  simnet.Profile
	before   []client.Stats // of those who were there when the scenario began
	began    ecs.Tick       // the room's tick then
	taken    ecs.Tick       // the last tick that the sink received
	orders   []ecs.Order    // since the scenario began, but for views
	restarts bool           // the room is not the one that it was
	wrong    []string
}

func newStage(s systems.Strategy, profile string) (*stage, error) {
	st := &stage{strategy: s}
	p, ok := simnet.ByName(profile)
	if !ok {
		return nil, fmt.Errorf("matchtest: no profile is named %q", profile)
	}
	st.profile = p
	h, err := New(Config{Game: crowd(), Strategy: s, Seed: 1, Journal: true, Room: func(c *room.Config) {
		c.ImageRate, c.KeepSeat, c.Timeout, c.Sinks = stageImageRate, stageKeepSeat, stageTimeout, []room.Sink{{Tick: st.take}}
	}})
	if err != nil {
		return nil, err
	}
	st.Harness = h
	for range stagePlayers {
		h.Join(st.plan())
	}
	return st, nil
}

// plan is how everybody plays. The client gives a silent server up sooner than by default, to come back in the test.
func (s *stage) plan() Plan {
	return Plan{Profile: s.profile, Change: func(c *client.Config) { c.Timeout = 3 * systems.Second }}
}

func (s *stage) take(f systems.FinalTick) {
	if f.Tick != s.taken+1 {
		s.fail("the sink received tick %d after tick %d", f.Tick, s.taken)
	}
	s.taken = f.Tick
	for _, o := range f.Orders {
		if o.Kind.Shared() { // what a player saw is said every tick, and asked for by nobody
			s.orders = append(s.orders, o)
		}
	}
}

func (s *stage) fail(format string, args ...any) {
	s.wrong = append(s.wrong, fmt.Sprintf(format, args...))
}

// wants fails unless the match has had so many joins and leaves since the scenario began.
func (s *stage) wants(joins, leaves int) {
	gotJoins, gotLeaves := 0, 0
	for _, o := range s.orders {
		switch o.Kind {
		case ecs.OrderJoin:
			gotJoins++
		case ecs.OrderLeave:
			gotLeaves++
		}
	}
	if gotJoins != joins || gotLeaves != leaves {
		s.fail("%d joins and %d leaves were stamped, want %d and %d", gotJoins, gotLeaves, joins, leaves)
	}
}

// settling is how long a client that has just been live may stay behind: a lost message of the reliable channel holds
// up what comes after it, and on a bad link the input delay it left behind shrinks slowly.
const settling = 12 * time.Second

// keepsUp fails unless a client is live and in step, and from some time within settling on confirms ticks as fast as
// the match has them.
func (s *stage) keepsUp(c *Client) {
	rate := ecs.Tick(s.game.TickRate)
	end := s.Net.Now() + settling
	for {
		confirmed, checked := c.Core.Stats().Strategy.Confirmed, c.Checked
		s.Run(2 * time.Second)
		if !c.Live() {
			s.fail("client %d is %v (%v)", c.number, c.Core.State(), c.Core.Err())
			return
		}
		now := c.Core.Stats().Strategy.Confirmed
		least := uint64(rate) * 3 / 2
		if _, every := c.Core.Strategy().(timelined); !every {
			least = uint64(rate) / 2 // the newest state of a frame is compared, and some are passed over
		}
		if _, told := c.Core.Strategy().(systems.Replicated); told {
			least = uint64(rate) / 10 // states come a few times a second
		}
		compared := c.Checked >= checked+least
		if now >= confirmed+rate*3/2 && now+rate*2/3 >= s.Room.Tick() && compared {
			return
		}
		if s.Net.Now() >= end {
			s.fail("client %d confirmed %d ticks in 2 s, %d of them compared, and is at %d, the server at %d", c.number, now-confirmed,
				c.Checked-checked, now, s.Room.Tick())
			return
		}
	}
}

// judge holds the room to its grid and those who are not concerned to not having noticed.
func (s *stage) judge(concerned *Client) {
	for _, c := range s.Clients[:len(s.before)] {
		if c != concerned {
			s.keepsUp(c)
		}
	}
	r := s.Room.Stats()
	if r.Late != 0 || r.Deferred != 0 || !s.restarts && r.MostLate > gridRounding {
		s.fail("%d ticks of the room were late, the worst by %d ns, and %d frames deferred some", r.Late, r.MostLate, r.Deferred)
	}
	if due := ecs.Tick(s.Net.Now() * time.Duration(s.game.TickRate) / time.Second); !s.restarts && (r.Tick+1 < due || r.Tick > due) {
		s.fail("the room is at tick %d after %v, want %d", r.Tick, s.Net.Now(), due)
	}
	if s.taken != r.Tick {
		s.fail("the sink received %d of %d ticks", s.taken, r.Tick)
	}
	for _, p := range s.Room.AppendPeers(nil) {
		if p.Session.Malformed > 0 {
			s.fail("the server could not read %d messages of %s", p.Session.Malformed, p.Identity.Name)
		}
	}
	for i, before := range s.before {
		if c := s.Clients[i]; c != concerned {
			s.judgeOther(c, before)
		}
	}
}

// judgeOther demands that a client went on as if nothing had happened.
func (s *stage) judgeOther(c *Client, before client.Stats) {
	now := c.Core.Stats()
	if c.Mismatches > 0 {
		s.fail("client %d differed from the server at %d ticks, first at %d", c.number, c.Mismatches, c.FirstMismatch)
	}
	if now.Reconnects != before.Reconnects || now.Resyncs != before.Resyncs || now.Session.Malformed != 0 || len(c.Core.Desyncs()) != 0 {
		s.fail("client %d, who was not concerned: %d reconnects, %d resyncs, reports %v", c.number, now.Reconnects-before.Reconnects,
			now.Resyncs-before.Resyncs, c.Core.Desyncs())
	}
	natural := uint64(0)
	if !s.strategy.Predicts { // who predicts nothing waits now and then for a packet that was lost, whatever happens
		played := uint64(now.Strategy.Present - before.Strategy.Present)
		natural = naturalStalls + 3*before.Strategy.Stalls*played/uint64(max(before.Strategy.Present, 1))
	}
	if n := now.Strategy.Stalls - before.Strategy.Stalls; n > natural {
		s.fail("client %d, who was not concerned, stalled for %d ticks", c.number, n)
	}
	if d := now.Strategy.InputDelay; d > before.Strategy.InputDelay {
		s.fail("client %d, who was not concerned, has its inputs delayed by %d ticks, %d before", c.number, d, before.Strategy.InputDelay)
	}
	// The present keeps the pace of the server's ticks; its lead may breathe with the link. That of a client which predicts
	// nothing follows every packet that is late: it only has to keep up.
	lead := func(st client.Stats, server ecs.Tick) int { return int(st.Strategy.Present) - int(server) }
	was := lead(before, s.began)
	if is := lead(now, s.Room.Tick()); s.strategy.Predicts && (is < was-leadBreathes || is > was+leadBreathes) {
		s.fail("client %d, who was not concerned, leads the server by %d ticks, %d before", c.number, is, was)
	}
}

// naturalStalls is for how many ticks a client that predicts nothing may wait within a scenario, beside three times the
// share of ticks for which it waited before.
const naturalStalls = 6

// gridRounding is how late a tick may seem in nanoseconds, where the grid was moved to a moment at which nobody looks.
const gridRounding = 1000

// leadBreathes is how many ticks a lead may change by itself on the worst of the links.
const leadBreathes = 4

// judgeImage demands that a joiner was sent its image in pieces and no faster than the budget allows, next to what the
// match itself needs.
func (s *stage) judgeImage(c *Client, since time.Duration) {
	size := crowdSize * 32 // noise: it cannot be less
	if c.server.largest > size/8 {
		s.fail("a message of %d bytes went to client %d: the image was not cut into pieces", c.server.largest, c.number)
	}
	least := time.Duration(size-stageBurst) * time.Second / stageImageRate
	if took := s.Net.Now() - since; took < least {
		s.fail("client %d was live after %v; under its budget the image takes %v", c.number, took, least)
	}
	game := 0 // what the match sends to one who is in it
	for _, other := range s.Clients {
		if other != c {
			game = max(game, other.server.most)
		}
	}
	if most := stageImageRate + stageBurst + 2*game; c.server.most > most {
		s.fail("client %d was sent %d bytes within a second, want at most %d", c.number, c.server.most, most)
	}
}
