package main

import (
	"testing"

	"tendon/bench/internal/cubes"
	"tendon/ecs/race"
)

// The client's replica is equal to the recording in every frame. The number of bytes depends on no clock, so the test
// holds the row's reach.
func TestCubesArriveToTheLastBitWithinTheReachOfTheRow(t *testing.T) {
	frames, reach := cubeFrames, cubeRows()[0].Reach
	if race.Enabled { // few cubes roll at first, so the header is a larger part of a delta
		frames, reach = cubeFrames/10, 1
	}
	l, ours, packed := newReel(frames), 0, 0
	for l.advance() {
		l.encode()
		l.decode()
		l.acknowledge()
		if !l.arrived() {
			t.Fatalf("the client's replica differs from frame %d", l.frame)
		}
		if l.frame >= cubeLate {
			ours += len(l.delta)
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

// The full state and the replica hold the same values: all components of a walker.
func TestFullStatesAndReplicasAreEqual(t *testing.T) {
	for _, rate := range []int{20, 60} {
		r := walk(50, rate)
		for range 2 * rate {
			r.next(walkRate / rate)
			r.encode()
			r.decode()
			r.acknowledge()
		}
		if n := r.sender.Stats().Updates; n < 3*49*uint64(rate) {
			t.Errorf("%d updates at %d a second: some entities do not walk", n, rate)
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

// A server replicates to many clients in each tick.
func TestReplicationAllocatesNothing(t *testing.T) {
	if race.Enabled {
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

// The rows about interest compare backends with equal results, at the density that the rows say.
func TestWanderersAreAsDenseAsTheirRowsSay(t *testing.T) {
	ours := newWanderers(false, 1000, 64)
	theirs := newAllPairs(ours)
	for range 60 {
		ours.walk()
		ours.update()
		theirs.update()
	}
	for client := range 64 {
		for m := range 1000 {
			if ours.sets.Has(client, m) != theirs.has(client, m) {
				t.Fatalf("entity %[2]d is relevant to client %[1]d with one backend only", client, m)
			}
		}
	}
	if n := ours.sets.Counts().Members / 64; n < 20 || n > 45 {
		t.Errorf("%d are near a client", n)
	}
	if ours.pos[0] == newWanderers(false, 1000, 64).pos[0] {
		t.Error("no entity walks")
	}
}
