package image_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/ecs/internal/sample"
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
	if sample.RaceEnabled {
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

// unscrubbed makes a sender that leaves in its pages whatever a lie put there.
func unscrubbed(w *ecs.World) {
	for i := range w.Image().Columns() {
		w.Image().Columns()[i].KeepPadding()
	}
}

// A delta may be malformed and have a correct checksum. Each of these would make a state that Load refuses.
// ApplyDelta must name the fault and leave the world unchanged.
func TestApplyDeltaNamesTheFaultAndLeavesTheWorldUnchanged(t *testing.T) {
	lies := []struct {
		want string
		lie  func(w *ecs.World, e ecs.Entity) // into the live pages of the sender, past its rules
	}{
		{`column "mixed" of owner 1: row 0: Alive has bytes`, func(w *ecs.World, e ecs.Entity) { raw(w, sample.Declared(sample.Mixtures), e)[0] = 2 }},
		{`column "mixed" of owner 1: row 0: padding has bytes`, func(w *ecs.World, e ecs.Entity) { raw(w, sample.Declared(sample.Mixtures), e)[1] = 1 }},
		{`column "bag" of owner 1: row 0: Items.Len has bytes`, func(w *ecs.World, e ecs.Entity) { raw(w, sample.Declared(sample.Bags), e)[0] = 5 }},
		{`column "pos" of owner 1: row 1 is not in use and not zero`, func(w *ecs.World, e ecs.Entity) {
			c := w.Image().Column(sample.Declared(sample.Positions))
			(*sample.Pos)(c.RowOf(&c.Regions()[1], 1)).X = 1
			w.Image().MarkRow(&c.Regions()[1], c.Info(), 1)
		}},
		{`column "pos" of owner 1: row 0 is not in use and not zero`, func(w *ecs.World, e ecs.Entity) { // the bit goes, the row stays
			r := &w.Image().Column(sample.Declared(sample.Positions)).Regions()[1]
			w.Image().Mark(r.Bits().Pages()[0])
			r.Words()[0] = 0
		}},
		{`column "pos" of owner 1: row 1 has the component, but no entity`, func(w *ecs.World, e ecs.Entity) {
			c := w.Image().Column(sample.Declared(sample.Positions))
			w.Image().SetBit(&c.Regions()[1], c.Info(), 1)
		}},
		{`column "tag" of owner 2: row 4096 has the component, but no entity`, func(w *ecs.World, e ecs.Entity) {
			c := w.Image().Column(sample.Declared(sample.Tags))
			w.Image().SetBit(&c.Regions()[2], c.Info(), 4096)
		}},
		{`column "entity" of owner 1: an entity of rows 0 to 63 is removed and has component "pos"`, func(w *ecs.World, e ecs.Entity) {
			r := &w.Image().Identity().Regions()[1]
			w.Image().Mark(r.Bits().Pages()[0])
			r.Words()[0] = 0
			clear(raw(w, nil, e)[:16])
		}},
		{`column "entity" of owner 1: row 0 has the number 1048577, want 1048576`, func(w *ecs.World, e ecs.Entity) { raw(w, nil, e)[0] = 1 }},
		{`column "entity" of owner 1: row 0: padding`, func(w *ecs.World, e ecs.Entity) { raw(w, nil, e)[4] = 1 }},
		{`column "entity" of owner 1: row 0 is born in tick 3, after`, func(w *ecs.World, e ecs.Entity) { raw(w, nil, e)[8] = 3 }},
		{`column "entity" of owner 1: row 1 has the number 0`, func(w *ecs.World, e ecs.Entity) {
			w.Image().SetBit(&w.Image().Identity().Regions()[1], w.Image().Identity().Info(), 1)
		}},
		{`row 0, which is no entity`, func(w *ecs.World, e ecs.Entity) {
			w.Image().SetBit(&w.Image().Identity().Regions()[0], w.Image().Identity().Info(), 0)
		}},
		{`column "tick" of owner 0: tick 7, but 2 in its header`, func(w *ecs.World, e ecs.Entity) { w.Image().WriteCore().Tick = 7 }},
		{`1 ticks, but the same one in the state`, func(w *ecs.World, e ecs.Entity) { w.Image().WriteCore().Tick = 1 }},
		{`column "tick" of owner 0: player 4 in a game of 4`, func(w *ecs.World, e ecs.Entity) { w.Image().WriteCore().Players = 1 << 4 }},
		{`column "inputs" of owner 0: the input of player 1`, func(w *ecs.World, e ecs.Entity) {
			w.Image().TakeInputs(make([]ecs.InputBytes, 4))
			w.Image().Live()[w.Image().Columns()[image.ColumnInputs].Regions()[0].Data().Pages()[0]].Mem()[w.Game().Input.Size()+2] = 3
		}},
		{`column "clock" of owner 0: padding has bytes`, func(w *ecs.World, e ecs.Entity) {
			sample.Clocks.Write(w)
			w.Image().Live()[w.Image().Column(sample.Declared(sample.Clocks)).Regions()[0].Data().Pages()[0]].Mem()[5] = 1
		}},
		{`bytes of pages empty`, func(w *ecs.World, e ecs.Entity) { // a bit that asks for 800 bytes of each row before it
			sample.InSystem(w, func() {
				w.Image().Structure().Hint()[2] = 1 << 17 / image.BlockRows
				w.Spawn(ecs.OwnedBy(1), sample.Wides)
			})
			w.Image().WriteCore().Tick = 2
			raw(w, nil, ecs.Entity{Row: 2<<image.RegionShift | 1<<17})[8] = 2
		}},
	}
	for _, l := range lies {
		sender, e := small(t)
		unscrubbed(sender)
		base := sample.Saved(sender)
		sender.Step(ecs.TickInputs{})
		l.lie(sender, e)
		s := sample.Saved(sender)
		s.SetTick(2)
		delta := s.AppendDelta(nil, base)

		w, _ := small(t)
		before := sample.Saved(w)
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		allocated := m.TotalAlloc
		err := w.Image().ApplyDelta(delta)
		runtime.ReadMemStats(&m)
		if err == nil || !errors.Is(err, image.ErrDelta) || !strings.Contains(err.Error(), l.want) {
			t.Errorf("error %v, want %s", err, l.want)
		}
		if after := sample.Saved(w); after.Checksum() != before.Checksum() || len(after.Table()) != len(before.Table()) {
			t.Errorf("%s: the world was changed", l.want)
		}
		if m.TotalAlloc-allocated > 1<<20 {
			t.Errorf("%s: refusing %d bytes allocates %d", l.want, len(delta), m.TotalAlloc-allocated)
		}
		checkPages(t, w)
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
	if len(w.Image().Delta().Pages()) != 0 || free+len(held) > made {
		t.Errorf("%d pages were made, %d are free, %d held, %d in scratch", made, free, len(held), len(w.Image().Delta().Pages()))
	}
}

// After a loss, a delta with another base is the ordinary case. The error identifies it; after a rewind to its base
// the delta applies.
func TestApplyDeltaRefusesAnotherBase(t *testing.T) {
	server := sample.NewWorld(t, sample.Busy())
	var states [4]image.Snapshot
	for i := range states {
		sample.Play(server, server.Tick()+10)
		server.Image().Save(&states[i])
	}
	delta := states[3].AppendDelta(nil, &states[1])
	client := sample.NewWorld(t, sample.Busy())
	for _, i := range []int{0, 2, 3} {
		if err := client.Image().Load(states[i].AppendImage(nil)); err != nil {
			t.Fatal(err)
		}
		if err := client.Image().ApplyDelta(delta); !errors.Is(err, image.ErrDeltaBase) || !strings.Contains(err.Error(), "its base is tick 20, the world is in tick") {
			t.Errorf("a delta of state 1 on state %d: %v", i, err)
		}
		sameState(t, sample.Saved(client), &states[i])
	}
	if err := client.Image().Load(states[1].AppendImage(nil)); err != nil {
		t.Fatal(err)
	}
	sample.Scores.Write(client).Points[0]++ // the right tick, but not the right state
	if err := client.Image().ApplyDelta(delta); !errors.Is(err, image.ErrDeltaBase) {
		t.Error("a delta of another state of the same tick:", err)
	}
	sample.Scores.Write(client).Points[0]--
	if err := client.Image().ApplyDelta(delta); err != nil {
		t.Error(err)
	}
	sameState(t, sample.Saved(client), &states[3])
	sample.MustPanic(t, "wrong order", func() { states[0].AppendDelta(nil, &states[1]) })
	sample.MustPanic(t, "different games", func() { states[0].AppendDelta(nil, sample.Saved(sample.NewWorld(t, sample.Bare()))) })
	sample.MustPanic(t, "empty", func() { states[0].AppendDelta(nil, &image.Snapshot{}) })
}

// Cut and altered deltas each return their own error: the checksum accepts none.
func TestApplyDeltaRefusesCutAndAlteredDeltas(t *testing.T) {
	server, client := sample.NewWorld(t, sample.Busy()), sample.NewWorld(t, sample.Busy())
	base := sample.Saved(server)
	sample.Play(server, 40)
	s := sample.Saved(server)
	delta := s.AppendDelta(nil, base)
	before := sample.Saved(client)
	refused := func(b []byte) {
		t.Helper()
		if err := client.Image().ApplyDelta(b); err == nil {
			t.Fatalf("%d bytes of %d are accepted", len(b), len(delta))
		}
		if n := len(client.Image().Live()); n != len(before.Table()) {
			t.Fatal("a refused delta made the world grow to", n)
		}
	}
	for n := range delta {
		refused(delta[:n])
	}
	refused(append(bytes.Clone(delta), 0))
	altered := bytes.Clone(delta)
	for i := range altered {
		altered[i] ^= 1
		refused(altered)
		altered[i] ^= 1
	}
	sameState(t, sample.Saved(client), before)
	if err := client.Image().ApplyDelta([]byte{image.DeltaFormat + 1}); !errors.Is(err, image.ErrDeltaFormat) {
		t.Error("another format:", err)
	}
	if err := client.Image().ApplyDelta(delta); err != nil {
		t.Error(err)
	}
	sameState(t, sample.Saved(client), s)
}

// A few bytes stand for a page, so pages that are not there yet are counted before they are taken in numbers.
func TestADeltaCannotAskForMuchMemoryBeforeItIsRefused(t *testing.T) {
	w := sample.NewWorld(t, sample.Bare())
	delta := append([]byte{image.DeltaFormat, 0, 0}, make([]byte, 8)...)
	last := 0
	for _, r := range w.Image().Column(sample.Declared(sample.Positions)).Regions() { // 16 MiB each: all the pages of a region, with a byte in each
		delta = binary.AppendUvarint(delta, uint64(r.Data().Info().Number()-last)<<1)
		delta = append(delta, 0, 2, image.DeltaEnd)
		for range r.Data().Info().MostPages() - 1 {
			delta = append(delta, 1, 0, 0, 2, image.DeltaEnd)
		}
		last = r.Data().Info().Number()
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := w.Image().ApplyDelta(delta)
	runtime.ReadMemStats(&after)
	if !errors.Is(err, image.ErrDelta) || !strings.Contains(err.Error(), "that the world does not have") {
		t.Error(err)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > 2*image.ImageSparseBytes {
		t.Errorf("refusing %d bytes allocates %d", len(delta), got)
	}
}

// forgeDelta returns a delta between two states of tick 0 with these pages of a store. Its checksum is that of the
// result, if the pages can be read.
func forgeDelta(w *ecs.World, store uint64, pages ...byte) []byte {
	delta := append([]byte{image.DeltaFormat, 0, 0}, make([]byte, 8)...)
	delta = append(binary.AppendUvarint(delta, store<<1), pages...)
	d := image.NewDeltaReader(w.Image())
	if d.Header(delta) == nil && d.ReadPages() == nil {
		sum, _ := d.Result()
		binary.LittleEndian.PutUint64(delta[3:], uint64(sum))
	}
	d.Release()
	return delta
}

// Malformed words must not write beyond a page, and must not create pages that the delta does not declare.
func TestApplyDeltaRefusesMalformedPages(t *testing.T) {
	w := sample.NewWorld(t, sample.Bare())
	core := uint64(storeAt(w, nil, 0, false))
	pos := uint64(storeAt(w, sample.Declared(sample.Positions), 1, false))
	for name, c := range map[string]struct {
		store uint64
		pages []byte
		want  string
	}{
		"a page of zeros more":              {pos, []byte{image.DeltaEnd}, "that the world does not have is zero"},
		"a word behind the page":            {core, []byte{5 << 5, 2, image.DeltaEnd}, "beyond its page"},
		"a word far behind the page":        {core, []byte{7 << 5, 100, 2, image.DeltaEnd}, "beyond its page"},
		"a word 2⁶⁰ words behind it":        {core, append(append([]byte{7 << 5}, binary.AppendUvarint(nil, 1<<60-8)...), 2, image.DeltaEnd), "beyond its page"},
		"a word 2⁶¹ words behind it":        {core, append(append([]byte{7 << 5}, binary.AppendUvarint(nil, 1<<61-7)...), 2, image.DeltaEnd), "beyond its page"},
		"a skip without an end":             {core, append([]byte{7 << 5}, bytes.Repeat([]byte{0xff}, 12)...), "beyond its page"},
		"a page twice":                      {core, []byte{2 << 5, 2, image.DeltaEnd, 0, image.DeltaEnd}, "before the last"},
		"a second page of a resource":       {core, []byte{2 << 5, 2, image.DeltaEnd, 1, 0, image.DeltaEnd}, "the store has at most 1"},
		"a page number that is cut off":     {core, []byte{2 << 5, 2, image.DeltaEnd, 1}, "cut off or too large"},
		"a page number that runs over":      {core, append(append([]byte{image.DeltaEnd, 1}, binary.AppendUvarint(nil, 1<<64-1)...), image.DeltaEnd), "cut off or too large"},
		"presence bits of a resource":       {core - 1, []byte{0, 2, image.DeltaEnd}, "the store has at most 0"},
		"a store that is not there":         {uint64(len(w.Image().Stores())), []byte{0, 2, image.DeltaEnd}, "does not exist"},
		"a store that is not there, either": {1 << 62, []byte{0, 2, image.DeltaEnd}, "does not exist"},
	} {
		err := w.Image().ApplyDelta(forgeDelta(w, c.store, c.pages...))
		if !errors.Is(err, image.ErrDelta) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %s", name, err, c.want)
		}
	}
	if err := w.Image().ApplyDelta(forgeDelta(w, core, 2<<5, 2, image.DeltaEnd)); err != nil {
		t.Error("the forger cannot write a true delta:", err)
	}
}

// Derived data follows from a state; after a delta it is that of the new one.
func TestDerivedDataIsBuiltAnewAfterADelta(t *testing.T) {
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

// FuzzDelta looks for bytes that panic, change a world although they are refused, or leave one that LoadImage would
// refuse. The checksum, which would stop all, is made right.
func FuzzDelta(f *testing.F) {
	server := sample.NewWorld(f, fuzzGame())
	states := []*image.Snapshot{sample.Saved(server)}
	var e ecs.Entity
	sample.InSystem(server, func() {
		e = server.Spawn(ecs.OwnedBy(0), sample.Mixtures, sample.Tags)
		sample.Mixtures.Put(server, e, sample.Mixed{Alive: true, Target: e})
		for range 70 {
			server.Spawn(ecs.OwnedByWorld, sample.Bags)
		}
	})
	states = append(states, sample.Saved(server))
	sample.InSystem(server, func() {
		sample.Bags.Add(server, e, sample.Bag{Gold: 3})
		sample.Mixtures.Remove(server, e)
		sample.Clocks.Write(server).Left = 9
	})
	states = append(states, sample.Saved(server))
	sample.InSystem(server, func() { server.Despawn(e) })
	states = append(states, sample.Saved(server))
	header := len(states[0].AppendDelta(nil, states[0]))
	for i := range states {
		for j := range states[:i] {
			f.Add(byte(j), states[i].AppendDelta(nil, states[j])[header:])
		}
	}
	bases := make([]*image.Snapshot, len(states))
	client := sample.NewWorld(f, fuzzGame())
	for i, s := range states {
		if err := client.Image().Load(s.AppendImage(nil)); err != nil {
			f.Fatal(err)
		}
		bases[i] = sample.Saved(client)
	}
	f.Fuzz(func(t *testing.T, from byte, words []byte) {
		base := bases[int(from)%len(bases)]
		client.Image().Restore(base)
		for ticks := range byte(4) {
			delta := append([]byte{image.DeltaFormat, byte(base.Tick()), ticks}, make([]byte, 8)...)
			delta = append(delta, words...)
			d := image.NewDeltaReader(client.Image())
			if d.Header(delta) == nil && d.ReadPages() == nil {
				sum, _ := d.Result()
				binary.LittleEndian.PutUint64(delta[3:], uint64(sum))
			}
			d.Release()
			err := client.Image().ApplyDelta(delta)
			s := sample.Saved(client)
			if err != nil {
				if s.Checksum() != base.Checksum() {
					t.Fatal("a refused delta changed the world")
				}
				s.Release()
				continue
			}
			fresh := sample.NewWorld(t, fuzzGame())
			if err := fresh.Image().Load(s.AppendImage(nil)); err != nil {
				t.Fatal("an accepted delta leaves a world that LoadImage refuses:", err)
			}
			again := s.AppendDelta(nil, base)
			client.Step(ecs.TickInputs{})
			client.Image().Restore(base)
			if err := client.Image().ApplyDelta(again); err != nil {
				t.Fatal("the delta to its own result is refused:", err)
			}
			checkPages(t, client)
			s.Release()
			return
		}
	})
}
