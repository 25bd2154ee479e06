package matchtest

import (
	"fmt"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/client"
	"tendon/net/matchsim"
	"tendon/net/room"
	"tendon/net/simnet"
	"tendon/systems"
)

// Conformance checks what rooms, clients and players rely on in a strategy. It plays over good, typical and bad links, in parallel,
// with a state whose image takes many pieces. In each scenario one thing happens to one client: it joins late, watches,
// reconnects in time, reconnects too late, leaves, or has one wrong bit.
//
// In every scenario no tick of the room is late, images are sent in pieces within their budget, and the other clients
// are not affected. Every tick that a client confirms is compared with the server's.
func Conformance(t *testing.T, s systems.Strategy) { conformance(t, s, links) }

func conformance(t *testing.T, s systems.Strategy, over []link) {
	for _, l := range over {
		for _, sc := range scenarios {
			t.Run(l.profile+"/"+sc.name, func(t *testing.T) {
				t.Parallel()
				failures, err := conform(s, l, sc)
				if err != nil {
					t.Fatal(err)
				}
				for _, f := range failures {
					t.Error(f)
				}
			})
		}
	}
}

// links are the links of Conformance.
var links = []link{{"P2", 6 * time.Second}, {"P3", 6 * time.Second}, {"P5", 16 * time.Second}}

// link is a network profile and how long a match takes on it until all clients are live and input delays have settled.
type link struct {
	profile string
	warmup  time.Duration
}

// scenario is an event in a running match. play returns the affected client; all others must not be affected.
type scenario struct {
	name string
	play func(*stage) (affected *matchsim.Client)
}

// conform plays a scenario and returns its failures.
func conform(s systems.Strategy, l link, sc scenario) (failures []string, err error) {
	st, err := newStage(s, l.profile)
	if err != nil {
		return nil, err
	}
	st.RunUntil(l.warmup)
	for i, c := range st.Clients {
		if !c.Live() {
			return nil, fmt.Errorf("client %d is %v after %v", i, c.Core.State(), l.warmup)
		}
		c.ResetSent()
		st.before = append(st.before, c.Core.Stats())
	}
	st.began, st.orders = st.Room.Tick(), nil
	affected := sc.play(st)
	st.check(affected)
	return st.failures, nil
}

// The settings of a stage.
const (
	stagePlayers = 3

	stageImageRate = 96 << 10         // bytes per second
	stageBurst     = 2*(16<<10) + 256 // bytes of an image that a session may send at once: two pieces
	stageKeepSeat  = 2 * systems.Second
	stageTimeout   = 2 * systems.Second
)

// stage is a running match of three players, with the record that a scenario is judged by.
type stage struct {
	*matchsim.Match
	strategy systems.Strategy
	profile  simnet.Profile
	before   []client.Stats // of the clients that were there when the scenario began
	began    ecs.Tick       // the room's tick when the scenario began
	taken    ecs.Tick       // the last tick that the sink received
	orders   []image.Order  // since the scenario began, without views
	restarts bool           // the scenario replaces the room
	failures []string
}

func newStage(s systems.Strategy, profile string) (*stage, error) {
	p, _ := simnet.ByName(profile)
	st := &stage{strategy: s, profile: p}
	m, err := matchsim.New(matchsim.Config{Game: largeGame(), Strategy: s, Seed: 1, Journal: true, Room: func(c *room.Config) {
		c.ImageRate, c.KeepSeat, c.Timeout, c.Sinks = stageImageRate, stageKeepSeat, stageTimeout, []room.Sink{{Tick: st.take}}
	}})
	if err != nil {
		return nil, err
	}
	st.Match = m
	for range stagePlayers {
		m.Join(st.plan())
	}
	return st, nil
}

// plan is the plan of every client. Its timeout is shorter than the default, so that it reconnects within the test.
func (s *stage) plan() matchsim.Plan {
	return matchsim.Plan{Profile: s.profile, Change: func(c *client.Config) { c.Timeout = 3 * systems.Second }}
}

func (s *stage) take(f systems.FinalTick) {
	if f.Tick != s.taken+1 {
		s.fail("the sink received tick %d after tick %d", f.Tick, s.taken)
	}
	s.taken = f.Tick
	for _, o := range f.Orders {
		if o.Kind.Shared() {
			s.orders = append(s.orders, o)
		}
	}
}

func (s *stage) fail(format string, args ...any) {
	s.failures = append(s.failures, fmt.Sprintf(format, args...))
}

// wantOrders fails unless exactly these joins and leaves were stamped since the scenario began.
func (s *stage) wantOrders(joins, leaves int) {
	got := map[image.OrderKind]int{}
	for _, o := range s.orders {
		got[o.Kind]++
	}
	if got[image.OrderJoin] != joins || got[image.OrderLeave] != leaves {
		s.fail("%d joins and %d leaves were stamped, want %d and %d", got[image.OrderJoin], got[image.OrderLeave], joins, leaves)
	}
}

// settling is how long a client that has just become live may lag. A lost message of the reliable channel delays the
// messages after it. Input delays shrink slowly on a bad link.
const settling = 12 * time.Second

// keepsUp fails unless a client is live and, from some moment within settling, confirms ticks at the rate of the match.
func (s *stage) keepsUp(c *matchsim.Client) {
	rate, end := ecs.Tick(s.Game.TickRate), s.Net.Now()+settling
	least := uint64(rate) * 3 / 2
	if !s.strategy.Predicts || !s.strategy.Needs.Exact {
		least = uint64(rate) / 2 // the client does not keep the state of every confirmed tick
	}
	if _, replicated := c.Core.Strategy().(systems.Replicated); replicated {
		least = uint64(rate) / 10 // states arrive a few times per second
	}
	for {
		confirmed, checked := c.Core.Stats().Strategy.Confirmed, c.Checked
		s.Run(2 * time.Second)
		now := c.Core.Stats().Strategy.Confirmed
		switch {
		case !c.Live():
			s.fail("client %d is %v (%v)", c.Number, c.Core.State(), c.Core.Err())
			return
		case now >= confirmed+rate*3/2 && now+rate*2/3 >= s.Room.Tick() && c.Checked >= checked+least:
			return
		case s.Net.Now() >= end:
			s.fail("client %d confirmed %d ticks in 2 s, %d of them compared, and is at %d, the server at %d", c.Number, now-confirmed,
				c.Checked-checked, now, s.Room.Tick())
			return
		}
	}
}

// check fails unless the room kept its tick grid and the clients other than the affected one were not affected.
func (s *stage) check(affected *matchsim.Client) {
	for _, c := range s.Clients[:len(s.before)] {
		if c != affected {
			s.keepsUp(c)
		}
	}
	r := s.Room.Stats()
	if r.Late != 0 || r.Deferred != 0 || !s.restarts && r.MostLate > gridRounding {
		s.fail("%d ticks of the room were late, the worst by %d ns, and %d frames deferred some", r.Late, r.MostLate, r.Deferred)
	}
	if due := ecs.Tick(s.Net.Now() * time.Duration(s.Game.TickRate) / time.Second); !s.restarts && (r.Tick+1 < due || r.Tick > due) {
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
		if c := s.Clients[i]; c != affected {
			s.checkUnaffected(c, before)
		}
	}
}

// checkUnaffected fails unless a client went on as if nothing had happened.
func (s *stage) checkUnaffected(c *matchsim.Client, before client.Stats) {
	now := c.Core.Stats()
	if c.Mismatches > 0 {
		s.fail("client %d differed from the server at %d ticks, first at %d", c.Number, c.Mismatches, c.FirstMismatch)
	}
	if now.Reconnects != before.Reconnects || now.Resyncs != before.Resyncs || now.Session.Malformed != 0 || len(c.Core.Desyncs()) != 0 {
		s.fail("unaffected client %d: %d reconnects, %d resyncs, reports %v", c.Number, now.Reconnects-before.Reconnects,
			now.Resyncs-before.Resyncs, c.Core.Desyncs())
	}
	natural := uint64(0)
	if s.profile.Name == "P5" {
		natural = naturalBurst
	}
	if !s.strategy.Predicts { // without prediction, a lost packet stalls a client now and then in any case
		played := uint64(now.Strategy.Present - before.Strategy.Present)
		natural = naturalStalls + 3*before.Strategy.Stalls*played/uint64(max(before.Strategy.Present, 1))
	}
	if n := now.Strategy.Stalls - before.Strategy.Stalls; n > natural {
		s.fail("unaffected client %d stalled for %d ticks", c.Number, n)
	}
	if d := now.Strategy.InputDelay; d > before.Strategy.InputDelay {
		s.fail("unaffected client %d has an input delay of %d ticks, %d before", c.Number, d, before.Strategy.InputDelay)
	}
	// The present keeps the pace of the server's ticks, and its lead may vary with the link. Without prediction the
	// present follows every late packet, and keepsUp is the only bound.
	was, is := int(before.Strategy.Present)-int(s.began), int(now.Strategy.Present)-int(s.Room.Tick())
	if s.strategy.Predicts && (is < was-leadVariation || is > was+leadVariation) {
		s.fail("unaffected client %d leads the server by %d ticks, %d before", c.Number, is, was)
	}
}

const (
	// naturalBurst is the number of ticks for which a client with prediction may stall within a scenario. On P5, several packets in a
	// row are lost now and then, and the prediction reaches its limit.
	naturalBurst = 8
	// naturalStalls is the number of ticks for which a client without prediction may stall within a scenario, beside three
	// times its share of stalled ticks before the scenario. It is two round trips of P3: one lost packet of the reliable
	// channel takes as long.
	naturalStalls = 12
	// gridRounding is the lateness, in nanoseconds, that rounding may add to a tick when the grid was moved.
	gridRounding = 1000
	// leadVariation is the number of ticks by which a lead may vary on the worst of the links.
	leadVariation = 4
)

// checkImage fails unless a client's image was sent in pieces and within its budget, beside the messages of the match.
func (s *stage) checkImage(c *matchsim.Client, since time.Duration) {
	game := 0 // bytes per second to a client in the match
	for _, other := range s.Clients {
		if other != c {
			game = max(game, other.Sent().MostPerSecond)
		}
	}
	s.checkImageSent(c, s.Net.Now()-since, c.Sent(), game)
}

func (s *stage) checkImageSent(c *matchsim.Client, took time.Duration, sent matchsim.Sent, game int) {
	size := dustCount * 32 // it does not compress
	if sent.Largest > size/8 {
		s.fail("client %d was sent a message of %d bytes: the image was not split", c.Number, sent.Largest)
	}
	least := time.Duration(size-stageBurst) * time.Second / stageImageRate
	if took < least {
		s.fail("client %d was live after %v; within its budget the image takes %v", c.Number, took, least)
	}
	if bound := stageImageRate + stageBurst + 2*game; sent.MostPerSecond > bound {
		s.fail("client %d was sent %d bytes within a second, want at most %d", c.Number, sent.MostPerSecond, bound)
	}
}
