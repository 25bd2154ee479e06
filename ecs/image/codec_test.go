package image_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/ecs/internal/sample"
)

// A late joiner must have exactly the sender's state, and continue exactly like it.
func TestALoadedImageGoesOnLikeItsSender(t *testing.T) {
	w := sample.NewWorld(t, sample.Busy())
	sample.Play(w, 150)
	data := sample.Saved(w).AppendImage([]byte("prefix"))
	if !bytes.HasPrefix(data, []byte("prefix")) {
		t.Fatal("AppendImage does not append")
	}
	data = data[len("prefix"):]
	v, err := ecs.NewWorld(sample.Busy(), 77)
	if err != nil {
		t.Fatal(err)
	}
	sample.Play(v, 220) // a world with a history of its own, and more pages
	old := sample.Saved(v)
	if err := v.Image().Load(data); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		a, b := sample.Saved(w), sample.Saved(v)
		if a.Tick() != b.Tick() || a.Checksum() != b.Checksum() || !bytes.Equal(a.AppendImage(nil), b.AppendImage(nil)) {
			d, _ := image.FirstDifference(a, b)
			t.Fatalf("tick %d: %v", a.Tick(), d)
		}
		a.Release()
		b.Release()
		sample.Play(w, w.Tick()+1)
		sample.Play(v, v.Tick()+1)
	}
	// Snapshots from before the load stay good.
	v.Image().Restore(old)
	if sample.Saved(v).Checksum() != old.Checksum() || v.Image().Strays() != 0 {
		t.Error("a snapshot taken before LoadImage is damaged")
	}
}

// A state is read in pieces of any size while the match goes on, which adds pages.
func TestAStateIsReadInPieces(t *testing.T) {
	for _, size := range []int{1, 7, 1000, 16 << 10, 1 << 20} {
		w := sample.NewWorld(t, sample.Busy())
		sample.Play(w, 20)
		s := sample.Saved(w)
		want, r, got, piece := s.AppendImage(nil), image.NewReader(s), []byte(nil), make([]byte, size)
		for {
			n, err := r.Read(piece)
			if got = append(got, piece[:n]...); err == io.EOF {
				break
			}
			if n < size && len(got) < len(want) || err != nil {
				t.Fatalf("size %d: %d bytes, %v", size, n, err)
			}
			if w.Tick() < 200 {
				sample.Play(w, w.Tick()+1)
			}
		}
		if n, err := r.Read(piece); n != 0 || err != io.EOF || !bytes.Equal(got, want) {
			t.Errorf("size %d: %d bytes, want %d; %v", size, len(got), len(want), err)
		}
	}
}

// The header's layout on the wire is fixed: format, fingerprint, tick.
func TestImageHeaderIsPinned(t *testing.T) {
	w := sample.NewWorld(t, sample.Busy())
	sample.Play(w, 3)
	data := sample.Saved(w).AppendImage(nil)
	if data[0] != 1 || binary.LittleEndian.Uint64(data[1:]) != w.Game().Fingerprint() || binary.LittleEndian.Uint64(data[9:]) != 3 {
		t.Errorf("%x", data[:17])
	}
	// Of each page only its presence costs, where it is empty: this world has 26 entities.
	if len(data) > 80<<10 {
		t.Errorf("%d bytes for a small world", len(data))
	}
}

// small is a world whose image is easy to damage by hand.
func small(t testing.TB) (*ecs.World, ecs.Entity) {
	w := sample.NewWorld(t, sample.Bare())
	var e ecs.Entity
	sample.InSystem(w, func() {
		e = w.Spawn(ecs.OwnedBy(0), sample.Mixtures, sample.Bags, sample.Positions)
		sample.Mixtures.Put(w, e, sample.Mixed{Alive: true})
		b := sample.Bags.Write(w, e)
		b.Items.Append(sample.Item{Kind: 1, Count: 2})
		sample.Positions.Put(w, e, sample.Pos{X: 1})
	})
	return w, e
}

// Bytes from a peer or a file may be malformed. Load must name each of these faults and leave the world unchanged.
func TestLoadNamesTheFaultAndLeavesTheWorldUnchanged(t *testing.T) {
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
		{`column "pos" of owner 1: row 1 has the component, but no entity`, func(w *ecs.World, e ecs.Entity) {
			c := w.Image().Column(sample.Declared(sample.Positions))
			w.Image().SetBit(&c.Regions()[1], c.Info(), 1)
		}},
		{`column "tag" of owner 2: row 4096 has the component, but no entity`, func(w *ecs.World, e ecs.Entity) {
			c := w.Image().Column(sample.Declared(sample.Tags))
			w.Image().SetBit(&c.Regions()[2], c.Info(), 4096)
		}},
		{`column "entity" of owner 1: row 0 has the number 1048577, want 1048576`, func(w *ecs.World, e ecs.Entity) { raw(w, nil, e)[0] = 1 }},
		{`column "entity" of owner 1: row 0: padding`, func(w *ecs.World, e ecs.Entity) { raw(w, nil, e)[4] = 1 }},
		{`column "entity" of owner 1: row 0 is born in tick 2, after`, func(w *ecs.World, e ecs.Entity) { raw(w, nil, e)[8] = 2 }},
		{`column "entity" of owner 1: row 1 has the number 0`, func(w *ecs.World, e ecs.Entity) {
			w.Image().SetBit(&w.Image().Identity().Regions()[1], w.Image().Identity().Info(), 1)
		}},
		{`row 0, which is no entity`, func(w *ecs.World, e ecs.Entity) {
			w.Image().SetBit(&w.Image().Identity().Regions()[0], w.Image().Identity().Info(), 0)
		}},
		{`column "tick" of owner 0: tick 7, but 1 in its header`, func(w *ecs.World, e ecs.Entity) { w.Image().WriteCore().Tick = 7 }},
		{`column "tick" of owner 0: player 4 in a game of 4`, func(w *ecs.World, e ecs.Entity) { w.Image().WriteCore().Players = 1 << 4 }},
		{`column "inputs" of owner 0: the input of player 1`, func(w *ecs.World, e ecs.Entity) {
			w.Image().TakeInputs(make([]ecs.InputBytes, 4))
			*(*byte)(w.Image().InputRow(1)) = 0
			w.Image().Live()[w.Image().Columns()[image.ColumnInputs].Regions()[0].Data().Pages()[0]].Mem()[w.Game().Input.Size()+2] = 3
		}},
		{`column "clock" of owner 0: padding has bytes`, func(w *ecs.World, e ecs.Entity) {
			c := w.Image().Column(sample.Declared(sample.Clocks))
			sample.Clocks.Write(w)
			w.Image().Live()[c.Regions()[0].Data().Pages()[0]].Mem()[5] = 1
			c.KeepPadding() // or the save would scrub it
		}},
	}
	for _, l := range lies {
		sender, e := small(t)
		for i := range sender.Image().Columns() { // a sender that does not scrub
			sender.Image().Columns()[i].KeepPadding()
		}
		l.lie(sender, e)
		s := sample.Saved(sender)
		s.SetTick(1)
		data := s.AppendImage(nil)

		w, _ := ecs.NewWorld(sample.Bare(), 5)
		sample.InSystem(w, func() { w.Spawn(ecs.OwnedByWorld, sample.Positions) })
		before := sample.Saved(w)
		err := w.Image().Load(data)
		if err == nil || !errors.Is(err, image.ErrImage) || !strings.Contains(err.Error(), l.want) {
			t.Errorf("error %v, want %s", err, l.want)
		}
		if after := sample.Saved(w); after.Checksum() != before.Checksum() || len(after.Table()) != len(before.Table()) {
			t.Errorf("%s: the world was changed", l.want)
		}
	}
}

// raw returns the live bytes of an entity's row, marked; of its identity for nil.
func raw(w *ecs.World, d *image.Declaration, e ecs.Entity) []byte {
	c := w.Image().Identity()
	if d != nil {
		c = w.Image().Column(d)
	}
	r, i := &c.Regions()[e.Owner()], e.Row%image.RegionRows
	w.Image().MarkRow(r, c.Info(), i)
	page := w.Image().Live()[r.Data().Pages()[i>>c.Info().Shift()]].Mem()
	return page[int(i&(1<<c.Info().Shift()-1))*int(c.Info().Stride()):]
}

// Cut, extended and foreign images each return their own error.
func TestLoadRefusesCutExtendedAndForeignImages(t *testing.T) {
	sender, _ := small(t)
	data := sample.Saved(sender).AppendImage(nil)
	w := sample.NewWorld(t, sample.Bare())
	for n := range data {
		if err := w.Image().Load(data[:n]); !errors.Is(err, image.ErrImage) {
			t.Fatalf("an image cut to %d of %d bytes: %v", n, len(data), err)
		}
	}
	if err := w.Image().Load(append(bytes.Clone(data), 0)); !errors.Is(err, image.ErrImage) {
		t.Error("a byte too many:", err)
	}
	format := bytes.Clone(data)
	format[0]++
	if err := w.Image().Load(format); !errors.Is(err, image.ErrImageFormat) {
		t.Error("another format:", err)
	}
	if err := sample.NewWorld(t, sample.Busy()).Image().Load(data); !errors.Is(err, image.ErrImageFingerprint) {
		t.Error("another game:", err)
	}
	if err := w.Image().Load(data); err != nil {
		t.Error(err)
	}
}

// storeAt returns the number of a component's store; of the engine's first column for nil.
func storeAt(w *ecs.World, d *image.Declaration, o image.Owner, isBits bool) int {
	r := &w.Image().Columns()[image.ColumnCore].Regions()[0]
	if d != nil {
		r = &w.Image().Column(d).Regions()[o]
	}
	if isBits {
		return r.Bits().Info().Number()
	}
	return r.Data().Info().Number()
}

// forge writes an image of the world in which some stores are replaced by bytes of the caller.
func forge(w *ecs.World, replace map[int][]byte) []byte {
	s := sample.Saved(w)
	whole := s.AppendImage(nil)
	out := bytes.Clone(whole[:image.ImageHeaderBytes])
	p := image.NewIncoming(w.Image(), whole[image.ImageHeaderBytes:])
	for i, st := range w.Image().Stores() {
		before := p.Rest()
		if err := p.ReadStore(st); err != nil {
			panic(err)
		}
		if b, ok := replace[i]; ok {
			out = append(out, b...)
		} else {
			out = append(out, before[:len(before)-len(p.Rest())]...)
		}
	}
	return out
}

// A state has one encoding, so images can be compared as bytes.
func TestLoadRefusesSecondEncodingsOfAState(t *testing.T) {
	w, _ := small(t)
	number := storeAt(w, sample.Declared(sample.Velocities), 0, false) // an empty store
	row := make([]byte, 4096)
	row[0] = 1
	for name, b := range map[string][]byte{
		"a count in two bytes":          {0x80, 0},
		"an endless count":              bytes.Repeat([]byte{0xff}, 11),
		"a zero page at the end":        {1, 0},
		"a page that is zero":           append([]byte{1, 1}, make([]byte, 4096)...),
		"a bit behind the count":        append([]byte{1, 3}, append(row, row...)...),
		"more pages than a region has":  {0x81, 0x20},
		"pages that are not there":      {1, 1, 0, 0},
		"rows without presence":         append([]byte{1, 1}, row...),
		"a page of a resource's second": {0xff, 0xff, 0xff, 0xff, 0x0f},
	} {
		if err := w.Image().Load(forge(w, map[int][]byte{number: b})); !errors.Is(err, image.ErrImage) {
			t.Errorf("%s is accepted: %v", name, err)
		}
	}
	// Where a row of zeros would be in order, the page that holds nothing else is still not to be sent.
	zero := forge(w, map[int][]byte{storeAt(w, sample.Declared(sample.Positions), 1, false): append([]byte{1, 1}, make([]byte, 4096)...)})
	if err := w.Image().Load(zero); !errors.Is(err, image.ErrImage) {
		t.Errorf("a page of zeros is accepted: %v", err)
	}
	if err := w.Image().Load(forge(w, nil)); err != nil {
		t.Error("the forger cannot write a true image:", err)
	}
}

// A few hundred bytes must not allocate gigabytes: presence bits are small, and rows are large.
func TestASmallImageCannotAllocateMuchMemory(t *testing.T) {
	w, _ := small(t)
	// Identity says that 512 pages of rows are there; it has to bring them. wide asks for 800 bytes for each bit.
	bitsOf := func(pages int) []byte {
		b := binary.AppendUvarint(nil, uint64(pages))
		for range (pages + 7) / 8 {
			b = append(b, 0xff)
		}
		return append(b, bytes.Repeat([]byte{0xff}, pages*image.BitsPageWords*8)...)
	}
	rows := 32 * image.BitsPageWords * image.BlockRows
	identity := binary.AppendUvarint(nil, uint64(rows/256))
	identity = append(identity, bytes.Repeat([]byte{0xff}, rows/256/8)...)
	for i := range rows {
		identity = binary.LittleEndian.AppendUint64(identity, 3<<image.RegionShift|uint64(i))
		identity = binary.LittleEndian.AppendUint64(identity, 1)
	}
	id := &w.Image().Identity().Regions()[3]
	data := forge(w, map[int][]byte{id.Bits().Info().Number(): bitsOf(32), id.Data().Info().Number(): identity, storeAt(w, sample.Declared(sample.Wides), 3, true): bitsOf(32)})
	fresh := sample.NewWorld(t, sample.Bare())
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := fresh.Image().Load(data)
	runtime.ReadMemStats(&after)
	if !errors.Is(err, image.ErrImage) || !strings.Contains(err.Error(), "of pages empty") {
		t.Errorf("%d bytes may ask for %d: %v", len(data), rows*800, err)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > 1<<20 {
		t.Errorf("refusing %d bytes allocates %d", len(data), got)
	}
	// Without the wide rows it is a true image of 131072 entities.
	data = forge(w, map[int][]byte{id.Bits().Info().Number(): bitsOf(32), id.Data().Info().Number(): identity})
	runtime.ReadMemStats(&before)
	err = fresh.Image().Load(data)
	runtime.ReadMemStats(&after)
	if err != nil || !fresh.Exists(ecs.Entity{Row: 3<<image.RegionShift | 131071, Born: 1}) {
		t.Error(err)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > 3*uint64(len(data)) {
		t.Errorf("loading %d bytes allocates %d", len(data), got)
	}
}

// sparse returns an image of w with a single entity of player 2, in this row and with a wide component of zeros.
func sparse(w *ecs.World, row int) []byte {
	page := func(i int, content []byte) []byte { // the only one of a store that is not zero
		listed := make([]byte, i/8+1)
		listed[i/8] = 1 << (i % 8)
		return append(append(binary.AppendUvarint(nil, uint64(i+1)), listed...), content...)
	}
	const bitsRows = image.BitsPageWords * image.BlockRows
	present := make([]byte, bitsRows/8)
	present[row%bitsRows/8] = 1 << (row % 8)
	identity := make([]byte, 4096) // 256 rows
	binary.LittleEndian.PutUint64(identity[row%256*16:], 3<<image.RegionShift|uint64(row))
	binary.LittleEndian.PutUint64(identity[row%256*16+8:], 1)
	id := &w.Image().Identity().Regions()[3]
	return forge(w, map[int][]byte{id.Bits().Info().Number(): page(row/bitsRows, present), id.Data().Info().Number(): page(row/256, identity),
		storeAt(w, sample.Declared(sample.Wides), 3, true): page(row/bitsRows, present)})
}

// Each image may need 64 MiB of empty pages. Pages that the world already has count too: otherwise each further image could
// add as much to a store.
func TestImagesCannotGrowAStoreOneAfterTheOther(t *testing.T) {
	sender, _ := small(t)
	w := sample.NewWorld(t, sample.Bare())
	near, far := sparse(sender, 60_000), sparse(sender, 120_000) // of 48 and 96 MB of wide rows
	for range 2 {
		if err := w.Image().Load(near); err != nil {
			t.Fatal(err)
		}
	}
	pages := len(w.Image().Live())
	if err := w.Image().Load(far); !errors.Is(err, image.ErrImage) || !strings.Contains(err.Error(), "of pages empty") {
		t.Errorf("the second image: %v", err)
	}
	if got := len(w.Image().Live()); got != pages {
		t.Errorf("the world has %d pages, %d before", got, pages)
	}
}

// fuzzGame is a game whose images are short, so that the fuzzer gets on.
func fuzzGame() *ecs.Game {
	return &ecs.Game{Name: "fuzz", TickRate: 60, MaxPlayers: 1, Input: sample.Pads, Components: ecs.Components(sample.Mixtures, sample.Bags, sample.Tags), Resources: ecs.Resources(sample.Clocks)}
}

// FuzzLoadImage searches for bytes that panic, allocate much memory, change a world though Load refuses them, or are
// a second encoding of a state.
func FuzzLoadImage(f *testing.F) {
	sender := sample.NewWorld(f, fuzzGame())
	f.Add(sample.Saved(sender).AppendImage(nil))
	sample.InSystem(sender, func() {
		sample.Mixtures.Put(sender, sender.Spawn(ecs.OwnedBy(0), sample.Mixtures, sample.Tags), sample.Mixed{Alive: true})
	})
	f.Add(sample.Saved(sender).AppendImage(nil))
	header := sample.Saved(sender).AppendImage(nil)[:9]
	target := sample.NewWorld(f, fuzzGame())
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) >= len(header) {
			data = append(bytes.Clone(header), data[len(header):]...) // past the fingerprint, which would stop all
		}
		before := sample.Saved(target)
		defer before.Release()
		err := target.Image().Load(data)
		s := sample.Saved(target)
		defer s.Release()
		if err != nil {
			if s.Checksum() != before.Checksum() {
				t.Fatal("a refused image changed the world")
			}
			return
		}
		if again := s.AppendImage(nil); !bytes.Equal(again, data) {
			t.Fatalf("an accepted image of %d bytes encodes to %d others", len(data), len(again))
		}
		target.Step(ecs.TickInputs{})
	})
}
