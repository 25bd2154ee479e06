package image_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/ecs/internal/sample"
	"tendon/ecs/race"
)

// sameState fails unless both worlds' states are equal byte for byte.
func sameState(t rapid.TB, got, want *image.Snapshot) {
	t.Helper()
	if got.Tick() != want.Tick() || got.Checksum() != want.Checksum() || !bytes.Equal(got.AppendImage(nil), want.AppendImage(nil)) {
		d, _ := image.FirstDifference(got, want)
		t.Fatalf("tick %d, want %d: %v", got.Tick(), want.Tick(), d)
	}
}

// A client that does not simulate applies a thousand deltas in a row, through spawns, deaths, orders, joins and
// leaves. It must have exactly the server's state, and must be able to simulate from any tick on.
func TestAThousandDeltasInARowLeadToTheServersState(t *testing.T) {
	server, client := sample.NewWorld(t, sample.Busy()), sample.NewWorld(t, sample.Busy())
	var before, after, now image.Snapshot
	server.Image().Save(&before)
	players, born := map[image.PlayerSet]bool{}, 0
	var delta []byte
	for range 1000 {
		sample.Play(server, server.Tick()+1)
		server.Image().Save(&after)
		delta = after.AppendDelta(delta[:0], &before)
		if server.Tick()%7 == 0 {
			sample.Play(client, server.Tick())
		} else if err := client.Image().ApplyDelta(delta); err != nil || len(client.Events()) != 0 {
			t.Fatalf("tick %d: %v, %d events of another tick", server.Tick(), err, len(client.Events()))
		}
		if server.Tick()%50 < 3 {
			sample.SameAsQueries(t, client)
		}
		client.Image().Save(&now)
		sameState(t, &now, &after)
		if base, tick, ok := image.DeltaTicks(delta); !ok || base != before.Tick() || tick != after.Tick() {
			t.Fatal("DeltaTicks says", base, tick, ok)
		}
		players[client.Players()] = true
		born += len(server.Events())
		before, after = after, before
	}
	if client.Image().Strays() != 0 || len(players) < 5 || born < 500 {
		t.Errorf("the test shows too little: %d strays, %d sets of players, %d events", client.Image().Strays(), len(players), born)
	}
	sample.Play(server, 1100)
	sample.Play(client, 1100)
	sameState(t, sample.Saved(client), sample.Saved(server))
}

// A client may have acknowledged any of the last states, so any of them may be the base. It rewinds to the base
// first. Its snapshots stay valid, and donburi follows.
func TestADeltaLeadsFromAnyOlderStateToAnyNewer(t *testing.T) {
	const depth = 24
	server, client := sample.NewWorld(t, sample.Busy()), sample.NewWorld(t, sample.Busy())
	var theirs, ours [depth]image.Snapshot
	r := rand.New(rand.NewPCG(5, 6))
	server.Image().Save(&theirs[0])
	client.Image().Save(&ours[0])
	for server.Tick() < 400 {
		sample.Play(server, server.Tick()+1)
		tick := server.Tick()
		server.Image().Save(&theirs[tick%depth])
		base := tick - 1 - ecs.Tick(r.IntN(int(min(tick, depth-1))))
		client.Image().Restore(&ours[base%depth])
		if r.IntN(4) == 0 { // a world that was used and came back has pages that were marked
			sample.Play(client, base+1)
			client.Image().Restore(&ours[base%depth])
			sample.Scores.Write(client)
		}
		if err := client.Image().ApplyDelta(theirs[tick%depth].AppendDelta(nil, &theirs[base%depth])); err != nil {
			t.Fatalf("%d to %d: %v", base, tick, err)
		}
		client.Image().Save(&ours[tick%depth])
		sameState(t, &ours[tick%depth], &theirs[tick%depth])
		if tick%9 == 0 {
			sample.SameAsQueries(t, client)
		}
	}
	for i := range ours {
		sameState(t, &ours[i], &theirs[i])
	}
}

// The same property for random structures: any number of entities are spawned, removed and changed, for any owner,
// also beyond the first page of rows.
func TestADeltaBetweenRandomWorldsIsExact(t *testing.T) {
	client := sample.NewWorld(t, sample.Bare()) // of one client's history through all of them
	rapid.Check(t, func(t *rapid.T) {
		s := &structureMachine{world: sample.Must(ecs.NewWorld(sample.Bare(), 1)), model: &model{entities: map[uint32]*modelEntity{}}}
		s.save()
		t.Repeat(map[string]func(*rapid.T){"tick": s.tick, "restore": s.restore, "": func(t *rapid.T) {
			base := s.snaps[rapid.IntRange(0, len(s.snaps)-1).Draw(t, "base")]
			now := s.snaps[rapid.IntRange(0, len(s.snaps)-1).Draw(t, "now")]
			if now.Tick() < base.Tick() {
				base, now = now, base
			}
			if err := client.Image().Load(base.AppendImage(nil)); err != nil {
				t.Fatal(err)
			}
			if err := client.Image().ApplyDelta(now.AppendDelta(nil, base)); err != nil {
				t.Fatal(err)
			}
			got := sample.Saved(client)
			defer got.Release()
			sameState(t, got, now)
			// Two worlds number their pages differently; their states have one delta all the same.
			if a, b := now.AppendDelta(nil, base), got.AppendDelta(nil, base); !bytes.Equal(a, b) {
				t.Fatalf("the delta to one state has %d bytes, to the same in another world %d", len(a), len(b))
			}
		}})
	})
}

// Pages are added when a match grows and are empty when it shrinks, on the client as on the server, also between the
// two states.
func TestADeltaFollowsGrowthAndShrinking(t *testing.T) {
	server, client := sample.NewWorld(t, sample.Bare()), sample.NewWorld(t, sample.Bare())
	var states []*image.Snapshot
	var list []ecs.Entity
	states = append(states, sample.Saved(server))
	for _, n := range []int{10, 9000, 9300} {
		sample.InSystem(server, func() {
			for len(list) < n {
				e := server.Spawn(image.Owner(len(list)%2*3), sample.Positions, sample.Wides, sample.Tags)
				sample.Wides.Write(server, e).Cells[99] = uint64(len(list))
				list = append(list, e)
			}
		})
		states = append(states, sample.Saved(server))
	}
	for _, n := range []int{4000, 3, 0} {
		sample.InSystem(server, func() {
			for ; len(list) > n; list = list[:len(list)-1] {
				server.Despawn(list[len(list)-1])
			}
		})
		states = append(states, sample.Saved(server))
	}
	start := sample.Saved(client)
	for i := range states {
		client.Image().Restore(start)
		if err := client.Image().ApplyDelta(states[i].AppendDelta(nil, states[0])); err != nil {
			t.Fatal(err)
		}
		for _, to := range states[i:] {
			at := sample.Saved(client)
			if err := client.Image().ApplyDelta(to.AppendDelta(nil, states[i])); err != nil {
				t.Fatal(i, err)
			}
			sameState(t, sample.Saved(client), to)
			client.Image().Restore(at)
		}
	}
	if n := len(states[6].AppendDelta(nil, states[0])); n > 40 {
		t.Errorf("%d bytes between two states without entities", n)
	}
	// A world that never grew writes the same delta.
	small := sample.NewWorld(t, sample.Bare())
	if err := small.Image().Load(states[6].AppendImage(nil)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(sample.Saved(small).AppendDelta(nil, states[3]), states[6].AppendDelta(nil, states[3])) {
		t.Error("the delta to a state depends on the pages that its world has")
	}
}

// A page whose size is not a multiple of 8 ends in a shorter word.
func TestADeltaReachesTheLastBytesOfAPage(t *testing.T) {
	odd := ecs.NewComponent[[4099]uint8]("odd")
	tiny := ecs.NewResource[[3]uint8]("tiny")
	g := &ecs.Game{Name: "odd", TickRate: 60, MaxPlayers: 1, Input: sample.Pads, Components: ecs.Components(odd), Resources: ecs.Resources(tiny)}
	server, client := sample.NewWorld(t, g), sample.NewWorld(t, g)
	base := sample.Saved(server)
	var e ecs.Entity
	sample.InSystem(server, func() {
		e = server.Spawn(ecs.OwnedBy(0), odd)
		odd.Write(server, e)[4098] = 200
		*tiny.Write(server) = [3]uint8{1, 2, 255}
	})
	for range 5 {
		s := sample.Saved(server)
		if err := client.Image().ApplyDelta(s.AppendDelta(nil, base)); err != nil {
			t.Fatal(err)
		}
		sameState(t, sample.Saved(client), s)
		base = s
		sample.InSystem(server, func() {
			odd.Write(server, e)[4098] -= 77
			odd.Write(server, e)[4095]++
			tiny.Write(server)[2] += 100
		})
	}
}

// A delta's size follows the changes. These figures are used to plan the budget of a datagram.
func TestADeltaOfSomethingThatMovedIsAFewBytes(t *testing.T) {
	w := sample.NewWorld(t, sample.Bare())
	var list []ecs.Entity
	sample.InSystem(w, func() {
		for i := range 1000 {
			e := w.Spawn(ecs.OwnedByWorld, sample.Positions, sample.Velocities, sample.Mixtures)
			sample.Positions.Put(w, e, sample.Pos{X: fixed.FromInt(i), Y: fixed.FromInt(-i)})
			list = append(list, e)
		}
	})
	deltaOf := func(change func()) int {
		before := sample.Saved(w)
		change()
		delta := sample.Saved(w).AppendDelta(nil, before)
		w.Image().Restore(before)
		return len(delta)
	}
	nothing := deltaOf(func() {})
	move := func(e ecs.Entity, dx, dy int64) {
		p := sample.Positions.Write(w, e)
		p.X += fixed.FromRatio(dx, 60)
		p.Y += fixed.FromRatio(dy, 60)
	}
	one := deltaOf(func() { move(list[400], 7, -5) }) - nothing
	all := deltaOf(func() {
		for _, e := range list {
			move(e, 7, -5)
		}
	}) - nothing
	again := deltaOf(func() { // across zero and back, which changes all bits of a number
		sample.Positions.Write(w, list[0]).X--
		sample.Positions.Write(w, list[0]).X++
		sample.Positions.Write(w, list[0]).Y--
	}) - nothing
	lost := deltaOf(func() { sample.Mixtures.Write(w, list[0]).Lives-- }) - nothing // the upper half of a word
	t.Logf("nothing %d bytes, one of 1000 that moved %d, all %d, a step across zero %d, a life %d", nothing, one, all, again, lost)
	if nothing > 12 || one > 15 || all > 1000*10+20 || again > 5 || lost > 5 {
		t.Error("a delta is longer than the changes require")
	}
}

// A server makes a delta per client and tick, and a client applies one per tick. Neither may allocate.
func TestDeltasAllocateNothingOnceWarm(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	server, client := sample.NewWorld(t, sample.Busy()), sample.NewWorld(t, sample.Busy())
	inputs := make([]ecs.TickInputs, 1024)
	for f := range inputs {
		inputs[f] = sample.Inputs(ecs.Tick(f))
	}
	var theirs, ours [8]image.Snapshot
	server.Image().Save(&theirs[0])
	client.Image().Save(&ours[0])
	var delta []byte
	longest := 0
	tick := func() {
		f := server.Tick() + 1
		base := f - min(f, 3)
		server.Step(inputs[f%1024])
		server.Image().Save(&theirs[f%8])
		delta = theirs[f%8].AppendDelta(delta[:0], &theirs[base%8])
		longest = max(longest, len(delta))
		client.Image().Restore(&ours[base%8])
		if err := client.Image().ApplyDelta(delta); err != nil {
			t.Fatal(err)
		}
		client.Image().Save(&ours[f%8])
	}
	for range 300 {
		tick()
	}
	if n := testing.AllocsPerRun(200, tick); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if longest < 500 {
		t.Errorf("no delta had more than %d bytes: the test shows nothing", longest)
	}
}

// checkPages fails unless every page that is not free has its holders counted.
func checkPages(t testing.TB, w *ecs.World) {
	t.Helper()
	made, free := 0, free(w)
	for _, p := range w.Image().Pools() {
		made += p.Made()
	}
	held := map[*image.Page]bool{}
	for i := range w.Image().Live() {
		if base := w.Image().Live()[i].Base(); base != nil {
			held[base] = true
		}
	}
	if len(w.Image().Incoming().Pages()) != 0 || free+len(held) > made {
		t.Errorf("%d pages were made, %d are free, %d held, %d in scratch", made, free, len(held), len(w.Image().Incoming().Pages()))
	}
}

// Derived data follows from a state; after a delta it is that of the new one.
func TestDerivedDataIsBuiltAgainAfterADelta(t *testing.T) {
	count := ecs.NewDerived("count", func(w *ecs.World, into *int) {
		*into = 0
		for range sample.Placed.All(w) {
			*into++
		}
	}, func(a, b *int) bool { return *a == *b })
	g := sample.Bare()
	g.Derived = []ecs.AnyDerived{count}
	server, client := sample.NewWorld(t, g), sample.NewWorld(t, g)
	base := sample.Saved(server)
	server.Step(ecs.TickInputs{})
	server.Spawn(ecs.OwnedBy(2), sample.Positions)
	server.Image().Flush()
	server.Image().ReleaseReserved()
	if *count.Of(client) != 0 {
		t.Fatal("a world without entities counts some")
	}
	if err := client.Image().ApplyDelta(sample.Saved(server).AppendDelta(nil, base)); err != nil {
		t.Fatal(err)
	}
	if n := *count.Of(client); n != 1 {
		t.Errorf("after a delta that brings one, %d are counted", n)
	}
}
