//go:build moving

package ecs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"runtime"
	"strings"
	"testing"
)

// A late joiner must stand exactly where the sender stands, and go on exactly as it does.
func TestALoadedImageGoesOnLikeItsSender(t *testing.T) {
	w := newWorld(t, busyGame())
	play(w, 150)
	data := saved(w).AppendImage([]byte("prefix"))
	if !bytes.HasPrefix(data, []byte("prefix")) {
		t.Fatal("AppendImage does not append")
	}
	data = data[len("prefix"):]
	v, err := NewWorld(busyGame(), 77)
	if err != nil {
		t.Fatal(err)
	}
	play(v, 220) // a world with a history of its own, and more pages
	old := saved(v)
	if err := v.Image().Load(data); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		a, b := saved(w), saved(v)
		if a.Tick() != b.Tick() || a.Checksum() != b.Checksum() || !bytes.Equal(a.AppendImage(nil), b.AppendImage(nil)) {
			d, _ := FirstDifference(a, b)
			t.Fatalf("tick %d: %v", a.Tick(), d)
		}
		a.Release()
		b.Release()
		play(w, w.Tick()+1)
		play(v, v.Tick()+1)
	}
	// Snapshots from before the load stay good.
	v.Image().Restore(old)
	if saved(v).Checksum() != old.Checksum() || v.Image().Strays() != 0 {
		t.Error("a snapshot taken before LoadImage is damaged")
	}
}

// The layout on the wire is a promise: format, fingerprint, tick.
func TestImageHeaderIsPinned(t *testing.T) {
	w := newWorld(t, busyGame())
	play(w, 3)
	data := saved(w).AppendImage(nil)
	if data[0] != 1 || binary.LittleEndian.Uint64(data[1:]) != w.Game().Fingerprint() || binary.LittleEndian.Uint64(data[9:]) != 3 {
		t.Errorf("%x", data[:17])
	}
	// Of each page only its presence costs, where it is empty: this world has 26 entities.
	if len(data) > 80<<10 {
		t.Errorf("%d bytes for a small world", len(data))
	}
}

// small is a world whose image is easy to damage by hand.
func small(t testing.TB) (*World, Entity) {
	w := newWorld(t, tGame())
	var e Entity
	inSystem(w, func() {
		e = w.Spawn(OwnedBy(0), cMixed, cBag, cPos)
		cMixed.Put(w, e, tMixed{Alive: true})
		b := cBag.Write(w, e)
		b.Items.Append(tItem{1, 2})
		cPos.Put(w, e, tPos{X: 1})
	})
	return w, e
}

// Bytes from a peer or a file may say anything. Each of these is one lie, which LoadImage must name and survive with
// the world as it was.
func TestLoadImageNamesTheLieAndLeavesTheWorldAlone(t *testing.T) {
	lies := []struct {
		want string
		lie  func(w *World, e Entity) // into the live pages of the sender, past its rules
	}{
		{`column "mixed": owner 1: row 0: Alive has bytes`, func(w *World, e Entity) { raw(w, cMixed.declaration, e)[0] = 2 }},
		{`column "mixed": owner 1: row 0: padding has bytes`, func(w *World, e Entity) { raw(w, cMixed.declaration, e)[1] = 1 }},
		{`column "bag": owner 1: row 0: Items.Len has bytes`, func(w *World, e Entity) { raw(w, cBag.declaration, e)[0] = 5 }},
		{`column "pos": owner 1: row 1 is not in use and not zero`, func(w *World, e Entity) {
			c := w.column(cPos.declaration)
			(*tPos)(c.rowOf(&c.regions[1], 1)).X = 1
			w.image.markRow(&c.regions[1], c.info, 1)
		}},
		{`column "pos": owner 1: row 1 has the component, but no entity`, func(w *World, e Entity) {
			c := w.column(cPos.declaration)
			w.image.setBit(&c.regions[1], c.info, 1)
		}},
		{`column "tag": owner 2: row 4096 has the component, but no entity`, func(w *World, e Entity) {
			c := w.column(cTag.declaration)
			w.image.setBit(&c.regions[2], c.info, 4096)
		}},
		{`column "entity": owner 1: row 0 calls itself 1048577, not 1048576`, func(w *World, e Entity) { raw(w, nil, e)[0] = 1 }},
		{`column "entity": owner 1: row 0: padding`, func(w *World, e Entity) { raw(w, nil, e)[4] = 1 }},
		{`column "entity": owner 1: row 0 is born in tick 2, after`, func(w *World, e Entity) { raw(w, nil, e)[8] = 2 }},
		{`column "entity": owner 1: row 1 calls itself 0`, func(w *World, e Entity) {
			w.image.setBit(&w.identity().regions[1], w.identity().info, 1)
		}},
		{`row 0, which stands for no entity`, func(w *World, e Entity) {
			w.image.setBit(&w.identity().regions[0], w.identity().info, 0)
		}},
		{`column "tick": tick 7, but 1 in its header`, func(w *World, e Entity) { w.writeCore().Tick = 7 }},
		{`column "tick": player 4 in a game of 4`, func(w *World, e Entity) { w.writeCore().Players = 1 << 4 }},
		{`column "inputs": the input of player 1`, func(w *World, e Entity) {
			w.takeInputs(make([]InputBytes, 4))
			*(*byte)(w.inputRow(1)) = 0
			w.image.live[w.image.columns[columnInputs].regions[0].data.pages[0]].mem[w.game.Input.Size()+2] = 3
		}},
		{`column "clock": padding has bytes`, func(w *World, e Entity) {
			c := w.column(rClock.declaration)
			rClock.Write(w)
			w.image.live[c.regions[0].data.pages[0]].mem[5] = 1
			c.info.layout = &layout{size: c.info.layout.size} // or the save would scrub it
		}},
	}
	for _, l := range lies {
		sender, e := small(t)
		for i := range sender.image.columns { // a sender that does not scrub
			info := sender.image.columns[i].info
			naked := *info.layout
			naked.padding = nil
			info.layout = &naked
		}
		l.lie(sender, e)
		s := saved(sender)
		s.tick = 1
		data := s.AppendImage(nil)

		w, _ := NewWorld(tGame(), 5)
		inSystem(w, func() { w.Spawn(OwnedByWorld, cPos) })
		before := saved(w)
		err := w.Image().Load(data)
		if err == nil || !errors.Is(err, ErrImage) || !strings.Contains(err.Error(), l.want) {
			t.Errorf("error %v, want %s", err, l.want)
		}
		if after := saved(w); after.Checksum() != before.Checksum() || len(after.table) != len(before.table) {
			t.Errorf("%s: the world was changed", l.want)
		}
	}
}

// raw returns the live bytes of an entity's row, marked; of its identity for nil.
func raw(w *World, d *declaration, e Entity) []byte {
	c := w.identity()
	if d != nil {
		c = w.column(d)
	}
	r, i := &c.regions[e.Owner()], e.Row%regionRows
	w.image.markRow(r, c.info, i)
	page := w.image.live[r.data.pages[i>>c.info.shift]].mem
	return page[int(i&(1<<c.info.shift-1))*int(c.info.stride):]
}

// Cut, extended and foreign images fail with an error of their own; none is accepted by accident.
func TestLoadImageRefusesWhatIsNotAWholeImageOfThisGame(t *testing.T) {
	sender, _ := small(t)
	data := saved(sender).AppendImage(nil)
	w := newWorld(t, tGame())
	for n := range data {
		if err := w.Image().Load(data[:n]); !errors.Is(err, ErrImage) {
			t.Fatalf("an image cut to %d of %d bytes: %v", n, len(data), err)
		}
	}
	if err := w.Image().Load(append(bytes.Clone(data), 0)); !errors.Is(err, ErrImage) {
		t.Error("a byte too many:", err)
	}
	format := bytes.Clone(data)
	format[0]++
	if err := w.Image().Load(format); !errors.Is(err, ErrImageFormat) {
		t.Error("another format:", err)
	}
	if err := newWorld(t, busyGame()).Image().Load(data); !errors.Is(err, ErrImageFingerprint) {
		t.Error("another game:", err)
	}
	if err := w.Image().Load(data); err != nil {
		t.Error(err)
	}
}

// storeAt returns the number of a component's store; of the engine's first column for nil.
func storeAt(w *World, d *declaration, o Owner, isBits bool) int {
	r := &w.image.columns[columnCore].regions[0]
	if d != nil {
		r = &w.column(d).regions[o]
	}
	if isBits {
		return r.bits.info.number
	}
	return r.data.info.number
}

// forge writes an image of the world in which some stores are replaced by bytes of the caller.
func forge(w *World, replace map[int][]byte) []byte {
	s := saved(w)
	whole := s.AppendImage(nil)
	out := bytes.Clone(whole[:imageHeaderBytes])
	p := imageReader{world: w, rest: whole[imageHeaderBytes:]}
	for i, st := range w.image.stores {
		before := p.rest
		var sp storedPages
		if err := p.parseStore(&sp, st.info); err != nil {
			panic(err)
		}
		if b, ok := replace[i]; ok {
			out = append(out, b...)
		} else {
			out = append(out, before[:len(before)-len(p.rest)]...)
		}
	}
	return out
}

// There is one encoding of a state: without that, equal images could not be compared as bytes.
func TestLoadImageRefusesSecondEncodingsOfAState(t *testing.T) {
	w, _ := small(t)
	number := storeAt(w, cVel.declaration, 0, false) // an empty store
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
		if err := w.Image().Load(forge(w, map[int][]byte{number: b})); !errors.Is(err, ErrImage) {
			t.Errorf("%s is accepted: %v", name, err)
		}
	}
	// Where a row of zeros would be in order, the page that holds nothing else is still not to be sent.
	zero := forge(w, map[int][]byte{storeAt(w, cPos.declaration, 1, false): append([]byte{1, 1}, make([]byte, 4096)...)})
	if err := w.Image().Load(zero); !errors.Is(err, ErrImage) {
		t.Errorf("a page of zeros is accepted: %v", err)
	}
	if err := w.Image().Load(forge(w, nil)); err != nil {
		t.Error("the forger cannot write a true image:", err)
	}
}

// A few hundred bytes must not make a process allocate gigabytes: presence bits are cheap to send and rows are not to
// hold.
func TestAnImageCannotAskForMuchMoreThanItBrings(t *testing.T) {
	w, _ := small(t)
	// Identity says that 512 pages of rows are there; it has to bring them. wide asks for 800 bytes for each bit.
	bitsOf := func(pages int) []byte {
		b := binary.AppendUvarint(nil, uint64(pages))
		for range (pages + 7) / 8 {
			b = append(b, 0xff)
		}
		return append(b, bytes.Repeat([]byte{0xff}, pages*bitsPageWords*8)...)
	}
	rows := 32 * bitsPageWords * blockRows
	identity := binary.AppendUvarint(nil, uint64(rows/256))
	identity = append(identity, bytes.Repeat([]byte{0xff}, rows/256/8)...)
	for i := range rows {
		identity = binary.LittleEndian.AppendUint64(identity, 3<<regionShift|uint64(i))
		identity = binary.LittleEndian.AppendUint64(identity, 1)
	}
	id := &w.identity().regions[3]
	data := forge(w, map[int][]byte{id.bits.info.number: bitsOf(32), id.data.info.number: identity, storeAt(w, cWide.declaration, 3, true): bitsOf(32)})
	fresh := newWorld(t, tGame())
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := fresh.Image().Load(data)
	runtime.ReadMemStats(&after)
	if !errors.Is(err, ErrImage) || !strings.Contains(err.Error(), "empty pages") {
		t.Errorf("%d bytes may ask for %d: %v", len(data), rows*800, err)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > 1<<20 {
		t.Errorf("refusing %d bytes allocates %d", len(data), got)
	}
	// Without the wide rows it is a true image of 131072 entities.
	data = forge(w, map[int][]byte{id.bits.info.number: bitsOf(32), id.data.info.number: identity})
	runtime.ReadMemStats(&before)
	err = fresh.Image().Load(data)
	runtime.ReadMemStats(&after)
	if err != nil || !fresh.Exists(Entity{Row: 3<<regionShift | 131071, Born: 1}) {
		t.Error(err)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > 3*uint64(len(data)) {
		t.Errorf("loading %d bytes allocates %d", len(data), got)
	}
}

// fuzzGame is a game whose images are short, so that the fuzzer gets on.
func fuzzGame() *Game {
	return &Game{Name: "fuzz", TickRate: 60, MaxPlayers: 1, Input: tInput, Components: Components(cMixed, cBag, cTag), Resources: Resources(rClock)}
}

// FuzzLoadImage looks for bytes that panic, ask for much memory, change a world although they are refused, or are a
// second encoding of a state.
func FuzzLoadImage(f *testing.F) {
	sender := newWorld(f, fuzzGame())
	f.Add(saved(sender).AppendImage(nil))
	inSystem(sender, func() { cMixed.Put(sender, sender.Spawn(OwnedBy(0), cMixed, cTag), tMixed{Alive: true}) })
	f.Add(saved(sender).AppendImage(nil))
	header := saved(sender).AppendImage(nil)[:9]
	target := newWorld(f, fuzzGame())
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) >= len(header) {
			data = append(bytes.Clone(header), data[len(header):]...) // past the fingerprint, which would stop all
		}
		before := saved(target)
		defer before.Release()
		err := target.Image().Load(data)
		s := saved(target)
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
		target.Step(TickInputs{})
	})
}
