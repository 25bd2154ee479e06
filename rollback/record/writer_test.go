package record

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/ecs/race"
	"tendon/net/wire"
)

var errFull = errors.New("disk full")

// disk accepts room bytes and then fails. With short set, it accepts fewer bytes and returns no error.
type disk struct {
	bytes.Buffer
	room  int
	short bool
}

func (d *disk) Write(b []byte) (int, error) {
	n := min(len(b), d.room)
	d.room -= n
	d.Buffer.Write(b[:n])
	if n < len(b) && !d.short {
		return n, errFull
	}
	return n, nil
}

// Wherever the disk was full, the file is complete once the disk has room again.
func TestAFullDiskLosesAndDoublesNothing(t *testing.T) {
	m, whole := journal(t, 20, 45, 30)
	play := func(w *Writer, flush func()) {
		for _, tick := range m.ticks[1:] {
			m.must(w.Tick(asJournal(tick)))
			if tick.Tick == 20 {
				m.must(w.Seat(Seat{Player: 1, Client: 9, Held: true}))
			}
			flush()
		}
	}
	for n := range whole.Len() {
		d := &disk{room: n, short: n%2 == 0}
		w, err := NewWriter(d, game(), HeaderOf(game(), 20, build))
		m.must(err)
		failures := 0
		flush := func() (done bool) {
			err := w.Flush()
			switch {
			case err == nil:
				return true
			case !errors.Is(err, errFull) && !errors.Is(err, io.ErrShortWrite):
				t.Fatal(err)
			}
			// The disk has a journal of the ticks before, torn or not.
			if d.Len() > openingBytes {
				if r, err := Open(d.Bytes(), game()); err != nil && !errors.Is(err, ErrTorn) || err == nil && len(r.Bytes()) != d.Len() && r.Torn() == nil {
					t.Fatalf("full after %d: %v", n, err)
				}
			}
			switch failures++; failures {
			case 2:
				d.room = 5
			case 4:
				d.room = 1 << 30
			}
			return false
		}
		play(w, func() { flush() })
		for !flush() {
		}
		if failures == 0 && n < d.Len() {
			t.Fatal("no failure")
		}
		m.has(open(t, d.Bytes()), 45)
		if r := open(t, d.Bytes()); r.Torn() != nil || len(r.Seats()) != 1 {
			t.Fatalf("full after %d: %v", n, r.Torn())
		}
	}
}

// A Flush that failed is continued byte by byte: the same calls give the same file, however the disk behaved.
func TestRetriesWriteTheSameFile(t *testing.T) {
	m, _ := journal(t, 21, 30)
	run := func(d *disk, retry bool) []byte {
		w, err := NewWriter(d, game(), HeaderOf(game(), 21, build))
		m.must(err)
		for _, tick := range m.ticks[1:] {
			m.must(w.Tick(asJournal(tick)))
			for w.Flush() != nil {
				if !retry {
					t.Fatal("a failure")
				}
				d.room = 3
			}
		}
		return d.Bytes()
	}
	if !bytes.Equal(run(&disk{room: 1 << 30}, false), run(&disk{room: 10}, true)) {
		t.Fatal("another file")
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errFull }

// While nothing can be written, the bytes that wait are bounded.
func TestWaitingBytesAreBounded(t *testing.T) {
	w, err := NewWriter(broken{}, game(), HeaderOf(game(), 1, build))
	if err != nil {
		t.Fatal(err)
	}
	orders := make([]image.Order, MaxOrders)
	for i := range orders {
		orders[i].Payload = make([]byte, image.MaxOrderBytes)
	}
	for err == nil && w.Waiting() < 2*maxWaitingBytes {
		err = w.Tick(Tick{Tick: w.Last() + 1, Orders: orders})
	}
	last := w.Last()
	for name, err := range map[string]error{"tick": err, "seat": w.Seat(Seat{}), "image": w.ImageBytes(nil)} {
		if !errors.Is(err, errWaiting) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if !errors.Is(w.Flush(), errFull) || w.Last() != last {
		t.Fatal("not as before")
	}
	to := &file{} // the disk has room again
	w.to = to
	if err := w.Flush(); err != nil || w.Tick(Tick{Tick: last + 1}) != nil || w.Flush() != nil {
		t.Fatal(err)
	}
	if r := open(t, to.Bytes()); r.Last().Tick != last+1 || r.Torn() != nil {
		t.Fatal(r.Last().Tick)
	}
}

func TestTheWriterRefusesEverythingThatCouldNotBeReadBack(t *testing.T) {
	var to file
	w, err := NewWriter(&to, game(), HeaderOf(game(), 1, build))
	if err != nil {
		t.Fatal(err)
	}
	var s, empty image.Snapshot
	world, _ := ecs.NewWorld(game(), 1)
	world.Step(ecs.TickInputs{})
	world.Image().Save(&s)
	var padding, beyond, boolean ecs.InputBytes
	padding[1], beyond[31], boolean[4] = 1, 1, 2
	for name, err := range map[string]error{
		"gap":      w.Tick(Tick{Tick: 2}),
		"again":    w.Tick(Tick{Tick: 0}),
		"inputs":   w.Tick(Tick{Tick: 1, Inputs: make([]ecs.InputBytes, 4)}),
		"padding":  w.Tick(Tick{Tick: 1, Inputs: []ecs.InputBytes{{}, padding}}),
		"beyond":   w.Tick(Tick{Tick: 1, Inputs: []ecs.InputBytes{beyond}}),
		"boolean":  w.Tick(Tick{Tick: 1, Inputs: []ecs.InputBytes{{}, {}, boolean}}),
		"player":   w.Tick(Tick{Tick: 1, Orders: []image.Order{{Player: 3}}}),
		"kind":     w.Tick(Tick{Tick: 1, Orders: []image.Order{{Kind: 77}}}),
		"payload":  w.Tick(Tick{Tick: 1, Orders: []image.Order{{Payload: make([]byte, image.MaxOrderBytes+1)}}}),
		"orders":   w.Tick(Tick{Tick: 1, Orders: make([]image.Order, MaxOrders+1)}),
		"image":    w.Image(&s),
		"no image": w.Image(&empty),
		"late":     w.Tick(Tick{Tick: 1, Late: 8}),
		"seat":     w.Seat(Seat{Player: 3}),
		"name":     w.Seat(Seat{Name: "a name of more than thirty-two by"}),
	} {
		if !errors.Is(err, ErrUse) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := w.Tick(Tick{Tick: 1, Inputs: make([]ecs.InputBytes, 1), Orders: make([]image.Order, MaxOrders)}); err != nil {
		t.Error(err)
	}
	if err := w.Image(&s, &s); !errors.Is(err, ErrUse) {
		t.Error("a past of the image's own tick:", err)
	}
	if w.Image(&s) != nil || !errors.Is(w.Image(&s), ErrUse) {
		t.Error("two images of a tick")
	}
	if err := w.Flush(); err != nil || open(t, to.Bytes()).Last().Tick != 1 {
		t.Error(err)
	}
	good := HeaderOf(game(), 1, build)
	for name, spoil := range map[string]func(h *Header){
		"game":    func(h *Header) { h.Game = "other" },
		"players": func(h *Header) { h.Players++ },
		"rate":    func(h *Header) { h.TickRate = 0 },
		"room":    func(h *Header) { h.Room = string(make([]byte, maxTextBytes+1)) },
		"flags":   func(h *Header) { h.Flags = string(make([]byte, maxTextBytes+1)) },
		"params":  func(h *Header) { h.Params = make([]byte, maxParamsBytes+1) },
		"start":   func(h *Header) { h.Start.Tick = maxTick + 1 },
		"inputs":  func(h *Header) { h.Start.Inputs = []ecs.InputBytes{beyond} },
	} {
		h := good
		if spoil(&h); !refuses(h) {
			t.Errorf("a header with a bad %s was accepted", name)
		}
	}
	if refuses(good) {
		t.Error("a good header was refused")
	}
}

func refuses(h Header) bool {
	_, err := NewWriter(io.Discard, game(), h)
	return errors.Is(err, ErrUse)
}

// A room writes its journal 60 times a second beside thousands of others.
func TestATickAndItsFlushAllocateNothing(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	w, err := NewWriter(io.Discard, game(), HeaderOf(game(), 1, build))
	if err != nil {
		t.Fatal(err)
	}
	world, _ := ecs.NewWorld(game(), 1)
	var s image.Snapshot
	dice, inputs := rand.New(rand.NewPCG(1, 1)), make([]ecs.InputBytes, 3)
	orders := []image.Order{{Player: 1, Payload: make([]byte, 30)}}
	tick := func() {
		for p := range inputs {
			inputs[p] = pads.Pack(pad{Aim: uint16(dice.Uint32())})
		}
		world.Step(ecs.TickInputs{Players: inputs, Orders: orders})
		world.Image().Save(&s)
		err := errors.Join(w.Tick(Tick{Tick: world.Tick(), Inputs: inputs, Late: 2, Orders: orders, Checksum: s.Checksum()}),
			w.Seat(Seat{Player: 1, Name: "ann"}))
		if err == nil && w.ImageDue(RecordingImages) {
			err = w.Image(&s)
		}
		if err == nil {
			err = w.Flush()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for range 1300 {
		tick()
	}
	if n := testing.AllocsPerRun(1300, tick); n != 0 {
		t.Fatalf("%v allocations a tick, images included", n)
	}
}

// readCode reads the code of a tick, given the inputs of the tick before.
func readCode(code []byte, before []ecs.InputBytes) (t Tick, rest int, err error) {
	e, r := newEntries(NewCodec(game()), Position{Inputs: before}), wire.NewReader(code)
	e.readCode(&r)
	return e.tick, r.Len(), r.Err()
}

// The code of a tick is canonical: there is one, however long the list of its inputs, and reading it returns the tick.
func TestATickHasOneCode(t *testing.T) {
	m, c := newMatch(t, 22), NewCodec(game())
	for range 300 {
		tick, before := m.step(), m.places[m.world.Tick()-1].Inputs
		code := c.AppendTick([]byte{7}, before, &tick)[1:]
		read, rest, err := readCode(append(slices.Clone(code), 1, 2, 3), before)
		read.Tick, read.Late, read.Checksum = tick.Tick, tick.Late, tick.Checksum
		if err != nil || rest != 3 || !sameTick(&read, &tick) {
			t.Fatalf("%v: %+v, want %+v", err, read, tick)
		}
		for n := range code {
			if _, _, err := readCode(code[:n], before); err == nil {
				t.Fatalf("cut at %d of %d", n, len(code))
			}
		}
	}
	short := Tick{Inputs: []ecs.InputBytes{pads.Pack(pad{DX: 1})}}
	long := Tick{Inputs: append(slices.Clone(short.Inputs), ecs.InputBytes{}, ecs.InputBytes{})}
	before := []ecs.InputBytes{{}, pads.Pack(pad{Aim: 7})}
	if a, b := c.AppendTick(nil, before, &short), c.AppendTick(nil, append(before, ecs.InputBytes{}), &long); !bytes.Equal(a, b) || a[1] != 3 {
		t.Fatal(a, b)
	}
}

// Missing inputs at the end of a list are zero, in records and offers.
func TestMissingInputsCountAsZero(t *testing.T) {
	var to file
	w, err := NewWriter(&to, game(), HeaderOf(game(), 1, build))
	if err != nil {
		t.Fatal(err)
	}
	tail := newTail(200)
	tail.Start(Position{})
	in := pads.Pack(pad{DX: 3})
	for i, inputs := range [][]ecs.InputBytes{{in, in, in}, {in}, nil, {{}, in}} {
		tick := Tick{Tick: ecs.Tick(i + 1), Inputs: inputs}
		if err := w.Tick(tick); err != nil || !tail.Append(&tick) {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	want := [][]ecs.InputBytes{{in, in, in}, {in, {}, {}}, {{}, {}, {}}, {{}, in, {}}}
	body, _, _ := tail.AppendFrom(nil, 1, MaxTailBytes)
	offer, err := NewCodec(game()).ReadTail(body, Position{}, newProver())
	if err != nil {
		t.Fatal(err)
	}
	for tick := range offer.Ticks() {
		if !slices.Equal(tick.Inputs, want[tick.Tick-1]) {
			t.Errorf("offer, tick %d: %v", tick.Tick, tick.Inputs)
		}
	}
	for tick := range open(t, to.Bytes()).Ticks(0, maxTick) {
		if !slices.Equal(tick.Inputs, want[tick.Tick-1]) {
			t.Errorf("journal, tick %d: %v", tick.Tick, tick.Inputs)
		}
	}
}

// A record that begins with the memory of another one has the same bytes as one of a new writer.
func TestAResetWriterWritesTheSameRecord(t *testing.T) {
	_, want := journal(t, 5, 40, 12, 30)
	var w Writer
	for range 2 {
		m, to := newMatch(t, 5), &file{}
		m.must(w.Reset(to, game(), header(5)))
		m.drive(&w, 40, 12, 30)
		if !bytes.Equal(to.Bytes(), want.Bytes()) {
			t.Errorf("%d bytes, want %d", to.Len(), want.Len())
		}
	}
	if err := w.Reset(&file{}, game(), Header{}); !errors.Is(err, ErrUse) {
		t.Error(err)
	}
}

// A record of ticks without an image is opened by OpenTicks alone. It has no state.
func TestARecordOfTicksNeedsNoImage(t *testing.T) {
	m := newMatch(t, 6)
	for range 10 {
		m.step()
	}
	h := header(6)
	h.Start = m.places[10]
	to := &file{}
	w, err := NewTicksWriter(to, game(), h)
	m.must(err)
	for range 5 {
		m.must(w.Tick(m.step()))
	}
	m.must(w.End())
	if _, err := Open(to.Bytes(), game()); !errors.Is(err, ErrCorrupt) {
		t.Error(err)
	}
	r, err := OpenTicks(to.Bytes(), game())
	m.must(err)
	if r.Start() != 10 || r.Last().Tick != 15 || r.Last().Chain != m.places[15].Chain {
		t.Errorf("ticks %d to %d", r.Start(), r.Last().Tick)
	}
	if _, err := r.WorldAt(12); !errors.Is(err, ErrNoState) {
		t.Error(err)
	}
}

// A past that an image cannot have is refused, and nothing of it is written.
func TestAPastIsOfTheTicksBeforeItsImage(t *testing.T) {
	m, to := newMatch(t, 4), &file{}
	w, err := NewWriter(to, game(), header(4))
	m.must(err)
	for range 30 {
		m.must(w.Tick(m.step()))
	}
	past, other := m.before(8), newMatch(t, 5)
	long := make([]*image.Snapshot, image.MaxViewTicks+1)
	for name, states := range map[string][]*image.Snapshot{
		"without the last":  past[:7],
		"without a tick":    slices.Delete(slices.Clone(past), 3, 4),
		"descending":        {past[7], past[6]},
		"an empty state":    {past[6], new(image.Snapshot)},
		"of another match":  {&other.saved},
		"more than allowed": long,
	} {
		before := w.Waiting()
		if err := w.Image(&m.saved, states...); !errors.Is(err, ErrUse) || w.Waiting() != before {
			t.Errorf("%s: %v, %d bytes wait, %d before", name, err, w.Waiting(), before)
		}
	}
	m.must(w.Image(&m.saved, past...))
	before := w.Waiting()
	if err := w.Image(&m.saved, past...); !errors.Is(err, ErrUse) || w.Waiting() != before {
		t.Errorf("a second image: %v, %d bytes wait, %d before", err, w.Waiting(), before)
	}
	m.must(w.End())
	if r := open(t, to.Bytes()); len(r.images) != 1 || r.images[0].oldest() != 22 {
		t.Errorf("%+v", r.images)
	}
}

// A file of version 2 is read and continued. No past is written to it, because version 2 has none.
func TestAFileOfVersion2IsContinuedWithoutAPast(t *testing.T) {
	m, to := journal(t, 4, 30)
	to.Bytes()[len(magic)] = 2
	m.view, m.stored = always, 18
	w := open(t, to.Bytes()).Resume(to)
	m.drive(w, 30, 45)
	r := open(t, to.Bytes())
	if len(r.images) != 1 || r.images[0].count != 0 || r.data[len(magic)] != 2 {
		t.Errorf("version %d with %+v", r.data[len(magic)], r.images)
	}
	m.has(r, 60)
	m.must(w.Reset(to, game(), header(4)))
	if w.old {
		t.Error("a new record has no past")
	}
}
