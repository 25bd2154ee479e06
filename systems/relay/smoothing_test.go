package relay

import (
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/race"
	"tendon/net/matchsim/halves"
	"tendon/net/simnet"
	"tendon/systems"
)

// The puck game: players hit a puck that slides over a rink.
type puckBody struct{ Pos, Vel fixed.Vec2 }

var (
	puckBodies = ecs.NewComponent("puck body", ecs.Roles[puckBody]{
		Lerp: func(a, b puckBody, t float64) puckBody {
			b.Pos = a.Pos.Lerp(b.Pos, fixed.FromFloat(t))
			return b
		},
		Motion: func(b *puckBody) ecs.Motion { return ecs.Motion{Pos: flat(b.Pos), Vel: flat(b.Vel)} },
		SetMotion: func(b *puckBody, m ecs.Motion) {
			b.Pos, b.Vel = fixed.Vec2{X: m.Pos.X, Y: m.Pos.Y}, fixed.Vec2{X: m.Vel.X, Y: m.Vel.Y}
		},
	})
	puckSeats = ecs.NewComponent[ecs.Seat]("puck seat")
	mallets   = ecs.NewQuery2(ecs.Write(puckBodies), ecs.Read(puckSeats))
	pucks     = ecs.NewQuery1(ecs.Write(puckBodies), ecs.Without(puckSeats))
	puckHits  = ecs.NewEvent[ecs.Seat]("puck hit")
)

func flat(v fixed.Vec2) fixed.Vec3 { return fixed.Vec3{X: v.X, Y: v.Y} }

const (
	malletSpeed = 6  // world units per second, along each axis
	hitSpeed    = 14 // of the puck
)

// bounce moves a body by a tick, and keeps it in the rink.
func (b *puckBody) bounce() {
	b.Pos = b.Pos.Add(fixed.Vec2{X: b.Vel.X / 60, Y: b.Vel.Y / 60})
	for _, axis := range []struct {
		pos, vel *fixed.Num
		most     fixed.Num
	}{{&b.Pos.X, &b.Vel.X, fixed.FromInt(8)}, {&b.Pos.Y, &b.Vel.Y, fixed.FromInt(5)}} {
		if *axis.pos > axis.most && *axis.vel > 0 || *axis.pos < -axis.most && *axis.vel < 0 {
			*axis.vel = -*axis.vel
		}
	}
}

func slideMallets(w *ecs.World) {
	for e := range mallets.All(w) {
		in := padInput.Of(w, e.B.Player)
		e.A.Vel = fixed.Vec2{X: fixed.FromInt(malletSpeed * int(in.DX)), Y: fixed.FromInt(malletSpeed * int(in.DY))}
		e.A.bounce()
	}
}

func slidePuck(w *ecs.World) {
	for p := range pucks.All(w) {
		p.A.Vel = p.A.Vel.Scale(fixed.FromRatio(99, 100))
		for m := range mallets.All(w) {
			away := p.A.Pos.Sub(m.A.Pos)
			if away.Len() < fixed.One && p.A.Vel.Sub(m.A.Vel).Dot(away) < 0 {
				p.A.Vel = away.Normalize().Scale(fixed.FromInt(hitSpeed))
				puckHits.Emit(w, p.Entity(), ecs.Seat{Player: m.B.Player})
			}
		}
		p.A.bounce()
	}
}

func puckGame() *ecs.Game {
	return &ecs.Game{Name: "puck", TickRate: 60, MaxPlayers: 4, Input: padInput,
		Components: ecs.Components(puckBodies, puckSeats), Events: ecs.Events(puckHits), Systems: ecs.Systems(slideMallets, slidePuck),
		Setup: func(w *ecs.World) { w.Spawn(ecs.OwnedByWorld, puckBodies) },
		Join: func(w *ecs.World, p ecs.Player, _ ecs.Card) {
			e := w.Spawn(ecs.OwnedBy(p), puckBodies, puckSeats)
			puckBodies.Put(w, e, puckBody{Pos: fixed.Vec2{X: fixed.FromInt(2*int(p) - 3)}})
			puckSeats.Put(w, e, ecs.Seat{Player: p})
		}}
}

// puckTop returns the top speed of an entity of the puck game.
func puckTop(e ecs.Entity) float64 {
	if e.Owner() == ecs.OwnedByWorld {
		return hitSpeed
	}
	return malletSpeed * 1.4143
}

// chase steers a mallet to the puck, and turns at random.
func chase(seed uint64) func(*player, int) pad {
	walk := wander(seed)
	return func(p *player, f int) pad {
		in := walk(p, f)
		puck, mine := puckBody{}, puckBody{}
		for e := range pucks.All(p.World()) {
			puck = *e.A
		}
		for e := range mallets.All(p.World()) {
			if int(e.B.Player) == p.Config.Seat {
				mine = *e.A
			}
		}
		if f/40%3 > 0 {
			to := puck.Pos.Sub(mine.Pos)
			in.DX, in.DY = sign(to.X), sign(to.Y)
		}
		return in
	}
}

func sign(n fixed.Num) int8 {
	switch {
	case n > fixed.One/4:
		return 1
	case n < -fixed.One/4:
		return -1
	}
	return 0
}

// watched is a match whose views are measured.
type watched struct {
	*match
	steps     []*halves.Steps
	teleports halves.Teleports
}

// watch adds players whose views are measured after 3 s.
func watch(t *testing.T, game *ecs.Game, path string, players int, top func(ecs.Entity) float64, play func(seat int) func(*player, int) pad) *watched {
	w := &watched{match: newMatch(t, game, 21)}
	w.OnTick = func(f systems.FinalTick) { w.teleports.Watch(f.World, top) }
	for seat := range players {
		view, err := ecs.NewView(game)
		if err != nil {
			t.Fatal(err)
		}
		steps := &halves.Steps{Top: top}
		w.steps = append(w.steps, steps)
		p := w.join(profile(t, path), simnet.Clock{Offset: time.Duration(seat) * time.Second, DriftPPM: int64(seat*40 - 60)}, systems.ClientConfig{Seat: seat}, 60, play(seat))
		p.onFrame = func(p *player, _, _ ecs.Tick) {
			p.Present(view, p.Now)
			if w.Net.Now() > 3*time.Second {
				steps.Look(view, p.Now)
			}
		}
	}
	return w
}

// A correction does not show as a jump, in a game with a puck that players hit. No entity moves in a frame by more than its top
// speed and 20 % allow. At most five steps a minute are snaps. Every confirmed tick is still the server's.
func TestNoCorrectionShowsAsAJump(t *testing.T) {
	for _, v := range []struct {
		path  string
		share float64
	}{{"P3", 1.2}, {"P5", 1.2}} {
		t.Run(v.path, func(t *testing.T) {
			seconds := 15
			if race.Long {
				seconds = 120
			}
			m := watch(t, puckGame(), v.path, 3, puckTop, func(seat int) func(*player, int) pad { return chase(uint64(seat) + 5) })
			m.Net.RunUntil(time.Duration(seconds) * time.Second)
			m.wantSound(300)
			for i, s := range m.steps {
				beyond, snaps := s.Judge(&m.teleports, v.share)
				st := m.clients[i].Stats()
				perMinute := float64(snaps) * 60 / float64(seconds-3)
				t.Logf("client %d: largest step %.2f of the top speed, %d of %d beyond %v, %.1f snaps a minute; %d rollbacks, %d events predicted, %d cancelled",
					i, s.Worst, beyond, s.N, v.share, perMinute, st.Rollbacks, st.EventsPredicted, st.EventsCancelled)
				if beyond > 0 || perMinute > 5 {
					t.Errorf("client %d: %d steps beyond %v times the top speed, %.1f snaps a minute", i, beyond, v.share, perMinute)
				}
				if s.N < 4*50*(seconds-3) || st.Rollbacks < uint64(seconds) || st.EventsCancelled == 0 || st.EventsPredicted < st.EventsCancelled {
					t.Errorf("client %d: the run proves nothing: %d steps, %+v", i, s.N, st)
				}
			}
		})
	}
}

// An offset is in the view only: with a view or without one, a client computes the same states. Inputs show at once.
func TestSmoothingIsInTheViewOnly(t *testing.T) {
	game := puckGame()
	m := watch(t, game, "P5", 2, puckTop, func(seat int) func(*player, int) pad { return chase(uint64(seat) + 5) })
	offset := 0
	for _, p := range m.clients {
		show := p.onFrame
		p.onFrame = func(p *player, before, after ecs.Tick) {
			show(p, before, after)
			offset = max(offset, p.offsets.Len())
			if before, after := p.timeline.Present(), p.World().Tick(); before != after {
				t.Errorf("the present is %d, the world is in tick %d", before, after)
			}
		}
	}
	m.Net.RunUntil(10 * time.Second)
	m.wantSound(300)
	if offset == 0 {
		t.Error("no entity was shown at an offset")
	}
}

// A frame with a view allocates nothing, corrections included.
func TestAFrameWithAViewAllocatesNothing(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	game := halves.Dots()
	l := newLoop(t, game, 2, 3, func(seat, tick int) pad {
		in := zigzag(seat, tick)
		in.Throw = false // a spark that comes or goes allocates in the view
		return in
	})
	view, err := ecs.NewView(game)
	if err != nil {
		t.Fatal(err)
	}
	c, offset := l.clients[0], 0
	frame := func() {
		l.Step()
		c.Present(view, l.Now())
		offset = max(offset, c.offsets.Len())
	}
	for range 1500 {
		frame()
	}
	if n := testing.AllocsPerRun(600, frame); n != 0 {
		t.Errorf("%v allocations in a frame", n)
	}
	if offset == 0 || c.Stats().Rollbacks < 100 {
		t.Errorf("%d entities had an offset, %+v", offset, c.Stats())
	}
}
