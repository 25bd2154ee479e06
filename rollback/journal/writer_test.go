package journal

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
)

var errFull = errors.New("disk full")

// disk takes room bytes and then says that it is full; silent, it takes less and says nothing.
type disk struct {
	bytes.Buffer
	room   int
	silent bool
}

func (d *disk) Write(b []byte) (int, error) {
	n := min(len(b), d.room)
	d.room -= n
	d.Buffer.Write(b[:n])
	if n < len(b) && !d.silent {
		return n, errFull
	}
	return n, nil
}

// Whatever byte the disk was full at, what is written once it has room is the file that an endless disk would hold.
func TestAFullDiskLosesAndDoublesNothing(t *testing.T) {
	m, whole := write(t, 20, 45, 30)
	play := func(w *Writer, flush func()) {
		for _, tick := range m.ticks[1:] {
			m.must(w.Tick(tick))
			if tick.Tick == 20 {
				m.must(w.Seat(Seat{Player: 1, Client: 9, Held: true}))
				m.must(w.Check(20, m.sums[20]))
			}
			flush()
		}
	}
	for n := range whole.Len() {
		d := &disk{room: n, silent: n%2 == 0}
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
			// What is on the disk now is a journal of what was there before, torn or not.
			if d.Len() > openingBytes {
				if j, err := Open(d.Bytes(), game(), build); err != nil && !errors.Is(err, ErrTorn) || err == nil && j.Valid() != d.Len() && j.Torn() == nil {
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
		m.holds(open(t, d.Bytes()), 45)
		if j := open(t, d.Bytes()); j.Torn() != nil || len(j.Seats()) != 1 || len(j.checks) != 1 {
			t.Fatalf("full after %d: %v", n, j.Torn())
		}
	}
}

// A Flush that fails is taken up byte for byte: the same calls give the same file, however the disk behaved.
func TestRetriesWriteTheSameFile(t *testing.T) {
	m, _ := write(t, 21, 30)
	run := func(d *disk, retry bool) []byte {
		w, err := NewWriter(d, game(), HeaderOf(game(), 21, build))
		m.must(err)
		for _, tick := range m.ticks[1:] {
			m.must(w.Tick(tick))
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

// While nothing can be written, what waits is bounded.
func TestWhatWaitsIsBounded(t *testing.T) {
	w, err := NewWriter(broken{}, game(), HeaderOf(game(), 1, build))
	if err != nil {
		t.Fatal(err)
	}
	orders := make([]image.Order, MaxOrders)
	for i := range orders {
		orders[i].Payload = make([]byte, image.MaxOrderBytes)
	}
	for err == nil && w.Waiting() < 2*MaxWaitingBytes {
		err = w.Tick(Tick{Tick: w.Last() + 1, Orders: orders})
	}
	last := w.Last()
	var s image.Snapshot
	world, _ := ecs.NewWorld(game(), 1)
	world.Image().Save(&s)
	for name, err := range map[string]error{"tick": err, "seat": w.Seat(Seat{}), "check": w.Check(last, 1), "image": w.Image(&s)} {
		if !errors.Is(err, ErrWaiting) {
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
	if j := open(t, to.Bytes()); j.Last().Tick != last+1 || j.Torn() != nil {
		t.Fatal(j.Last().Tick)
	}
}

func TestTheWriterRefusesWhatCouldNotBeReadBack(t *testing.T) {
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
		"check":    w.Check(1, 1),
		"seat":     w.Seat(Seat{Player: 3}),
		"name":     w.Seat(Seat{Name: "a name of more than thirty-two by"}),
	} {
		if !errors.Is(err, ErrWriter) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := w.Tick(Tick{Tick: 1, Inputs: make([]ecs.InputBytes, 1), Orders: make([]image.Order, MaxOrders)}); err != nil {
		t.Error(err)
	}
	if w.Check(1, 1) != nil || w.Image(&s) != nil || !errors.Is(w.Check(1, 1), ErrWriter) || !errors.Is(w.Image(&s), ErrWriter) {
		t.Error("one checksum and one image of a tick, neither more nor less")
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
		"params":  func(h *Header) { h.Params = make([]byte, maxParamsBytes+1) },
		"start":   func(h *Header) { h.Start.Tick = maxTick + 1 },
		"inputs":  func(h *Header) { h.Start.Inputs = []ecs.InputBytes{beyond} },
	} {
		h := good
		if spoil(&h); !refuses(h) {
			t.Errorf("a header with a bad %s was taken", name)
		}
	}
	if refuses(good) {
		t.Error("a good header was refused")
	}
}

func refuses(h Header) bool {
	_, err := NewWriter(io.Discard, game(), h)
	return errors.Is(err, ErrWriter)
}

// A room writes its journal 60 times a second beside thousands of others.
func TestATickAndItsFlushAllocateNothing(t *testing.T) {
	if raceEnabled {
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
		err := errors.Join(w.Tick(Tick{Tick: world.Tick(), Inputs: inputs, Orders: orders}),
			w.Seat(Seat{Player: 1, Name: "somebody"}), w.Check(world.Tick(), s.Checksum()))
		if err == nil && w.ImageDue() {
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

// The code is canonical: a tick has one, whatever list its inputs came in, and reading it back gives the tick.
func TestATickHasOneCode(t *testing.T) {
	m := newMatch(t, 22)
	c, read := NewCodec(game()), Tick{}
	for range 300 {
		tick, before := m.step(), m.places[m.world.Tick()-1].Inputs
		code := c.AppendTick([]byte{7}, before, &tick)[1:]
		rest, err := c.ReadTick(append(slices.Clone(code), 1, 2, 3), before, &read)
		if read.Tick = tick.Tick; err != nil || len(rest) != 3 || !sameTick(&read, &tick) {
			t.Fatalf("%v: %+v, want %+v", err, read, tick)
		}
		for n := range code {
			if _, err := c.ReadTick(code[:n], before, &read); !errors.Is(err, ErrMalformed) {
				t.Fatalf("cut at %d of %d: %v", n, len(code), err)
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

// What can be written in two ways could be hashed in two ways: all but one are refused, and so is what no game can hold.
func TestEveryOtherWayToWriteATickIsRefused(t *testing.T) {
	c, read := NewCodec(game()), Tick{}
	order := "\x00\x02\x00\x00\x03buy"
	for name, code := range map[string]string{
		"the way":         "\x03\x02\x01\x05\x01" + order,
		"nothing":         "",
		"unknown flags":   "\x04",
		"no players":      "\x01\x00",
		"player 3":        "\x01\x08\x01\x05",
		"no bytes":        "\x01\x02\x00",
		"byte 6":          "\x01\x02\x40\x05",
		"same byte":       "\x01\x02\x01\x00",
		"padding":         "\x01\x02\x02\x05",
		"boolean 2":       "\x01\x02\x10\x02",
		"long varint":     "\x01\x82\x00\x01\x05",
		"endless varint":  "\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
		"no orders":       "\x02\x00",
		"too many orders": "\x02\x02" + order,
		"order's kind":    "\x02\x01\xff\x02\x00\x00\x00",
		"order's player":  "\x02\x01\x00\x03\x00\x00\x00",
		"order's row":     "\x02\x01\x00\x02\x80\x80\x80\x80\x10\x00\x00",
		"order's payload": "\x02\x01\x00\x02\x00\x00\x81\x08" + string(make([]byte, 1025)),
	} {
		rest, err := c.ReadTick([]byte(code), nil, &read)
		if name == "the way" {
			if err != nil || len(rest) != 0 || len(read.Orders) != 1 || pads.Unpack(read.Inputs[1]).DX != 5 {
				t.Errorf("%s: %v, %+v", name, err, read)
			}
		} else if !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A list of inputs that ends early means zeros, in every log.
func TestMissingInputsCountAsZero(t *testing.T) {
	var to file
	w, err := NewWriter(&to, game(), HeaderOf(game(), 1, build))
	if err != nil {
		t.Fatal(err)
	}
	tail := newTail(t, TailConfig{})
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
	offer, err := NewCodec(game()).ReadTail(body, Position{})
	if err != nil {
		t.Fatal(err)
	}
	for tick := range offer.Ticks() {
		if !slices.Equal(tick.Inputs, want[tick.Tick-1]) {
			t.Errorf("offer, tick %d: %v", tick.Tick, tick.Inputs)
		}
	}
	for tick := range open(t, to.Bytes()).Ticks(0) {
		if !slices.Equal(tick.Inputs, want[tick.Tick-1]) {
			t.Errorf("journal, tick %d: %v", tick.Tick, tick.Inputs)
		}
	}
}

// Chains are compared across versions and strategies, so the code of a tick and the hash are pinned.
func TestTheChainIsPinned(t *testing.T) {
	c := NewCodec(game())
	tick := Tick{Inputs: []ecs.InputBytes{{}, pads.Pack(pad{DX: -1, Aim: 0x0201, Fire: true})},
		Orders: []image.Order{{Player: 2, Entity: ecs.Entity{Row: 1 << 20, Born: 300}, Payload: []byte("buy")}}}
	code := c.AppendTick(nil, nil, &tick)
	if want := []byte("\x03\x02\x1d\xff\x01\x02\x01\x01\x00\x02\x80\x80\x40\xac\x02\x03buy"); !bytes.Equal(code, want) {
		t.Fatalf("%q, want %q", code, want)
	}
	if got := Chain(0).Next(code); got != 0x1e9c311a4060db55 {
		t.Fatalf("%016x", uint64(got))
	}
	if got := Chain(0).Next([]byte{0}).Next([]byte{0}); got != 0x61d9c4245eaa3ba9 {
		t.Fatalf("%016x", uint64(got))
	}
}
