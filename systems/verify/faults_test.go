package verify

import (
	"slices"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/limit"
	"tendon/net/matchsim/halves"
	"tendon/net/simnet"
	"tendon/systems"
)

// until plays an input from frame 0 on, and others from later frames on.
func until(now pad, later map[int]pad) func(*player, int) pad {
	return func(_ *player, f int) pad {
		if next, ok := later[f]; ok {
			now = next
		}
		return now
	}
}

// A round trip that jumps between 200 and 2000 ms reorders packets. Commands are still carried out in the order in
// which they were given, and events arrive in the order of their ticks.
func TestAWildRoundTripKeepsTheOrder(t *testing.T) {
	path := simnet.Symmetric("wild", "wild", simnet.Path{Delay: 550 * ms, Jitter: simnet.Jitter{Kind: simnet.Uniform, Size: 450 * ms}})
	inBothModes(t, func(t *testing.T, c Config) {
		m := newMatch(t, testGame(60), c, 20)
		id := uint32(0)
		for _, s := range []int{0, 3} {
			m.join(path, simnet.Clock{}, s, 60, 0, func(p *player, f int) pad {
				if f > 240 && f%30 == s && f < 900 {
					id++
					if err := p.Order(1, ecs.Entity{}, purchase(1, id), nil); err != nil {
						t.Error(err)
					}
				}
				return pad{Throw: f > 240 && f%20 == 0}
			})
		}
		m.Net.RunUntil(22 * time.Second)
		m.wantSound(30)
		last := map[ecs.Player]uint32{}
		for _, o := range m.orders() {
			id := orderOf(o.Payload).ID
			if id <= last[o.Player] {
				t.Errorf("player %d: purchase %d after %d", o.Player, id, last[o.Player])
			}
			last[o.Player] = id
		}
		if len(m.orders()) != int(id) || id < 40 {
			t.Errorf("%d of %d orders were carried out", len(m.orders()), id)
		}
		for _, p := range m.clients {
			p.wantEvents(80)
			if p.purchases() < int(id)*9/10 || slices.ContainsFunc(p.answers, func(a Answer) bool { return a.Reason != Accepted }) {
				t.Errorf("client %d received %d purchases; %v", p.peer.ID, p.purchases(), p.answers)
			}
		}
	})
}

// A connection that is cut for less time than the server keeps states continues where it was. Commands given meanwhile
// expire. The client sends the held input again, so no player walks on for ever.
func TestAPartitionHealsAndLeavesNoPlayerWalking(t *testing.T) {
	inBothModes(t, func(t *testing.T, c Config) {
		c.Timeout = systems.Second
		m := newMatch(t, testGame(60), c, 21)
		p := m.join(profile(t, "P3"), simnet.Clock{}, 0, 60, 0, until(pad{}, map[int]pad{100: {DX: 1}, 310: {}}))
		m.join(profile(t, "P3"), simnet.Clock{}, 3, 60, 0, wander(1))
		m.Net.Partition(p.peer.Node, m.Node, 5*time.Second, 8*time.Second)
		m.Net.RunUntil(5 * time.Second)
		shown := p.checked
		m.Net.RunUntil(7900 * ms)
		if in := m.Ticks[m.server.Done()].Inputs[0]; padInput.Unpack(in).DX != 1 || p.checked > shown+20 { // the playout delay is shown to its end
			t.Fatalf("the partition is none: held is %v, %d states shown", padInput.Unpack(in), p.checked-shown)
		}
		m.Net.RunUntil(13 * time.Second)
		m.wantSound(300)
		if in := m.Ticks[m.server.Done()].Inputs[0]; in != (ecs.InputBytes{}) {
			t.Errorf("the player has let go and goes on with %+v", padInput.Unpack(in))
		}
		timedOut := 0
		for _, a := range p.answers {
			if a.Reason == ReasonTimedOut {
				timedOut++
			}
		}
		if !c.Reliable && timedOut == 0 || len(p.Pending(nil)) > 0 {
			t.Errorf("%d commands timed out, %d wait", timedOut, len(p.Pending(nil)))
		}
		for _, p := range m.clients {
			p.wantEvents(5)
		}
		if lag := m.server.Done() - p.present; lag > 20 {
			t.Errorf("%d ticks behind", lag)
		}
	})
}

// A client that was disconnected for longer than History continues. It receives an image if the server no longer has the states
// that the client may hold. On the reliable channel, the server has the state that the client holds in the end.
func TestALongDisconnectionEndsWithAnImage(t *testing.T) {
	inBothModes(t, func(t *testing.T, c Config) {
		c.History = 64
		m := newMatch(t, testGame(60), c, 22)
		p := m.join(profile(t, "P3"), simnet.Clock{}, 0, 60, 0, wander(7))
		q := m.join(profile(t, "P3"), simnet.Clock{}, 3, 60, 0, wander(8))
		m.Net.Partition(p.peer.Node, m.Node, 4*time.Second, 9*time.Second)
		m.Net.RunUntil(14 * time.Second)
		if images := len(p.peer.Flagged); images > 2 || !c.Reliable && images == 0 || p.Stats().Snaps != uint64(images) || m.server.PeerStats(p.peer.ID).Desyncs != 0 {
			t.Errorf("flagged %d times, %+v", len(p.peer.Flagged), p.Stats())
		}
		if lag := m.server.Done() - p.present; lag > 20 || !p.Live() {
			t.Errorf("%d ticks behind", lag)
		}
		if len(q.peer.Flagged) > 0 || q.Stats().Snaps > 0 || q.checked < 500 {
			t.Errorf("another one notices: %+v", q.Stats())
		}
		q.wantEvents(40)
		m.WantChange()
	})
}

// Orders beyond the budget are rejected, at no cost to the other players.
func TestOrdersBeyondTheRateAreRejected(t *testing.T) {
	inBothModes(t, func(t *testing.T, c Config) {
		m := newMatch(t, testGame(60), c, 23)
		p := m.join(profile(t, "P3"), simnet.Clock{}, 0, 60, 0, func(p *player, f int) pad {
			if f >= 120 && f < 240 && f%2 == 0 {
				_ = p.Order(1, ecs.Entity{}, purchase(1, uint32(f)), nil) // some find no room
			}
			return pad{}
		})
		play := wander(3)
		q := m.join(profile(t, "P3"), simnet.Clock{}, 3, 60, 0, func(p *player, f int) pad {
			if f == 150 || f == 210 {
				_ = p.Order(1, ecs.Entity{}, purchase(1, uint32(f)), nil)
			}
			return play(p, f)
		})
		m.Net.RunUntil(8 * time.Second)
		m.wantSound(200)
		counts := map[Reason]int{}
		for _, a := range p.answers {
			counts[a.Reason]++
		}
		if counts[Accepted] < 38 || counts[Accepted] > 42 || counts[Accepted]+counts[ReasonRate] != 60 || p.Stats().Rejected != uint64(counts[ReasonRate]) {
			t.Errorf("%v", counts)
		}
		for _, a := range q.answers {
			if a.Reason != Accepted {
				t.Errorf("another pays: %+v", a)
			}
		}
		if len(m.orders()) != counts[Accepted]+2 {
			t.Errorf("%d orders were carried out", len(m.orders()))
		}
	})
}

// Changes of input above the rate limit are rejected, and in the end the server has the input that the player holds.
func TestAnInputThatWasTooFastIsStatedAgain(t *testing.T) {
	inBothModes(t, func(t *testing.T, c Config) {
		c.InputsPerTick = 1
		m := newMatch(t, testGame(60), c, 24)
		m.server.seats[0].inputs = limit.New[ecs.Tick](1, 1)
		// Jitter brings several changes to one tick, of which the first is taken.
		path := simnet.Symmetric("", "", simnet.Path{Delay: 50 * ms, Jitter: simnet.Jitter{Kind: simnet.Exponential, Size: 60 * ms}})
		p := m.join(path, simnet.Clock{}, 0, 60, 0, func(_ *player, f int) pad {
			if f < 400 {
				return pad{DX: int8(f % 3), DY: int8(f % 2)}
			}
			return pad{DX: -1}
		})
		m.Net.RunUntil(12 * time.Second)
		m.wantSound(100)
		if in := padInput.Unpack(m.Ticks[m.server.Done()].Inputs[0]); in != (pad{DX: -1}) {
			t.Errorf("holds %+v", in)
		}
		if n := p.Stats().Rejected; n < 20 {
			t.Errorf("only %d were rejected", n)
		}
	})
}

// Two presses that the network brings to one tick are both in it: neither is lost, and held directions are the later ones.
func TestPressesThatComeTogetherAreMerged(t *testing.T) {
	m := newMatch(t, testGame(60), Config{}, 25)
	s, out := m.server, halves.Discard
	s.Open(0, 0, 0, 0, out)
	s.Stamp(image.Order{Kind: image.OrderJoin}, out)
	s.Tick(0)
	ask := askMessage{held: 0, first: 1, asked: []Command{
		{Kind: CommandInput, Input: padInput.Pack(pad{DX: 1, Throw: true})},
		{Kind: CommandInput, Input: padInput.Pack(pad{DX: -1})},
		{Kind: CommandInput, Input: padInput.Pack(pad{DX: forbidden})},
	}}
	message, _ := ask.append(nil, systems.MaxDatagram, m.Game)
	if err := s.Receive(0, systems.Datagram, message, 0, out); err != nil {
		t.Fatal(err)
	}
	s.Tick(0)
	if in := padInput.Unpack(m.Ticks[2].Inputs[0]); in != (pad{DX: -1, Throw: true}) {
		t.Errorf("the tick has %+v", in)
	}
	s.Tick(0)
	if in := padInput.Unpack(m.Ticks[3].Inputs[0]); in != (pad{DX: -1}) {
		t.Errorf("the tick after has %+v", in)
	}
}

// A command that was right when it was given and is not when it comes is rejected: the player has died in between.
func TestACommandOfAPlayerWhoDiedOnTheWayIsRejected(t *testing.T) {
	inBothModes(t, func(t *testing.T, c Config) {
		m := newMatch(t, testGame(60), c, 26)
		p := m.join(round(200*ms), simnet.Clock{}, 0, 60, 0, func(p *player, f int) pad {
			if f == 126 {
				if bodyOf(p.World(), 0).Dead {
					t.Error("he knows already")
				}
				if err := p.Order(1, ecs.Entity{}, purchase(7, 1), nil); err != nil {
					t.Error(err)
				}
				return pad{DX: 1}
			}
			return pad{}
		})
		play := wander(1)
		m.join(round(200*ms), simnet.Clock{}, 1, 60, 0, func(p *player, f int) pad {
			if f == 123 {
				if err := p.Order(1, ecs.Entity{}, purchase(1, killing), nil); err != nil {
					t.Error(err)
				}
			}
			return play(p, f)
		})
		m.Net.RunUntil(4 * time.Second)
		m.wantSound(100)
		if len(m.orders()) != 1 || walletOf(m.server.World(), 0).Gold != startGold || bodyOf(m.server.World(), 0).X != 0 {
			t.Errorf("%d orders, %+v, %+v", len(m.orders()), walletOf(m.server.World(), 0), bodyOf(m.server.World(), 0))
		}
		var why []Reason
		for _, a := range p.answers {
			why = append(why, a.Reason)
		}
		if !slices.Equal(why[:2], []Reason{ReasonInvalid, ReasonInvalid}) {
			t.Errorf("answers %v", why)
		}
	})
}

// Two players buy with the same gold in one tick: the second order is rejected, and the record of the tick holds one
// order.
func TestOrdersOfOneTickAreCheckedOneAfterTheOther(t *testing.T) {
	inBothModes(t, func(t *testing.T, c Config) {
		m := newMatch(t, testGame(60), c, 27)
		p := m.join(round(100*ms), simnet.Clock{}, 0, 60, 0, func(p *player, f int) pad {
			if f == 120 {
				for id := range uint32(3) {
					if err := p.Order(1, ecs.Entity{}, purchase(startGold/2, id+1), nil); err != nil {
						t.Error(err)
					}
				}
			}
			return pad{}
		})
		m.Net.RunUntil(4 * time.Second)
		var why []Reason
		for _, a := range p.answers {
			why = append(why, a.Reason)
		}
		if !slices.Equal(why, []Reason{Accepted, Accepted, ReasonInvalid}) || len(m.orders()) != 2 || p.purchases() != 2 {
			t.Errorf("answers %v, %d orders, %d received", why, len(m.orders()), p.purchases())
		}
		if got := walletOf(m.server.World(), 0); got != (wallet{Gold: 0, Bought: 2}) {
			t.Errorf("%+v", got)
		}
	})
}

// A new process of a client continues with the seat. Its commands have new numbers, so none is taken for one that was
// carried out before.
func TestANewProcessGoesOnWithTheSeatsNumbers(t *testing.T) {
	inBothModes(t, func(t *testing.T, c Config) {
		m := newMatch(t, testGame(60), c, 28)
		p := m.join(profile(t, "P3"), simnet.Clock{}, 0, 60, 0, pressing(100, 150, 200, 400, 450, 500))
		m.Net.RunUntil(4 * time.Second)
		before := p.commands.next()
		p.restart()
		if p.Order(1, ecs.Entity{}, purchase(1, 1), nil) != ErrNoMessage {
			t.Error("an order before the first message of the server")
		}
		m.Net.RunUntil(10 * time.Second)
		if before < 3 || p.commands.next() != before+3 {
			t.Errorf("numbers up to %d before, up to %d after", before, p.commands.next())
		}
		presses := 0
		for _, tick := range m.Ticks[1:] {
			if padInput.Unpack(tick.Inputs[0]).Throw {
				presses++
			}
		}
		if presses != 6 {
			t.Errorf("%d presses", presses)
		}
		m.WantChange()
	})
}

// A new process whose player holds nothing down sends that, so the input of the old process does not continue.
func TestANewProcessReleasesInputsOfTheOldOne(t *testing.T) {
	inBothModes(t, func(t *testing.T, c Config) {
		m := newMatch(t, testGame(60), c, 34)
		p := m.join(profile(t, "P3"), simnet.Clock{}, 0, 60, 0, func(*player, int) pad { return pad{DX: 1} })
		m.Net.RunUntil(2 * time.Second)
		if padInput.Unpack(m.server.Step.Inputs[0]).DX != 1 {
			t.Fatal("the test proves nothing")
		}
		p.play = idle
		p.restart()
		m.Net.RunUntil(3 * time.Second)
		if in := m.server.Step.Inputs[0]; in != (ecs.InputBytes{}) {
			t.Errorf("walks on with %+v", padInput.Unpack(in))
		}
	})
}

// A player who has held a key down since before the join walks, and does so after a rejoin, too.
func TestAnInputHeldBeforeAJoinCounts(t *testing.T) {
	inBothModes(t, func(t *testing.T, c Config) {
		m := newMatch(t, testGame(60), c, 35)
		p := m.join(profile(t, "P3"), simnet.Clock{}, 0, 60, 0, func(*player, int) pad { return pad{DX: 1} })
		out := m
		m.Net.RunUntil(2 * time.Second)
		first := padInput.Unpack(m.server.Step.Inputs[0])
		m.server.Stamp(image.Order{Kind: image.OrderLeave}, out)
		m.Net.RunUntil(3 * time.Second)
		gone := padInput.Unpack(m.server.Step.Inputs[0])
		m.server.Stamp(image.Order{Kind: image.OrderJoin}, out)
		m.Net.RunUntil(4 * time.Second)
		if again := padInput.Unpack(m.server.Step.Inputs[0]); first.DX != 1 || gone != (pad{}) || again.DX != 1 {
			t.Errorf("holds %+v, then %+v, then %+v", first, gone, again)
		}
		if n := p.Stats().Rejected; n > 0 {
			t.Errorf("%d commands of somebody who was not there", n)
		}
	})
}

// A spectator receives the same states as the players, and sends no commands.
func TestASpectatorWatches(t *testing.T) {
	inBothModes(t, func(t *testing.T, c Config) {
		m := newMatch(t, testGame(60), c, 29)
		m.join(profile(t, "P3"), simnet.Clock{}, 0, 60, 0, wander(1))
		m.join(profile(t, "P3"), simnet.Clock{}, 3, 60, 0, wander(2))
		p := m.join(profile(t, "P3"), simnet.Clock{}, -1, 60, 0, wander(3))
		m.Net.RunUntil(8 * time.Second)
		m.wantSound(300)
		p.wantEvents(20)
		if err := p.Order(1, ecs.Entity{}, nil, nil); err == nil || len(p.Pending(nil)) > 0 || len(p.answers) > 0 {
			t.Errorf("a spectator's order: %v", err)
		}
	})
}

type swimmer struct{ X, Y, Z, W uint64 }

var (
	swimComp = ecs.NewComponent[swimmer]("swimmer")
	swimming = ecs.NewQuery1(ecs.Write(swimComp))
)

// bystanderGame has n entities that all change in every tick, by noise.
func bystanderGame(n int) *ecs.Game {
	g := testGame(30)
	g.Components = append(g.Components, swimComp)
	g.Setup = func(w *ecs.World) {
		for range n {
			w.Spawn(ecs.OwnedByWorld, swimComp)
		}
	}
	g.Systems = append(g.Systems, ecs.Systems(func(w *ecs.World) {
		for e := range swimming.All(w) {
			e.A.X, e.A.Y = e.A.X*6364136223846793005+uint64(w.Tick()), e.A.Y^e.A.X
		}
	})...)
	return g
}

// A state that changes more than a datagram holds goes on the reliable channel, in every tick, each from the one
// before. One that changes more than a message holds goes in pieces. Back on datagrams, nothing is lost.
func TestAStateLargerThanADatagramGoesOnTheReliableChannel(t *testing.T) {
	for _, v := range []struct {
		bystanders, shown, least int
	}{{200, 100, 2000}, {3000, 10, pieceBytes + 2}} {
		inBothModes(t, func(t *testing.T, c Config) {
			m := newMatch(t, bystanderGame(v.bystanders), c, 30)
			for _, s := range []int{0, 3} {
				m.join(profile(t, "P3"), simnet.Clock{}, s, 60, 0, wander(uint64(s)))
			}
			m.Net.RunUntil(8 * time.Second)
			m.wantSound(v.shown)
			if m.Down.Reliable < v.shown || m.Down.Largest < v.least || m.Down.Largest > pieceBytes+2 {
				t.Errorf("%d messages on the reliable channel, the largest of %d bytes", m.Down.Reliable, m.Down.Largest)
			}
			for _, p := range m.clients {
				p.wantEvents(3)
			}
		})
	}
}

// Now and then everything changes at once, and a datagram does not hold it; then it does again.
func TestStatesGoBackToDatagrams(t *testing.T) {
	g := bystanderGame(100)
	swim := g.Systems[len(g.Systems)-1].Run
	g.Systems[len(g.Systems)-1].Run = func(w *ecs.World) {
		if w.Tick()%30 < 3 {
			swim(w)
		}
	}
	m := newMatch(t, g, Config{}, 31)
	m.four(profile(t, "P5"))
	m.Net.RunUntil(20 * time.Second)
	m.wantSound(200)
	for _, p := range m.clients {
		p.wantEvents(60)
	}
	if datagrams := 4*int(m.server.Done()) - m.Down.Reliable; m.Down.Reliable < 40 || datagrams < 1000 {
		t.Errorf("%d messages on the reliable channel, %d datagrams", m.Down.Reliable, datagrams)
	}
}

// Where datagrams do not get through at all, the same messages on the reliable channel do.
func TestDatagramsMayComeOnTheReliableChannel(t *testing.T) {
	m := newMatch(t, testGame(60), Config{}, 32)
	m.Reliable = true
	m.four(profile(t, "P3"))
	m.Net.RunUntil(8 * time.Second)
	m.wantSound(200)
	for _, p := range m.clients {
		p.wantEvents(40)
	}
}

// One wrong bit in a client's state is found with the next State, never shown, and corrected by an image.
func TestAWrongBitIsFoundAndHealed(t *testing.T) {
	inBothModes(t, func(t *testing.T, c Config) {
		m := newMatch(t, testGame(60), c, 33)
		p := m.join(profile(t, "P3"), simnet.Clock{}, 0, 60, 0, wander(1))
		q := m.join(profile(t, "P3"), simnet.Clock{}, 3, 60, 0, wander(2))
		m.Net.At(4*time.Second, func() {
			for e := range bodies.All(p.World()) { // a pointer into the newest state
				e.A.Y += 1
			}
			p.ring.Clear() // older states would heal it
			p.ring.Save(p.World())
			p.Client.shown = float64(p.present)
			p.wrong = p.present // it is what the display has, until the image is there
		})
		m.Net.RunUntil(9 * time.Second)
		if len(p.peer.Flagged) != 1 || m.server.PeerStats(p.peer.ID).Desyncs != 1 || p.refused == 0 || p.Stats().Snaps != 1 || !p.Live() {
			t.Errorf("flagged %d times, refused %d, %+v", len(p.peer.Flagged), p.refused, p.Stats())
		}
		if lag := m.server.Done() - p.present; lag > 20 {
			t.Errorf("%d ticks behind", lag)
		}
		if len(q.peer.Flagged) > 0 || q.refused > 0 {
			t.Errorf("another is flagged: %+v", q.Stats())
		}
		m.WantChange()
	})
}
