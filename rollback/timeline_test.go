package rollback

import (
	"errors"
	"fmt"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
)

func newTimeline(t testing.TB, c Config) *Timeline {
	t.Helper()
	if c.World == nil {
		c.World = newWorld(t, skirmish())
	}
	if c.MaxPrediction == 0 {
		c.MaxPrediction = 8
	}
	tl, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return tl
}

func step(t testing.TB, tl *Timeline, n int) {
	t.Helper()
	for range n {
		if !tl.Step() {
			t.Fatal("at the prediction limit")
		}
	}
}

func confirm(t testing.TB, tl *Timeline, f ecs.Tick, pads ...skPad) {
	t.Helper()
	if err := tl.Confirm(f, packed(pads...), 0, 0); err != nil {
		t.Fatal(err)
	}
}

func packed(pads ...skPad) []ecs.InputBytes {
	inputs := make([]ecs.InputBytes, len(pads))
	for i, p := range pads {
		inputs[i] = skInput.Pack(p)
	}
	return inputs
}

// seated adds joins of players 0 and 1 in tick 1, confirms it and computes it.
func seated(t testing.TB, c Config) *Timeline {
	t.Helper()
	tl := newTimeline(t, c)
	joins := []image.Order{{Kind: image.OrderJoin, Player: 0}, {Kind: image.OrderJoin, Player: 1}}
	for _, o := range joins {
		if err := tl.AddOrder(1, o); err != nil {
			t.Fatal(err)
		}
	}
	if err := tl.Confirm(1, nil, 0, DigestOrders(joins)); err != nil {
		t.Fatal(err)
	}
	step(t, tl, 1)
	if tl.Confirmed() != 1 || tl.world.Players() != 3 {
		t.Fatal(tl.Confirmed(), tl.world.Players())
	}
	return tl
}

// RB-03: what was predicted right costs nothing but the comparison.
func TestAnInputThatMatchesItsPredictionCausesNoRewind(t *testing.T) {
	for _, policy := range policies {
		tl := seated(t, Config{Policy: policy})
		for f := ecs.Tick(2); f < 300; f++ {
			step(t, tl, 1)
			if f > 7 {
				confirm(t, tl, f-6)
			}
			if depth := tl.Rewind(tl.Present()); depth != 0 {
				t.Fatalf("policy %v: tick %d went back %d ticks", policy, f, depth)
			}
		}
		if s := tl.Stats; s.Rewinds != 0 || s.Resimulated != 0 || s.WrongInputs != 0 {
			t.Fatalf("policy %v: %+v", policy, s)
		}
	}
}

// RB-04: with every tick saved, a rewind recomputes the wrong tick and what follows, nothing before.
func TestAWrongInputRewindsToExactlyItsTick(t *testing.T) {
	for wrong := ecs.Tick(2); wrong <= 9; wrong++ {
		tl := seated(t, Config{})
		step(t, tl, 8)
		for f := ecs.Tick(2); f <= 9; f++ {
			pad := skPad{}
			if f >= wrong {
				pad.DX = 1
			}
			confirm(t, tl, f, skPad{}, pad)
		}
		if depth := tl.Rewind(tl.Present()); depth != int(9-wrong)+1 {
			t.Fatalf("wrong in tick %d: went back %d ticks from 9", wrong, depth)
		}
		if tl.Present() != wrong-1 || tl.world.Tick() != wrong-1 {
			t.Fatalf("wrong in tick %d: present %d, world %d", wrong, tl.Present(), tl.world.Tick())
		}
	}
}

// A state that was computed from a mispredicted input is not confirmed when the right input arrives.
func TestConfirmedMovesOnlyAfterTheRewindThatMakesItTrue(t *testing.T) {
	tl := seated(t, Config{})
	step(t, tl, 5)
	confirm(t, tl, 2)
	confirm(t, tl, 3, skPad{DX: 1})
	confirm(t, tl, 4, skPad{DX: 1})
	if tl.Confirmed() != 2 || tl.Received() != 4 {
		t.Fatalf("confirmed %d, received %d before the rewind", tl.Confirmed(), tl.Received())
	}
	tl.Rewind(tl.Present())
	for _, want := range []ecs.Tick{3, 4, 4, 4} {
		step(t, tl, 1)
		if tl.Confirmed() != want {
			t.Fatalf("present %d: confirmed %d, want %d", tl.Present(), tl.Confirmed(), want)
		}
	}
}

// Trap 2 of the design: deciding the stall first must leave the rewind for later, not lose it.
func TestAStallNeverDropsAPendingRewind(t *testing.T) {
	tl := seated(t, Config{MaxPrediction: 4})
	step(t, tl, 4)
	if tl.Step() {
		t.Fatal("no stall at the limit")
	}
	confirm(t, tl, 2, skPad{DX: 1}) // wrong
	if depth := tl.Rewind(tl.Present()); depth != 4 {
		t.Fatal("depth", depth)
	}
	step(t, tl, 4) // again
	step(t, tl, 1) // one more is allowed now
	if tl.Step() || tl.Confirmed() != 2 || tl.Present() != 6 {
		t.Fatal(tl.Confirmed(), tl.Present())
	}
	if s := tl.Stats; s.Resimulated != 4 {
		t.Fatalf("%+v", s)
	}
}

// A caller that steps on over a known mistake would show states that it knows to be wrong.
func TestStepWithAMistakePendingPanics(t *testing.T) {
	tl := seated(t, Config{})
	step(t, tl, 1)
	confirm(t, tl, 2, skPad{DX: 1})
	defer func() {
		if recover() == nil {
			t.Fatal("no panic")
		}
	}()
	tl.Step()
}

func TestOrdersKnownAheadCauseNoRewindLateOnesDo(t *testing.T) {
	tl := seated(t, Config{})
	gift := image.Order{Player: 1, Payload: []byte("gift")}
	if err := tl.AddOrder(4, gift); err != nil {
		t.Fatal(err)
	}
	step(t, tl, 5)
	if tl.Rewind(tl.Present()) != 0 {
		t.Fatal("rewind for an order that was known")
	}
	if err := tl.AddOrder(5, gift); err != nil {
		t.Fatal(err)
	}
	if depth := tl.Rewind(tl.Present()); depth != 2 {
		t.Fatalf("present 6, order in 5: went back %d", depth)
	}
	step(t, tl, 2)
	for f, orders := range [][]image.Order{4: {gift}, 5: {gift}, 6: nil} {
		if f > 1 {
			if err := tl.Confirm(ecs.Tick(f), nil, 0, DigestOrders(orders)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := tl.AddOrder(5, gift); !errors.Is(err, ErrTooFar) {
		t.Fatalf("an order for a final tick: %v", err)
	}
	if got := skScores.Read(tl.world).Gifts; got != 5*31+5 {
		t.Fatal("gifts", got)
	}
}

func TestConfirmRefusesGapsAndMissingOrders(t *testing.T) {
	tl := newTimeline(t, Config{})
	orders := []image.Order{{Kind: image.OrderJoin, Player: 2}}
	for _, f := range []ecs.Tick{0, 2, 1000} {
		if err := tl.Confirm(f, nil, 0, 0); !errors.Is(err, errGap) {
			t.Fatalf("tick %d: %v", f, err)
		}
	}
	if err := tl.Confirm(1, nil, 0, DigestOrders(orders)); !errors.Is(err, errOrdersMissing) {
		t.Fatal(err)
	}
	if tl.Received() != 0 {
		t.Fatal("a refused confirmation was counted")
	}
	tl.AddOrder(1, orders[0])
	if err := tl.Confirm(1, nil, 0, 0); !errors.Is(err, errOrdersMissing) {
		t.Fatalf("an order the server does not have: %v", err)
	}
	if err := tl.Confirm(1, nil, 0, DigestOrders(orders)); err != nil {
		t.Fatal(err)
	}
}

func TestConfirmationsAheadOfThePresentAreUsedAsTheyAre(t *testing.T) {
	tl := seated(t, Config{Local: 0})
	tl.SetLocal(2, skInput.Pack(skPad{DY: 1})) // arrived too late there
	confirm(t, tl, 2, skPad{DX: 1}, skPad{DX: -1})
	confirm(t, tl, 3, skPad{DX: 1}, skPad{DX: -1})
	step(t, tl, 2)
	if tl.Rewind(tl.Present()) != 0 || tl.Confirmed() != 3 {
		t.Fatal(tl.Confirmed())
	}
	for p, want := range []skPad{{DX: 1}, {DX: -1}} {
		if in, ok := tl.InputAt(3, ecs.Player(p)); skInput.Unpack(in) != want || !ok {
			t.Fatal(p, in, ok)
		}
	}
	// Beyond the logs' depth they are refused, since rows that a rewind needs would be overwritten.
	var err error
	f := tl.Received()
	for err == nil {
		f++
		err = tl.Confirm(f, nil, 0, 0)
	}
	if !errors.Is(err, ErrTooFar) || f != tl.Oldest()+ecs.Tick(tl.inputs.Depth()) {
		t.Fatal(f, err)
	}
}

func TestOnlyConfirmedInputsAreFinal(t *testing.T) {
	tl := seated(t, Config{Local: 1})
	tl.SetLocal(2, skInput.Pack(skPad{DX: 1}))
	step(t, tl, 1)
	want := func(f ecs.Tick, p ecs.Player, pad skPad, final bool) {
		t.Helper()
		if in, ok := tl.InputAt(f, p); skInput.Unpack(in) != pad || ok != final {
			t.Fatalf("tick %d player %d: %+v, final %v", f, p, skInput.Unpack(in), ok)
		}
	}
	want(2, 1, skPad{DX: 1}, false)
	want(2, 0, skPad{}, false)
	want(3, 0, skPad{}, false)
	if err := tl.Confirm(2, packed(skPad{DY: 1}, skPad{DX: 1}), 1<<0, 0); err != nil {
		t.Fatal(err)
	}
	want(2, 0, skPad{DY: 1}, true)
	want(2, 1, skPad{DX: 1}, true)
	want(3, 0, skPad{}, false)
}

// Trap 9: a press that is predicted as held fires twice.
func TestPredictionRepeatsHeldStateAndClearsPresses(t *testing.T) {
	tl := seated(t, Config{Local: -1})
	confirm(t, tl, 2, skPad{DX: 1, Fire: true})
	step(t, tl, 3)
	for f := ecs.Tick(3); f <= 4; f++ {
		if in, _ := tl.InputAt(f, 0); skInput.Unpack(in) != (skPad{DX: 1}) {
			t.Fatalf("tick %d: %+v", f, skInput.Unpack(in))
		}
	}
}

// The local player's inputs survive every rewind that does not reach them, however shallow the ring beside the limit.
func TestOwnInputsAreUsedAgainWhenTheirTicksAre(t *testing.T) {
	tl := seated(t, Config{MaxPrediction: 14, Depth: 16, Local: 0})
	for f := ecs.Tick(2); f <= 15+16; f++ {
		if ok := tl.SetLocal(f, skInput.Pack(skPad{DX: int8(f)})); ok != (f <= 1+16) {
			t.Fatalf("tick %d: %v", f, ok)
		}
	}
	step(t, tl, 14)
	for f := ecs.Tick(18); f <= 15+16; f++ { // as far ahead as may be
		if !tl.SetLocal(f, skInput.Pack(skPad{DX: int8(f)})) {
			t.Fatal(f)
		}
	}
	confirm(t, tl, 2, skPad{DX: 2}, skPad{DX: 1})
	if tl.Rewind(tl.Present()) != 14 {
		t.Fatal("no rewind")
	}
	step(t, tl, 14)
	for f := ecs.Tick(2); f <= 15; f++ {
		if in, _ := tl.InputAt(f, 0); skInput.Unpack(in).DX != int8(f) {
			t.Fatalf("tick %d: own input %+v", f, skInput.Unpack(in))
		}
	}
	if tl.SetLocal(15, ecs.InputBytes{}) {
		t.Fatal("own input of a computed tick changed")
	}
}

func TestRewindNeverLosesAMispredictionNorPassesTheOldest(t *testing.T) {
	tl := seated(t, Config{})
	step(t, tl, 6)
	confirm(t, tl, 2)
	confirm(t, tl, 3, skPad{DX: 1})
	if depth := tl.Rewind(6); depth != 5 || tl.Present() != 2 {
		t.Fatalf("a mistake in 3: went back %d to %d", depth, tl.Present())
	}
	step(t, tl, 5)
	if tl.Confirmed() != 3 {
		t.Fatal(tl.Confirmed())
	}
	if tl.Rewind(0); tl.Present() != 0 || tl.Confirmed() != 3 {
		t.Fatal("present", tl.Present(), "confirmed", tl.Confirmed())
	}
	if _, ok := tl.Snapshot(3); !ok {
		t.Fatal("the state of a confirmed tick was dropped")
	}
}

func TestResetTakesALoadedStateAsConfirmed(t *testing.T) {
	host := seated(t, Config{})
	for f := ecs.Tick(2); f <= 40; f++ {
		confirm(t, host, f, skPad{DX: 1, Fire: f%5 == 0})
		step(t, host, 1)
	}
	s, _ := host.Snapshot(40)
	late := newTimeline(t, Config{Local: 1})
	late.AddOrder(39, image.Order{})
	late.AddOrder(41, image.Order{Player: 1})
	step(t, late, 8)
	if err := late.world.Image().Load(s.AppendImage(nil)); err != nil {
		t.Fatal(err)
	}
	late.Reset()
	if late.Present() != 40 || late.Confirmed() != 40 || late.Received() != 40 || late.Furthest() != 40 || late.Orders(41) != 0 {
		t.Fatal(late.Present(), late.Confirmed(), late.Received(), late.Furthest(), late.Orders(41))
	}
	if in, ok := late.InputAt(40, 0); skInput.Unpack(in) != (skPad{DX: 1, Fire: true}) || !ok {
		t.Fatal(in, ok)
	}
	if _, ok := late.InputAt(8, 0); ok {
		t.Fatal("inputs of the time before survived")
	}
	step(t, late, 8)
	if in, _ := late.InputAt(41, 0); skInput.Unpack(in) != (skPad{DX: 1}) {
		t.Fatal("prediction does not start from the loaded inputs")
	}
}

// The ALLOC vector: a rewind over a spawn and a despawn, with other inputs, leaves the rows that
// a straight run takes.
func TestRowsTakenInARewoundWindowAreThoseOfAStraightRun(t *testing.T) {
	run := func(guess bool) (sum image.Checksum, rockets []ecs.Entity) {
		tl := seated(t, Config{MaxPrediction: 8})
		for f := ecs.Tick(2); f <= 11; f++ {
			confirm(t, tl, f)
			step(t, tl, 1)
		}
		if guess { // fires in 12, gone at the latest in 19
			tl.config.Local = 0
			tl.SetLocal(12, skInput.Pack(skPad{Fire: true}))
			tl.SetLocal(13, skInput.Pack(skPad{}))
			step(t, tl, 8)
		}
		confirm(t, tl, 12, skPad{Fire: true}, skPad{Fire: true, DX: 1})
		confirm(t, tl, 13, skPad{Fire: true}, skPad{DX: 1})
		for f := ecs.Tick(14); f <= 19; f++ {
			confirm(t, tl, f)
		}
		if depth := tl.Rewind(tl.Present()); guess != (depth == 8) {
			t.Fatal("depth", depth)
		}
		step(t, tl, 8)
		s, ok := tl.Snapshot(14)
		if !ok || tl.Confirmed() != 19 {
			t.Fatal(tl.Confirmed())
		}
		sum = s.Checksum()
		tl.world.Image().Restore(s)
		for e := range skFlying.All(tl.world) {
			rockets = append(rockets, e.Entity())
		}
		return sum, rockets
	}
	straight, want := run(false)
	rewound, got := run(true)
	if straight != rewound || fmt.Sprint(got) != fmt.Sprint(want) || len(want) == 0 {
		t.Fatalf("%x %v, straight run %x %v", rewound, got, straight, want)
	}
}

// The RING vector: a shallow ring never returns the state of another tick.
func TestTheRingNeverRestoresAWrappedTick(t *testing.T) {
	if _, err := New(Config{World: newWorld(t, skirmish()), MaxPrediction: 20, Depth: 18}); err == nil {
		t.Fatal("a ring shallower than the window:", err)
	}
	tl := seated(t, Config{MaxPrediction: 20, Depth: 22})
	step(t, tl, 20)
	if tl.Step() {
		t.Fatal("went beyond the window")
	}
	confirm(t, tl, 2, skPad{DX: 1})
	if depth := tl.Rewind(tl.Present()); depth != 20 || tl.world.Tick() != 1 {
		t.Fatal(depth, tl.world.Tick())
	}
	ring := NewSnapshots(16)
	w := newWorld(t, skirmish())
	for range 40 {
		w.Step(ecs.TickInputs{})
		ring.Save(w)
	}
	for f := ecs.Tick(0); f < 60; f++ {
		if s, ok := ring.At(f); ok != (f > 24 && f <= 40) || ok && s.Tick() != f {
			t.Fatalf("tick %d: %v", f, ok)
		}
	}
}

func TestNewNamesTheFieldThatIsWrong(t *testing.T) {
	w := newWorld(t, skirmish())
	for field, c := range map[string]Config{
		"World":         {MaxPrediction: 8},
		"MaxPrediction": {World: w},
		"Depth":         {World: w, MaxPrediction: 8, Depth: 9},
		"Local":         {World: w, MaxPrediction: 8, Local: 4},
		"Effects":       {World: w, MaxPrediction: 8, Depth: 17, Effects: NewEffects(w.Image().Schema(), 16, 0)},
	} {
		_, err := New(c)
		if err == nil || !contains(err.Error(), "Config."+field) {
			t.Errorf("%s: %v", field, err)
		}
	}
	if _, err := New(Config{World: w, MaxPrediction: 8, Depth: 10}); err != nil {
		t.Error(err)
	}
}

// Orders come from outside: they must not fill the memory.
func TestOrdersThatWaitAreBounded(t *testing.T) {
	tl := newTimeline(t, Config{})
	for i := range maxOrders {
		if err := tl.AddOrder(ecs.Tick(i+1), image.Order{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := tl.AddOrder(5, image.Order{}); !errors.Is(err, ErrTooFar) {
		t.Fatal(err)
	}
}

// States that a rewind has dropped keep no pages once their ticks are computed again, also under policies that do not save these
// ticks again.
func TestDroppedStatesAreReleasedWhenTheirTicksAreComputedAgain(t *testing.T) {
	for _, policy := range policies {
		tl, empty := seated(t, Config{Policy: policy}), 0
		for f := ecs.Tick(2); f < 60; f++ {
			step(t, tl, int(f+6-tl.Present()))
			confirm(t, tl, f, skPad{}, skPad{DX: int8(f)}) // player 1 is always mispredicted
			tl.Rewind(tl.Present())
			for tl.Present() < tl.Furthest() {
				step(t, tl, 1)
			}
			for k := range tl.snapshots.slots {
				slot := &tl.snapshots.slots[k]
				if slot.after == 0 && !slot.value.Empty() {
					t.Fatalf("policy %v: tick %d is dropped and keeps its pages", policy, slot.value.Tick())
				}
				if slot.after == 0 {
					empty++
				}
			}
		}
		if policy.rare && empty == 0 {
			t.Errorf("policy %v: proves nothing", policy)
		}
	}
}
