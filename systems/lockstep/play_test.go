package lockstep

import (
	"fmt"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/race"
	"tendon/ecs/raworder"
	"tendon/net/matchsim/halves"
	"tendon/net/simnet"
	"tendon/systems"
	"tendon/systems/internal/code"
)

// every configuration that changes how frames travel or end.
var ways = []struct {
	name   string
	config Config
}{
	{"datagrams", Config{}},
	{"reliable", Config{Reliable: true}},
	{"article", Article()},
	{"article, reliable", Config{Interval: 5, Margin: NoMargin, NoCatchUp: true, RelayAtOnce: true, Reliable: true}},
	{"eager, relayed at once", Config{Interval: 10, Eager: true, RelayAtOnce: true}},
	{"adaptive interval", Config{AdaptInterval: true}},
	{"waiting", Config{Closing: Waiting}},
	{"waiting, reliable", Config{Closing: Waiting, Reliable: true}},
	{"hybrid", Config{Closing: Hybrid, Wait: 30 * systems.Second / 1000}},
	{"on demand", Config{OnDemand: true}},
}

// LS-01, in short: whatever way frames travel and end, every client executes what the server's log has, in every
// frame, and never what was not promised.
func TestEveryClientExecutesTheServersLog(t *testing.T) {
	for _, way := range ways {
		profiles, length, enough := []string{"P0", "P3", "P5", "P8"}, 12*time.Second, 400
		if !race.Long {
			profiles, length, enough = profiles[2:3], 4*time.Second, 100
		}
		for _, name := range profiles {
			t.Run(way.name+"/"+name, func(t *testing.T) {
				m := four(t, profile(t, name), 1, way.config)
				shop(m)
				m.Net.RunUntil(length)
				least := enough
				if m.config.OnDemand {
					least = 0
				}
				m.wantSound(least)
				for _, c := range m.clients {
					if c.at()+90 < m.server.Done() || !c.Live() {
						t.Errorf("client %d is at %d, the server at %d", c.peer.ID, c.at(), m.server.Done())
					}
				}
			})
		}
	}
}

// shop lets every client give an order now and then, of up to 1 KiB.
func shop(m *match) {
	for i, c := range m.clients {
		c.onFrame = func(p *player, _, _ ecs.Tick) {
			if p.Live() && p.peer.Frames%(70+i) == 0 && len(p.own.list) < maxQueue {
				if err := p.Order(1, ecs.Entity{Row: 3, Born: 1}, raworder.Bytes(1+p.peer.Frames*37%raworder.MaxBytes), p.peer); err != nil {
					m.T.Error(err)
				}
			}
		}
	}
}

// article starts one client of the article's mode whose frames come at the times of vector LS-SYNC5. It begins with
// every operation that is to be in the match still to come.
func article(t testing.TB, c Config, play func(*player, int) pad, change func(m *match, p *player)) (*match, *player) {
	m := newMatch(t, testGame(), 5, c)
	path := simnet.Symmetric("10", "10", simnet.Path{Delay: 10 * ms})
	p := m.add(halves.Plan{Path: path, Phase: firstFrame}, play)
	p.peer.Enter()
	if change != nil {
		change(m, p)
	}
	return m, p
}

// firstFrame is when the client of the article starts frame 1: at the arrival of the first sync, at 93.33… ms. All of
// its frames are a nanosecond late, because neither grid falls on whole ones: what comes in the moment of a frame
// comes before it.
const firstFrame = 93333334

func tickAt(f int) simnet.Time { return simnet.Time(f) * simnet.Time(time.Second) / 60 }

// Vectors LS-SYNC5 and LS-OP7, to the nanosecond.
func TestAnOperationOfFrameOneTakesEffectInFrameSeven(t *testing.T) {
	m, p := article(t, Article(), func(p *player, f int) pad {
		return pad{DX: 1}
	}, nil)
	m.Net.RunUntil(2 * time.Second)
	for f := 1; f <= 100; f++ {
		if want := firstFrame + tickAt(f-1); p.starts[ecs.Tick(f)] != want {
			t.Fatalf("frame %d starts at %v, want %v", f, p.starts[ecs.Tick(f)], want)
		}
	}
	for f := ecs.Tick(1); f <= 8; f++ {
		if moved := m.Ticks[f].Inputs[0] != (ecs.InputBytes{}); moved != (f >= 7) {
			t.Errorf("frame %d: %v", f, m.Ticks[f])
		}
	}
	if len(p.stalls) > 0 || p.starts[7] != 193333334 {
		t.Error(p.stalls, p.starts[7])
	}
}

// Vector LS-DELAY40: one late sync stalls once, for three whole ticks, and teaches the slack that the next one needs.
// With catching up, the slack is gone two seconds later.
func TestALateSyncStallsOnceAndTeachesSlack(t *testing.T) {
	for _, catchUp := range []bool{false, true} {
		c := Article()
		c.NoCatchUp = !catchUp
		m, p := article(t, c, idle, func(m *match, p *player) {
			late := simnet.Rule{Match: func(_ simnet.Channel, b []byte) bool { return b[1] == kindSync }, Nth: 2, Delay: 40 * ms}
			m.Net.Script(m.Node, p.peer.Node, late)
			if !catchUp {
				late.Nth = 3
				m.Net.Script(m.Node, p.peer.Node, late)
			}
		})
		m.Net.RunUntil(2300 * ms)
		if len(p.stalls) != 1 {
			t.Fatal(p.stalls)
		}
		s := p.stalls[0]
		if s.c != 5 || s.ticks != 3 || s.since != firstFrame+tickAt(5) || s.until != firstFrame+tickAt(8) || s.why != systems.StallSync {
			t.Errorf("%+v", s)
		}
		slack := p.lags[len(p.lags)-1] - p.lags[0]
		if catchUp && slack > 17*ms || !catchUp && slack != tickAt(3) {
			t.Errorf("catching up %v: the slack is %v", catchUp, slack)
		}
	}
}

// far lets a client go on from State(have), of which it has the image, and returns what it is sent until it is live.
func far(m *match, p *player, have ecs.Tick) (bytes int) {
	before := m.Down.Bytes
	p.peer.OpenNow(have)
	m.until(p.Live)
	return m.Down.Bytes - before
}

func (m *match) until(done func() bool) {
	m.T.Helper()
	for end := m.Net.Now() + 20*time.Second; !done(); m.Net.RunUntil(m.Net.Now() + time.Second/60) {
		if m.Net.Now() > end {
			m.T.Fatal("this goes on for ever")
		}
	}
}

// LS-08: who comes back with a state is sent what follows it, once, and little else.
func TestComingBackCostsTheFramesThatAreMissing(t *testing.T) {
	for _, reliable := range []bool{false, true} {
		m := newMatch(t, testGame(), 8, Config{Reliable: reliable})
		m.join(profile(t, "P0"), simnet.Clock{}, 0, 60, wander(1))
		p := m.join(profile(t, "P2"), simnet.Clock{}, 1, 60, wander(2))
		m.Net.RunUntil(4 * time.Second)
		p.peer.Off = true
		p.peer.Drop()
		have := p.at()
		m.Net.RunUntil(14 * time.Second)
		codes := 0
		for f := have + 1; f <= m.server.Done(); f++ {
			codes += code.StoredBits(m.server.log.code(f))
		}
		p.peer.Load(m.server.Done())
		live := m.clients[:1]
		for _, c := range live {
			c.peer.Off = true // so that only the one who comes back is sent anything
		}
		m.server.Close(0)
		p.peer.Off = false
		bytes := far(m, p, have)
		if limit := codes/8*11/10 + 200; bytes > limit {
			t.Errorf("reliable %v: %d bytes for frames of %d bytes", reliable, bytes, codes/8)
		}
		if p.Stats().Snaps != 1 || p.at()+20 < m.server.Done() {
			t.Errorf("%+v", p.Stats())
		}
	}
}

// LS-13: an operation belongs to the frame that is running when it arrives, and never to one that was promised.
func TestAnOperationAtTheEndOfAFrameBelongsToIt(t *testing.T) {
	for _, late := range []simnet.Time{0, 1} {
		m := newMatch(t, testGame(), 13, Config{Interval: 5})
		p := m.add(halves.Plan{}, idle)
		p.peer.Off = true // all that it sends is the message below
		p.peer.Load(0)
		p.peer.OpenNow(0)
		ops := opsMessage{live: true, first: 1, ops: []op{{in: padInput.Pack(pad{DX: 1})}}}
		message, _ := ops.append(nil, m.Game)
		m.Net.At(tickAt(10)+late, func() { p.peer.Send(0, systems.Datagram, message) })
		m.Net.RunUntil(time.Second)
		for f := ecs.Tick(1); f < 30; f++ {
			want := f >= 10+ecs.Tick(late)
			if got := m.Ticks[f].Inputs[0] != (ecs.InputBytes{}); got != want {
				t.Errorf("%d ns late: frame %d: %v", late, f, m.Ticks[f])
			}
		}
	}
}

// LS-12, and more: two orders of one frame are both executed, in order; of two changes in one frame the later holds,
// and no press is lost.
func TestSeveralOperationsOfOneFrameAreAllKept(t *testing.T) {
	m, p := article(t, Config{}, idle, nil)
	m.Net.RunUntil(time.Second)
	out := p.peer
	p.own.list = append(p.own.list, op{in: padInput.Pack(pad{DX: 1, Throw: true})})
	p.own.list = append(p.own.list, op{in: padInput.Pack(pad{DX: -1})})
	for _, payload := range []string{"a", "bb"} {
		if err := p.Order(1, ecs.Entity{}, []byte(payload), out); err != nil {
			t.Fatal(err)
		}
	}
	m.Net.RunUntil(2 * time.Second)
	orders, presses := "", 0
	for f := ecs.Tick(60); f < m.server.Done(); f++ {
		for _, o := range m.Ticks[f].Orders {
			orders += fmt.Sprint(f, string(o.Payload), " ")
		}
		if in := padInput.Unpack(m.Ticks[f].Inputs[0]); in.Throw {
			presses++
			if in.DX != -1 {
				t.Errorf("frame %d: %+v", f, in)
			}
		}
	}
	if presses != 1 || orders != "62a 62bb " {
		t.Errorf("%d presses, orders %q", presses, orders)
	}
}
