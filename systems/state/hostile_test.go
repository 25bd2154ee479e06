package state

import (
	"errors"
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/wire"
)

// traffic plays a world with one client and returns the deltas and acknowledgements of its way.
func traffic(t testing.TB, ticks int) (g *rig, deltas, acks [][]byte) {
	g = newRig(t, 11, &scene{busy: true, move: true})
	for range 20 {
		g.tick()
	}
	c := g.join(0, 700, link{})
	for range ticks {
		g.world.Step(ecs.TickInputs{})
		g.record(g.world)
		delta := c.sender.Append(nil, c.limit, g.changes.All)
		deltas = append(deltas, delta)
		if g.r.IntN(4) == 0 {
			continue
		}
		if err := c.receiver.Receive(delta); err != nil {
			t.Fatal(err)
		}
		w := wire.NewWriter(nil, 16)
		c.receiver.Ack().Append(&w)
		acks = append(acks, w.Bytes())
		if err := c.sender.Acked(c.receiver.Ack()); err != nil {
			t.Fatal(err)
		}
	}
	return g, deltas, acks
}

// delta writes a delta by hand.
func delta(s *schema, sequence, tick uint16, write func(e *encoder)) []byte {
	return deltaFrom(s, sequence, tick, 0, nil, write)
}

// deltaFrom is delta with a checkpoint and moments.
func deltaFrom(s *schema, sequence, tick uint16, back int, ticks []ecs.Tick, write func(e *encoder)) []byte {
	e := encoder{schema: s, models: newModels(s)}
	e.Reset(header{sequence: sequence, tick: tick, content: true}.append(nil))
	m := moments{count: len(ticks)}
	copy(m.ticks[:], ticks)
	e.start(back, ecs.Tick(tick), &m)
	write(&e)
	return e.Finish()
}

// A delta that cannot be used changes neither the world nor the replicas nor the acknowledgements.
func TestABodyThatCannotBeUsedLeavesNoTrace(t *testing.T) {
	g := newRig(t, 5, &scene{busy: true})
	for range 30 {
		g.tick()
	}
	c := g.join(0, 700, link{})
	now := uint16(g.world.Tick())
	s := c.receiver.decoder.schema
	some := ecs.Entity{}
	for e := range g.state().Entities {
		some = e
	}
	life := len(s.parts[0].context) // cLife follows cBody, all of whose scalars are fixed numbers
	whole := func(values []uint64, set image.ComponentSet, row uint32) func(e *encoder) {
		return func(e *encoder) {
			e.end(listGlobals)
			e.end(listGone)
			c := coding{}
			e.element(listEntities, &c, row)
			e.based(listEntities, &c, asWhole, 0, 0, false)
			e.identity(&c, ecs.Tick(now)+1, 3, set)
			e.entity(set, asWhole, values, nil, nil)
			e.end(listEntities)
		}
	}
	values := func(set image.ComponentSet, at int, v uint64) []uint64 {
		list := make([]uint64, width(s, set))
		list[at] = v
		return list
	}
	// predicted is a delta of one element that is built on values at some moments.
	predicted := func(all bool, list int, place uint32, ticks ...ecs.Tick) []byte {
		return deltaFrom(s, 1, now+1, 0, ticks, func(e *encoder) {
			var c coding
			for l := range list {
				e.end(l)
			}
			e.element(list, &c, place)
			e.based(list, &c, asPrediction, ecs.Tick(now)+1, 0, all)
			for range 20 {
				e.Bit(&e.models.changed[asPrediction][0], false)
			}
			for l := list; l < lists; l++ {
				e.end(l)
			}
		})
	}
	against := func(list int, place uint32, base ecs.Tick) func(e *encoder) {
		return func(e *encoder) {
			var c coding
			for l := range list {
				e.end(l)
			}
			e.element(list, &c, place)
			e.based(list, &c, asDifference, ecs.Tick(now)+1, base, false)
			for range 20 {
				e.Bit(&e.models.changed[asDifference][0], false)
			}
			for l := list; l < lists; l++ {
				e.end(l)
			}
		}
	}
	none := func(*encoder) {}
	var tooMany encoder
	tooMany.Reset(header{sequence: 1, tick: now + 1, content: true}.append(nil))
	tooMany.Bits(0, backBits)
	tooMany.Bits(maxMoments+1, momentBits)
	cases := map[string]struct {
		delta []byte
		want  error
	}{
		"nothing":                             {nil, ErrDelta},
		"half a header":                       {[]byte{1, 0, 1, 0}, ErrDelta},
		"content that is not there":           {header{sequence: 1, tick: now + 1, content: true}.append(nil), ErrDelta},
		"content that is not named":           {append(header{sequence: 1, tick: now + 1}.append(nil), 0), ErrDelta},
		"an unknown flag":                     {[]byte{1, 0, byte(now + 1), byte((now + 1) >> 8), 128}, ErrDelta},
		"a number of deltas too far":          {[]byte{1, 0, byte(now + 1), byte((now + 1) >> 8), 40}, ErrDelta},
		"a baseline of the future":            {delta(s, 1, now+1, against(listEntities, some.Row, ecs.Tick(now)+2)), ErrDelta},
		"a baseline never sent":               {delta(s, 1, now+1, against(listEntities, some.Row, ecs.Tick(now)-1)), ErrBaseline},
		"a prediction from before the start":  {predicted(true, listEntities, some.Row, ecs.Tick(now), ecs.Tick(now)-1), ErrBaseline},
		"a prediction from no moment":         {predicted(true, listEntities, some.Row), ErrDelta},
		"too many moments":                    {tooMany.Finish(), ErrDelta},
		"moments in the future":               {predicted(false, listEntities, some.Row, ecs.Tick(now)+2), ErrDelta},
		"moments before the match":            {predicted(false, listEntities, some.Row, ecs.Tick(now), math.MaxUint64), ErrDelta},
		"moments at once":                     {predicted(true, listEntities, some.Row, ecs.Tick(now), ecs.Tick(now)), ErrDelta},
		"values at a tick not accepted":       {predicted(false, listEntities, some.Row, ecs.Tick(now)-1), ErrBaseline},
		"a checkpoint before the first delta": {deltaFrom(s, 3, now+1, 2, nil, none), ErrDelta},
		"a checkpoint never sent":             {deltaFrom(s, 99, now+1, 1, nil, none), ErrBaseline},
		"a checkpoint too old":                {deltaFrom(s, 99, now+1, checkpointsKept+1, nil, none), ErrDelta},
		"an unknown row":                      {delta(s, 1, now+1, against(listEntities, 900, ecs.Tick(now))), ErrBaseline},
		"a resource never sent":               {delta(s, 1, now+1, against(listGlobals, 1, ecs.Tick(now)-1)), ErrBaseline},
		"a resource that is not":              {delta(s, 1, now+1, against(listGlobals, 3, ecs.Tick(now))), ErrDelta},
		"too many steps":                      {delta(s, 1, now+1, whole(values(1, 0, 1<<40), 1, 5)), ErrValues},
		"too few":                             {delta(s, 1, now+1, whole(values(1, 1, 1<<63), 1, 5)), ErrValues},
		"a boolean that is 2":                 {delta(s, 1, now+1, whole(values(3, life+2, 2), 3, 5)), ErrValues},
		"a number not a number":               {delta(s, 1, now+1, whole(values(4, 0, uint64(math.Float32bits(float32(math.NaN())))), 4, 5)), ErrValues},
		"a list too long":                     {delta(s, 1, now+1, whole(values(8, 0, 25), 8, 5)), ErrValues},
		"row 0":                               {delta(s, 1, now+1, whole(nil, 0, 0)), ErrValues},
		"a row of no owner":                   {delta(s, 1, now+1, whole(nil, 0, globalRow-1)), ErrValues},
		"a row above all owners":              {delta(s, 1, now+1, whole(nil, 0, math.MaxUint32)), ErrDelta},
		"a row too far up":                    {delta(s, 1, now+1, whole(values(15, 0, 0), 15, 1<<20-1)), ErrValues},
		"players who cannot be": {delta(s, 1, now+1, func(e *encoder) {
			c := coding{}
			e.element(listGlobals, &c, 0)
			e.based(listGlobals, &c, asWhole, 0, 0, false)
			e.part(s.components, asWhole, []uint64{1 << 4}, nil, nil, new(uint64))
			for l := range lists {
				e.end(l)
			}
		}), ErrValues},
	}
	before := c.receiver.State().Checksum()
	for name, x := range cases {
		if err := c.receiver.Receive(x.delta); !errors.Is(err, x.want) {
			t.Errorf("%s: %v, want %v", name, err, x.want)
		}
		var s image.Snapshot
		c.world.Image().Save(&s)
		if s.Checksum() != before || c.receiver.State().Checksum() != before || c.receiver.Tick() != ecs.Tick(now) || c.receiver.Ack().Any {
			t.Fatalf("%s left a trace", name)
		}
		s.Release()
	}
	c.receiver.sequence = 1 << 16
	if err := c.receiver.Receive(delta(s, 1, now+1, whole(values(1, 0, 77), 1, 5))); err != nil {
		t.Errorf("a delta in which nothing is wrong: %v", err)
	}
	taken := c.receiver.Ack()
	if err := c.receiver.Receive(header{sequence: 0xFFFF, tick: now + 9}.append(nil)); err != nil || c.receiver.Ack() != taken || c.receiver.Tick() != ecs.Tick(now)+1 {
		t.Errorf("an old delta that names a new tick is taken: %v", err)
	}
	if b, ok := cBody.ReadAt(c.receiver.State(), ecs.Entity{Row: 5, Born: 3}); !ok || b.Pos.X != 77<<23 {
		t.Errorf("it brings %+v", b)
	}
}

// An entity is updated once in a delta: a row of the checkpoint is refused in the list of the other entities.
func TestARowInTwoListsIsRefused(t *testing.T) {
	g := movingRig(t, 20, true)
	c := g.join(0, 1100, link{})
	for range 5 {
		g.tick()
	}
	d := &c.receiver.decoder
	last := c.receiver.sequence
	p := d.checkpoints.at(newestBefore(last + 1))
	if len(p.rows) == 0 {
		t.Fatal("the checkpoint has no rows")
	}
	h := c.receiver.store.entities.rows.Get(p.rows[0])
	write := func(twice bool) []byte {
		e := encoder{schema: d.schema, models: newModels(d.schema)}
		e.Reset(header{sequence: uint16(last + 1), tick: uint16(c.receiver.Tick() + 1), content: true}.append(nil))
		e.models.set(p.models)
		m := moments{count: 1}
		m.ticks[0] = c.receiver.Tick()
		e.start(1, c.receiver.Tick()+1, &m)
		e.end(listGlobals)
		e.end(listGone)
		var at coding
		again := &e.models.places[listAgain]
		e.Bit(&again.again, true)
		for i := range p.rows {
			last := 0 // 1 if the row before was an element
			if i == 1 {
				last = 1
			}
			if e.Bit(&again.more[last], i == 0); i > 0 {
				continue
			}
			e.based(listAgain, &at, asPrediction, 0, 0, true)
			for set := h.set; set != 0; set &= set - 1 {
				e.Bit(&e.models.changed[asPrediction][bits.TrailingZeros64(uint64(set))], false)
			}
		}
		if twice {
			e.element(listEntities, &at, p.rows[0])
		}
		e.end(listEntities)
		return e.Finish()
	}
	if err := c.receiver.Receive(write(true)); err != ErrDelta {
		t.Errorf("a row in two lists: %v, want %v", err, ErrDelta)
	}
	if err := c.receiver.Receive(write(false)); err != nil || len(d.elements) != 1 {
		t.Errorf("a row in one list: %v, %d elements", err, len(d.elements))
	}
}

// A likely bit costs next to nothing, so a short delta could urgency millions of elements, if they were not counted.
func TestAShortBodyCannotClaimEndlessWork(t *testing.T) {
	g := newRig(t, 5, &scene{})
	c := g.join(0, 700, link{})
	s := c.receiver.decoder.schema
	long := delta(s, 1, 1, func(e *encoder) {
		e.end(listGlobals)
		c := coding{}
		for row := range uint32(2 * maxElements) {
			e.element(listGone, &c, row)
		}
		e.end(listGone)
		e.end(listEntities)
	})
	if err := c.receiver.Receive(long); err != ErrDelta || len(c.receiver.decoder.elements) > maxElements {
		t.Errorf("%d elements in %d bytes: %v", len(c.receiver.decoder.elements), len(long), err)
	}
	many := delta(s, 1, 1, func(e *encoder) {
		e.end(listGlobals)
		e.end(listGone)
		c := coding{}
		for row := range uint32(maxElements) {
			e.element(listEntities, &c, row+1)
			e.based(listEntities, &c, asWhole, 0, 0, false)
			e.identity(&c, 1, 0, 8)
			e.entity(8, asWhole, make([]uint64, width(s, 8)), nil, nil)
		}
		e.end(listEntities)
	})
	if err := c.receiver.Receive(many); err != ErrDelta || len(c.receiver.decoder.values) > maxValues {
		t.Errorf("%d values in %d bytes: %v", len(c.receiver.decoder.values), len(many), err)
	}
	r := rand.New(rand.NewPCG(1, 1))
	noise := header{sequence: 1, tick: 1, content: true}.append(nil)
	for range 500 {
		b := noise
		for range r.IntN(1000) {
			b = append(b, byte(r.Uint32()))
		}
		if c.receiver.Receive(b) == nil && c.receiver.Tick() > 0 {
			g.load(c, 0)
		}
	}
}

// A client may send any acknowledgement. Values that were never sent to it must not become a baseline.
func TestAcknowledgementsThatNoClientCanMeanAreRefused(t *testing.T) {
	g := newRig(t, 5, &scene{busy: true})
	c := g.join(0, 700, link{})
	for range 3 {
		g.world.Step(ecs.TickInputs{})
		g.record(g.world)
		c.sender.Append(nil, 700, g.changes.All)
	}
	for name, a := range map[string]Ack{
		"the future":           {Any: true, Newest: 4},
		"far in the future":    {Any: true, Newest: 30000},
		"the past":             {Any: true, Newest: 65535},
		"delta 0":              {Any: true, Newest: 0},
		"before the first":     {Any: true, Newest: 2, Older: 2},
		"long before it":       {Any: true, Newest: 3, Older: 1 << 31},
		"the future refused":   {Lost: true, Refused: 4},
		"delta 0 refused":      {Lost: true},
		"good and bad at once": {Any: true, Newest: 3, Older: 3, Lost: true, Refused: 9},
	} {
		if err := c.sender.Acked(a); err != ErrAck {
			t.Errorf("%s: %v", name, err)
		}
	}
	if c.sender.Stats().Acked != 0 {
		t.Error("one of them counted")
	}
	if err := c.sender.Acked(Ack{Any: true, Newest: 3, Older: 3}); err != nil || c.sender.Stats().Acked != 3 {
		t.Errorf("an acknowledgement of sent deltas: %v", err)
	}
	for _, bad := range [][]byte{{}, {4}, {1, 2, 0}, {2, 1}, {3, 1, 0, 0, 0, 0, 0, 1}} {
		r := wire.NewReader(bad)
		if ReadAck(&r); r.Err() == nil {
			t.Errorf("%v is an acknowledgement", bad)
		}
	}
}

// A client that lacks the values of a baseline reports it and receives whole values.
func TestALostBaselineRecovers(t *testing.T) {
	g := newRig(t, 9, &scene{busy: true, move: true})
	for range 60 {
		g.tick()
	}
	c := g.join(0, 1100, link{loss: 0.1, base: 2, jitter: 2})
	for range 60 {
		g.tick()
	}
	for _, h := range c.receiver.store.entities.rows.All {
		h.count = 0
	}
	for range 60 {
		g.tick()
	}
	if c.refused == 0 || c.refused > 30 {
		t.Errorf("%d deltas were refused", c.refused)
	}
	g.settle(100)
}

// A NaN on the server is sent as 0. It must not make every delta that holds it useless.
func TestANumberThatIsNoneOnTheServerHoldsNothingUp(t *testing.T) {
	s := &scene{}
	g := movingRig(t, 3, false)
	*s = *g.scene
	c := g.join(0, 1100, link{})
	broken := ecs.Entity{Row: 1}
	cLook.Put(g.world, broken, tLook{Hue: float32(math.NaN())})
	cLife.Put(g.world, broken, tLife{Health: 3})
	g.tick()
	if l, ok := cLife.ReadAt(c.receiver.State(), broken); !ok || l.Health != 3 {
		t.Errorf("%+v", l)
	}
	if l, _ := cLook.ReadAt(c.receiver.State(), broken); l.Hue != 0 {
		t.Errorf("%+v", l)
	}
}

// width returns how many scalars an entity with these components has.
func width(s *schema, set image.ComponentSet) (n int) {
	for ; set != 0; set &= set - 1 {
		n += len(s.parts[bits.TrailingZeros64(uint64(set))].context)
	}
	return n
}
