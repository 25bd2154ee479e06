package image_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"runtime"
	"strings"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/ecs/internal/sample"
)

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
func TestADeltaCannotAllocateMuchMemoryBeforeItIsRefused(t *testing.T) {
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
	d := image.NewIncoming(w.Image(), nil)
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
			d := image.NewIncoming(client.Image(), nil)
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
