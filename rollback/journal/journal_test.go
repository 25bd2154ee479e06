package journal

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
)

func TestAJournalHoldsWhatWasWritten(t *testing.T) {
	m, f := write(t, 1, 1500)
	j := open(t, f.Bytes())
	m.holds(j, 1500)
	if j.Torn() != nil || j.Valid() != f.Len() || j.image.tick != 1200 || len(j.checks) != 16 {
		t.Fatal(j.Torn(), j.Valid(), j.image.tick, len(j.checks))
	}
	h := HeaderOf(game(), 1, build)
	h.Strategy, h.Room, h.Match, h.Params, h.Start.Inputs = "relay", "den", 77, []byte{1, 2, 3}, make([]ecs.InputBytes, 3)
	if !reflect.DeepEqual(j.Header(), h) {
		t.Fatalf("%+v, want %+v", j.Header(), h)
	}
	if read, err := ReadHeader(f.Bytes()); err != nil || !reflect.DeepEqual(read, h) {
		t.Fatal(read, err)
	}
	want := []Seat{{0, 1485, "who", false}, {1, 1419, "who", false}, {2, 1452, "who", true}}
	if got := j.Seats(); !slices.Equal(got, want) {
		t.Fatal(got)
	}
	changes := ecs.Tick(0)
	for after, seat := range j.Seatings() { // one every 33 ticks, whose client is the tick
		if changes++; after != 33*changes || seat.Client != uint64(after) || seat.Name != "who" {
			t.Fatalf("after tick %d: %+v", after, seat)
		}
	}
	if changes != 45 {
		t.Fatalf("%d changes of seats", changes)
	}
	for _, from := range []ecs.Tick{0, 1, 2, 777, 1024, 1025, 1026, 1499, 1500} {
		next := max(from, 1)
		for tick := range j.Ticks(from) {
			if tick.Tick != next || !sameTick(tick, &m.ticks[next]) {
				t.Fatalf("from %d: %+v", from, tick)
			}
			next++
		}
		if chain, ok := j.Chain(from); next != 1501 || !ok || chain != m.places[from].Chain {
			t.Fatal(from, next, chain, ok)
		}
	}
	if _, ok := j.Chain(1501); ok {
		t.Fatal("the chain of a tick that is not there")
	}
	for range j.Ticks(1501) {
		t.Fatal("a tick behind the last")
	}
}

// A confirmation waits for its tick's block, so a block must be small: a quiet tick costs ten bytes.
func TestAFlushIsOneWriteWithNineBytesAroundIt(t *testing.T) {
	var f file
	w, err := NewWriter(&f, game(), HeaderOf(game(), 1, build))
	if err != nil || f.Len() != 0 {
		t.Fatal(err, f.Len())
	}
	for n, want := range []int{1, 2, 2, 3} { // ends so far
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

// A kill may end the file anywhere. What was flushed before is there; what was cut is told.
func TestATornLastBlockIsCutAtEveryByte(t *testing.T) {
	m, f := write(t, 2, 64, 40)
	list := blocks(t, f.Bytes())
	for i := 1; i+1 < len(list); i++ { // every block is the last once; some hold images, checks and seats
		whole := open(t, f.Bytes()[:list[i]]).Last()
		for end := list[i] + 1; end < list[i+1]; end++ {
			j := open(t, f.Bytes()[:end])
			torn := j.Torn()
			if torn == nil || !errors.Is(torn, ErrTorn) || torn.Offset != list[i] || torn.Bytes != end-list[i] || torn.Last != whole.Tick {
				t.Fatalf("cut at %d: %v", end, torn)
			}
			if j.Valid() != list[i] || !samePosition(j.Last(), whole) {
				t.Fatalf("cut at %d: valid to %d, tick %d", end, j.Valid(), j.Last().Tick)
			}
			if end == list[i]+1 || end == list[i+1]-1 {
				m.holds(j, whole.Tick)
			}
		}
	}
	for end := range list[1] { // nothing was promised yet
		if j, err := Open(f.Bytes()[:end], game(), build); j != nil || !errors.Is(err, ErrTorn) {
			t.Fatalf("cut in the header at %d: %v", end, err)
		}
	}
	zeros := append(slices.Clone(f.Bytes()), make([]byte, 5000)...) // as a power cut leaves a file that was extended
	if j := open(t, zeros); j.Valid() != f.Len() || j.Torn() == nil {
		t.Fatal(j.Valid())
	}
	if msg := open(t, zeros[:f.Len()-1]).Torn().Error(); !strings.Contains(msg, "cut off") || !strings.Contains(msg, fmt.Sprint(list[len(list)-2])) {
		t.Fatal(msg)
	}
}

// Every bit counts. In the last block a wrong one costs that block; before, the journal is refused and the error says
// where. No wrong state ever comes out.
func TestAFlippedBitCostsTheLastBlockOrIsNamed(t *testing.T) {
	m, f := write(t, 3, 44, 40)
	list := blocks(t, f.Bytes())
	last := list[len(list)-2]
	for at := range f.Len() {
		for bit := range 8 {
			data := slices.Clone(f.Bytes())
			data[at] ^= 1 << bit
			j, err := Open(data, game(), build)
			var damage *DamageError
			switch {
			case at < len(magic):
				if !errors.Is(err, ErrNotJournal) {
					t.Fatalf("byte %d: %v", at, err)
				}
			case at == len(magic):
				if !errors.Is(err, ErrVersion) {
					t.Fatalf("byte %d: %v", at, err)
				}
			case at >= last:
				if err != nil || j.Valid() != last || j.Torn() == nil {
					t.Fatalf("byte %d of the last block: %v", at-last, err)
				}
			default:
				i, _ := slices.BinarySearch(list, at+1)
				if j != nil || !errors.Is(err, ErrCorrupt) || !errors.As(err, &damage) || damage.Offset != list[i-1] {
					t.Fatalf("byte %d of the block at %d: %v", at, list[i-1], err)
				}
				if want := fmt.Sprintf("at byte %d ", list[i-1]); !strings.Contains(err.Error(), want) {
					t.Fatalf("%q does not say %q", err, want)
				}
			}
		}
	}
	// Whoever wants what stands before damage asks for it.
	m.holds(open(t, f.Bytes()[:last]), open(t, f.Bytes()[:last]).Last().Tick)
}

// Blocks that are whole, but elsewhere: nothing in a tick's code says which tick it is, the place in the file does.
func TestBlocksThatWereMovedDoubledOrLeftOutAreDamage(t *testing.T) {
	_, f := write(t, 4, 60)
	data, list := f.Bytes(), blocks(t, f.Bytes())
	for i := 1; i+3 < len(list); i++ {
		a, b, c := list[i], list[i+1], list[i+2]
		moved := slices.Concat(data[:a], data[b:c], data[a:b], data[c:])
		doubled := slices.Concat(data[:b], data[a:])
		left := slices.Concat(data[:a], data[b:])
		for name, spoiled := range map[string][]byte{"moved": moved, "doubled": doubled, "left out": left} {
			if j, err := Open(spoiled, game(), build); !errors.Is(err, ErrCorrupt) {
				t.Fatalf("%s block %d: %v, %v", name, i, j, err)
			}
		}
	}
}

// Players write orders. What looks like a block inside one must not turn a torn end into damage.
func TestABlockInsideAnOrderIsNotTakenForOne(t *testing.T) {
	m, f := write(t, 5, 10)
	w := open(t, f.Bytes()).Resume(f)
	inside := appendBlock(nil, uint64(f.Len()+9+8), []byte{0, 0, 0})
	m.must(w.Tick(Tick{Tick: 11, Orders: []image.Order{{Payload: inside}}}))
	m.must(w.Flush())
	from := f.ends[len(f.ends)-2]
	for end := from + 9; end < f.Len(); end++ {
		if j := open(t, f.Bytes()[:end]); j.Valid() != from {
			t.Fatalf("cut at %d: valid to %d", end, j.Valid())
		}
	}
	f.Bytes()[f.Len()-1] ^= 1
	if j := open(t, f.Bytes()); j.Valid() != from {
		t.Fatal(j.Valid())
	}
}

func TestAnotherTickRateIsRefusedWithBoth(t *testing.T) {
	_, f := write(t, 6, 10)
	slower := game()
	slower.TickRate /= 2
	_, err := Open(f.Bytes(), slower, "d4e5f6") // the rate first: it is what is easily given wrong
	if want := fmt.Sprintf("at %d ticks per second, this game runs at %d", game().TickRate, slower.TickRate); !errors.Is(err, ErrOtherRate) || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}

func TestAnotherGameOrBuildIsRefusedWithBothHashes(t *testing.T) {
	_, f := write(t, 6, 10)
	for name, data := range map[string][]byte{"text": []byte("hello, world"), "recording": []byte("TENDONRC\x01")} {
		if _, err := Open(data, game(), build); !errors.Is(err, ErrNotJournal) {
			t.Errorf("%s: %v", name, err)
		}
	}
	named, sized, rules, floats := game(), game(), game(), game()
	named.Name, sized.MaxPlayers = "field", 4
	floats.Input = ecs.NewInput[struct{ X float32 }]()
	for _, c := range []struct {
		game  *ecs.Game
		build string
		want  error
		says  []string
	}{
		{named, build, ErrOtherGame, []string{`"range"`, `"field"`, fmt.Sprintf("%016x", game().Fingerprint()), fmt.Sprintf("%016x", named.Fingerprint())}},
		{sized, "d4e5f6", ErrOtherBuild, []string{fmt.Sprintf("%016x", game().Fingerprint()), fmt.Sprintf("%016x", sized.Fingerprint()), build, "d4e5f6"}},
		{rules, "d4e5f6", ErrOtherBuild, []string{build, "d4e5f6"}},
		{rules, "", nil, nil}, // unknown
	} {
		_, err := Open(f.Bytes(), c.game, c.build)
		if !errors.Is(err, c.want) {
			t.Errorf("%q %q: %v", c.game.Name, c.build, err)
		}
		for _, s := range append(c.says, "start the ", "move the journal away")[:len(c.says)+2*min(1, len(c.says))] {
			if !strings.Contains(err.Error(), s) {
				t.Errorf("%q does not say %s", err, s)
			}
		}
	}
	for _, c := range []struct{ there, here string }{{build, ""}, {"", build}, {build, "d4e5f6"}} {
		h := HeaderOf(floats, 1, c.there)
		if err := h.Check(floats, c.here); !errors.Is(err, ErrOtherBuild) {
			t.Errorf("floats, %q and %q: %v", c.there, c.here, err)
		}
		if err := h.Check(floats, c.there); err != nil {
			t.Error(err)
		}
	}
}

// A server that was killed goes on; nobody can tell from the match or the file.
func TestAfterRecoveryTheMatchGoesOnAsIfNothingHadBeen(t *testing.T) {
	straight, whole := write(t, 7, 900)
	for _, end := range []int{whole.ends[3], whole.ends[300] - 1, whole.ends[301] - 5, whole.ends[len(whole.ends)-20] - 2} {
		j := open(t, whole.Bytes()[:end])
		at := j.Last().Tick
		straight.revives(j, at)
		var again file
		again.Buffer.Write(whole.Bytes()[:j.Valid()])
		w := j.Resume(&again)
		if w.Last() != at || w.Chain() != straight.places[at].Chain {
			t.Fatal(w.Last(), w.Chain())
		}
		for _, tick := range straight.ticks[at+1:] {
			straight.must(w.Tick(tick))
			straight.must(w.Flush())
		}
		if w.Chain() != straight.places[900].Chain {
			t.Fatal("another chain")
		}
		straight.holds(open(t, again.Bytes()), 900)
	}
}

// What a resumed writer knows of images and checksums is what the first one knew.
func TestAResumedWriterKeepsItsSchedule(t *testing.T) {
	m, f := write(t, 8, 700)
	w := open(t, f.Bytes()).Resume(f)
	if w.ImageDue() {
		t.Fatal("an image of tick 600 is there")
	}
	if err := w.Check(680, 1); !errors.Is(err, ErrWriter) {
		t.Fatal("the checksum of 680 is there already:", err)
	}
	m.drive(w, 500)
	if j := open(t, f.Bytes()); j.image.tick != 1200 {
		t.Fatal(j.image.tick)
	}
}

// The checksums that the match left behind are what proves a recovery.
func TestAReplayThatDiffersIsRefusedNamingTheTick(t *testing.T) {
	for _, planted := range []ecs.Tick{1, 40, 44, 45, 50} {
		m, to := newMatch(t, 9), &file{}
		w, err := NewWriter(to, game(), HeaderOf(game(), 9, build))
		m.must(err)
		for f := ecs.Tick(1); f <= 60; f++ {
			m.must(w.Tick(m.step()))
			sum := m.sums[f]
			if f == planted {
				sum++
			}
			if f%2 == 0 && f < 30 || f >= 42 {
				m.must(w.Check(f, sum))
			}
			if f == 45 {
				m.must(w.Image(&m.saved))
			}
		}
		m.must(w.Flush())
		_, err = open(t, to.Bytes()).World()
		if refused := planted >= 45; refused != errors.Is(err, ErrDiverged) || refused && !strings.Contains(err.Error(), fmt.Sprintf("tick %d ", planted)) {
			t.Fatalf("planted in %d: %v", planted, err)
		}
	}
	// Rules that changed under the same build string.
	_, f := write(t, 9, 100)
	other := game()
	other.Order = func(w *ecs.World, p ecs.Player, _ ecs.Entity, order []byte) { tallies.Write(w).Gifts++ }
	j, err := Open(f.Bytes(), other, build)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.World(); !errors.Is(err, ErrDiverged) {
		t.Fatal(err)
	}
}

// An image may be of an earlier tick than the last: what is computed can trail what is final. And it is the match's,
// or refused.
func TestAnImageMayTrailAndMustBeOfThisMatch(t *testing.T) {
	m, to := newMatch(t, 10), &file{}
	w, err := NewWriter(to, game(), HeaderOf(game(), 10, build))
	m.must(err)
	var early image.Snapshot
	for f := ecs.Tick(1); f <= 30; f++ {
		m.must(w.Tick(m.step()))
		if f == 20 {
			m.world.Image().Save(&early)
		}
	}
	m.must(w.Check(25, m.sums[25]))
	m.must(w.Image(&early))
	m.must(w.Check(28, m.sums[28]))
	m.must(w.Flush())
	m.holds(open(t, to.Bytes()), 30)

	// A checksum that trails the image says nothing about the way from there, and does not hide the next one.
	trailing := &file{}
	w, err = NewWriter(trailing, game(), HeaderOf(game(), 10, build))
	m.must(err)
	for _, tick := range m.ticks[1:] {
		m.must(w.Tick(tick))
	}
	m.must(w.Image(&early))
	m.must(w.Check(18, m.sums[18]))
	m.must(w.Check(28, m.sums[28]+1))
	m.must(w.Flush())
	if _, err := open(t, trailing.Bytes()).World(); !errors.Is(err, ErrDiverged) {
		t.Fatal(err)
	}
	w = open(t, to.Bytes()).Resume(to)

	foreign := newMatch(t, 11)
	for foreign.world.Tick() < 30 {
		foreign.step()
	}
	m.must(w.Image(&foreign.saved))
	m.must(w.Flush())
	if _, err := open(t, to.Bytes()).World(); !errors.Is(err, ErrDiverged) {
		t.Fatal(err)
	}
}

// A client's journal begins where the client joined: with an image, and with the chain and inputs of that tick.
func TestAJournalMayStartLater(t *testing.T) {
	m := newMatch(t, 12)
	for m.world.Tick() < 50 {
		m.step()
	}
	h := HeaderOf(game(), 12, build)
	h.Start = PositionOf(m.world, m.places[50].Chain)
	if !samePosition(h.Start, m.places[50]) {
		t.Fatal(h.Start)
	}
	to := &file{}
	w, err := NewWriter(to, game(), h)
	m.must(err)
	if err := w.Tick(Tick{Tick: 51}); !errors.Is(err, ErrWriter) || !w.ImageDue() {
		t.Fatal("a tick before the image:", err)
	}
	m.must(w.Flush())
	m.must(w.Image(&m.saved))
	m.drive(w, 60)
	j := open(t, to.Bytes())
	m.holds(j, 110)
	if chain, ok := j.Chain(50); !ok || chain != m.places[50].Chain || j.Start() != 50 {
		t.Fatal(chain, ok)
	}
	if _, ok := j.Chain(49); ok {
		t.Fatal("the chain of a tick before the start")
	}
	// Torn within the first image it has no state, and takes no ticks either.
	j = open(t, to.Bytes()[:to.ends[1]-1])
	if _, err := j.World(); !errors.Is(err, ErrNoState) {
		t.Fatal(err)
	}
	if err := j.Resume(to).Tick(Tick{Tick: 51}); !errors.Is(err, ErrWriter) {
		t.Fatal(err)
	}
	// Whole blocks that say otherwise are damage.
	spoiled := appendBlock(slices.Clone(to.Bytes()[:to.ends[0]]), uint64(to.ends[0]), []byte{0})
	if _, err := Open(spoiled, game(), build); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "no image") {
		t.Fatal(err)
	}
}

// What a checksum lets pass is still read with care: another writer may have made it.
func TestWholeBlocksThatMakeNoSenseAreDamage(t *testing.T) {
	_, f := write(t, 13, 24)
	for name, payload := range map[string][]byte{
		"flags":         {9},
		"seat":          append([]byte{byte(kindSeat), 0, 3}, make([]byte, 9)...),
		"held":          append([]byte{byte(kindSeat), 2, 1}, make([]byte, 9)...),
		"name":          append([]byte{byte(kindSeat), 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 33}, make([]byte, 33)...),
		"early check":   append([]byte{byte(kindCheck), 20}, make([]byte, 8)...),
		"late check":    append([]byte{byte(kindCheck), 25}, make([]byte, 8)...),
		"late image":    {byte(kindImage), 25, 1, 1, 0},
		"giant image":   {byte(kindImage), 24, 0xff, 0xff, 0xff, 0xff, 1, 1, 0},
		"cut image":     {byte(kindImage), 24, 9, 9, 0},
		"cut tick":      {0, flagInputs},
		"same input":    {flagInputs, 1, 1},
		"second header": bytes.Clone(f.Bytes()[openingBytes+9:][:40]),
	} {
		data := appendBlock(slices.Clone(f.Bytes()), uint64(f.Len()), payload)
		var damage *DamageError
		if _, err := Open(data, game(), build); !errors.Is(err, ErrCorrupt) || !errors.As(err, &damage) || damage.Offset != f.Len() {
			t.Errorf("%s: %v", name, err)
		}
	}
	encoded := appendImage(nil, 24, 100, []byte("not zstd"))
	if _, err := open(t, appendBlock(slices.Clone(f.Bytes()), uint64(f.Len()), encoded)).World(); !errors.Is(err, ErrCorrupt) {
		t.Error(err)
	}
}
