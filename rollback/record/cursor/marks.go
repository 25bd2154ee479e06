package cursor

import (
	"cmp"
	"slices"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback/record"
)

// Marks are the ticks of a record in which something happened.
type Marks struct {
	Tracks []Track `json:"tracks"` // by kind, then by name
	// To is the last examined tick. It is before the last tick of the record if there are more than MaxMarks marks, or if progress
	// ended the search.
	To ecs.Tick `json:"to"`
}

// Track has the ticks of one kind of marks and one name, ascending and each once.
type Track struct {
	Kind  MarkKind   `json:"kind"`
	Name  string     `json:"name"`
	Ticks []ecs.Tick `json:"ticks"`
}

// MarkKind is the kind of a mark.
type MarkKind string

// The kinds of marks.
const (
	MarkJoin   MarkKind = "join"   // of a player; the name is "join"
	MarkLeave  MarkKind = "leave"  // of a player; the name is "leave"
	MarkEvent  MarkKind = "event"  // by the name of the event
	MarkOrder  MarkKind = "order"  // by the name of the game's order
	MarkDesync MarkKind = "desync" // the state differs from the recorded one, but did not at the previous checked tick
	MarkSwitch MarkKind = "switch" // by the name of the strategy with which the match continues
	MarkMatch  MarkKind = "match"  // "pause", "resume", and "rules" for a change of the rules
)

// MaxMarks is the maximum number of marks of a record.
const MaxMarks = 100_000

// Marks finds the marks of the record in one pass, which simulates all of it. progress receives the
// present tick from time to time, and ends the search by returning false. Optional.
//
// A record with an image of every tick is not simulated: it has no marks of events and desyncs. Marks of
// events and orders that the viewer may not know are omitted: see As.
func (c *Cursor) Marks(progress func(ecs.Tick) bool) (*Marks, error) {
	m := &marker{cursor: c, index: map[trackName]int{}, tracks: []Track{}}
	if c.stored {
		m.orders(progress)
	} else if err := m.simulate(progress); err != nil {
		return nil, err
	}
	out := &Marks{Tracks: m.tracks, To: m.to}
	slices.SortFunc(out.Tracks, func(a, b Track) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name)) })
	return out, nil
}

// marker finds marks.
type marker struct {
	cursor  *Cursor
	tracks  []Track
	index   map[trackName]int // in tracks
	count   int
	to      ecs.Tick
	differs bool // the last checked tick did
}

type trackName struct {
	kind MarkKind
	name string
}

func (m *marker) add(kind MarkKind, name string, f ecs.Tick) {
	key := trackName{kind, name}
	i, known := m.index[key]
	if !known {
		i = len(m.tracks)
		m.index[key], m.tracks = i, append(m.tracks, Track{Kind: kind, Name: name})
	}
	t := &m.tracks[i]
	if n := len(t.Ticks); n == 0 || t.Ticks[n-1] != f {
		t.Ticks = append(t.Ticks, f)
		m.count++
	}
}

// orders adds the marks of orders alone.
func (m *marker) orders(progress func(ecs.Tick) bool) {
	c := m.cursor
	for t := range c.record.Ticks(c.First()+1, c.last) {
		for i := range t.Orders {
			m.order(&t.Orders[i], t.Tick)
		}
		if m.to = t.Tick; !m.goesOn(progress) {
			return
		}
	}
}

// simulate adds all marks. After a desync it continues from the next image of the record.
func (m *marker) simulate(progress func(ecs.Tick) bool) error {
	c := m.cursor
	w, err := c.record.WorldAt(c.First())
	if err != nil {
		return err
	}
	images := c.record.Images()
	var state image.Snapshot
	defer state.Release()
	for t := range c.record.Play(w, c.last) {
		for i := range t.Orders {
			m.order(&t.Orders[i], t.Tick)
		}
		for _, e := range w.Events() {
			if r, ok := c.world.Image().Schema().DescribeEvent(e); ok && c.knows(&e, e.To) {
				m.add(MarkEvent, r.Name, t.Tick)
			}
		}
		if t.Checksum != 0 {
			w.Image().Save(&state)
			differs := state.Checksum() != t.Checksum
			blind := t.Tick-record.LookBack(t.Tick, t.Orders) < c.keys[0].oldest() // a player saw a state that the record does not have
			if differs && !m.differs && !blind {
				m.add(MarkDesync, "desync", t.Tick)
			}
			m.differs = differs
		}
		if _, stored := slices.BinarySearch(images, t.Tick); stored && m.differs {
			if err := c.record.LoadImage(w, t.Tick); err != nil {
				return err
			}
			m.differs = false
		}
		if m.to = t.Tick; !m.goesOn(progress) {
			break
		}
	}
	return nil
}

func (m *marker) goesOn(progress func(ecs.Tick) bool) bool {
	return m.count < MaxMarks && (progress == nil || m.to%progressTicks != 0 || progress(m.to))
}

// order adds the mark of an order.
func (m *marker) order(o *image.Order, f ecs.Tick) {
	c := m.cursor
	switch o.Kind {
	case image.OrderJoin:
		m.add(MarkJoin, "join", f)
	case image.OrderLeave:
		m.add(MarkLeave, "leave", f)
	case image.OrderSwitch:
		name, _ := o.Strategy()
		m.add(MarkSwitch, name, f)
	case image.OrderPause, image.OrderResume, image.OrderRules:
		m.add(MarkMatch, KindNames[o.Kind], f)
	case image.OrderGame:
		if c.hides() && int(o.Player) != c.viewer {
			return
		}
		name := "order"
		if r, ok := c.world.Image().Schema().DescribeOrder(o.Payload); ok {
			name = r.Name
		}
		m.add(MarkOrder, name, f)
	}
}
