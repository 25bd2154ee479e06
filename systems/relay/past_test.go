package relay

import (
	"bytes"
	"iter"
	"math/bits"
	"slices"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/ecs/raworder"
	"tendon/net/matchsim/halves"
	"tendon/rollback"
	"tendon/systems"
	"tendon/systems/authority"
)

// pastMatch holds the inputs and orders of a match's ticks, index = tick − 1, and the resulting states.
type pastMatch struct {
	ticks  []systems.FinalTick
	sums   []image.Checksum
	orders int
}

func (c *pastMatch) taken(f systems.FinalTick) {
	c.orders += len(f.Orders)
	c.ticks, c.sums = append(c.ticks, systems.FinalTick{FinalTick: halves.Clone(f)}), append(c.sums, f.State.Checksum())
}

// at returns a world in State(tick).
func (c *pastMatch) at(t testing.TB, game *ecs.Game, tick ecs.Tick) *ecs.World {
	w := newWorld(t, game, 1)
	for _, f := range c.ticks[:tick] {
		w.Step(ecs.TickInputs{Players: f.Inputs, Orders: f.Orders})
	}
	return w
}

// play records so many ticks of a match of two players, who give orders.
func play(t testing.TB, game *ecs.Game, ticks int) *pastMatch {
	c := &pastMatch{}
	l := newLoop(t, game, 2, 2, zigzag)
	l.server.Config.States, l.server.Config.Taken = true, c.taken
	for i := range ticks {
		if i%31 == 30 {
			l.server.Stamp(image.Order{Player: 1, Payload: raworder.Bytes(1 + i%5)}, l)
			l.server.Stamp(image.Order{Player: 0, Payload: []byte("b")}, l)
		}
		l.Step()
	}
	return c
}

// afterwards makes a server from the recorded ticks after from, as a restart does.
func afterwards(t testing.TB, game *ecs.Game, c *pastMatch, from int) *Server {
	half, err := NewServer(systems.ServerConfig{World: c.at(t, game, ecs.Tick(len(c.ticks))), Peers: 2, Past: slices.Values(c.ticks[from:])})
	if err != nil {
		t.Fatal(err)
	}
	return half.(*Server)
}

// A restarted server sends a peer with an older state the same inputs and orders as the server before. They lead to the same
// states, and the match continues with the peer.
func TestAServerWithThePastServesOlderStates(t *testing.T) {
	game := testGame()
	long := play(t, game, 1300)
	short := &pastMatch{ticks: long.ticks[:300], sums: long.sums}
	if long.orders < 40 {
		t.Fatalf("%d orders", long.orders)
	}
	for _, c := range []struct {
		*pastMatch
		from   int
		oldest ecs.Tick
		way    ecs.Tick // what passes until a peer's first acknowledgement comes: its oldest tick must be kept for so long
	}{
		{short, 0, 0, 0},
		{short, 50, 52, 0}, // the first two ticks are what the third is coded against
		{short, 299, 300, 0},
		{long, 0, 276, 20},
		{long, 500, 502, 0},
	} {
		done := ecs.Tick(len(c.ticks))
		s := afterwards(t, game, c.pastMatch, c.from)
		if s.OldestServable() != c.oldest || s.Done() != done {
			t.Errorf("%d ticks from %d on: [%d, %d] can be served", done, c.from, s.OldestServable(), s.Done())
		}
		for _, have := range []ecs.Tick{c.oldest + c.way, (c.oldest + done) / 2, done - 1} {
			if have >= c.oldest {
				serve(t, game, c.pastMatch, afterwards(t, game, c.pastMatch, c.from), have)
			}
		}
	}
}

// serve lets player 0, who holds State(have), return to a new server, and follows them from there.
func serve(t *testing.T, game *ecs.Game, c *pastMatch, s *Server, have ecs.Tick) {
	done, next, compared := s.Done(), have+1, 0
	record := &pastMatch{ticks: slices.Clone(c.ticks), sums: slices.Clone(c.sums[:done])}
	s.Config.States, s.Config.Taken = true, record.taken
	l := newLoop(t, game, 0, 2, nil)
	l.Server, l.Tick = systems.Full(s), int(done)-1
	l.Next()
	peer := l.Add(halves.Plan{Input: func(int) ecs.InputBytes { return padInput.Pack(zigzag(0, l.Tick)) }, Config: systems.ClientConfig{Taken: func(f systems.FinalTick) {
		want := record.ticks[f.Tick-1]
		same := slices.EqualFunc(f.Orders, want.Orders, func(a, b image.Order) bool {
			return a.Kind == b.Kind && a.Player == b.Player && a.Entity == b.Entity && bytes.Equal(a.Payload, b.Payload)
		})
		if f.Tick != next || !slices.Equal(f.Inputs, want.Inputs) || !same {
			t.Errorf("from %d: tick %d, of %d orders, is not the server's %d, of %d", have, f.Tick, len(f.Orders), next, len(want.Orders))
		}
		next++
	}}})
	peer.Take(halves.Image(c.at(t, game, have)))
	peer.Load(done)
	peer.OpenNow(have)
	client := peer.Half.(*Client)
	for range 200 {
		from := client.timeline.Confirmed()
		l.Step()
		for f := from + 1; f <= client.timeline.Confirmed(); f++ {
			if state, ok := client.timeline.Snapshot(f); ok {
				compared++
				if state.Checksum() != record.sums[f-1] {
					t.Fatalf("from %d: State(%d) differs", have, f)
				}
			}
		}
	}
	if st := s.PeerStats(0); !client.Live() || next < done+150 || compared < 150 || st.Checked == 0 || st.Desyncs > 0 || s.Peers[0].Resync != authority.InSync {
		t.Errorf("from %d: at tick %d, %d states compared, %+v", have, next, compared, st)
	}
}

// A restarted server keeps no more of the past than one that was never restarted, and drops it in the same way.
func TestThePastIsForgottenAsTheMatchGoesOn(t *testing.T) {
	game := testGame()
	c := play(t, game, 1300)
	s := afterwards(t, game, c, 0)
	kept := func() (n int) {
		for f := range s.Done() + backlog {
			n += len(s.orders.AppendAt(nil, f))
		}
		return n
	}
	if n := kept(); n < 60 || n > 80 {
		t.Errorf("%d orders of %d are kept", n, c.orders)
	}
	for range backlog {
		s.Tick(0)
	}
	if kept() != 0 || s.OldestServable() != 1300 {
		t.Errorf("%d orders are kept, the oldest tick is %d", kept(), s.OldestServable())
	}
}

// A past that does not lead to the world is an error of the program, and panics at once.
func TestAPastWithAGapIsRefused(t *testing.T) {
	game := testGame()
	c := play(t, game, 60)
	for name, past := range map[string]iter.Seq[systems.FinalTick]{
		"a gap":         slices.Values(slices.Concat(c.ticks[:20], c.ticks[21:])),
		"ends too soon": slices.Values(c.ticks[:59]),
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			_, _ = NewServer(systems.ServerConfig{World: c.at(t, game, 60), Peers: 1, Past: past})
		}()
	}
}

// Before the first tick of a new server the times of ticks are unknown. So it measures no margin; a wrong one would give
// every returning client a wrong lead.
func TestNoMarginIsMeasuredBeforeTheFirstTickOfANewServer(t *testing.T) {
	game := testGame()
	c := play(t, game, 90)
	s := afterwards(t, game, c, 0)
	if err := s.Adopt(systems.FinalTick{FinalTick: rollback.FinalTick{Tick: 91, Inputs: c.ticks[89].Inputs}}); err != nil {
		t.Fatal(err)
	}
	s.Open(0, 0, 80, 0, nil)
	send := func(now systems.Time) {
		m := inputMessage{received: s.Done(), inputs: make([]ecs.InputBytes, 3)}
		if err := s.Receive(0, systems.Datagram, m.to(s, 0), now, nil); err != nil {
			t.Fatal(err)
		}
	}
	send(1000 * systems.Second)
	if m, ok := s.Seats[0].Worst(); ok {
		t.Errorf("%+v", m)
	}
	s.Tick(1000 * systems.Second)
	send(1000 * systems.Second)
	if _, ok := s.Seats[0].Worst(); !ok {
		t.Error("nothing is measured after the first tick")
	}
}

// A tick that only a server of another strategy could have computed is not adopted. No client would accept its orders, and
// its state depends on a past that a relay does not hold.
func TestATickWithAViewIsNotAdopted(t *testing.T) {
	game := testGame()
	c := play(t, game, 90)
	s := afterwards(t, game, c, 0)
	view := image.Order{Kind: image.OrderView, Player: 1, Payload: image.AppendViewStamp(nil, image.ViewStamp{Tick: 80})}
	next := systems.FinalTick{FinalTick: rollback.FinalTick{Tick: 91, Inputs: c.ticks[89].Inputs, Orders: []image.Order{view}}}
	if s.Adopt(next) == nil || s.Done() != 90 {
		t.Errorf("it is adopted; the server is at tick %d", s.Done())
	}
	next.Orders = nil
	if err := s.Adopt(next); err != nil || s.Done() != 91 {
		t.Errorf("nor is the tick without it: %v", err)
	}
}

// An adopted tick has no input that the server would have replaced: of a player who is not in the match, or one that the game
// refuses.
func TestATickWithAnInputThatIsNotAllowedIsNotAdopted(t *testing.T) {
	game := testGame()
	c := play(t, game, 90)
	s := afterwards(t, game, c, 0)
	players, absent := s.World().Players(), ecs.Player(0)
	for players.Has(absent) {
		absent++
	}
	if players == 0 || int(absent) >= game.MaxPlayers {
		t.Fatalf("players %b of %d: nothing is tested", players, game.MaxPlayers)
	}
	present := ecs.Player(bits.TrailingZeros64(uint64(players)))
	tick := func(p ecs.Player) systems.FinalTick {
		inputs := make([]ecs.InputBytes, game.MaxPlayers)
		inputs[p][0] = 1
		return systems.FinalTick{FinalTick: rollback.FinalTick{Tick: s.Done() + 1, Inputs: inputs}}
	}
	if s.Adopt(tick(absent)) == nil || s.Done() != 90 {
		t.Errorf("an input of player %d, who is not in the match, is adopted", absent)
	}
	if err := s.Adopt(tick(present)); err != nil {
		t.Errorf("player %d: %v", present, err)
	}
	game.Validate = func(_ *ecs.World, p ecs.Player, in ecs.InputBytes) bool { return in[0] == 0 }
	if s.Adopt(tick(present)) == nil || s.Done() != 91 {
		t.Error("an input that the game refuses is adopted")
	}
}
