package record

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
)

func TestAJournalHasEverythingThatWasWritten(t *testing.T) {
	m, f := journal(t, 1, 1500)
	r := open(t, f.Bytes())
	m.has(r, 1500)
	if r.Torn() != nil || r.Ended() || len(r.Bytes()) != f.Len() || !slices.Equal(r.Images(), []ecs.Tick{600, 1200}) {
		t.Fatal(r.Torn(), r.Ended(), len(r.Bytes()), r.Images())
	}
	h := header(1)
	h.Start.Inputs = make([]ecs.InputBytes, 3)
	if !reflect.DeepEqual(r.Header(), h) {
		t.Fatalf("%+v, want %+v", r.Header(), h)
	}
	want := []Seat{{0, 1485, "ann", false}, {1, 1419, "ann", false}, {2, 1452, "ann", true}}
	if got := r.Seats(); !slices.Equal(got, want) {
		t.Fatal(got)
	}
	changes := ecs.Tick(0)
	for after, seat := range r.Seatings() { // one every 33 ticks, whose client is the tick
		if changes++; after != 33*changes || seat.Client != uint64(after) || seat.Name != "ann" {
			t.Fatalf("after tick %d: %+v", after, seat)
		}
	}
	if changes != 45 {
		t.Fatalf("%d changes of seats", changes)
	}
	for _, from := range []ecs.Tick{0, 1, 2, 255, 256, 257, 777, 1024, 1025, 1499, 1500} {
		next := max(from, 1)
		for tick := range r.Ticks(from, from+600) {
			if want := asJournal(m.ticks[next]); !sameTick(tick, &want) {
				t.Fatalf("from %d: %+v", from, tick)
			}
			next++
		}
		if chain, ok := r.Chain(from); next != min(from+601, 1501) || !ok || chain != m.places[from].Chain {
			t.Fatal(from, next, chain, ok)
		}
	}
	if _, ok := r.Chain(1501); ok {
		t.Fatal("the chain of a tick that does not exist")
	}
	for range r.Ticks(1501, maxTick) {
		t.Fatal("a tick behind the last")
	}
}

func TestARecordingHasEveryChecksumAndItsEndMark(t *testing.T) {
	m := newMatch(t, 1)
	r := open(t, m.recording(1010).Bytes())
	if !r.Ended() || r.Torn() != nil || !samePosition(r.Last(), m.places[1010]) {
		t.Fatal(r.Ended(), r.Torn(), r.Last())
	}
	if got := fmt.Sprint(r.Images()); got != "[100 200 300 400 500 600 700 800 900 1000]" {
		t.Fatal("images", got)
	}
	next := ecs.Tick(1)
	for tick := range r.Ticks(0, maxTick) {
		if !sameTick(tick, &m.ticks[next]) {
			t.Fatalf("%+v, want %+v", tick, m.ticks[next])
		}
		next++
	}
	if next != 1011 {
		t.Fatal(next)
	}
}

// A confirmation waits for its tick's block, so a block must be small: a quiet tick costs ten bytes.
func TestAFlushIsOneWriteWithNineBytesAroundIt(t *testing.T) {
	var f file
	w, err := NewWriter(&f, game(), HeaderOf(game(), 1, build))
	if err != nil || f.Len() != 0 {
		t.Fatal(err, f.Len())
	}
	for n, want := range []int{1, 2, 2, 3} { // number of writes so far
		if n != 2 { // nothing waits then
			if err := w.Tick(Tick{Tick: w.Last() + 1}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Flush(); err != nil || len(f.ends) != want || w.Waiting() != 0 {
			t.Fatal(n, err, f.ends)
		}
	}
	if n := f.ends[2] - f.ends[1]; n != 10 {
		t.Fatalf("%d bytes for a quiet tick", n)
	}
}

// A kill may end the file anywhere. Everything that was flushed before is there, and the cut is reported.
func TestATornLastBlockIsCutAtEveryByte(t *testing.T) {
	m, f := journal(t, 2, 64, 40)
	list := blocks(t, f.Bytes())
	for i := 1; i+1 < len(list); i++ { // every block is the last once; some have images, checksums and seats
		whole := open(t, f.Bytes()[:list[i]]).Last()
		for end := list[i] + 1; end < list[i+1]; end++ {
			r := open(t, f.Bytes()[:end])
			torn := r.Torn()
			if torn == nil || !errors.Is(torn, ErrTorn) || torn.Offset != list[i] || torn.Bytes != end-list[i] || torn.Last != whole.Tick {
				t.Fatalf("cut at %d: %v", end, torn)
			}
			if len(r.Bytes()) != list[i] || !samePosition(r.Last(), whole) {
				t.Fatalf("cut at %d: whole to %d, tick %d", end, len(r.Bytes()), r.Last().Tick)
			}
			if end == list[i]+1 || end == list[i+1]-1 {
				m.has(r, whole.Tick)
			}
		}
	}
	for end := range list[1] { // no tick was confirmed yet
		if r, err := Open(f.Bytes()[:end], game()); r != nil || !errors.Is(err, ErrTorn) {
			t.Fatalf("cut in the header at %d: %v", end, err)
		}
	}
	zeros := append(slices.Clone(f.Bytes()), make([]byte, 5000)...) // as a power cut leaves a file that was extended
	if r := open(t, zeros); len(r.Bytes()) != f.Len() || r.Torn() == nil {
		t.Fatal(len(r.Bytes()))
	}
	if msg := open(t, zeros[:f.Len()-1]).Torn().Error(); !strings.Contains(msg, "cut off") || !strings.Contains(msg, fmt.Sprint(list[len(list)-2])) {
		t.Fatal(msg)
	}
}

// A file that was cut exactly between two blocks has no torn block. Only the missing end mark shows the cut.
func TestARecordingThatWasCutBetweenBlocksHasNoEndMark(t *testing.T) {
	m := newMatch(t, 2)
	f := m.recording(230)
	list := blocks(t, f.Bytes())
	for _, end := range list[1:] {
		r := open(t, f.Bytes()[:end])
		if whole := end == f.Len(); r.Torn() != nil || r.Ended() != whole {
			t.Fatalf("cut at %d of %d: torn %v, ended %v", end, f.Len(), r.Torn(), r.Ended())
		}
		if result, err := r.Verify(maxTick); err != nil || result.To != r.Last().Tick {
			t.Fatalf("cut at %d: %+v, %v", end, result, err)
		}
	}
	for end := list[len(list)-2] + 1; end < f.Len(); end++ { // within the block of the end mark
		if r := open(t, f.Bytes()[:end]); r.Torn() == nil || r.Ended() {
			t.Fatalf("cut at %d: torn %v, ended %v", end, r.Torn(), r.Ended())
		}
	}
	for name, behind := range map[string][]byte{"a block": appendBlock(nil, uint64(f.Len()), []byte{0}), "zeros": make([]byte, 20)} {
		if _, err := Open(append(slices.Clone(f.Bytes()), behind...), game()); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s behind the end mark: %v", name, err)
		}
	}
	w := open(t, f.Bytes()).Resume(f)
	if err := w.Tick(Tick{Tick: 231}); !errors.Is(err, ErrUse) {
		t.Error("a tick behind the end mark:", err)
	}
}

// Every bit counts, except that version 2 is read like version 3. A wrong bit in the last block costs that block; before, the error has the place. No wrong state is ever
// returned.
func TestAFlippedBitCostsTheLastBlockOrIsLocated(t *testing.T) {
	_, f := journal(t, 3, 44, 40)
	list := blocks(t, f.Bytes())
	last := list[len(list)-2]
	for at := range f.Len() {
		for bit := range 8 {
			data := slices.Clone(f.Bytes())
			data[at] ^= 1 << bit
			r, err := Open(data, game())
			var damage *DamageError
			switch {
			case at < len(magic):
				if !errors.Is(err, ErrNotRecord) && !errors.Is(err, ErrVersion) {
					t.Fatalf("byte %d: %v", at, err)
				}
			case at == len(magic):
				if older := data[at] == version-1; older && err != nil || !older && !errors.Is(err, ErrVersion) {
					t.Fatalf("version %d: %v", data[at], err)
				}
			case at >= last:
				if err != nil || len(r.Bytes()) != last || r.Torn() == nil {
					t.Fatalf("byte %d of the last block: %v", at-last, err)
				}
			default:
				i, _ := slices.BinarySearch(list, at+1)
				if !errors.Is(err, ErrCorrupt) || !errors.As(err, &damage) || damage.Offset != list[i-1] {
					t.Fatalf("byte %d of the block at %d: %v", at, list[i-1], err)
				}
				if want := fmt.Sprintf("at byte %d;", list[i-1]); !strings.Contains(err.Error(), want) {
					t.Fatalf("%q does not contain %q", err, want)
				}
				remedy := "none of it can be read"
				if i > 1 {
					remedy = fmt.Sprintf("the ticks to %d, cut a copy to its first %d bytes", damage.Last, damage.Offset)
				}
				if !strings.Contains(err.Error(), remedy) {
					t.Fatalf("%q does not contain %q", err, remedy)
				}
				if r != nil || i > 1 && open(t, data[:damage.Offset]).Last().Tick != damage.Last {
					t.Fatalf("byte %d: %v", at, damage)
				}
			}
		}
	}
}

// The code of a tick does not contain its number; the place in the file does. So blocks in the wrong place are damage.
func TestBlocksThatWereMovedDoubledOrLeftOutAreDamage(t *testing.T) {
	_, f := journal(t, 4, 60)
	data, list := f.Bytes(), blocks(t, f.Bytes())
	for i := 1; i+3 < len(list); i++ {
		a, b, c := list[i], list[i+1], list[i+2]
		moved := slices.Concat(data[:a], data[b:c], data[a:b], data[c:])
		doubled := slices.Concat(data[:b], data[a:])
		left := slices.Concat(data[:a], data[b:])
		for name, spoiled := range map[string][]byte{"moved": moved, "doubled": doubled, "left out": left} {
			if r, err := Open(spoiled, game()); !errors.Is(err, ErrCorrupt) {
				t.Fatalf("%s block %d: %v, %v", name, i, r, err)
			}
		}
	}
}

// Players write orders. Bytes inside one that look like a block must not turn a torn end into damage.
func TestABlockInsideAnOrderDoesNotCountAsOne(t *testing.T) {
	m, f := journal(t, 5, 10)
	w := open(t, f.Bytes()).Resume(f)
	inside := appendBlock(nil, uint64(f.Len()+9+8), []byte{0, 0, 0})
	m.must(w.Tick(Tick{Tick: 11, Orders: []image.Order{{Payload: inside}}}))
	m.must(w.Flush())
	from := f.ends[len(f.ends)-2]
	for end := from + 9; end < f.Len(); end++ {
		if r := open(t, f.Bytes()[:end]); len(r.Bytes()) != from {
			t.Fatalf("cut at %d: whole to %d", end, len(r.Bytes()))
		}
	}
	f.Bytes()[f.Len()-1] ^= 1
	if r := open(t, f.Bytes()); len(r.Bytes()) != from {
		t.Fatal(len(r.Bytes()))
	}
}

// Each refusal names both sides and the remedy.
func TestOtherFilesGamesRatesAndBuildsAreRefused(t *testing.T) {
	_, f := journal(t, 6, 10)
	for name, data := range map[string][]byte{"text": []byte("hello, world"), "almost": []byte("TENDONRX\x01")} {
		if _, err := Open(data, game()); !errors.Is(err, ErrNotRecord) {
			t.Errorf("%s: %v", name, err)
		}
	}
	newer := slices.Clone(f.Bytes())
	newer[len(magic)] = startVersion + 1
	for name, data := range map[string][]byte{"recording": []byte("TENDONRC\x01"), "journal": []byte("TENDONJL\x01"), "newer": newer} {
		if _, err := Open(data, game()); !errors.Is(err, ErrVersion) || name != "newer" && !strings.Contains(err.Error(), "with the build that wrote it") {
			t.Errorf("%s: %v", name, err)
		}
	}
	named, sized, slower := game(), game(), game()
	named.Name, sized.MaxPlayers = "field", 4
	slower.TickRate /= 2
	hash := func(g *ecs.Game) string { return fmt.Sprintf("%016x", g.Fingerprint()) }
	for _, c := range []struct {
		game     *ecs.Game
		want     error
		contains []string
	}{
		{named, ErrOther, []string{`"range"`, `"field"`, hash(game()), hash(named)}},
		{slower, ErrOther, []string{"at 20 ticks per second, this game runs at 10", "--tick-rate 20"}},
		{sized, ErrOther, []string{hash(game()), hash(sized), build, "start the build"}},
	} {
		_, err := Open(f.Bytes(), c.game)
		if !errors.Is(err, c.want) {
			t.Errorf("%q: %v, want %v", c.game.Name, err, c.want)
		}
		for _, s := range c.contains {
			if !strings.Contains(fmt.Sprint(err), s) {
				t.Errorf("%q does not contain %s", err, s)
			}
		}
	}
	floats := game()
	floats.Input = ecs.NewInput[struct{ X float32 }]()
	for _, c := range []struct {
		game        *ecs.Game
		there, here string
		want        error
	}{
		{game(), build, build, nil}, {game(), build, "d4e5f6", ErrOther}, {game(), build, "", nil}, {game(), "", build, nil},
		{floats, build, build, nil}, {floats, build, "d4e5f6", ErrOther}, {floats, build, "", ErrOther}, {floats, "", build, ErrOther},
	} {
		h := HeaderOf(c.game, 1, c.there)
		err := h.CheckBuild(c.game, c.here)
		if !errors.Is(err, c.want) {
			t.Errorf("floats %v, %q and %q: %v", c.game == floats, c.there, c.here, err)
		}
		if err != nil && (!strings.Contains(err.Error(), c.there) || !strings.Contains(err.Error(), c.here) || !strings.Contains(err.Error(), "start the build")) {
			t.Error(err)
		}
	}
}

// A server that was killed continues: neither the match nor the file shows it.
func TestAfterRecoveryTheMatchContinuesAsWithoutABreak(t *testing.T) {
	straight, whole := journal(t, 7, 900)
	for _, end := range []int{whole.ends[3], whole.ends[300] - 1, whole.ends[301] - 5, whole.ends[len(whole.ends)-20] - 2} {
		r := open(t, whole.Bytes()[:end])
		at := r.Last().Tick
		straight.leads(r, at)
		var again file
		again.Buffer.Write(r.Bytes())
		w := r.Resume(&again)
		if w.Last() != at || w.Chain() != straight.places[at].Chain {
			t.Fatal(w.Last(), w.Chain())
		}
		for _, tick := range straight.ticks[at+1:] {
			straight.must(w.Tick(asJournal(tick)))
			straight.must(w.Flush())
		}
		if w.Chain() != straight.places[900].Chain {
			t.Fatal("another chain")
		}
		straight.has(open(t, again.Bytes()), 900)
	}
}

func TestAResumedWriterKeepsTheScheduleOfImages(t *testing.T) {
	m, f := journal(t, 8, 700)
	w := open(t, f.Bytes()).Resume(f)
	if w.ImageDue(JournalImages) {
		t.Fatal("an image of tick 600 is there")
	}
	m.drive(w, 500)
	if r := open(t, f.Bytes()); !slices.Equal(r.Images(), []ecs.Tick{600, 1200}) {
		t.Fatal(r.Images())
	}
}

// A client's journal begins where the client joined: with an image, and with the chain and inputs of that tick.
func TestARecordMayStartLater(t *testing.T) {
	m := newMatch(t, 12)
	for m.world.Tick() < 50 {
		m.step()
	}
	h := header(12)
	h.Start = PositionOf(m.world, m.places[50].Chain)
	if !samePosition(h.Start, m.places[50]) {
		t.Fatal(h.Start)
	}
	to := &file{}
	w, err := NewWriter(to, game(), h)
	m.must(err)
	if err := w.Tick(Tick{Tick: 51}); !errors.Is(err, ErrUse) || !w.ImageDue(JournalImages) {
		t.Fatal("a tick before the image:", err)
	}
	m.must(w.Flush())
	m.must(w.Image(&m.saved))
	m.drive(w, 60)
	r := open(t, to.Bytes())
	m.has(r, 110)
	if chain, ok := r.Chain(50); !ok || chain != m.places[50].Chain || r.Start() != 50 {
		t.Fatal(chain, ok)
	}
	if _, ok := r.Chain(49); ok {
		t.Fatal("the chain of a tick before the start")
	}
	if result, err := r.Verify(maxTick); err != nil || result != (Result{From: 50, To: 110, Images: 1}) {
		t.Fatal(result, err)
	}
	if _, err := r.WorldAt(49); !errors.Is(err, ErrRange) {
		t.Fatal(err)
	}
	// Torn within the first image it has no state, and accepts no ticks.
	r = open(t, to.Bytes()[:to.ends[1]-1])
	if _, err := r.WorldAt(50); !errors.Is(err, ErrNoState) {
		t.Fatal(err)
	}
	if err := r.Resume(to).Tick(Tick{Tick: 51}); !errors.Is(err, ErrUse) {
		t.Fatal(err)
	}
	spoiled := appendBlock(slices.Clone(to.Bytes()[:to.ends[0]]), uint64(to.ends[0]), []byte{0})
	if _, err := Open(spoiled, game()); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "a tick before the image to start from") {
		t.Fatal(err)
	}
}

// A torn end of one byte is not "1 bytes".
func TestTheEndOfATornRecordIsCounted(t *testing.T) {
	for n, want := range map[int]string{1: "the last byte is left out", 7: "the last 7 bytes are left out"} {
		if text := (&DamageError{Kind: ErrTorn, Offset: 1000, Bytes: n, Why: "cut"}).Error(); !strings.Contains(text, want) {
			t.Errorf("%q does not say %q", text, want)
		}
	}
}
