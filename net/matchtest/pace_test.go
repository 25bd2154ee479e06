package matchtest

import (
	"math"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/net/matchsim"
	"tendon/net/matchsim/halves"
	"tendon/net/simnet"
	"tendon/systems"
	"tendon/systems/clock"
	"tendon/systems/lockstep"
	"tendon/systems/reckon"
	"tendon/systems/relay"
	"tendon/systems/verify"
)

func profile(t *testing.T, name string) simnet.Profile {
	t.Helper()
	p, ok := simnet.ByName(name)
	if !ok {
		t.Fatal(name)
	}
	return p
}

// FT-02: two players move at a constant velocity, at 60 ticks per second. At 55 frames per second, the view of every strategy
// shows both without stutter. Under reckon, a remote player is extrapolated by an estimated clock. Its offset moves
// by a small part of the time that passes.
func TestFT02EveryViewMovesEvenlyAt55FramesPerSecond(t *testing.T) {
	const fps, dx = 55, 16
	speed := float64(4 * dx) // units per second
	for _, s := range played() {
		for _, network := range []string{"P0", "P4"} {
			m, err := matchsim.New(matchsim.Config{Game: halves.Dots(), Strategy: s, Seed: 4, FixedSeats: true})
			if err != nil {
				t.Fatal(err)
			}
			right := halves.PadInput.Pack(halves.Pad{DX: dx})
			limits := [2]float64{1e-6, 1e-6} // by seat
			if s.Name == reckon.Strategy.Name {
				limits[1] = 1e-3
			}
			var last, rough [2]float64
			frames, roughest := 0, 0.0
			m.Join(matchsim.Plan{Profile: profile(t, network), Hz: fps, Frame: func(c *matchsim.Client, now time.Duration) {
				c.Core.SetInput(right)
				c.Frame(now)
				v := c.Core.View(now)
				_, newest, _, _ := c.Core.Snapshots(now)
				for seat := range last {
					b, _ := halves.Bodies.Read(v.Sim, halves.Dot(v.Sim, ecs.Player(seat)))
					x, before := b.Pos.X.Float(), last[seat]
					last[seat] = x
					if now < 10*time.Second { // the clocks settle
						continue
					}
					frames++
					if wrong := math.Abs((x-before)*fps/speed - 1); x <= before || wrong > limits[seat] {
						t.Fatalf("%s, %s: at %v the view moves seat %d from %v to %v: wrong by %.2g", s.Name, network, now, seat, before, x, wrong)
					}
				}
				if newest.Empty() {
					return
				}
				x, before := float64(newest.Tick())/60, rough[0]
				if rough[0] = x; now >= 10*time.Second {
					roughest = max(roughest, math.Abs((x-before)*fps-1))
				}
			}})
			m.Join(matchsim.Plan{Profile: profile(t, network), Play: func(*matchsim.Client, time.Duration) ecs.InputBytes { return right }})
			m.Run(20 * time.Second)
			if frames < 2*9*fps || roughest < 0.05 {
				t.Errorf("%s, %s: a run that proves nothing: %d frames, the newest states are off by %v", s.Name, network, frames, roughest)
			}
		}
	}
}

// slowed is a client whose frames take time: cost for each tick that it computes, once slow.
type slowed struct {
	*halves.Match
	peer   *halves.Peer
	ticks  map[*ecs.World]int // computed in all, resimulated ones included
	most   int                // ticks of a frame
	behind ecs.Tick           // most ticks between the server and the present
	pause  time.Duration      // longest time between two frames
}

const (
	slowFrom  = 5 * time.Second
	frameTime = time.Second / 60
)

// newSlowed returns a client that pauses once for a hitch, and from then on computes a tick in cost.
func newSlowed(t *testing.T, s systems.Strategy, hitch, cost time.Duration) *slowed {
	r := &slowed{ticks: map[*ecs.World]int{}}
	r.Match = halves.New(t, halves.Config{Game: matchsim.AfterSystems(halves.Dots(), func(w *ecs.World) { r.ticks[w]++ }), Strategy: s, Seed: 4})
	last, next, began, play := slowFrom, time.Duration(0), 0, halves.Wander(1)
	plan := halves.Plan{Path: profile(t, "P2"), Hz: 960, FromOpen: true, Input: func(int) ecs.InputBytes { return halves.PadInput.Pack(play()) }}
	plan.Config.Elapsed = func() systems.Time { return systems.Time(r.ticks[r.peer.World]-began) * systems.Time(cost) }
	plan.Display = func(now time.Duration) {
		if now < next {
			return
		}
		if now >= slowFrom && hitch > 0 {
			next, hitch = now+hitch, 0
			return
		}
		began = r.ticks[r.peer.World]
		r.peer.Frame(now)
		next = now + frameTime
		if now < slowFrom {
			return
		}
		last, r.pause = now, max(r.pause, now-last)
		n := r.ticks[r.peer.World] - began
		next = now + max(frameTime, time.Duration(n)*cost)
		r.most = max(r.most, n)
		if present := r.peer.Half.Stats().Present; present < r.Server.Done() {
			r.behind = max(r.behind, r.Server.Done()-present)
		}
	}
	r.peer = r.Join(plan)
	return r
}

// FT-03: after a pause of two seconds, no frame of any strategy computes more than MaxSteps, and the client is soon in the
// present again.
func TestFT03NoStrategyComputesMoreThanMaxStepsAfterAHitch(t *testing.T) {
	for _, s := range strategies {
		r := newSlowed(t, s, 2*time.Second, 0)
		r.Net.RunUntil(12 * time.Second)
		st := r.peer.Half.Stats()
		if r.most > clock.MaxSteps || r.pause < 2*time.Second || st.Present+20 < r.Server.Done() || !r.peer.Half.Live() || r.peer.Loads > 1 {
			t.Errorf("%s: %d ticks in a frame, %d behind at most, live %t with %d images at tick %d of %d",
				s.Name, r.most, r.behind, r.peer.Half.Live(), r.peer.Loads, st.Present, r.Server.Done())
		}
	}
}

// FT-03: a client needs one and a half ticks for each. No frame computes more ticks than those of the longest frame time that
// counts, and those for catching up, and what waits is bounded. Under relay and lockstep, the client runs in slow motion: it
// computes two thirds of the ticks. A client of relay then loads an image, and one of lockstep is no longer live. Clients of
// the strategies that send states skip ticks.
func TestFT03TicksThatTakeTooLongDoNotSpiral(t *testing.T) {
	const most = 60/4 + clock.MaxSteps/2
	for _, s := range strategies {
		r := newSlowed(t, s, 0, frameTime*3/2)
		r.Net.RunUntil(slowFrom)
		began, work := r.Server.Done(), r.ticks[r.peer.World]
		r.Net.RunUntil(slowFrom + 110*time.Second)
		st := r.peer.Half.Stats()
		behind, images, live := ecs.Tick(60), 1, true
		switch s.Name {
		case relay.Strategy.Name:
			behind, images, live = 2048, 2, r.peer.Half.Live()
		case lockstep.Strategy.Name:
			behind, live = (r.Server.Done()-began)*2/5, false
		}
		if r.most > most || r.behind > behind || r.peer.Loads != images || r.peer.Half.Live() != live {
			t.Errorf("%s: %d ticks in a frame, %d behind at most, %d images, live %t, %d wait", s.Name, r.most, r.behind, r.peer.Loads, r.peer.Half.Live(), st.Behind)
		}
		pace := float64(r.ticks[r.peer.World]-work) / float64(r.Server.Done()-began)
		if s.Name != verify.Strategy.Name && (pace < 0.6 || pace > 0.7) {
			t.Errorf("%s: %.2f of the ticks are computed", s.Name, pace)
		}
	}
}
