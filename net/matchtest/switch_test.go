package matchtest

import (
	"maps"
	"slices"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/matchsim"
	"tendon/net/matchsim/halves"
	"tendon/net/room"
	"tendon/systems"
	"tendon/systems/lockstep"
	"tendon/systems/predict"
	"tendon/systems/reckon"
	"tendon/systems/relay"
	"tendon/systems/verify"
)

// switching is a match of three players and a spectator over P3, whose strategy changes. Players steer and throw sparks, so
// entities are spawned and destroyed in every tenth of a second.
type switching struct {
	*matchsim.Match
	t       *testing.T
	orders  map[ecs.Tick][]image.Order // orders that were executed
	spawned map[ecs.Tick]int           // sparks thrown in each tick
	thrown  uint32
	effects []map[image.EventKey]int // irreversible ones that each client was passed, with how often
}

func newSwitching(t *testing.T, from systems.Strategy, seed uint64, change func(*room.Config)) *switching {
	t.Helper()
	s := &switching{t: t, orders: map[ecs.Tick][]image.Order{}, spawned: map[ecs.Tick]int{}}
	m, err := matchsim.New(matchsim.Config{Game: halves.Dots(), Strategy: from, Strategies: strategies, Seed: seed, Journal: true, Room: func(c *room.Config) {
		c.Sinks = append(c.Sinks, room.Sink{Tick: s.take})
		if change != nil {
			change(c)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	s.Match = m
	for range 3 {
		s.join(matchsim.Plan{})
	}
	s.join(matchsim.Plan{Spectator: true})
	s.untilLive(8 * time.Second)
	s.Run(time.Second)
	return s
}

func (s *switching) take(f systems.FinalTick) {
	for _, o := range f.Orders {
		if o.Kind.Shared() {
			s.orders[f.Tick] = append(s.orders[f.Tick], image.Order{Kind: o.Kind, Player: o.Player})
		}
	}
	if thrown := halves.Tallies.Read(f.World).Thrown; thrown != s.thrown {
		s.spawned[f.Tick], s.thrown = int(thrown-s.thrown), thrown
	}
}

func (s *switching) join(p matchsim.Plan) *matchsim.Client {
	p.Profile = profile(s.t, "P3")
	seen := map[image.EventKey]int{}
	s.effects = append(s.effects, seen)
	p.Effects = func(e systems.Effect) {
		if e.Event.Irreversible {
			seen[e.Event.Key]++
		}
	}
	if !p.Spectator {
		p.Play = func(c *matchsim.Client, now time.Duration) ecs.InputBytes {
			pad := halves.Zigzag(c.Number, int(now*60/time.Second))
			pad.Throw = pad.Throw || int(now*60/time.Second)%6 == c.Number
			return halves.PadInput.Pack(pad)
		}
	}
	return s.Join(p)
}

// untilLive runs until every client is live with the room's strategy, and fails after a while.
func (s *switching) untilLive(within time.Duration) {
	s.t.Helper()
	for until := s.Net.Now() + within; ; s.Run(time.Second / 240) {
		var waits *matchsim.Client
		for _, c := range s.Clients {
			c.Core.View(c.Now())
			if !c.Live() || c.Core.Playing() != s.Room.Strategy().Name {
				waits = c
			}
		}
		if waits == nil {
			return
		}
		if s.Net.Now() >= until {
			s.t.Fatalf("client %d is %v with %s after %v (%v), the room plays %s: %+v", waits.Number, waits.Core.State(), waits.Core.Playing(), within,
				waits.Core.Err(), s.Room.Strategy().Name, waits.Core.Stats().Strategy)
		}
	}
}

// executed returns the ticks with an order of a kind.
func (s *switching) executed(kind image.OrderKind) (ticks []ecs.Tick) {
	for f := range s.Room.Tick() + 1 {
		for _, o := range s.orders[f] {
			if o.Kind == kind {
				ticks = append(ticks, f)
			}
		}
	}
	return ticks
}

// change changes the strategy and waits until all clients are live with it.
func (s *switching) change(to string, within time.Duration) {
	s.t.Helper()
	began := s.Net.Now()
	if err := s.Room.Switch(to); err != nil {
		s.t.Fatal(err)
	}
	for s.Room.Strategy().Name != to {
		s.Run(time.Second / 240)
		if s.Net.Now() > began+within {
			s.t.Fatalf("the room still plays %s after %v", s.Room.Strategy().Name, within)
		}
	}
	s.untilLive(within - (s.Net.Now() - began))
}

// pay has the first client give an order.
func (s *switching) pay(amount byte) {
	s.t.Helper()
	if _, err := s.Clients[0].Core.Order(ecs.Entity{}, []byte{amount}); err != nil {
		s.t.Error(err)
	}
}

// wantEffects fails unless no client was passed an irreversible effect twice, and all were passed the last one.
func (s *switching) wantEffects() {
	s.t.Helper()
	orders := s.executed(image.OrderGame)
	for c, effects := range s.effects {
		for key, times := range effects {
			if times != 1 {
				s.t.Errorf("client %d was passed the effect of tick %d %d times", c, key.Tick, times)
			}
		}
		if last := orders[len(orders)-1]; len(effects) == 0 || !slices.ContainsFunc(slices.Collect(maps.Keys(effects)), func(k image.EventKey) bool { return k.Tick == last }) {
			s.t.Errorf("client %d was passed the effects %v, the last order is of tick %d", c, effects, last)
		}
	}
}

// wantSound fails unless the clients agree with the server, keep confirming ticks, and have neither reconnected nor been
// resynced. Every client must have gone through this number of changes.
func (s *switching) wantSound(changes uint64) {
	t := s.t
	t.Helper()
	before := map[*matchsim.Client]uint64{}
	for _, c := range s.Clients {
		before[c] = c.Checked
	}
	s.Run(1500 * time.Millisecond)
	if err := s.Err(); err != nil {
		t.Error(err)
	}
	for i, c := range s.Clients {
		st := c.Core.Stats()
		if st.Reconnects != 0 || st.Resyncs != 0 || st.Session.Malformed != 0 || len(c.Core.Desyncs()) != 0 || st.Switches != changes {
			t.Errorf("client %d: %d reconnects, %d resyncs, %d changes of the strategy, want %d, %d messages malformed, differences %v", i,
				st.Reconnects, st.Resyncs, st.Switches, changes, st.Session.Malformed, c.Core.Desyncs())
		}
		if c.Checked < before[c]+6 || st.Strategy.Confirmed+60 < s.Room.Tick() {
			t.Errorf("client %d had %d ticks compared in 1.5 s and has confirmed %d, the server is at %d", i, c.Checked-before[c], st.Strategy.Confirmed, s.Room.Tick())
		}
	}
	for _, p := range s.Room.AppendPeers(nil) {
		if p.Session.Malformed > 0 || p.Strategy.Desyncs > 0 {
			t.Errorf("the server could not read %d messages of %s, and %d checksums differed", p.Session.Malformed, p.Identity.Name, p.Strategy.Desyncs)
		}
	}
	if n := s.Room.Stats().Resyncs; n > 0 {
		t.Errorf("the room sent %d images for resyncs", n)
	}
}

// wantJournal fails unless the journal leads to the state and the strategy of the room.
func (s *switching) wantJournal() {
	s.t.Helper()
	if name := wantJournal(s.t, s.Match); name != s.Room.Strategy().Name {
		s.t.Errorf("the journal ends with %q, the room plays %s", name, s.Room.Strategy().Name)
	}
}

// The strategy changes while entities are spawned and destroyed, and while the join of a fourth player is on its way. All
// continue with their seats and avatars in less than a second.
func TestEveryStrategyReplacesEveryOther(t *testing.T) {
	for _, from := range played() {
		for _, to := range strategies {
			if from.Name != to.Name {
				t.Run(from.Name+"/"+to.Name, func(t *testing.T) {
					t.Parallel()
					for seed := range seeds(8) {
						changeOnce(t, from, to, seed)
					}
				})
			}
		}
	}
}

func changeOnce(t *testing.T, from, to systems.Strategy, seed uint64) {
	t.Helper()
	s := newSwitching(t, from, seed, nil)
	avatars := map[int]ecs.Entity{}
	for _, c := range s.Clients[:3] {
		avatars[c.Seat()] = halves.Dot(s.Room.World(), ecs.Player(c.Seat()))
	}
	last := s.join(matchsim.Plan{})
	for !last.Live() { // then its message that it is live is under way, and its player is not in the match
		s.Run(time.Second / 240)
	}
	joins := len(s.executed(image.OrderJoin))
	s.pay(1)
	s.change(to.Name, time.Second)
	thrown := s.thrown
	s.pay(2)
	s.wantSound(1)
	at := s.executed(image.OrderSwitch)
	if len(at) != 1 {
		t.Fatalf("the strategy changed in the ticks %v", at)
	}
	if got := s.executed(image.OrderJoin); joins != 3 || len(got) != 4 || len(s.executed(image.OrderLeave)) != 0 {
		t.Errorf("joins in the ticks %v and leaves in %v, %d of the joins before the change", got, s.executed(image.OrderLeave), joins)
	}
	sparks := 0 // that are destroyed in the half second after the change
	for f := at[0] - 12; f <= at[0]; f++ {
		sparks += s.spawned[f]
	}
	if sparks == 0 || s.thrown == thrown {
		t.Errorf("%d sparks were thrown in the ticks before the change and %d after it", sparks, s.thrown-thrown)
	}
	s.wantEffects()
	for seat, avatar := range avatars {
		if avatar.IsZero() || halves.Dot(s.Room.World(), ecs.Player(seat)) != avatar || !s.Room.SeatAt(seat).Held {
			t.Errorf("the player of seat %d has another avatar or lost the seat", seat)
		}
	}
	for i, c := range s.Clients {
		for seat, avatar := range avatars {
			if shown := halves.Dot(c.Core.View(c.Now()).Sim, ecs.Player(seat)); shown != avatar {
				t.Errorf("client %d shows the avatar %v in seat %d, want %v", i, shown, seat, avatar)
			}
		}
	}
	s.wantJournal()
}

// The strategy changes again as soon as a tick of the last one is computed, ten times. No client becomes live meanwhile.
func TestTheStrategyChangesBackAndForth(t *testing.T) {
	for _, to := range strategies {
		for _, from := range strategies {
			if from.Name >= to.Name {
				continue
			}
			s := newSwitching(t, from, 1, nil)
			memory := s.Room.Stats().RingBytes
			for i := range 10 {
				want := to.Name
				if i%2 == 1 {
					want = from.Name
				}
				for s.Room.Switch(want) != nil {
					s.Run(time.Second / 60)
				}
			}
			s.Run(time.Second / 4)
			s.untilLive(3 * time.Second)
			s.Run(time.Second)
			if n := len(s.executed(image.OrderSwitch)); n != 10 || s.Room.Strategy().Name != from.Name {
				t.Errorf("%s and %s: %d changes, the room plays %s", from.Name, to.Name, n, s.Room.Strategy().Name)
			}
			if now := s.Room.Stats().RingBytes; now > 2*memory {
				t.Errorf("%s and %s: the room keeps %d bytes of states, before the changes %d", from.Name, to.Name, now, memory)
			}
			if err := s.Err(); err != nil {
				t.Errorf("%s and %s: %v", from.Name, to.Name, err)
			}
			for i, c := range s.Clients {
				if st := c.Core.Stats(); st.Reconnects != 0 || st.Session.Malformed != 0 || len(c.Core.Desyncs()) != 0 {
					t.Errorf("%s and %s: client %d reconnected %d times, %d messages malformed, differences %v", from.Name, to.Name, i,
						st.Reconnects, st.Session.Malformed, c.Core.Desyncs())
				}
			}
			s.wantJournal()
		}
	}
}

// Clients connect and reconnect while the strategy changes.
func TestClientsEnterWhileTheStrategyChanges(t *testing.T) {
	for i, from := range strategies {
		to := strategies[(i+1)%len(strategies)]
		s := newSwitching(t, from, 1, nil)
		for range 8 { // one in each phase of a session, before the change
			s.join(matchsim.Plan{Spectator: true})
			s.Run(time.Second / 20)
		}
		s.Clients[1].Reconnect()
		if err := s.Room.Switch(to.Name); err != nil {
			t.Fatal(err)
		}
		for range 8 { // and after it
			s.join(matchsim.Plan{Spectator: true})
			s.Run(time.Second / 60)
		}
		s.Clients[2].Reconnect()
		s.untilLive(3 * time.Second)
		s.Run(time.Second)
		if err := s.Err(); err != nil {
			t.Errorf("%s to %s: %v", from.Name, to.Name, err)
		}
		for _, p := range s.Room.AppendPeers(nil) {
			if p.Session.Malformed > 0 {
				t.Errorf("%s to %s: %d messages of %s are malformed", from.Name, to.Name, p.Session.Malformed, p.Identity.Name)
			}
		}
		if n := len(s.executed(image.OrderLeave)); n != 0 {
			t.Errorf("%s to %s: %d players left", from.Name, to.Name, n)
		}
	}
}

// A restarted room continues with the strategy of the last change. After lost writes, clients return the ticks, including the
// change.
func TestARestartedRoomContinuesWithTheChangedStrategy(t *testing.T) {
	for _, c := range []struct {
		from, to systems.Strategy
		lost     int // writes
		wait     time.Duration
	}{
		{relay.Strategy, predict.Strategy, 0, 2 * time.Second},
		{reckon.Strategy, relay.Strategy, 40, 2 * time.Second},
		{relay.Strategy, lockstep.Strategy, 20, 2 * time.Second},
		{relay.Strategy, lockstep.Strategy, 120, time.Second}, // the order of the change is lost, too
		{predict.Strategy, verify.Strategy, 120, time.Second},
	} {
		t.Run(c.from.Name+"/"+c.to.Name, func(t *testing.T) {
			s := newSwitching(t, c.from, 2, nil)
			s.change(c.to.Name, time.Second)
			at := s.executed(image.OrderSwitch)[0]
			s.Run(c.wait)
			seats := recovering{s.Match, t}.seats()
			s.Crash(c.lost)
			s.Run(time.Second / 2)
			if err := s.Recover(); err != nil {
				t.Fatal(err)
			}
			lost := s.Room.Tick() < at
			s.Run(20 * time.Second)
			want := c.to.Name
			if lost && !c.from.Needs.Exact { // no client has the lost ticks
				want = c.from.Name
			}
			if got := s.Room.Strategy().Name; got != want || lost != (c.lost > 100) {
				t.Errorf("the room plays %s, want %s; the change was lost: %v", got, want, lost)
			}
			s.untilLive(10 * time.Second)
			if n := s.Room.Stats().Adopted; (n > 0) != (c.lost > 0 && c.to.Needs.Exact) {
				t.Errorf("%d ticks of clients were adopted", n)
			}
			if c.to.Needs.Exact {
				recovering{s.Match, t}.wantInStep(seats)
				for i, c := range s.Clients {
					if n := c.Core.Stats().Switches; n != 1 {
						t.Errorf("client %d went through %d changes", i, n)
					}
				}
			} else if got := (recovering{s.Match, t}).seats(); !slices.Equal(got, seats) {
				t.Errorf("seats %v, before %v", got, seats)
			}
			for i, c := range s.Clients {
				if c.Mismatches > 0 {
					t.Errorf("client %d differed from the server in tick %d", i, c.FirstMismatch)
				}
			}
		})
	}
}

// Lockstep with operations that are relayed at once takes part in changes.
func TestLockstepThatRelaysAtOnceIsReplaced(t *testing.T) {
	article := lockstep.New(lockstep.Config{Interval: 5, RelayAtOnce: true})
	s := newSwitching(t, article, 1, nil)
	s.pay(1)
	s.change("relay", time.Second)
	s.change("lockstep", time.Second)
	s.pay(2)
	s.wantSound(2)
	s.wantEffects()
	s.wantJournal()
}

// The match is paused in the tick of the change, or before it. It continues with the new strategy.
func TestTheStrategyChangesInAPause(t *testing.T) {
	for _, before := range []bool{true, false} {
		s := newSwitching(t, predict.Strategy, 1, func(c *room.Config) { c.Pause.By = room.PauseAdmin })
		pause := func(on bool) {
			if err := s.Room.Pause(on, room.Admin); err != nil {
				t.Fatal(err)
			}
		}
		if before {
			pause(true)
			s.Run(time.Second)
		}
		if err := s.Room.Switch("lockstep"); err != nil {
			t.Fatal(err)
		}
		if !before {
			pause(true)
		}
		s.Run(2 * time.Second)
		at := s.Room.Tick()
		s.Run(time.Second)
		if s.Room.Tick() != at {
			t.Errorf("the match continues in the pause")
		}
		pause(false)
		s.Run(time.Second / 2)
		s.untilLive(time.Second)
		s.wantSound(1)
		s.wantJournal()
	}
}
