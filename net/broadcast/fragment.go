package broadcast

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback/record"
)

// state is the encoded state of a tick.
type state struct {
	tick ecs.Tick
	data []byte
}

// encodeFull returns a .full file: the past states that views of the fragment read, then the state of h.Start. Each is a
// record preceded by its length. The state of tick 0, which Setup builds, may be missing. encodeFull reuses the memory of w.
func encodeFull(w *record.Writer, g *ecs.Game, h record.Header, states []state, seats []record.Seat) (file []byte, err error) {
	if h.Start.Tick == 0 {
		states = append(states, state{})
	}
	start := h.Start
	for _, s := range states {
		if h.Start = start; s.tick != start.Tick {
			h.Start = record.Position{Tick: s.tick}
		}
		var one bytes.Buffer
		err := w.Reset(&one, g, h)
		if err == nil && s.data != nil {
			err = w.ImageBytes(s.data)
		}
		if s.tick == start.Tick {
			for _, seat := range seats {
				err = errors.Join(err, w.Seat(seat))
			}
		}
		if err == nil {
			err = w.End()
		}
		if err != nil {
			return nil, err
		}
		file = binary.AppendUvarint(file, uint64(one.Len()))
		file = append(file, one.Bytes()...)
	}
	if len(file) > maxFullBytes {
		return nil, fmt.Errorf("broadcast: the state of tick %d has %d compressed bytes, want at most %d", start.Tick, len(file), maxFullBytes)
	}
	return file, nil
}

// ErrDamaged is wrapped by errors about a file that is incomplete or belongs to another fragment.
var ErrDamaged = errors.New("broadcast: damaged file")

// openFull reads the .full file of tick f: records with one state each. The last one is the state of f.
func openFull(data []byte, g *ecs.Game, f ecs.Tick) (list []*record.Record, err error) {
	for len(data) > 0 {
		size, n := binary.Uvarint(data)
		if n <= 0 || size > uint64(len(data)-n) || len(list) > g.TickRate {
			return nil, fmt.Errorf("%w: the states of tick %d are truncated", ErrDamaged, f)
		}
		r, err := record.Open(data[n:n+int(size)], g)
		switch {
		case err != nil:
			return nil, refusal(err)
		case !r.Ended() || r.Last().Tick != r.Start() || len(list) > 0 && r.Start() != list[len(list)-1].Start()+1 ||
			len(r.Images()) == 0 && r.Start() > 0:
			return nil, fmt.Errorf("%w: the states of tick %d are incomplete", ErrDamaged, f)
		}
		list, data = append(list, r), data[n+int(size):]
	}
	if len(list) == 0 || list[len(list)-1].Start() != f {
		return nil, fmt.Errorf("%w: the state of tick %d is missing", ErrDamaged, f)
	}
	return list, nil
}

// openTicks reads the .ticks file of the ticks after tick f. Each tick must have a checksum.
func openTicks(data []byte, g *ecs.Game, f ecs.Tick) (*record.Record, error) {
	r, err := record.OpenTicks(data, g)
	switch {
	case err != nil:
		return nil, refusal(err)
	case !r.Ended() || r.Start() != f || r.Last().Tick == f:
		return nil, fmt.Errorf("%w: the ticks after %d are incomplete", ErrDamaged, f)
	}
	for t := range r.Ticks(f+1, r.Last().Tick) {
		if t.Checksum == 0 {
			return nil, fmt.Errorf("%w: tick %d has no checksum", ErrDamaged, t.Tick)
		}
	}
	return r, nil
}

// refusal wraps ErrDamaged around an error that another attempt may avoid.
func refusal(err error) error {
	if errors.Is(err, record.ErrOther) || errors.Is(err, record.ErrVersion) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrDamaged, err)
}

// seatsOf returns the names of the players of a state.
func seatsOf(players image.PlayerSet, names []string) (seats []record.Seat) {
	for p := range players.All() {
		seats = append(seats, record.Seat{Player: p, Name: names[p], Held: true})
	}
	return seats
}

// noteJoins sets the names of players who join in a tick.
func noteJoins(names []string, orders []image.Order) {
	for i := range orders {
		if o := &orders[i]; o.Kind == image.OrderJoin && int(o.Player) < len(names) {
			card, _ := image.ParseCard(o.Payload)
			names[o.Player] = card.Name
		}
	}
}

// headerOf returns the header of the files of a match, without the fields that viewers do not use.
func headerOf(h record.Header, start record.Position) record.Header {
	h.Flags, h.Params, h.Layout = "", nil, ""
	h.Start = record.Position{Tick: start.Tick, Chain: start.Chain, Inputs: slices.Clone(start.Inputs)}
	return h
}
