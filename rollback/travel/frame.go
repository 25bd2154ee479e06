package travel

import (
	"fmt"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback/recording"
)

// Frame is everything that is known of one tick, for people and as JSON.
type Frame struct {
	Tick     ecs.Tick `json:"tick"`
	Seconds  float64  `json:"seconds"`  // of match time, Tick divided by the rate
	Checksum string   `json:"checksum"` // of the state, 16 hexadecimal digits
	Recorded string   `json:"recorded"` // the checksum that the source has; "" where it has none
	Match    Match    `json:"match"`
	Players  []Player `json:"players"` // who are in the match, or said something in this tick
	Orders   []Order  `json:"orders"`
	Events   []Event  `json:"events"`
	Costs    []Spent  `json:"costs,omitempty"` // only with Config.Meter
}

// Match says whether the state of a tick is the one that the source had.
type Match string

// The answers.
const (
	Matches  Match = "yes"
	Differs  Match = "no"
	Unknown  Match = "unknown"  // the source has no checksum of the tick
	Unproven Match = "unproven" // it differs, and a player's view looked back beyond the source's first state
)

// Player is what a player said in a tick.
type Player struct {
	Player ecs.Player `json:"player"`
	In     bool       `json:"in"`   // the match, after the tick
	Late   bool       `json:"late"` // the server put the input in the place of one that came too late
	Input  []Field    `json:"input"`
}

// Order is a rare action that was stamped into a tick.
type Order struct {
	Kind    string     `json:"kind"` // see KindName
	Player  ecs.Player `json:"player"`
	Entity  string     `json:"entity,omitempty"` // whom it is addressed to: see EntityName
	Payload []byte     `json:"payload,omitempty"`
	// Seen is the moment that the player saw, in ticks, for a "view": 118.5 is half-way from tick 118 to 119.
	Seen float64 `json:"seen,omitempty"`
}

// Event is what a system emitted in a tick.
type Event struct {
	Name         string  `json:"name"`
	Entity       string  `json:"entity,omitempty"` // whom it is about: see EntityName
	Irreversible bool    `json:"irreversible"`
	Fields       []Field `json:"fields"`
}

// Spent is what a section cost in a tick.
type Spent struct {
	Section     string `json:"section"` // the system's name, or the phase's
	System      bool   `json:"system"`
	Nanoseconds int64  `json:"ns"`
}

// Field is one value.
type Field struct {
	Path   string   `json:"path"` // in its type, "" where that is a number itself
	Text   string   `json:"text"`
	Number *float64 `json:"number"` // nil for what is no finite number
}

// Component is a component of an entity, or a resource, with its fields.
type Component struct {
	Name   string  `json:"name"`
	Fields []Field `json:"fields"`
}

// Entity is an entity of a tick.
type Entity struct {
	ID         string      `json:"id"`    // see EntityName
	Owner      string      `json:"owner"` // "world" or "player 3"
	Row        uint32      `json:"row"`   // in the owner's region
	Born       ecs.Tick    `json:"born"`
	Components []Component `json:"components"`
}

// kinds are the names of the kinds of orders.
var kinds = map[image.OrderKind]string{image.OrderGame: "order", image.OrderJoin: "join", image.OrderLeave: "leave", image.OrderView: "view", image.OrderMotion: "motion"}

// KindName returns the name of a kind of orders: "order", "join", "leave", "view" or "motion".
func KindName(k image.OrderKind) string { return kinds[k] }

// Frame returns what is known of the tick that the Traveller is at. At First nothing had entered or happened yet.
func (t *Traveller) Frame() *Frame {
	f := &Frame{Tick: t.tick, Seconds: float64(t.tick) / float64(t.header.TickRate), Checksum: hex(t.State().Checksum()), Match: Unknown,
		Players: []Player{}, Orders: []Order{}, Events: t.events()}
	in := t.State().Players()
	for e := range t.config.Source.Entries(t.tick, t.tick) {
		for p, input := range e.Inputs {
			player := Player{Player: ecs.Player(p), In: in.Has(ecs.Player(p)), Late: e.Late.Has(ecs.Player(p))}
			if player.In || player.Late || input != (ecs.InputBytes{}) {
				player.Input = fields(t.config.Game.Input.Describe(input))
				f.Players = append(f.Players, player)
			}
		}
		for i := range e.Orders {
			f.Orders = append(f.Orders, orderOf(&e.Orders[i]))
		}
	}
	if m := t.moment(); m != nil {
		f.Match = m.match()
		if m.recorded != 0 {
			f.Recorded = hex(m.recorded)
		}
		for _, c := range m.costs {
			f.Costs = append(f.Costs, t.spent(c))
		}
	}
	return f
}

// match says whether the moment's state is the recorded one.
func (m *moment) match() Match {
	switch {
	case m.recorded == 0:
		return Unknown
	case m.recorded == m.state.Checksum():
		return Matches
	case m.unproven:
		return Unproven
	}
	return Differs
}

func orderOf(o *image.Order) Order {
	out := Order{Kind: kinds[o.Kind], Player: o.Player, Payload: append([]byte(nil), o.Payload...)}
	if !o.Entity.IsZero() {
		out.Entity = EntityName(o.Entity)
	}
	if v, ok := image.ParseViewStamp(o.Payload); ok && o.Kind == image.OrderView {
		out.Seen = float64(v.Tick) + float64(v.Part)/256
	}
	return out
}

// events returns what the systems emitted in the tick.
func (t *Traveller) events() []Event {
	list := []Event{}
	m := t.moment()
	if m == nil {
		return list
	}
	emitted, err := t.config.Game.Schema().ReadEvents(nil, m.events)
	if err != nil { // they were written by this Traveller
		panic(fmt.Sprintf("travel: the game was changed after New: %v", err))
	}
	for _, e := range emitted {
		r, _ := t.config.Game.Schema().DescribeEvent(e)
		event := Event{Name: r.Name, Irreversible: e.Irreversible, Fields: fields(r.Fields)}
		if !e.Key.Entity.IsZero() {
			event.Entity = EntityName(e.Key.Entity)
		}
		list = append(list, event)
	}
	return list
}

// phases are the names of the phases that a played tick has.
var phases = map[image.Section]string{image.SectionSimulate: "simulate", image.SectionSave: "save", image.SectionChecksum: "checksum"}

// spent names a cost.
func (t *Traveller) spent(c Cost) Spent {
	if i := int(c.Section) - int(image.SectionSystems); i >= 0 && i < len(t.config.Game.Systems) {
		return Spent{t.config.Game.Systems[i].Name, true, c.Nanoseconds}
	}
	if name, ok := phases[c.Section]; ok {
		return Spent{name, false, c.Nanoseconds}
	}
	return Spent{fmt.Sprintf("phase %d", c.Section), false, c.Nanoseconds}
}

// Entities calls f for each entity of the tick, upwards by row, until f returns false.
func (t *Traveller) Entities(f func(e ecs.Entity) bool) { t.State().Entities(f) }

// Entity returns an entity of the tick with all it has; ok is false if it is not there.
func (t *Traveller) Entity(e ecs.Entity) (out Entity, ok bool) {
	records := t.State().Describe(e)
	if !image.ExistsAt(t.State(), e) {
		return out, false
	}
	return Entity{ID: EntityName(e), Owner: ownerName(e.Owner()), Row: rowOf(e), Born: e.Born, Components: components(records)}, true
}

// Resources returns the resources of the tick.
func (t *Traveller) Resources() []Component { return components(t.State().DescribeResources()) }

func components(records []image.Record) []Component {
	list := []Component{}
	for _, r := range records {
		list = append(list, Component{r.Name, fields(r.Fields)})
	}
	return list
}

func fields(values []image.FieldValue) []Field {
	list := make([]Field, len(values))
	for i, v := range values {
		list[i] = Field{Path: v.Path, Text: v.Text}
		if v.Finite() {
			list[i].Number = &values[i].Number
		}
	}
	return list
}

func hex(c image.Checksum) string { return fmt.Sprintf("%016x", uint64(c)) }

// Entry returns what entered the tick that the Traveller is at; ok is false at First.
func (t *Traveller) Entry() (e recording.Entry, ok bool) {
	for p := range t.config.Source.Entries(t.tick, t.tick) {
		return *p, true
	}
	return e, false
}
