package record

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"tendon/ecs"
	"tendon/ecs/image"
)

// Migrate returns the ticks of a record after tick from as a record of g, another version of the game that wrote it. The match
// begins with the last image up to from, or with the first one after it, and with the strategy at that tick. All images and
// inputs are carried over by the names of their fields, as image.NewMigration describes. The new record has the match, room
// and seats of the old one, and its hash chain at the first image. It has no checksums, because g may compute other states. Its images
// have no past, so the views of its first ticks show the present.
//
// Orders of the game are dropped if the two versions have different orders. The error wraps ErrOther if a field has changed its
// type, and names component and field.
func Migrate(data []byte, g *ecs.Game, build string, from ecs.Tick) (*Record, error) {
	h, at, err := readHeader(data)
	if err != nil {
		return nil, err
	}
	if h.Game != g.Name {
		return nil, h.Check(g)
	}
	if h.Layout == "" {
		return nil, fmt.Errorf("%w: build %q wrote it without the layout of the state: start the build that wrote it", ErrOther, h.Build)
	}
	m, err := image.NewMigration([]byte(h.Layout), g.Schema())
	if err != nil {
		return nil, fmt.Errorf("%w: build %q wrote it: %w", ErrOther, h.Build, err)
	}
	if s := m.From(); s.MaxPlayers != h.Players || s.Input.Size() != h.InputSize {
		return nil, fmt.Errorf("%w: its header does not fit its layout", ErrCorrupt)
	}
	old := &Record{codec: &Codec{input: m.From().Input, rate: h.TickRate, players: h.Players, inputSize: h.InputSize}, header: h}
	if err := old.scan(data, at); err != nil {
		return nil, err
	}
	return old.migrate(m, g, build, from)
}

// migrate writes a record of g.
func (r *Record) migrate(m *image.Migration, g *ecs.Game, build string, from ecs.Tick) (*Record, error) {
	first := slices.IndexFunc(r.images, func(i storedImage) bool { return i.tick > from })
	switch {
	case len(r.images) == 0:
		return nil, fmt.Errorf("%w: another version of the game needs an image to begin from", ErrNoState)
	case first < 0:
		first = len(r.images)
	}
	images := r.images[max(first-1, 0):]
	world, err := ecs.NewWorld(g, r.header.Seed)
	if err != nil {
		return nil, err
	}
	h := HeaderOf(g, r.header.Seed, build)
	h.Strategy, h.Flags, h.Params, h.Room, h.Match = r.header.Strategy, r.header.Flags, r.header.Params, r.header.Room, r.header.Match
	start, _ := r.position(images[0].tick)
	if strategy, _ := r.StrategyAt(start.Tick); strategy != "" {
		h.Strategy = strategy
	}
	h.Start = Position{Tick: start.Tick, Chain: start.Chain, Inputs: migrated(m, start.Inputs)}
	var to bytes.Buffer
	w, err := NewWriter(&to, g, h)
	if err != nil {
		return nil, err
	}
	carry := func(i *storedImage) error {
		state, err := i.unpack()
		if err == nil {
			err = m.Load(world.Image(), state)
		}
		if err != nil {
			return fmt.Errorf("the image of tick %d: %w", i.tick, err)
		}
		var s image.Snapshot
		world.Image().Save(&s)
		defer s.Release()
		return w.Image(&s)
	}
	if err := carry(&images[0]); err != nil {
		return nil, err
	}
	for _, s := range r.seatsAt(start.Tick) {
		err = errors.Join(err, w.Seat(s))
	}
	for read, kind := range r.read(start.Tick) {
		switch {
		case err != nil || read.at.Tick <= start.Tick:
		case kind == kindTick:
			t := read.tick
			t.Inputs, t.Checksum = migrated(m, t.Inputs), 0
			t.Orders = slices.DeleteFunc(slices.Clone(t.Orders), func(o image.Order) bool { return !m.Order(&o) })
			err = w.Tick(t)
		case kind == kindSeat:
			err = w.Seat(read.seat)
		case kind == kindImage:
			err = carry(&read.image)
		}
	}
	if err = errors.Join(err, w.Flush()); err != nil {
		return nil, err
	}
	return Open(to.Bytes(), g)
}

// migrated returns inputs of the old version as inputs of the new one.
func migrated(m *image.Migration, inputs []ecs.InputBytes) []ecs.InputBytes {
	list := make([]ecs.InputBytes, len(inputs))
	for i, in := range inputs {
		list[i] = m.Input(in)
	}
	return list
}

// seatsAt returns every seat that is held after tick f.
func (r *Record) seatsAt(f ecs.Tick) (seats []Seat) {
	for at, s := range r.Seatings() {
		if at > f {
			break
		}
		seats = slices.DeleteFunc(seats, func(o Seat) bool { return o.Player == s.Player })
		if s.Held {
			seats = append(seats, s)
		}
	}
	return seats
}
