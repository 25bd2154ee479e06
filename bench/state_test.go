package main

import (
	"testing"

	"tendon/bench/internal/cubes"
	"tendon/systems/interest"
)

// A small body is worth nothing if the client does not hold what was recorded. How many bytes there are depends on no
// clock, so the row's reach is a promise.
func TestCubesArriveToTheLastBitInTheBytesThatTheRowSays(t *testing.T) {
	frames, reach := cubeFrames, cubeRows()[0].Reach
	if raceEnabled { // little rolls at first, of which more of a body is its header
		frames, reach = cubeFrames/10, 1
	}
	l, ours, packed := newReel(frames), 0, 0
	for l.advance() {
		l.encode()
		l.decode()
		l.acknowledge()
		if !l.arrived() {
			t.Fatalf("the client holds something else than frame %d", l.frame)
		}
		if l.frame >= cubeLate {
			ours += len(l.body)
			packed += len(cubes.Pack(nil, &l.list[l.frame-cubeLate], &l.list[l.frame]))
		}
	}
	if ratio := float64(ours) / float64(packed); ratio > reach || ratio < reach/2 {
		t.Errorf("%d bytes, %d packed: %.2f, and the row says %.2f", ours, packed, ratio, reach)
	}
	if stats := l.sender.Stats(); stats.Whole > 0 || stats.Oversized > 0 || stats.Updates < uint64(20*frames) {
		t.Errorf("%+v", stats)
	}
}

// Both sides of the rows about state say the same: the full state is all that a walker is, and the replica holds it.
func TestFullStatesAndReplicasSayTheSame(t *testing.T) {
	for _, rate := range []int{20, 60} {
		r := walk(50, rate)
		for range 2 * rate {
			r.next(walkRate / rate)
			r.encode()
			r.decode()
			r.acknowledge()
		}
		if n := r.sender.Stats().Updates; n < 3*49*uint64(rate) {
			t.Errorf("%d updates at %d a second: not everybody walks", n, rate)
		}
		full := mustWorld(walkGame(50))
		text := appendFull(nil, r.world)
		storeFull(full, text)
		if len(text) != 50*fullBytes {
			t.Errorf("a full state of %d bytes", len(text))
		}
		for e := range looking.All(r.world) {
			body, _ := walkers.ReadAt(r.receiver.State(), e.Entity())
			life, _ := vitalSign.ReadAt(r.receiver.State(), e.Entity())
			if body != e.A || life != e.B {
				t.Fatalf("%v is %+v %+v here and %+v %+v there", e.Entity(), e.A, e.B, body, life)
			}
			body, _ = walkers.Read(full, e.Entity())
			life, _ = vitalSign.Read(full, e.Entity())
			if body != e.A || life != e.B {
				t.Fatalf("%v is %+v %+v here and %+v %+v in a full state", e.Entity(), e.A, e.B, body, life)
			}
		}
		if n := stateBytes(50, rate).Median; n <= 0 || n >= 0.5 {
			t.Errorf("%.2f of the bytes of full states", n)
		}
	}
}

// A server keeps many clients up to date in each tick.
func TestKeepingAClientUpToDateAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	r := walk(200, 60)
	tick := func() {
		r.next(1)
		r.encode()
		r.decode()
		r.acknowledge()
	}
	for range 200 {
		tick()
	}
	if n := testing.AllocsPerRun(100, tick); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// The rows about interest compare backends that find the same, in a throng as dense as they say.
func TestThrongsAreAsDenseAsTheirRowsSay(t *testing.T) {
	ours, theirs := newThrong(interest.Grid, 1000, 64), newThrong(interest.Brute, 1000, 64)
	for range 60 {
		ours.walk()
		ours.update()
		theirs.walk()
		theirs.update()
	}
	for client := range 64 {
		for m := range 1000 {
			if ours.sets.Has(client, m) != theirs.sets.Has(client, m) {
				t.Fatalf("client %d hears of %d with one backend only", client, m)
			}
		}
	}
	if n := ours.sets.Counts().Members / 64; n < 20 || n > 45 {
		t.Errorf("%d are near a client", n)
	}
	if ours.pos[0] == newThrong(interest.Grid, 1000, 64).pos[0] {
		t.Error("nobody walks")
	}
}
