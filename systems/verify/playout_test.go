package verify

import (
	"fmt"
	"math"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/matchsim/halves"
	"tendon/net/simnet"
	"tendon/systems"
)

// dots is a match of halves.Dots, whose pictures tests measure.
type dots struct{ *match }

// dotSpeed is the speed of a dot along an axis, in world units per second.
const dotSpeed = 4

func newDots(t *testing.T, c Config, seed uint64) *dots {
	return &dots{match: newMatch(t, halves.Dots(), c, seed)}
}

// join adds a client at hz frames per second. picture receives its view in every frame.
func (d *dots) join(path simnet.Profile, hz int, play func(*player, int) pad, picture func(p *player, v *ecs.View, now systems.Time)) *player {
	v, err := ecs.NewView(d.Game)
	if err != nil {
		d.T.Fatal(err)
	}
	seat := len(d.clients)
	p := d.match.join(path, simnet.Clock{Offset: time.Duration(seat) * time.Second, DriftPPM: int64(seat*40 - 60)}, seat, hz, time.Duration(seat)*3*ms, play)
	p.onFrame = func(p *player, _ *image.Snapshot, now systems.Time) {
		if p.peer.Loads > 0 {
			v.Update(p.View(now))
			picture(p, v, now)
		}
	}
	return p
}

// dotAt returns where a view shows the dot of a player.
func dotAt(v *ecs.View, p ecs.Player) (x, y float64, ok bool) {
	e := halves.Dot(v.Sim, p)
	m, ok := v.Sim.Image().Motion(e)
	return m.Pos.X.Float(), m.Pos.Y.Float(), ok
}

// stepMeter measures the steps of a dot that moves at constant speed along X.
type stepMeter struct {
	of       ecs.Player
	last     float64
	at       systems.Time
	known    bool
	squares  float64
	n, stood int
	worst    float64
}

func (s *stepMeter) look(v *ecs.View, now systems.Time, counts bool) {
	x, _, ok := dotAt(v, s.of)
	if ok && s.known && counts {
		off := (x-s.last)/(dotSpeed*float64(now-s.at)/float64(systems.Second)) - 1
		s.squares += off * off
		s.worst = max(s.worst, math.Abs(off))
		s.n++
		if off < -0.99 {
			s.stood++
		}
	}
	s.last, s.at, s.known = x, now, ok
}

func (s *stepMeter) rms() float64 { return math.Sqrt(s.squares / float64(max(s.n, 1))) }

// stepBound checks the steps of all dots in the views of a client.
type stepBound struct {
	last  [8][2]float64
	shown [8]bool
	at    systems.Time
	n     int
	worst float64 // largest step, as a share of the largest speed
}

func (s *stepBound) look(t *testing.T, v *ecs.View, now systems.Time) {
	for p := range s.last {
		x, y, ok := dotAt(v, ecs.Player(p))
		if ok && s.shown[p] {
			most := math.Sqrt2 * dotSpeed * float64(now-s.at) / float64(systems.Second)
			step := math.Hypot(x-s.last[p][0], y-s.last[p][1]) / most
			if s.worst = max(s.worst, step); step > catchUp+0.01 {
				t.Errorf("at %v the dot of player %d is shown at %.2f times its largest speed", time.Duration(now), p, step)
			}
			s.n++
		}
		s.last[p], s.shown[p] = [2]float64{x, y}, ok
	}
	s.at = now
}

// The picture has a playout buffer, so that a constant speed on the server is one on the display, at any frame rate. The root
// mean square of the steps' deviations is below 0.05. The own entity is shown as all others are.
func TestTheViewMovesEvenlyOverABadNetwork(t *testing.T) {
	for _, name := range []string{"P3", "P5"} {
		for _, hz := range []int{55, 60, 144} {
			t.Run(fmt.Sprint(name, " ", hz, " Hz"), func(t *testing.T) {
				d := newDots(t, Config{}, 11)
				meters := [2]stepMeter{{of: 0}, {of: 1}}
				for range meters {
					d.join(profile(t, name), hz, func(*player, int) pad { return pad{DX: 1} }, func(p *player, v *ecs.View, now systems.Time) {
						if p.peer.ID == 1 {
							for i := range meters {
								meters[i].look(v, now, d.Net.Now() > 5*time.Second)
							}
						}
					})
				}
				d.Net.RunUntil(35 * time.Second)
				d.wantSound(1000)
				for i := range meters {
					s := &meters[i]
					t.Logf("player %d: RMS of step deviations %.4f, worst %.2f, %d of %d frames stood, delay %.1f ticks", i, s.rms(), s.worst, s.stood, s.n,
						d.clients[1].playback.Delay())
					if s.n < 29*hz || s.rms() >= 0.05 {
						t.Errorf("player %d: RMS %.4f of %d steps, want below 0.05", i, s.rms(), s.n)
					}
				}
			})
		}
	}
}
