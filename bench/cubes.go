package main

import (
	"fmt"
	"time"

	"tendon/bench/internal/cubes"
	"tendon/bench/internal/measure"
	"tendon/ecs"
	"tendon/ecs/fixed"
)

// cubeRows measure how small the state of bodies in motion becomes, on a recording of rolling cubes.
func cubeRows() []measure.Row {
	what := fmt.Sprintf("%d rolling cubes at %d Hz, acknowledged %d frames late", cubes.Bodies, cubes.Rate, cubeLate)
	return []measure.Row{
		{Name: "cubes-bytes", What: what + ": bytes of a delta", Reference: "the bit packing of the article Snapshot Compression",
			Reach: 0.61, Run: cubeBytes},
		{Name: "cubes-time", What: what + ": a delta encoded for one client", Reference: "0.3 ms",
			Reach: 1, Run: cubeTime},
	}
}

const (
	cubeFrames = 1800
	cubeLate   = 6 // frames until the acknowledgement of one has come
)

// cubeBody is a cube of the recording as a component.
type cubeBody struct {
	Pos     fixed.Vec3 `tendon:"step=1/512"`
	Largest uint8
	_       uint8
	Turn    [3]int16
}

var cubeBodies = ecs.NewComponent[cubeBody]("cube")

func cubeOf(c *cubes.Cube) cubeBody {
	const step = fixed.One / 512
	return cubeBody{Pos: fixed.Vec3{X: fixed.Num(c.X) * step, Y: fixed.Num(c.Y) * step, Z: fixed.Num(c.Z) * step},
		Largest: c.Largest, Turn: c.Turn}
}

// reel plays the recording in a server's world and replicates it to a client.
type reel struct {
	*replica
	list  []cubes.Frame
	frame int
	rows  []ecs.Entity
}

func newReel(frames int) *reel {
	l := &reel{list: cubes.Record(frames)}
	l.replica = newReplica(&ecs.Game{Name: "cubes", TickRate: cubes.Rate, MaxPlayers: 1, Input: noInput,
		Components: ecs.Components(cubeBodies), Systems: ecs.Systems(l.play), Setup: l.place}, cubeLate)
	return l
}

// place spawns the bodies of the first frame.
func (l *reel) place(w *ecs.World) {
	l.rows = l.rows[:0]
	for i := range l.list[0] {
		e := w.Spawn(ecs.OwnedByWorld, cubeBodies)
		cubeBodies.Put(w, e, cubeOf(&l.list[0][i]))
		l.rows = append(l.rows, e)
	}
}

// play moves the bodies to the frame.
func (l *reel) play(w *ecs.World) {
	was, now := &l.list[l.frame-1], &l.list[l.frame]
	for i := range now {
		if was[i] != now[i] {
			*cubeBodies.Write(w, l.rows[i]) = cubeOf(&now[i])
		}
	}
}

// advance plays the next frame, if there is one.
func (l *reel) advance() bool {
	if l.frame++; l.frame == len(l.list) {
		return false
	}
	l.next(1)
	return true
}

// arrived reports whether the client's replica is equal to the frame.
func (l *reel) arrived() bool {
	for i, e := range l.rows {
		if got, ok := cubeBodies.ReadAt(l.receiver.State(), e); !ok || got != cubeOf(&l.list[l.frame][i]) {
			return false
		}
	}
	return true
}

func cubeBytes() measure.Result {
	l, ours, packed, frames := newReel(cubeFrames), 0, 0, 0
	var scratch []byte
	for l.advance() {
		l.encode()
		l.decode()
		l.acknowledge()
		if l.frame >= cubeLate {
			scratch = cubes.Pack(scratch[:0], &l.list[l.frame-cubeLate], &l.list[l.frame])
			ours, packed, frames = ours+len(l.delta), packed+len(scratch), frames+1
		}
	}
	return measure.Result{Ratio: measure.Of(1, float64(ours)/float64(packed)),
		Text: fmt.Sprintf("%d : %d bytes a frame", ours/frames, packed/frames)}
}

// cubeTime times every frame once: frames differ in how much rolls.
func cubeTime() measure.Result {
	const goal = float64(300 * time.Microsecond)
	var times []float64
	for l := newReel(cubeFrames); l.advance(); {
		from := time.Now()
		l.encode()
		times = append(times, float64(time.Since(from)))
		l.decode()
		l.acknowledge()
	}
	r := measure.Of(goal, times...)
	return measure.Result{Unit: "frame", Ratio: r, Note: fmt.Sprintf("p99 %.2f ms", times[len(times)*99/100]/1e6)}
}
