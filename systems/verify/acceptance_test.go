package verify

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/ecs/race"
	"tendon/net/simnet"
	"tendon/systems"
)

// pressing presses fire in the frames that are asked for, and holds still otherwise.
func pressing(frames ...int) func(*player, int) pad {
	return func(_ *player, f int) pad { return pad{Throw: slices.Contains(frames, f)} }
}

// The line is Gambetta's example: a character stands at 10, a press moves it by one.
type (
	button struct {
		Right bool `tendon:"press"`
	}
	spot struct{ X int32 }
)

var (
	buttonInput = ecs.NewInput[button]()
	spotComp    = ecs.NewComponent[spot]("spot")
	spots       = ecs.NewQuery2(ecs.Write(spotComp), ecs.Read(seatComp))
)

func lineGame() *ecs.Game {
	return &ecs.Game{Name: "line", TickRate: 40, MaxPlayers: 1, Input: buttonInput, Components: ecs.Components(spotComp, seatComp),
		Systems: ecs.Systems(func(w *ecs.World) {
			for e := range spots.All(w) {
				if buttonInput.Of(w, e.B.Player).Right {
					e.A.X++
				}
			}
		}),
		Join: func(w *ecs.World, p ecs.Player, _ ecs.Card) {
			e := w.Spawn(ecs.OwnedBy(p), spotComp, seatComp)
			spotComp.Put(w, e, spot{10})
			seatComp.Put(w, e, ecs.Seat{Player: p})
		}}
}

// walker shows the character moving towards its place in the newest state: a unit in 100 ms, from the arrival of the
// state.
type walker struct {
	from, to float64
	since    systems.Time
}

func (a *walker) show(current *image.Snapshot, now systems.Time) float64 {
	to := 10.0
	for born := range current.Tick() + 1 {
		if s, ok := spotComp.ReadAt(current, ecs.Entity{Row: 1 << 20, Born: born}); ok {
			to = float64(s.X)
		}
	}
	if a.to == 0 {
		a.from, a.to = to, to
	}
	if to != a.to {
		a.from, a.to, a.since = a.to, to, now
	}
	return min(a.from+float64(now-a.since)/float64(systems.Second/10), a.to)
}

// VS-01, vector GAM-1: the round trip is 100 ms and nothing is predicted. A press at 0 shows nothing until 100, and its
// animation ends at 200. The server is due when the press arrives, so it does not wait.
func TestVS01GAM1APressShowsAfterTheRoundTripAndItsAnimation(t *testing.T) {
	inBothModes(t, func(t *testing.T, c Config) {
		m := newMatch(t, lineGame(), c, 1)
		const press = 40 // frame: 1 s after the start
		var at simnet.Time
		p := m.join(round(100*ms), simnet.Clock{}, 0, 40, 0, idle)
		var a walker
		shown := map[time.Duration]float64{}
		m.Net.StopTicks(1) // of join: this player has buttons of another kind
		m.Net.Every(p.peer.Node, 0, 40, func(k int64, now simnet.Time) {
			if p.peer.Loads == 0 {
				return
			}
			if k == press {
				at = m.Net.Now()
			}
			p.SetInput(buttonInput.Pack(button{Right: k == press}))
			p.Frame(systems.Time(now))
			p.Send(systems.Time(now), p.peer)
			_, current, _, _ := p.View(systems.Time(now))
			if x := a.show(current, systems.Time(now)); k >= press {
				shown[m.Net.Now()-at] = x
			}
		})
		m.Net.RunUntil(2 * time.Second)
		for after := time.Duration(0); after <= 400*ms; after += 25 * ms {
			want := min(max(10, 10+float64(after-100*ms)/float64(100*ms)), 11)
			if x, ok := shown[after]; !ok || math.Abs(x-want) > 1e-9 {
				t.Errorf("%v after the press it is shown at %v, want %v", after, x, want)
			}
		}
		if s := p.Stats(); s.Rejected > 0 || s.Snaps > 0 {
			t.Errorf("%+v", s)
		}
	})
}

// VS-02: over a bad network all clients receive the same events in the same order. There are no corrections: every state in a
// picture is the server's. There are no snaps: no picture shows a step above the speed of the entity.
func TestVS02AllClientsReceiveTheSameEventsInTheSameOrder(t *testing.T) {
	inBothModes(t, func(t *testing.T, c Config) {
		d := newDots(t, c, 2)
		var steps [4]stepBound
		for seat := range 4 {
			d.join(profile(t, "P5"), 60, wander(uint64(seat)+1), func(_ *player, v *ecs.View, now systems.Time) { steps[seat].look(t, v, now) })
		}
		d.Net.RunUntil(12 * time.Second)
		d.wantSound(100)
		if d.Down.Bytes == 0 || (d.Down.Reliable > 0) != c.Reliable {
			t.Errorf("%d of the messages were on the reliable channel", d.Down.Reliable)
		}
		var order []image.EventKey // on the first client
		for i, p := range d.clients {
			p.wantEvents(60)
			var got []image.EventKey
			for _, e := range p.peer.Effects {
				got = append(got, e.Event.Key)
			}
			if i == 0 {
				order = got
			}
			common := min(len(order), len(got)) // all joined in the first ticks; the newest may be on their way
			if common < 60 || !slices.Equal(order[:common], got[:common]) {
				t.Errorf("client %d received %d events in another order than client 0", i, len(got))
			}
			if steps[i].n < 4*500 {
				t.Errorf("client %d: only %d steps were measured", i, steps[i].n)
			}
			t.Logf("client %d: %d events, %d states, the largest of %d steps is %.2f of the largest speed", i, len(got), p.checked, steps[i].n, steps[i].worst)
		}
	})
}

// ping measures the round trips of datagrams over a path: what a network alone takes, jitter included.
func ping(t *testing.T, path simnet.Profile) time.Duration {
	n := simnet.New(simnet.Config{Seed: 77})
	a, b := n.AddNode(simnet.Clock{}), n.AddNode(simnet.Clock{})
	if err := n.Connect(a, b, path); err != nil {
		t.Fatal(err)
	}
	var trips []time.Duration
	n.OnMessage(b, func(_ simnet.NodeID, _ simnet.Channel, payload []byte, _ simnet.Time) {
		_ = n.Send(b, a, simnet.Datagram, payload) // may be lost as well
	})
	n.OnMessage(a, func(_ simnet.NodeID, _ simnet.Channel, payload []byte, now simnet.Time) {
		trips = append(trips, now-simnet.Time(binary.LittleEndian.Uint64(payload)))
	})
	n.Every(a, 0, 100, func(_ int64, now simnet.Time) {
		_ = n.Send(a, b, simnet.Datagram, binary.LittleEndian.AppendUint64(nil, uint64(now)))
	})
	n.RunUntil(30 * time.Second)
	return median(trips)
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// VS-03, and the gate of section 15, in the view: an input's motion is shown after a round trip, half a tick and the playout
// delay, within a tick. The latency law of section 7 names the playout delay "+ view interpolation".
func TestVS03InputShowsARoundTripAndHalfATickLater(t *testing.T) {
	for _, name := range []string{"P0", "P2", "P3", "P4", "P5"} {
		inBothModes(t, func(t *testing.T, c Config) {
			// A lost packet delays those behind it on the reliable channel.
			if !c.Reliable || name != "P5" {
				inputToMotion(t, c, name)
			}
		})
	}
}

// inputToMotion measures the time from a press to the first picture in which the dot has moved.
func inputToMotion(t *testing.T, c Config, name string) {
	const tick = time.Second / 60
	path := profile(t, name)
	rtt := ping(t, path)
	d := newDots(t, c, 3)
	var pressed simnet.Time
	var took, buffers []time.Duration
	r := image.NewRand(5)
	next, way := 240, int8(1)
	rest, moved := 0.0, true
	d.join(path, 239, func(p *player, f int) pad {
		switch {
		case f == next:
			pressed, moved = d.Net.Now(), false
			return pad{DX: way}
		case f > next+60:
			next, way = f+180+int(r.IntN(100)), -way
			return pad{}
		case f > next:
			return pad{DX: way}
		}
		return pad{}
	}, func(p *player, v *ecs.View, _ systems.Time) {
		x, _, _ := dotAt(v, 0)
		switch {
		case moved:
			rest = x
		case x != rest:
			moved = true
			took = append(took, d.Net.Now()-pressed)
			buffers = append(buffers, time.Duration((p.playback.Delay()-1)*float64(tick)))
		}
	})
	d.Net.RunUntil(60 * time.Second)
	if len(took) < 40 {
		t.Fatalf("only %d presses were seen", len(took))
	}
	middle, buffer := median(took), median(buffers)
	t.Logf("%s: round trip %v, playout delay %v, median from input to motion %v, worst %v", name, rtt, buffer, middle, took[len(took)-1])
	if late := middle - rtt - tick/2 - buffer; late < -tick || late > tick {
		t.Errorf("%s: median %v, round trip %v, playout delay %v: off by %v", name, middle, rtt, buffer, late)
	}
	if most := (map[string]time.Duration{"P0": 0, "P2": 2, "P3": 4, "P4": 0, "P5": 8})[name] * tick; buffer > most+tick/100 && !c.Reliable {
		t.Errorf("%s: a playout delay of %v, want at most %v", name, buffer, most)
	}
}

// VS-04: a fifth of all packets is doubled, some are lost, and the connection breaks while commands are on their way.
// Each command is carried out once or rejected, and answered once.
func TestVS04EachCommandIsCarriedOutExactlyOnce(t *testing.T) {
	inBothModes(t, func(t *testing.T, c Config) {
		path := profile(t, "P3")
		path.Up.Duplicate, path.Down.Duplicate, path.Up.Loss, path.Down.Loss = 0.2, 0.2, 0.05, 0.05
		m := newMatch(t, testGame(60), c, 4)
		id := uint32(0)
		for i, s := range []int{0, 3} { // too far apart to be hurt
			m.join(path, simnet.Clock{}, s, 60, 0, func(p *player, f int) pad {
				if p.Live() && f > 60 && f < 900 && f%9 == i && p.commands.known {
					id++
					price := int32(5)
					if id%7 == 0 {
						price = 5000 // too much
					}
					if err := p.Order(1, ecs.Entity{}, purchase(price, id), nil); err != nil {
						t.Error(err)
					}
				}
				return pad{Throw: f > 60 && f < 900 && f%66 == 0}
			})
		}
		given := func(p *player) uint64 { return p.commands.next() - 1 }
		reconnects := 0
		for at := 2 * time.Second; at < 14*time.Second; at += 730 * ms {
			m.Net.At(at, func() {
				p := m.clients[reconnects%2]
				if len(p.Pending(nil)) > 0 {
					reconnects++
				}
				p.reconnect(reconnects%4 >= 2)
			})
		}
		m.Net.RunUntil(18 * time.Second)
		if reconnects < 10 {
			t.Errorf("only %d connections broke while commands were under way", reconnects)
		}
		carriedOut := map[uint32]int{}
		for _, o := range m.orders() {
			carriedOut[orderOf(o.Payload).ID]++
		}
		for _, p := range m.clients {
			answered, presses, invalid := map[uint64]int{}, 0, 0
			for _, a := range p.answers {
				answered[a.Command.Number]++
				if a.Command.Kind == CommandInput {
					if a.Reason == Accepted && padInput.Unpack(a.Command.Input).Throw {
						presses++
					}
					continue
				}
				price, id := uint32(orderOf(a.Command.Order).Price), orderOf(a.Command.Order).ID
				want := 1
				if a.Reason != Accepted {
					want = 0
					invalid++
				}
				if carriedOut[id] != want || a.Reason == ReasonTimedOut || (price > startGold) != (a.Reason == ReasonInvalid) {
					t.Errorf("client %d: purchase %d for %d was answered %v, and carried out %d times", p.peer.ID, id, price, a.Reason, carriedOut[id])
				}
			}
			if len(answered) != int(given(p)) || len(p.answers) != int(given(p)) || invalid < 5 || presses < 10 {
				t.Errorf("client %d: %d commands, %d answers to %d of them, %d invalid, %d presses", p.peer.ID, given(p), len(p.answers), len(answered), invalid, presses)
			}
			seen := 0
			for _, tick := range m.Ticks[1:] {
				if padInput.Unpack(tick.Inputs[p.Config.Seat]).Throw {
					seen++
				}
			}
			if seen != presses {
				t.Errorf("client %d: %d presses were accepted, %d ticks had one", p.peer.ID, presses, seen)
			}
			if len(p.peer.Flagged) > 0 || p.refused > 0 {
				t.Errorf("client %d: flagged %d times, %d refused", p.peer.ID, len(p.peer.Flagged), p.refused)
			}
		}
	})
}

// VS-05: a rejected command changes nothing: the match is bit for bit the one without the command. Its player keeps the
// input held before.
func TestVS05ARejectedCommandChangesNothingAnywhere(t *testing.T) {
	inBothModes(t, func(t *testing.T, c Config) {
		play := func(sends bool) *match {
			m := newMatch(t, testGame(60), c, 5)
			for s := range 3 {
				m.join(profile(t, "P3"), simnet.Clock{}, s, 60, 0, wander(uint64(s)))
			}
			m.join(profile(t, "P3"), simnet.Clock{}, 3, 60, 0, func(p *player, f int) pad {
				if !sends || f < 200 {
					return pad{DX: 1}
				}
				if f%80 == 0 {
					if err := p.Order(1, ecs.Entity{}, purchase(5000, 1), nil); err != nil {
						t.Error(err)
					}
				}
				return pad{DX: forbidden, DY: int8(f / 10 % 100), Throw: f%50 == 0}
			})
			m.Net.RunUntil(8 * time.Second)
			m.wantSound(60)
			return m
		}
		with, without := play(true), play(false)
		for f := ecs.Tick(1); f <= with.server.Done(); f++ {
			if with.Ticks[f].Sum != without.Ticks[f].Sum {
				t.Fatalf("tick %d has another state", f)
			}
		}
		p := with.clients[3]
		if n := p.Stats().Rejected; n < 20 || with.server.PeerStats(p.peer.ID).Refused < n || without.clients[3].Stats().Rejected > 0 {
			t.Errorf("%d commands were rejected, %d without them", n, without.clients[3].Stats().Rejected)
		}
		for _, a := range p.answers {
			if (a.Reason == Accepted) != (a.Command.Kind == CommandInput && padInput.Unpack(a.Command.Input).DX == 1) {
				t.Errorf("%+v", a)
			}
		}
		if in := with.Ticks[with.server.Done()].Inputs[3]; padInput.Unpack(in).DX != 1 && !bodyOf(with.server.World(), 3).Dead {
			t.Errorf("the player holds %+v", padInput.Unpack(in))
		}
		for s, other := range with.clients[:3] {
			if a, b := other.Stats(), without.clients[s].Stats(); a != b || other.checked != without.clients[s].checked {
				t.Errorf("client %d noticed: %+v, %+v", s, a, b)
			}
		}
	})
}

// Over every standard profile and both channels, every state that is shown is the server's of its tick. In the end all
// clients are in the same state.
func TestEveryShownStateIsTheServers(t *testing.T) {
	for _, path := range simnet.Profiles() {
		t.Run(path.Name, func(t *testing.T) {
			if !race.Long && path.Name != "P3" && path.Name != "P9" {
				t.Skip("the same, slowly")
			}
			inBothModes(t, func(t *testing.T, c Config) {
				limit, least := 60, 50
				if c.Reliable && path.Name >= "P7" {
					c.History, limit, least = 2048, 60*10, 7 // what is lost holds up seconds of states
				}
				m := newMatch(t, testGame(60), c, 6)
				m.four(path)
				m.join(path, simnet.Clock{}, -1, 60, ms, idle)
				long := 12 * time.Second
				if race.Enabled {
					long = 4 * time.Second
				}
				m.Net.RunUntil(long + 8*time.Second)
				m.wantSound(least)
				for _, p := range m.clients {
					p.wantEvents(least)
					if lag := m.server.Done() - p.present; lag > ecs.Tick(limit)+2*60 {
						t.Errorf("client %d is %d ticks behind", p.peer.ID, lag)
					}
				}
			})
		})
	}
}
