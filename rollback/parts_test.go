package rollback

import (
	"reflect"
	"strings"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
)

func contains(s, part string) bool { return strings.Contains(s, part) }

func TestFloorReturnsTheNewestSavedTickAtOrBefore(t *testing.T) {
	ring, w := NewSnapshots(8), newWorld(t, skirmish())
	if _, ok := ring.Floor(5); ok {
		t.Fatal("an empty ring has a floor")
	}
	for f := ecs.Tick(1); f <= 12; f++ {
		w.Step(ecs.TickInputs{})
		if f%3 == 0 {
			ring.Save(w)
		}
	}
	for f, want := range map[ecs.Tick]ecs.Tick{12: 12, 11: 9, 9: 9, 8: 6, 6: 6, 100: 12} {
		if s, ok := ring.Floor(f); !ok || s.Tick() != want {
			t.Fatalf("floor of %d: %v", f, ok)
		}
	}
	ring.dropAfter(9)
	if s, ok := ring.Floor(100); !ok || s.Tick() != 9 {
		t.Fatal("dropped ticks are still there")
	}
	if _, ok := ring.At(12); ok {
		t.Fatal("12 is still there")
	}
	ring.Clear()
	if _, ok := ring.Floor(9); ok {
		t.Fatal("a cleared ring has a floor")
	}
}

// Tick 0 is a tick: a slot that was never written must not pass for it.
func TestAnEmptyRingDoesNotHoldTickZero(t *testing.T) {
	ring := NewSnapshots(4)
	if _, ok := ring.At(0); ok {
		t.Fatal("it does")
	}
	ring.Save(newWorld(t, skirmish()))
	if s, ok := ring.Floor(3); !ok || s.Tick() != 0 {
		t.Fatal("tick 0 was saved")
	}
}

// Trap 11: slots share what is equal, so nothing that a later tick does may reach a saved one.
func TestNoTwoLiveSlotsShareAMutablePage(t *testing.T) {
	o := newOracle(t)
	ring, r := NewSnapshots(8), newRand(3)
	join(o, 0, 1, 2)
	images := map[ecs.Tick]string{}
	for turn := range 400 {
		o.step(r)
		ring.Save(o.world)
		f := o.world.Tick()
		s, _ := ring.At(f)
		images[f] = string(s.AppendImage(nil))
		if turn%7 == 6 { // go back and on another road, as a rewind does
			back, _ := ring.At(f - 3)
			o.world.Image().Restore(back)
			ring.dropAfter(f - 3)
			f -= 3
		}
		for k := f - min(f, 7); k <= f; k++ {
			if s, ok := ring.At(k); ok && string(s.AppendImage(nil)) != images[k] {
				t.Fatalf("tick %d changed after it was saved, at %d", k, f)
			}
		}
	}
	if o.fixed() < 200 {
		t.Fatal("went nowhere")
	}
}

func TestInputLogReplacesTheTickThatIsDepthOlder(t *testing.T) {
	log := newInputLog(2, 3) // holds 4
	for f := ecs.Tick(0); f < 6; f++ {
		inputs := log.row(f)
		if inputs[0] != (ecs.InputBytes{}) || inputs[1] != (ecs.InputBytes{}) {
			t.Fatalf("row %d was not empty", f)
		}
		inputs[1][0] = byte(f)
	}
	for f := ecs.Tick(0); f < 9; f++ {
		row, held := log.At(f)
		if held != (f >= 2 && f < 6) || held && ((*row)[1][0] != byte(f) || (*row)[0][0] != 0) {
			t.Fatalf("tick %d: %v %v", f, row, held)
		}
	}
}

// Orders of one tick are executed in stamped order, whatever came between.
func TestOrderLogKeepsStampedOrderPerTick(t *testing.T) {
	var log OrderLog
	payload := []byte{1}
	for i, f := range []ecs.Tick{7, 3, 7, 5, 3, 7} {
		payload[0] = byte(i)
		log.Add(f, image.Order{Payload: payload})
	}
	want := map[ecs.Tick]string{3: "\x01\x04", 5: "\x03", 7: "\x00\x02\x05", 4: "", 9: ""}
	for f, w := range want {
		got := ""
		for _, o := range log.AppendAt(nil, f) {
			got += string(o.Payload)
		}
		if got != w {
			t.Fatalf("tick %d: %q, want %q", f, got, w)
		}
	}
	log.DropBefore(5)
	if len(log.list) != 4 || len(log.AppendAt(nil, 3)) != 0 || len(log.AppendAt(nil, 5)) != 1 {
		t.Fatal(len(log.list))
	}
}

// The digest stands in confirmations, so its value is part of the protocol.
func TestDigestOrdersSeesEveryPartAndTheOrder(t *testing.T) {
	a := image.Order{Kind: image.OrderGame, Player: 1, Entity: ecs.Entity{Row: 2, Born: 3}, Payload: []byte("buy")}
	variants := [][]image.Order{nil, {a}, {a, a}}
	for _, change := range []func(o *image.Order){
		func(o *image.Order) { o.Kind = image.OrderLeave },
		func(o *image.Order) { o.Player = 2 },
		func(o *image.Order) { o.Entity.Row = 3 },
		func(o *image.Order) { o.Entity.Born = 4 },
		func(o *image.Order) { o.Payload = []byte("bu") },
		func(o *image.Order) { o.Payload = []byte("buz") },
	} {
		b := a
		change(&b)
		variants = append(variants, []image.Order{b}, []image.Order{a, b}, []image.Order{b, a})
	}
	seen := map[uint32]int{}
	for i, orders := range variants {
		if j, ok := seen[DigestOrders(orders)]; ok {
			t.Fatalf("%v and %v have one digest", orders, variants[j])
		}
		seen[DigestOrders(orders)] = i
	}
	if DigestOrders(nil) != 0 {
		t.Fatal("no orders have a digest")
	}
	if got := DigestOrders([]image.Order{a}); got != goldenDigest {
		t.Fatalf("digest %#x: the protocol changed", uint32(got))
	}
}

const goldenDigest uint32 = 0x32bb487b

// A ring in which few snapshots are held at once has memory only for those, even if it has many slots.
func TestTheMemoryOfReleasedSnapshotsIsReused(t *testing.T) {
	const held = 4
	ring, w := NewSnapshots(1024), newWorld(t, skirmish())
	inputs := ecs.TickInputs{Players: make([]ecs.InputBytes, w.Game().MaxPlayers)}
	for range 900 {
		w.Step(inputs)
		ring.Save(w)
		ring.Release(w.Tick() - min(w.Tick(), held))
	}
	slots := 0
	for i := range ring.slots {
		if !reflect.ValueOf(ring.slots[i].value).IsZero() {
			slots++
		}
	}
	if _, ok := ring.At(w.Tick() - held); slots != held || len(ring.unused) > 1 || ok {
		t.Errorf("%d slots have memory, %d snapshots are unused; want %d and at most 1", slots, len(ring.unused), held)
	}
}
