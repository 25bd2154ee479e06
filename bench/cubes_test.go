package bench

import (
	"fmt"
	"testing"
	"time"

	"tendon/bench/internal/cubes"
	"tendon/bench/internal/measure"
	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/race"
)

const (
	cubeFrames = 1800
	cubeLate   = 6 // frames until the acknowledgement of one has come
)

// cubeBefore is the number of bytes a frame with fresh models in each delta and without declared rotations.
var cubeBefore = [...]int{cubes.Rolling: 348, cubes.Dense: 624, cubes.Mixed: 475}

// cubeReach is the maximum ratio of the bytes to those of the bit packing.
var cubeReach = [...]float64{cubes.Rolling: 0.51, cubes.Dense: 0.62, cubes.Mixed: 0.66}

// BenchmarkCubes measures replication of recordings of cubes.
func BenchmarkCubes(b *testing.B) {
	for k := cubes.Rolling; k <= cubes.Mixed; k++ {
		what := fmt.Sprintf("%d cubes, %v, at %d Hz, acknowledged %d frames late: ", cubes.Bodies, k, cubes.Rate, cubeLate)
		b.Run(fmt.Sprint("bytes/", k), func(b *testing.B) {
			var ours, packed, frames int
			for b.Loop() {
				ours, packed, frames = newReel(k, cubeFrames).bytes(b)
			}
			measure.Row{
				What: what + "bytes of a delta", Reference: "the bit packing of the article Snapshot Compression",
				Text: fmt.Sprintf("%d : %d bytes a frame", ours/frames, packed/frames), Reach: cubeReach[k],
				Note: fmt.Sprintf("%d before models were kept from delta to delta", cubeBefore[k]),
			}.Report(b, measure.Of(1, float64(ours)/float64(packed)))
		})
		b.Run(fmt.Sprint("time/", k), func(b *testing.B) {
			var times []float64 // of each frame of the recording once
			for b.Loop() {
				times = nil
				for l := newReel(k, cubeFrames); l.advance(); {
					from := time.Now()
					l.encode()
					l.decode()
					times = append(times, float64(time.Since(from)))
					l.acknowledge()
				}
			}
			r := measure.Of(float64(120*time.Microsecond), times...)
			measure.Row{
				What: what + "a delta encoded for one client and decoded", Reference: "0.12 ms",
				Unit: "frame", Note: fmt.Sprintf("p99 %.2f ms", times[len(times)*99/100]/1e6), Reach: 1,
				Missed: "four tenths of it are the entropy code, whose branches depend on the values",
			}.Report(b, r)
		})
	}
}

// cubeBody is a cube of the recording as a component.
type cubeBody struct {
	Pos     fixed.Vec3 `tendon:"step=1/512"`
	Largest uint8
	_       uint8
	Turn    [3]int16 `tendon:"rotation=256"`
}

var cubeBodies = ecs.NewComponent[cubeBody]("cube")

func cubeOf(c *cubes.Cube) cubeBody {
	const step = fixed.One / 512
	return cubeBody{Pos: fixed.Vec3{X: fixed.Num(c.At[0]) * step, Y: fixed.Num(c.At[1]) * step, Z: fixed.Num(c.At[2]) * step},
		Largest: c.Largest, Turn: [3]int16{int16(c.Turn[0]), int16(c.Turn[1]), int16(c.Turn[2])}}
}

// reel plays the recording in a server's world and replicates it to a client.
type reel struct {
	*replica
	list  []cubes.Frame
	frame int
	rows  []ecs.Entity
}

func newReel(k cubes.Kind, frames int) *reel {
	l := &reel{list: cubes.Record(k, frames)}
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

// bytes replicates the recording and returns the bytes of the deltas and of packed frames. It fails the test if the
// client's replica differs from a frame.
func (l *reel) bytes(t testing.TB) (ours, packed, frames int) {
	var scratch []byte
	for l.advance() {
		l.encode()
		l.decode()
		l.acknowledge()
		now := &l.list[l.frame]
		for i, e := range l.rows {
			if got, ok := cubeBodies.ReadAt(l.receiver.State(), e); !ok || got != cubeOf(&now[i]) {
				t.Fatalf("the client's replica differs from frame %d", l.frame)
			}
		}
		if l.frame >= cubeLate {
			scratch = pack(scratch[:0], &l.list[l.frame-cubeLate], now)
			ours, packed, frames = ours+len(l.delta), packed+len(scratch), frames+1
		}
	}
	return ours, packed, frames
}

// The client's replica is equal to the recording in every frame. The number of bytes depends on no clock, so the test
// holds the row's reach.
func TestCubesArriveToTheLastBitWithinTheReachOfTheRow(t *testing.T) {
	frames, reach := cubeFrames, cubeReach[cubes.Rolling]
	if race.Enabled { // few cubes roll at first, so the header is a larger part of a delta
		frames, reach = cubeFrames/10, 1
	}
	l := newReel(cubes.Rolling, frames)
	ours, packed, _ := l.bytes(t)
	if ratio := float64(ours) / float64(packed); ratio > reach || ratio < reach/2 {
		t.Errorf("%d bytes, %d packed: %.2f, and the row says %.2f", ours, packed, ratio, reach)
	}
	if stats := l.sender.Stats(); stats.Oversized > 0 || stats.Updates < uint64(20*frames) {
		t.Errorf("%+v", stats)
	}
}
