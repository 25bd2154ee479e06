package recording

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback"
)

type pad struct {
	DX   int8
	Aim  uint16
	Fire bool `tendon:"press"`
}

type body struct{ X, VX int32 }

type tally struct{ Shots, Gifts uint32 }

var (
	pads    = ecs.NewInput[pad]()
	bodies  = ecs.NewComponent[body]("body")
	seats   = ecs.NewComponent[ecs.Seat]("seat")
	tallies = ecs.NewResource[tally]("tally")
	steered = ecs.NewQuery2(ecs.Write(bodies), ecs.Read(seats))
	shots   = ecs.NewQuery1(ecs.Write(bodies), ecs.Without(seats))
)

func steer(w *ecs.World) {
	for e := range steered.All(w) {
		in := pads.Of(w, e.B.Player)
		e.A.X += int32(in.DX)
		if in.Fire {
			shot := w.Spawn(ecs.OwnedBy(e.B.Player), bodies)
			bodies.Put(w, shot, body{X: e.A.X, VX: int32(in.Aim % 9)})
			tallies.Write(w).Shots++
		}
	}
}

func fly(w *ecs.World) {
	for e := range shots.All(w) {
		if e.A.X += e.A.VX; w.Rand().Chance(1, 20) {
			w.Despawn(e.Entity())
		}
	}
}

func game() *ecs.Game {
	return &ecs.Game{Name: "range", TickRate: 20, MaxPlayers: 3, Input: pads,
		Components: ecs.Components(bodies, seats), Resources: ecs.Resources(tallies), Systems: ecs.Systems(steer, fly),
		Setup: func(w *ecs.World) { tallies.Write(w).Gifts = uint32(w.Rand().IntN(1000)) },
		Join: func(w *ecs.World, p ecs.Player) {
			seats.Put(w, w.Spawn(ecs.OwnedBy(p), bodies, seats), ecs.Seat{Player: p})
		},
		Order: func(w *ecs.World, p ecs.Player, _ ecs.Entity, order []byte) {
			tallies.Write(w).Gifts += uint32(len(order)) << p
		}}
}

// match is a recorded match and what was put into it.
type match struct {
	file    []byte
	blocks  []int // where each block begins, the magic not counted, then the end
	entries []Entry
	sums    []image.Checksum
}

type countingWriter struct {
	bytes.Buffer
	ends []int
}

func (c *countingWriter) Write(b []byte) (int, error) {
	n, err := c.Buffer.Write(b)
	c.ends = append(c.ends, c.Len())
	return n, err
}

// play records a random match of n ticks. change is called before each tick with the world and may spoil it.
func play(t testing.TB, n ecs.Tick, seed uint64, change func(w *ecs.World)) match {
	t.Helper()
	g, r := game(), rand.New(rand.NewPCG(seed, 3))
	world, err := ecs.NewWorld(g, seed)
	if err != nil {
		t.Fatal(err)
	}
	var m match
	var file countingWriter
	w, err := NewWriter(&file, HeaderOf(g, seed, "test"))
	if err != nil {
		t.Fatal(err)
	}
	var saved image.Snapshot
	world.Image().Save(&saved)
	inputs := make([]ecs.InputBytes, 3)
	m.sums = append(m.sums, saved.Checksum())
	for f := ecs.Tick(1); f <= n; f++ {
		if w.ImageDue() {
			if err := w.Image(&saved); err != nil {
				t.Fatal(err)
			}
		}
		if change != nil {
			change(world)
		}
		e := randomEntry(f, r, inputs)
		world.Step(ecs.TickInputs{Players: e.Inputs, Orders: e.Orders})
		world.Image().Save(&saved)
		e.Checksum = saved.Checksum()
		if err := w.Tick(e); err != nil {
			t.Fatal(err)
		}
		e.Inputs = slices.Clone(e.Inputs)
		m.entries, m.sums = append(m.entries, e), append(m.sums, e.Checksum)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	m.file, m.blocks = file.Bytes(), append([]int{len(magic) + 1}, file.ends...)
	return m
}

func randomEntry(f ecs.Tick, r *rand.Rand, inputs []ecs.InputBytes) Entry {
	for p := range inputs {
		if r.IntN(5) == 0 {
			inputs[p] = pads.Pack(pad{DX: int8(r.IntN(3) - 1), Aim: uint16(r.Uint32()), Fire: r.IntN(3) == 0})
		}
	}
	e := Entry{Tick: f, Inputs: inputs}
	if f <= 2 {
		e.Orders = append(e.Orders, image.Order{Kind: image.OrderJoin, Player: ecs.Player(f)})
	}
	if r.IntN(30) == 0 {
		e.Late = ecs.PlayerSet(r.IntN(8))
		e.Orders = append(e.Orders, image.Order{Player: 2, Entity: ecs.Entity{Row: 1 << 20, Born: f - 1}, Payload: make([]byte, 1+r.IntN(50))})
	}
	return e
}

func open(t testing.TB, file []byte) *Recording {
	t.Helper()
	r, err := Open(file)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// same compares entries; an empty list and none are the same.
func same(a, b *Entry) bool {
	orders := len(a.Orders) == len(b.Orders)
	for i := range min(len(a.Orders), len(b.Orders)) {
		x, y := a.Orders[i], b.Orders[i]
		orders = orders && bytes.Equal(x.Payload, y.Payload)
		x.Payload, y.Payload = nil, nil
		orders = orders && reflect.DeepEqual(x, y)
	}
	return orders && a.Tick == b.Tick && a.Late == b.Late && a.Checksum == b.Checksum && slices.Equal(a.Inputs, b.Inputs)
}

func TestARecordingHoldsWhatWasWritten(t *testing.T) {
	m := play(t, 1010, 1, nil)
	r := open(t, m.file)
	if r.Header() != HeaderOf(game(), 1, "test") || r.Start() != 0 || r.Last() != 1010 {
		t.Fatalf("%+v %d", r.Header(), r.Last())
	}
	if got := fmt.Sprint(r.Images()); got != "[0 100 200 300 400 500 600 700 800 900 1000]" {
		t.Fatal("images", got)
	}
	at := 0
	for e := range r.Entries(0, r.Last()) {
		if !same(e, &m.entries[at]) {
			t.Fatalf("entry %+v, want %+v", e, m.entries[at])
		}
		at++
	}
	if at != len(m.entries) {
		t.Fatal(at)
	}
	for e := range r.Entries(555, 556) {
		if !same(e, &m.entries[e.Tick-1]) || e.Tick < 555 || e.Tick > 556 {
			t.Fatal(e.Tick)
		}
		at++
	}
	if at != len(m.entries)+2 {
		t.Fatal(at)
	}
	result, err := Verify(game(), r, r.Last())
	if err != nil || result != (Result{From: 0, To: 1010, Images: 11}) {
		t.Fatal(result, err)
	}
	if result, err := Verify(game(), r, 300); err != nil || result.To != 300 {
		t.Fatal(result, err)
	}
}

// A crash may end the file anywhere. What is whole before is replayed, and the message says what was cut.
func TestATornTailIsCutAtEveryByte(t *testing.T) {
	m := play(t, 230, 2, nil)
	last := m.blocks[len(m.blocks)-2]
	encoded := m.blocks[len(m.blocks)-4] // an image and its neighbours are torn as well
	for end := encoded + 1; end < len(m.file); end++ {
		r, err := Open(m.file[:end])
		if slices.Contains(m.blocks, end) {
			if err != nil {
				t.Fatalf("cut between blocks at %d: %v", end, err)
			}
			continue
		}
		var damage *DamageError
		if !errors.Is(err, ErrTorn) || !errors.As(err, &damage) || damage.Offset+damage.Lost != end || damage.Last != r.Last() || !slices.Contains(m.blocks, damage.Offset) {
			t.Fatalf("cut at %d: %v", end, err)
		}
		if end%17 == 0 || end == last+1 || end == len(m.file)-1 {
			if result, err := Verify(game(), r, r.Last()); err != nil || result.To != damage.Last || result.To < 180 {
				t.Fatalf("cut at %d: %+v, %v", end, result, err)
			}
		}
	}
	for end := range m.blocks[1] {
		if r, err := Open(m.file[:end]); r != nil || err == nil {
			t.Fatalf("cut in the header at %d: %v", end, err)
		}
	}
	// Blocks may reach the disk in any order: a whole last block with the wrong content is torn too.
	file := slices.Clone(m.file)
	clear(file[len(file)-20:])
	if r, err := Open(file); !errors.Is(err, ErrTorn) || r.Last() >= 230 {
		t.Fatal(err)
	}
}

// Every byte counts: damage is found wherever it is, and said where.
func TestAFlippedBitNeverVerifies(t *testing.T) {
	m := play(t, 210, 4, nil)
	for at := range m.file {
		file := slices.Clone(m.file)
		file[at] ^= 1 << (at % 8)
		r, err := Open(file)
		if err == nil {
			t.Fatalf("byte %d: opened", at)
		}
		block := 0
		for block < len(m.blocks) && m.blocks[block] <= at {
			block++
		}
		var damage *DamageError
		if errors.As(err, &damage) && at > len(magic) && damage.Offset != m.blocks[block-1] {
			t.Fatalf("byte %d: %v", at, err)
		}
		if final := at >= m.blocks[len(m.blocks)-2]; errors.Is(err, ErrTorn) && !final {
			t.Fatalf("byte %d: damage in the middle passes for a torn tail: %v", at, err)
		}
		if r != nil && r.Last() == 210 {
			t.Fatalf("byte %d: all ticks are said to be there", at)
		}
	}
}

func TestForeignFilesAndOtherGamesAreRefusedByName(t *testing.T) {
	m := play(t, 30, 5, nil)
	for name, file := range map[string][]byte{"empty": nil, "text": []byte("hello, world"), "almost": []byte("TENDONRX\x01")} {
		if _, err := Open(file); !errors.Is(err, ErrNotRecording) {
			t.Errorf("%s: %v", name, err)
		}
	}
	newer := slices.Clone(m.file)
	newer[len(magic)]++
	if _, err := Open(newer); !errors.Is(err, ErrVersion) {
		t.Error(err)
	}
	other := game()
	other.Name = "dots"
	_, err := Verify(other, open(t, m.file), 30)
	if !errors.Is(err, ErrOtherGame) || !strings.Contains(err.Error(), `"dots"`) {
		t.Error(err)
	}
	changed := game()
	changed.TickRate = 30
	_, err = Verify(changed, open(t, m.file), 30)
	ours, theirs := fmt.Sprintf("%016x", changed.Fingerprint()), fmt.Sprintf("%016x", game().Fingerprint())
	if !errors.Is(err, ErrOtherBuild) || !strings.Contains(err.Error(), ours) || !strings.Contains(err.Error(), theirs) {
		t.Error(err)
	}
	if _, err := open(t, m.file).WorldAt(changed, 10); !errors.Is(err, ErrOtherBuild) {
		t.Error(err)
	}
	for _, f := range []ecs.Tick{31, 1 << 40} {
		if _, err := open(t, m.file).WorldAt(game(), f); !errors.Is(err, ErrRange) {
			t.Error(err)
		}
	}
}

func TestASeekEndsWhereAStraightReplayDoes(t *testing.T) {
	m := play(t, 640, 6, nil)
	r, rnd := open(t, m.file), rand.New(rand.NewPCG(1, 1))
	ticks := []ecs.Tick{0, 1, 199, 200, 201, 640}
	for range 30 {
		ticks = append(ticks, ecs.Tick(rnd.IntN(641)))
	}
	for _, f := range ticks {
		w, err := r.WorldAt(game(), f)
		if err != nil {
			t.Fatal(err)
		}
		var s image.Snapshot
		w.Image().Save(&s)
		if w.Tick() != f || s.Checksum() != m.sums[f] {
			t.Fatalf("tick %d: %x, recorded %x", f, s.Checksum(), m.sums[f])
		}
	}
}

// A recording of a match that went otherwise: the first tick that differs is named, and where an image of it exists,
// the field too.
func TestAPlantedDifferenceIsNamed(t *testing.T) {
	for _, planted := range []ecs.Tick{77, 200, 333} {
		m := play(t, 420, 7, func(w *ecs.World) {
			if w.Tick()+1 == planted {
				tallies.Write(w).Gifts++
			}
		})
		result, err := Verify(game(), open(t, m.file), 420)
		var report *rollback.DesyncReport
		if !errors.As(err, &report) || report.Tick != planted || result.To != planted-1 || len(report.Inputs) != 3 {
			t.Fatalf("planted in %d: %v, %+v", planted, err, result)
		}
		if planted == 200 {
			if d := report.Differences; len(d) != 1 || d[0].Component != "tally" || d[0].Field != "Gifts" {
				t.Fatal(report)
			}
		} else if len(report.Differences) != 0 || report.Here == report.There {
			t.Fatal(report)
		}
	}
	// The state before the first tick counts too: another seed of Setup.
	m := play(t, 20, 8, nil)
	r := open(t, m.file)
	r.header.Seed = 9
	var report *rollback.DesyncReport
	if _, err := Verify(game(), r, 20); !errors.As(err, &report) || report.Tick != 0 || len(report.Differences) == 0 {
		t.Fatal(err)
	}
}

// A server that took over a running match records from there.
func TestARecordingMayStartLater(t *testing.T) {
	m := play(t, 100, 10, nil)
	w, err := open(t, m.file).WorldAt(game(), 50)
	if err != nil {
		t.Fatal(err)
	}
	header := HeaderOf(game(), 10, "test")
	header.Start = 50
	var file bytes.Buffer
	writer, err := NewWriter(&file, header)
	if err != nil {
		t.Fatal(err)
	}
	if err := writer.Tick(m.entries[50]); !errors.Is(err, ErrWriter) {
		t.Fatal("a tick before the first image:", err)
	}
	var s image.Snapshot
	w.Image().Save(&s)
	if err := writer.Image(&s); err != nil {
		t.Fatal(err)
	}
	for _, e := range m.entries[50:] {
		if err := writer.Tick(e); err != nil {
			t.Fatal(err)
		}
	}
	writer.Close()
	r := open(t, file.Bytes())
	if result, err := Verify(game(), r, 100); err != nil || result != (Result{From: 50, To: 100, Images: 1}) {
		t.Fatal(result, err)
	}
	if _, err := r.WorldAt(game(), 49); !errors.Is(err, ErrRange) {
		t.Fatal(err)
	}
}

func TestTheWriterRefusesWhatCouldNotBeReadBack(t *testing.T) {
	w, err := NewWriter(&bytes.Buffer{}, HeaderOf(game(), 1, ""))
	if err != nil {
		t.Fatal(err)
	}
	var s image.Snapshot
	world, _ := ecs.NewWorld(game(), 1)
	world.Step(ecs.TickInputs{})
	world.Image().Save(&s)
	for name, err := range map[string]error{
		"gap":     w.Tick(Entry{Tick: 2}),
		"image":   w.Image(&s),
		"player":  w.Tick(Entry{Tick: 1, Orders: []image.Order{{Player: 3}}}),
		"kind":    w.Tick(Entry{Tick: 1, Orders: []image.Order{{Kind: 77}}}),
		"payload": w.Tick(Entry{Tick: 1, Orders: []image.Order{{Payload: make([]byte, image.MaxOrderBytes+1)}}}),
	} {
		if !errors.Is(err, ErrWriter) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := w.Tick(Entry{Tick: 1}); err != nil {
		t.Error(err)
	}
	if w.Close() != nil || !errors.Is(w.Tick(Entry{Tick: 2}), ErrWriter) {
		t.Error("a closed writer took a tick")
	}
	if _, err := NewWriter(&bytes.Buffer{}, Header{}); !errors.Is(err, ErrWriter) {
		t.Error(err)
	}
}

type fullDisk struct{ room int }

var errFull = errors.New("disk full")

func (d *fullDisk) Write(b []byte) (int, error) {
	if d.room -= len(b); d.room < 0 {
		return 0, errFull
	}
	return len(b), nil
}

// After a failed write nothing may follow: it would stand behind half a block.
func TestAFailedWriteSticks(t *testing.T) {
	disk := &fullDisk{room: 200}
	w, err := NewWriter(disk, HeaderOf(game(), 1, ""))
	if err != nil {
		t.Fatal(err)
	}
	for f := ecs.Tick(1); err == nil; f++ {
		err = w.Tick(Entry{Tick: f})
	}
	disk.room = 1 << 20
	if !errors.Is(err, errFull) || !errors.Is(w.Flush(), errFull) || !errors.Is(w.Close(), errFull) {
		t.Fatal(err)
	}
}

func TestRecordingATickAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	w, err := NewWriter(&fullDisk{room: 1 << 30}, HeaderOf(game(), 1, ""))
	if err != nil {
		t.Fatal(err)
	}
	world, _ := ecs.NewWorld(game(), 1)
	var s image.Snapshot
	r, inputs := rand.New(rand.NewPCG(1, 1)), make([]ecs.InputBytes, 3)
	orders := []image.Order{{Player: 1, Payload: make([]byte, 30)}}
	tick := func() {
		for p := range inputs {
			inputs[p] = pads.Pack(pad{Aim: uint16(r.Uint32())})
		}
		world.Step(ecs.TickInputs{Players: inputs})
		world.Image().Save(&s)
		if err := w.Tick(Entry{Tick: world.Tick(), Inputs: inputs, Orders: orders, Checksum: s.Checksum()}); err != nil {
			t.Fatal(err)
		}
		if w.ImageDue() {
			if err := w.Image(&s); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 500 {
		tick()
	}
	if n := testing.AllocsPerRun(500, tick); n != 0 {
		t.Fatalf("%v allocations a tick, images and blocks included", n)
	}
}

// allocated returns the bytes that f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// Whatever the bytes say, reading them takes memory in proportion to them and never panics; what opens without error
// has exactly the ticks that it says.
func FuzzOpen(f *testing.F) {
	m := play(f, 45, 11, nil)
	f.Add(m.file)
	f.Add(m.file[:len(m.file)-9])
	f.Add([]byte(magic))
	for i := 1; i+1 < len(m.blocks); i++ { // blocks with right checksums and other content
		file := slices.Clone(m.file)
		b := file[m.blocks[i]:m.blocks[i+1]]
		b[blockHeaderBytes] ^= 3
		sealBlock(b, kind(b[0]))
		f.Add(file)
	}
	g := game()
	f.Fuzz(func(t *testing.T, file []byte) {
		reseal(file)
		var r *Recording
		var err error
		if n := allocated(func() { r, err = Open(file) }); n > 64<<10+16*uint64(len(file)) {
			t.Fatalf("%d bytes allocated for %d", n, len(file))
		}
		if r == nil {
			if err == nil {
				t.Fatal("neither a recording nor an error")
			}
			return
		}
		n := r.Start()
		for e := range r.Entries(0, r.Last()) {
			if n++; e.Tick != n || len(e.Inputs) != r.header.Players {
				t.Fatalf("entry %d after %d", e.Tick, n-1)
			}
		}
		if n != r.Last() {
			t.Fatalf("%d of %d entries", n, r.Last())
		}
		result, err := Verify(g, r, r.Last())
		if err == nil && result.To != r.Last() {
			t.Fatalf("verified to %d of %d", result.To, r.Last())
		}
	})
}

// reseal gives every block the checksums that its content asks for, so that fuzzing reaches the parsers.
func reseal(file []byte) {
	for at := len(magic) + 1; at+blockHeaderBytes <= len(file); {
		length := int(file[at+1]) | int(file[at+2])<<8
		if at+blockHeaderBytes+length > len(file) {
			return
		}
		b := file[at : at+blockHeaderBytes+length]
		sealBlock(b, kind(b[0]))
		at += len(b)
	}
}
