package interp

import (
	"encoding/binary"
	"math"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/net/simnet"
	"tendon/systems"
)

// rig is a server that sends what one entity does over the simulated network, and a client that shows it on a clock of
// its own.
type rig struct {
	t        *testing.T
	net      *simnet.Network
	server   simnet.NodeID
	client   simnet.NodeID
	profile  simnet.Profile
	truth    func(seconds float64) Motion
	playback *Playback
	remote   *Remote
	frames   []frame
	dry      bool
	freezes  int
}

// frame is what one frame showed.
type frame struct {
	at      systems.Time // true time
	playing float64
	delay   float64
	age     float64 // seconds from the shown moment to the server's present
	since   float64 // seconds of the client's clock from the frame before
	shown   Shown
}

const (
	rigTicks = 60
	rigSend  = 3 // ticks
	rigFPS   = 60
)

func straight(v float64) func(float64) Motion {
	return func(s float64) Motion { return Motion{Pos: Vec{X: v * s}, Vel: Vec{X: v}} }
}

func newRig(t *testing.T, profile string, seed uint64, intervals float64, truth func(float64) Motion) *rig {
	p, ok := simnet.ByName(profile)
	if !ok {
		t.Fatal(profile)
	}
	r := &rig{t: t, net: simnet.New(simnet.Config{Seed: seed}), profile: p, truth: truth}
	r.playback = NewPlayback(PlaybackConfig{TickRate: rigTicks, Interval: rigSend, Intervals: intervals})
	r.remote = NewRemote(RemoteConfig{TickRate: rigTicks})
	r.server = r.net.AddNode(simnet.Clock{})
	r.client = r.net.AddNode(simnet.Clock{Offset: 3 * time.Second, DriftPPM: 50})
	if err := r.net.Connect(r.client, r.server, p); err != nil {
		t.Fatal(err)
	}
	r.net.OnMessage(r.client, func(_ simnet.NodeID, _ simnet.Channel, payload []byte, now simnet.Time) {
		r.receive(ecs.Tick(binary.LittleEndian.Uint64(payload)), systems.Time(now))
	})
	r.net.Every(r.server, 0, rigTicks, func(k int64, _ simnet.Time) {
		if k > 0 && k%rigSend == 0 {
			r.net.Send(r.server, r.client, simnet.Datagram, binary.LittleEndian.AppendUint64(nil, uint64(k)))
		}
	})
	last := systems.Time(r.net.LocalNow(r.client))
	r.net.Every(r.client, r.net.LocalNow(r.client), rigFPS, func(_ int64, now simnet.Time) {
		r.frame(systems.Time(now), systems.Time(now)-last)
		last = systems.Time(now)
	})
	return r
}

func (r *rig) receive(tick ecs.Tick, now systems.Time) {
	r.playback.Arrived(tick, now)
	s := Sample{Tick: tick, Motion: r.truth(float64(tick) / rigTicks), Flags: HasVelocity}
	r.remote.Put(s, r.playback.Tick())
}

func (r *rig) frame(now, since systems.Time) {
	playing := r.playback.Advance(now)
	shown := r.remote.Show(playing)
	if k := shown.Bracket.Kind; k == Unknown || k == Early {
		return
	}
	dry := shown.Bracket.Kind == Beyond && shown.Bracket.Past > 0
	if dry && !r.dry {
		r.freezes++
	}
	r.dry = dry
	at := float64(r.net.Now()) / 1e9
	r.frames = append(r.frames, frame{systems.Time(r.net.Now()), playing, r.playback.Delay(), at - playing/rigTicks, float64(since) / 1e9, shown})
}

func (r *rig) run(until time.Duration) { r.net.RunUntil(simnet.Time(until)) }

// jitter sets the mean of the exponential jitter downwards, from now on.
func (r *rig) jitter(mean time.Duration) {
	r.profile.Down.Jitter.Size = mean
	if err := r.net.SetProfile(r.client, r.server, r.profile); err != nil {
		r.t.Fatal(err)
	}
}

// roughest returns the largest deviation of a step from nominal speed, and the smallest step.
func roughest(frames []frame, v float64) (worst, least float64) {
	least = math.Inf(1)
	for i := 1; i < len(frames); i++ {
		step := frames[i].shown.Pos.X - frames[i-1].shown.Pos.X
		worst = max(worst, math.Abs(step/(v*frames[i].since)-1))
		least = min(least, step)
	}
	return worst, least
}
