package rules

import (
	"math"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/matchsim/halves"
	"tendon/systems"
	"tendon/systems/lockstep"
	"tendon/systems/predict"
	"tendon/systems/relay"
)

// replayed is a live match of bots whose first player has a screen.
type replayed struct {
	*halves.Loop
	t      *testing.T
	view   *ecs.View
	bodies map[ecs.Tick]map[ecs.Player]Body // of the server's states
	sums   map[ecs.Tick]image.Checksum
	shown  int // pictures of a replay
	kills  int // deaths of the first player by another one
	off    int // of shown, with the killer outside
}

func newReplayed(t *testing.T, s systems.Strategy) *replayed {
	r := &replayed{Loop: halves.NewLoop(t, halves.Config{Game: Game(), Strategy: s, Seed: 5}, 4, 4), t: t,
		bodies: map[ecs.Tick]map[ecs.Player]Body{}, sums: map[ecs.Tick]image.Checksum{}}
	for seat := range 4 {
		dice := image.NewRand(uint64(seat))
		p := r.Add(halves.Plan{Config: systems.ClientConfig{Seat: seat}})
		p.Input = func(int) ecs.InputBytes {
			if seat == 0 {
				return ecs.InputBytes{} // an easy target
			}
			return p.Game.Bot(p.World, ecs.Player(seat), dice)
		}
		if seat == 0 {
			p.Display = r.display
		}
		p.Enter()
	}
	var err error
	if r.view, err = ecs.NewView(Game()); err != nil {
		t.Fatal(err)
	}
	r.view.Seat = 0
	return r
}

// serve records the server's state.
func (r *replayed) serve() {
	w := r.Server.World()
	places := map[ecs.Player]Body{}
	for e := range seats.All(w) {
		places[e.A.Player], _ = body.Read(w, e.Entity())
	}
	r.bodies[w.Tick()] = places
	var s image.Snapshot
	w.Image().Save(&s)
	r.sums[w.Tick()] = s.Checksum()
	s.Release()
}

// display is a frame of the first player: what a host does, and the check of the picture.
func (r *replayed) display(now systems.Time) {
	p := r.Peers[0]
	p.Half.SetInput(p.Input(p.Frames))
	p.Half.Frame(now)
	p.Half.Send(now, p)
	if r.view.Past, _ = p.Half.(ecs.Past); !p.Half.Live() {
		return
	}
	r.view.Update(p.Half.View(now))
	p.Half.Effects(func(e systems.Effect) {
		if d, ok := Deaths.Decode(p.Game, e.Event); ok && e.Status == ecs.EffectConfirmed && d.Victim == 0 && d.Killer != 0 {
			r.kills++
		}
		p.Game.Screen.Effect(r.view, e)
	})
	s := newSketch(1.6)
	p.Game.Screen.Draw(s, r.view)
	cam, text := &pictureOf(r.view).replay, 0
	for k := range 6 {
		text += s.hud.texts["kill cam: "+label(r.view, ecs.Player(k))]
	}
	if (cam.world != nil) != (text == 1) || len(s.hud.outside) > 0 {
		r.t.Fatalf("tick %d: a replay %t, %d labels, %q outside the picture", r.view.Tick, cam.world != nil, text, s.hud.outside)
	}
	if cam.world != nil {
		r.checkReplay(s, cam)
	}
	if keeper, ok := p.Half.(systems.Keeper); ok && r.view.Tick%64 == 0 {
		for f := p.Half.Stats().Confirmed; f > 0; f-- {
			state, held := keeper.Kept(f)
			if !held {
				break
			}
			if want, known := r.sums[f]; known && state.Checksum() != want {
				r.t.Fatalf("tick %d differs from the server's", f)
			}
		}
	}
}

// checkReplay checks that the picture is the killer's, of a moment before the death, and that its avatars are where they were.
func (r *replayed) checkReplay(s *sketch, cam *replay) {
	r.shown++
	killer, tick := ecs.Player(cam.view.Seat), cam.world.Tick()
	if tick < cam.from || tick > cam.death || cam.death-cam.from > replayTicks {
		r.t.Fatalf("a replay of [%d, %d] shows tick %d", cam.from, cam.death, tick)
	}
	for p, want := range r.bodies[tick] {
		if got, _ := body.Read(cam.world, avatar(cam.world, p)); got != want {
			r.t.Fatalf("tick %d of a replay: player %d is at %v, was at %v", tick, p, got.Pos, want.Pos)
		}
	}
	b, _ := body.Read(cam.view.Sim, avatar(cam.view.Sim, killer)) // between two states
	x, y := at(flat(b.Pos))
	if s.height != followHeight {
		r.t.Fatalf("tick %d of a replay shows %v m", tick, s.height)
	}
	if dx, dy := math.Abs(x-s.cameraX), math.Abs(y-s.cameraY); dx > s.aspect*followHeight/2 || dy > followHeight/2 {
		r.off++ // the killer had just respawned, and the camera follows softly
	}
	if float64(r.view.Tick) >= cam.end()+1 {
		r.t.Fatalf("a replay continues in tick %d, after the respawn in %v", r.view.Tick, cam.end())
	}
}

// A player who was killed sees the last two seconds before from the killer's side, until the respawn, under every strategy in
// which a client has the past. The match is not disturbed.
func TestTheKillCamShowsThePastAsItWas(t *testing.T) {
	for _, c := range []struct {
		strategy systems.Strategy
		replays  bool
	}{{relay.Strategy, true}, {lockstep.Strategy, true}, {predict.Strategy, false}} {
		t.Run(c.strategy.Name, func(t *testing.T) {
			r := newReplayed(t, c.strategy)
			for n, after := 0, 0; after < respawnTicks; n++ {
				if r.kills > 0 {
					after++ // the replay of the first kill ends in this time
				} else if n == 20000 {
					t.Fatal("no player killed the first one in 20,000 frames")
				}
				r.Next()
				r.Serve()
				r.serve()
				for _, p := range r.Peers {
					if p.Display != nil {
						p.Display(p.Now())
					} else {
						p.Frame(p.Now())
					}
				}
			}
			if c.replays && r.shown < respawnTicks-40 || !c.replays && r.shown > 0 {
				t.Errorf("%d kills were shown in %d pictures", r.kills, r.shown)
			}
		})
	}
}

// The replay is chosen for the own death by another player, while there is time until the respawn.
func TestTheKillCamChoosesTheOwnDeath(t *testing.T) {
	past := &onePast{game: Game()}
	for _, c := range []struct {
		name   string
		seat   int
		killer ecs.Player
		past   ecs.Past
		oldest ecs.Tick
		now    ecs.Tick
		from   ecs.Tick // 0: no replay
	}{
		{"killed", 1, 2, past, 0, 1005, 1000 - replayTicks},
		{"killed, with a short past", 1, 2, past, 950, 1005, 950},
		{"killed, without a past", 1, 2, past, 2000, 1005, 0},
		{"killed under another strategy", 1, 2, nil, 0, 1005, 0},
		{"killed long ago", 1, 2, past, 0, 1000 + respawnTicks - leastReplay + 2, 0},
		{"by their own rocket", 1, 1, past, 0, 1005, 0},
		{"another player", 3, 2, past, 0, 1005, 0},
		{"a spectator", -1, 2, past, 0, 1005, 0},
	} {
		v, err := ecs.NewView(Game())
		if err != nil {
			t.Fatal(err)
		}
		v.Seat, v.Past, v.Tick, v.Alpha = c.seat, c.past, c.now, 1
		past.oldest = c.oldest
		var r replay
		r.choose(v, Death{Victim: 1, Killer: c.killer}, 1000)
		if (r.world != nil) != (c.from > 0) || r.from != c.from {
			t.Errorf("%s: a replay %t from tick %d, want %d", c.name, r.world != nil, r.from, c.from)
		}
		if c.from > 0 && (r.moment(r.begin) != float64(c.from) || r.moment(r.end()) != 1000 || r.view.Seat != 2) {
			t.Errorf("%s: from %v to %v, player %d watches", c.name, r.moment(r.begin), r.moment(r.end()), r.view.Seat)
		}
		if r.world != nil && (r.advance(v) != nil || r.world != nil) { // the past does not continue
			t.Errorf("%s: the replay does not end with the past", c.name)
		}
	}
}

// onePast is a past whose ticks from oldest on can be forked. None can be followed.
type onePast struct {
	game   *ecs.Game
	oldest ecs.Tick
}

func (p *onePast) Fork(f ecs.Tick) (*ecs.World, bool) {
	if f < p.oldest {
		return nil, false
	}
	w, err := ecs.NewWorld(p.game, 1)
	return w, err == nil
}

func (p *onePast) Follow(*ecs.World) bool { return false }
