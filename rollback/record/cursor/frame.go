package cursor

import (
	"fmt"
	"slices"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
)

// Frame describes one tick, for people and as JSON.
type Frame struct {
	Tick     ecs.Tick `json:"tick"`
	Seconds  float64  `json:"seconds"`  // of match time
	Checksum string   `json:"checksum"` // of the state, 16 hexadecimal digits
	Recorded string   `json:"recorded"` // checksum in the record; "" if it has none
	Match    Match    `json:"match"`
	Players  []Player `json:"players"` // in the match, or with an input in this tick
	Orders   []Order  `json:"orders"`
	Events   []Event  `json:"events"`
	Costs    []Share  `json:"costs,omitempty"` // only with a clock
}

// Match is the comparison of a simulated tick with the record.
type Match string

// The values of Match.
const (
	Matches  Match = "yes"
	Differs  Match = "no"
	Unknown  Match = "unknown"  // the record has no checksum of the tick
	Unproven Match = "unproven" // it differs, and a player's view looked back to before the record
)

// Player is a player's input in a tick.
type Player struct {
	Player ecs.Player         `json:"player"`
	In     bool               `json:"in"`   // in the match after the tick
	Late   bool               `json:"late"` // the server substituted the input, since it came too late
	Input  []image.FieldValue `json:"input"`
	Hidden bool               `json:"hidden,omitempty"` // the viewer does not know the input: see Cursor.As
}

// Order is an order that was stamped into a tick.
type Order struct {
	Kind    string     `json:"kind"` // see KindNames
	Player  ecs.Player `json:"player"`
	Entity  string     `json:"entity,omitempty"`  // addressee, see EntityName
	Payload []byte     `json:"payload,omitempty"` // of a kind without other fields
	// Name and Fields are those of a game order, and Refused is why it was not executed.
	Name    string             `json:"name,omitempty"`
	Fields  []image.FieldValue `json:"fields,omitempty"`
	Refused string             `json:"refused,omitempty"`
	// Seen is the moment that the player saw, in ticks, for a "view": 118.5 is half-way from tick 118 to 119.
	Seen float64 `json:"seen,omitempty"`
	// Joined is the name in the card of a player, for a "join". Payload is then the data of the card.
	Joined string `json:"joined,omitempty"`
	// Strategy is the sync strategy with which the match continues, for a "switch".
	Strategy string `json:"strategy,omitempty"`
	// Build computed the ticks before, for "rules".
	Build    string `json:"build,omitempty"`
	Operator bool   `json:"operator,omitempty"` // of the operator or the server: Player has no meaning
}

// Event is an event that a system emitted in a tick.
type Event struct {
	image.Record
	Entity       string `json:"entity,omitempty"` // subject, see EntityName
	Irreversible bool   `json:"irreversible"`
}

// Share is the cost of a section in a tick, with the sections inside it. A tick has "simulate", with its systems inside, and
// "save".
type Share struct {
	Section     string        `json:"section"` // name of the system or the phase
	System      bool          `json:"system"`
	Nanoseconds time.Duration `json:"ns"`
}

// Entity is an entity of a tick.
type Entity struct {
	ID         string         `json:"id"`    // see EntityName
	Owner      string         `json:"owner"` // "world" or "player 3"
	Row        uint32         `json:"row"`   // in the owner's region
	Born       ecs.Tick       `json:"born"`
	Components []image.Record `json:"components"`
}

// KindNames are the names of the kinds of orders.
var KindNames = map[image.OrderKind]string{image.OrderGame: "order", image.OrderJoin: "join", image.OrderLeave: "leave", image.OrderView: "view", image.OrderMotion: "motion",
	image.OrderSwitch: "switch", image.OrderPause: "pause", image.OrderResume: "resume", image.OrderRules: "rules"}

// Frame describes the tick that the Cursor is at. First has no inputs, orders and events.
func (c *Cursor) Frame() *Frame {
	f := &Frame{Tick: c.tick, Seconds: float64(c.tick) / float64(c.game.TickRate), Checksum: c.whole().Checksum().Hex(), Match: Unknown,
		Players: []Player{}, Orders: []Order{}}
	in := c.State().Players()
	for t := range c.record.Ticks(max(c.tick, c.First()+1), c.tick) { // one at most
		for p, input := range t.Inputs {
			player := Player{Player: ecs.Player(p), In: in.Has(ecs.Player(p)), Late: t.Late.Has(ecs.Player(p))}
			if player.In || player.Late || input != (ecs.InputBytes{}) {
				if player.Hidden = c.hides() && p != c.viewer; !player.Hidden {
					player.Input = c.game.Input.Describe(input)
				}
				f.Players = append(f.Players, player)
			}
		}
		for i := range t.Orders {
			f.Orders = append(f.Orders, c.orderOf(&t.Orders[i]))
		}
	}
	m := c.moment()
	for _, r := range m.refusals {
		f.Orders[r.Order].Refused = r.Reason
	}
	if c.hides() {
		f.Orders = slices.DeleteFunc(f.Orders, func(o Order) bool {
			return int(o.Player) != c.viewer && !o.Operator && (o.Kind == KindNames[image.OrderGame] || o.Kind == KindNames[image.OrderView] || o.Kind == KindNames[image.OrderMotion])
		})
	}
	f.Events, f.Costs = c.events(m), slices.Clone(m.costs)
	if m.recorded != 0 {
		f.Recorded = m.recorded.Hex()
		switch {
		case f.Recorded == f.Checksum:
			f.Match = Matches
		case m.unproven:
			f.Match = Unproven
		default:
			f.Match = Differs
		}
	}
	return f
}

func (c *Cursor) orderOf(o *image.Order) Order {
	out := Order{Kind: KindNames[o.Kind], Player: o.Player, Entity: EntityName(o.Entity), Payload: append([]byte(nil), o.Payload...), Operator: o.OfServer()}
	if o.Kind == image.OrderPause || o.Kind == image.OrderResume {
		out.Payload = nil // Operator has its meaning
	}
	if r, ok := c.world.Image().Schema().DescribeOrder(o.Payload); ok && o.Kind == image.OrderGame {
		out.Name, out.Fields, out.Payload = r.Name, r.Fields, nil
	}
	if v, ok := image.ParseViewStamp(o.Payload); ok && o.Kind == image.OrderView {
		out.Seen = float64(v.Tick) + float64(v.Part)/256
	}
	if o.Kind == image.OrderJoin {
		card, _ := image.ParseCard(o.Payload)
		out.Joined, out.Payload = card.Name, append([]byte(nil), card.Data...)
	}
	if _, _, build, ok := image.ParseRules(o.Payload); ok && o.Kind == image.OrderRules {
		out.Build, out.Payload = build, nil
	}
	out.Strategy, _ = o.Strategy()
	return out
}

// events describes the events of a tick that was simulated.
func (c *Cursor) events(m *moment) []Event {
	list := []Event{}
	schema := c.world.Image().Schema()
	emitted, err := schema.ReadEvents(nil, m.events)
	if err != nil { // this Cursor wrote them
		panic(fmt.Sprintf("cursor: the game was changed after New: %v", err))
	}
	for i, e := range emitted {
		if c.hides() && !c.knows(&e, m.receivers[i]) {
			continue
		}
		r, _ := schema.DescribeEvent(e)
		list = append(list, Event{r, EntityName(e.Key.Entity), e.Irreversible})
	}
	return list
}

// Entity describes an entity of the tick. ok is false if it does not exist there.
func (c *Cursor) Entity(e ecs.Entity) (out Entity, ok bool) {
	if !image.ExistsAt(c.State(), e) {
		return out, false
	}
	return Entity{ID: EntityName(e), Owner: ownerName(e.Owner()), Row: rowOf(e), Born: e.Born, Components: c.State().Describe(e)}, true
}
