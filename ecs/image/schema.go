package image

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"unsafe"

	"tendon/ecs/fixed"
)

// Schema describes the state of a game: its columns in their order, its input, its events, its orders and its number of
// players. It does not change.
type Schema struct {
	Resources  []*Declaration
	Components []*Declaration
	Events     []*Declaration
	Orders     []*Declaration // at most MaxOrderTypes
	Input      *InputType
	MaxPlayers int // in [1, 64]
}

// The engine's own columns precede the game's.
const (
	columnCore = iota
	columnInputs
	columnIdentity
	engineColumns
)

var engineNames = [engineColumns]string{columnCore: "tick", columnInputs: "inputs", columnIdentity: "entity"}

// declared returns the resources and components in the order of their columns.
func (s *Schema) declared() []*Declaration { return slices.Concat(s.Resources, s.Components) }

func (s *Schema) all() []*Declaration {
	list := slices.Concat(s.Resources, s.Components, s.Events, s.Orders)
	if s.Input != nil {
		list = append(list, s.Input.declaration)
	}
	return list
}

// Check returns every error in the declarations, each with the name of its component, resource, event, order or input type.
func (s *Schema) Check() (errs []error) {
	want := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	for _, d := range s.all() {
		if d.err != nil {
			errs = append(errs, d.err)
		}
	}
	names := map[string]bool{"": true}
	for _, name := range engineNames {
		names[name] = true
	}
	for _, d := range s.declared() {
		want(!names[d.name], "the name %q is empty, declared twice or reserved (tick, inputs, entity): list each component and resource once, with a name of its own", d.name)
		names[d.name] = true
		p := d.roles.priority
		want(p >= 0 && p <= math.MaxFloat32, "Roles.Priority of %q is %v: choose a number from 0", d.name, p)
		want(d.roles.tolerance >= 0, "Roles.Tolerance of %q is %v: choose a distance from 0", d.name, d.roles.tolerance)
		want(len(d.hidden()) == 0 || d.roles.motion == nil, "component %q has private values and a Motion role: positions are public, so move the private values to another component", d.name)
		want(d.roles.motion != nil || d.roles.setMotion == nil && d.roles.tolerance == 0, "Roles of %q have SetMotion or Tolerance and no Motion: say where the entity is", d.name)
	}
	events := map[string]bool{"": true}
	for _, d := range s.Events {
		want(!events[d.name], "the event name %q is empty or declared twice: give each event a name of its own and list it once", d.name)
		events[d.name] = true
	}
	orders := map[string]bool{"": true}
	for _, d := range s.Orders {
		want(!orders[d.name], "the order name %q is empty or declared twice: give each order a name of its own and list it once", d.name)
		orders[d.name] = true
	}
	want(len(s.Orders) <= MaxOrderTypes, "there are %d orders: list at most %d", len(s.Orders), MaxOrderTypes)
	want(binary.NativeEndian.Uint16([]byte{1, 0}) == 1, "this target stores the highest byte first; images, checksums and inputs are defined for the other order")
	return errs
}

// Describe appends to dst the part of a game's fingerprint that follows from the declarations: names, kinds and layouts.
func (s *Schema) Describe(dst []byte) []byte {
	for _, d := range s.declared() {
		dst = fmt.Appendf(dst, " %s %q %x", d.kind, d.name, d.layout.fingerprint)
	}
	for _, t := range s.Events {
		dst = fmt.Appendf(dst, " event %q %x %t", t.name, t.layout.fingerprint, t.Irreversible())
		if t.private {
			dst = append(dst, " private"...)
		}
	}
	dst = fmt.Appendf(dst, " input %x", s.Input.declaration.layout.fingerprint)
	for _, d := range s.Orders {
		dst = fmt.Appendf(dst, " order %q %x", d.name, d.layout.fingerprint)
	}
	return dst
}

// Columns returns the names of the columns in the order of Snapshot.ComponentChecksums: the engine's own "tick", "inputs"
// and "entity", then the game's resources and components.
func (s *Schema) Columns() []string {
	names := slices.Clone(engineNames[:])
	for _, d := range s.declared() {
		names = append(names, d.name)
	}
	return names
}

// HasFloats reports whether simulated state, input or orders hold floating-point numbers. Peers of such a game must run the same
// build for the same architecture, because float results differ between targets.
func (s *Schema) HasFloats() bool {
	floats := func(d *Declaration) bool { return d.layout.floats }
	return floats(s.Input.declaration) || slices.ContainsFunc(s.declared(), floats) || slices.ContainsFunc(s.Orders, floats)
}

// HasPrivate reports whether a component, resource or event has private values: see Roles.Private.
func (s *Schema) HasPrivate() bool {
	private := func(d *Declaration) bool { return d.private || len(d.hidden()) > 0 }
	return slices.ContainsFunc(s.declared(), private) || slices.ContainsFunc(s.Events, private)
}

// HasRoles reports which of the roles Motion, SetMotion and Lerp a component has. SetMotion implies Motion: see Check.
func (s *Schema) HasRoles() (motion, setMotion, lerp bool) {
	for _, d := range s.Components {
		motion = motion || d.roles.motion != nil
		setMotion = setMotion || d.roles.setMotion != nil
		lerp = lerp || d.roles.lerp != nil
	}
	return motion, setMotion, lerp
}

// Priority returns the priority of an entity with these components: the largest of their Roles.Priority, 1 for none.
func (s *Schema) Priority(set ComponentSet) float32 {
	most := float32(0)
	for i, d := range s.Components {
		if set>>i&1 != 0 {
			most = max(most, cmp.Or(d.roles.priority, 1))
		}
	}
	return cmp.Or(most, 1)
}

// Predicted returns the components with the role Predicted.
func (s *Schema) Predicted() (set ComponentSet) {
	for i, d := range s.Components {
		if d.roles.predicted {
			set |= 1 << i
		}
	}
	return set
}

// Portable reports every component, resource, event, order and input whose bytes lie elsewhere on a target of the other word size.
// The error names the first such field of each and the padding that it needs. On a 32-bit target NewWorld refuses such a
// game; a test that calls Portable fails on every target.
func (s *Schema) Portable() error {
	var errs []error
	for _, d := range s.all() {
		if d.layout == nil { // refused already, for this or another reason
			errs = append(errs, d.err)
		} else if field, problem := misplacedIn(d.layout.typ, "", 0); problem != "" {
			errs = append(errs, refusal(d.kind, d.name, d.layout.typ, field, problem))
		}
	}
	return errors.Join(errs...)
}

// Declaration describes a component, resource, event, order or input without its Go type. Package ecs makes one for each, and it
// never changes afterwards. A type that is not plain data is reported by Schema.Check.
type Declaration struct {
	kind     string // "component", "resource", "event", "order" or "input"
	name     string
	id       int // position among the declarations of the process; never part of a state
	layout   *layout
	err      error
	roles    roles // of a component
	event    EventKind
	identity []span   // of an event: the bytes that SameEvent compares
	private  bool     // of an event
	types    []string // of the fields, if the declaration was read from a layout
}

// declarations counts the declarations of the process.
var declarations int

func declare[T any](kind, name string) *Declaration {
	d := &Declaration{kind: kind, name: name, id: declarations}
	declarations++
	d.layout, d.err = layoutOf(kind, name, reflect.TypeFor[T]())
	return d
}

// DeclareComponent describes a component of type T.
func DeclareComponent[T any](name string, r Roles[T]) *Declaration {
	d := declare[T]("component", name)
	d.roles = r.erase()
	if r.Private && d.layout != nil && d.layout.size > 0 {
		d.layout.private = []span{{0, d.layout.size}}
		d.layout.fingerprint = d.layout.hash()
	}
	return d
}

// DeclareResource describes a resource of type T.
func DeclareResource[T any](name string) *Declaration { return declare[T]("resource", name) }

// EventKind selects the views that receive an event before its tick is confirmed.
type EventKind uint8

// The kinds of events.
const (
	Reversible   EventKind = iota // every view
	Own                           // the view of the player who owns the entity of the event
	Irreversible                  // none
)

// DeclareEvent describes an event of type T.
func DeclareEvent[T any](name string, kind EventKind) *Declaration {
	d := declare[T]("event", name)
	d.event = kind
	if d.err == nil {
		d.identity = d.layout.identity()
	}
	return d
}

// hidden returns the private bytes of a row.
func (d *Declaration) hidden() []span {
	if d.layout == nil { // its type was refused
		return nil
	}
	return d.layout.private
}

// MakePrivate makes an event reach only the players who see the entity that it is about.
func (d *Declaration) MakePrivate() { d.private = true }

// Private reports whether an event is private.
func (d *Declaration) Private() bool { return d.private }

// Name returns the declared name.
func (d *Declaration) Name() string { return d.name }

// Irreversible reports whether an event is shown only when its tick is confirmed.
func (d *Declaration) Irreversible() bool { return d.event == Irreversible }

// Scrub zeroes the padding of a value.
func (d *Declaration) Scrub(value []byte) { d.layout.scrub(value) }

// Scalars describes the scalars of the component or resource, in the order of Snapshot.AppendScalars.
func (d *Declaration) Scalars() (list []Scalar) {
	for i := range d.layout.fields {
		s := &d.layout.fields[i]
		isPattern := s.form == reflect.Bool || s.form == reflect.Uint8 || s.form == reflect.Float32 || s.form == reflect.Float64
		list = append(list, Scalar{Path: s.path, Group: int(s.group), Pattern: isPattern, Rotation: s.rotation})
	}
	if d.roles.setMotion == nil {
		return list
	}
	var first, values []uint64
	for i, m := range probes {
		row := make([]uint64, (d.layout.size+7)/8+1)
		d.roles.setMotion(unsafe.Pointer(&row[0]), m)
		values = d.layout.appendScalars(values[:0], unsafe.Pointer(&row[0]))
		if i == 0 {
			first = append(first, values...)
		}
		for k := range list {
			list[k].Place = list[k].Place || values[k] != first[k]
		}
	}
	return list
}

// probes are motions that have no number in common: a scalar that differs between them is part of the motion.
var probes = [...]Motion{
	{},
	{Pos: fixed.Vec3{X: 3 * fixed.One, Y: 5 * fixed.One, Z: 7 * fixed.One}, Vel: fixed.Vec3{X: 11 * fixed.One, Y: 13 * fixed.One, Z: 17 * fixed.One}},
	{Pos: fixed.Vec3{X: -19 * fixed.One, Y: -23 * fixed.One, Z: 29 * fixed.One}, Vel: fixed.Vec3{X: -31 * fixed.One, Y: 37 * fixed.One, Z: -41 * fixed.One}},
}

// Roles describe a component to sync strategies. All are optional. A strategy that needs a role refuses a game in which no
// component has it, and names the role. Of the roles, only Private is part of the fingerprint of a game (Schema.Describe).
type Roles[T any] struct {
	// Lerp returns the value a fraction t ∈ [0, 1] of the way from a to b, for drawing. Without it a view shows b.
	Lerp func(a, b T, t float64) T
	// Motion reads position (world units) and velocity (world units per second).
	Motion func(*T) Motion
	// SetMotion stores position and velocity.
	SetMotion func(*T, Motion)
	// Quantise rounds a value to the resolution of the wire. It must not change a value that it has rounded. At the end of
	// a tick World.Step applies it to the rows that were written, before fields are rounded to their steps.
	Quantise func(*T)
	// Tolerance is δ, the largest difference in position, in world units, of a correct prediction. 0 requires equal
	// positions.
	Tolerance fixed.Num
	// Bounds returns the radius in which the entity can be hit, in world units, around Motion's position.
	Bounds func(*T) fixed.Num
	// Priority is the weight of entities with the component when a byte budget is short. An entity of priority 4 is sent
	// four times as often as one of 1, and every entity at least once a second. The largest of an entity's components
	// counts. 0 means 1. It must not be negative.
	Priority float32
	// ConfirmedOnly components are shown with their values in the last confirmed tick, never predicted.
	ConfirmedOnly bool
	// Predicted entities, those with such a component, are shared: every client of the strategy predict simulates them ahead, with
	// the entities of its own player. A ball that all players hit is shared. A client corrects it when another player has hit it.
	Predicted bool
	// Private components have values that only some players may know. Game.See of package ecs decides who. A component with a
	// Motion role must not be private.
	Private bool
}

// Motion is a position and a velocity in three dimensions, in world units and world units per second.
type Motion struct {
	Pos, Vel fixed.Vec3
}

// roles is Roles without the type parameter.
type roles struct {
	lerp          func(dst, a, b unsafe.Pointer, t float64)
	motion        func(unsafe.Pointer) Motion
	bounds        func(unsafe.Pointer) fixed.Num
	setMotion     func(unsafe.Pointer, Motion)
	quantise      func(unsafe.Pointer)
	tolerance     fixed.Num
	priority      float32
	confirmedOnly bool
	predicted     bool
}

func (r Roles[T]) erase() roles {
	e := roles{tolerance: r.Tolerance, priority: r.Priority, confirmedOnly: r.ConfirmedOnly, predicted: r.Predicted}
	if r.Lerp != nil {
		e.lerp = func(dst, a, b unsafe.Pointer, t float64) { *(*T)(dst) = r.Lerp(*(*T)(a), *(*T)(b), t) }
	}
	if r.Motion != nil {
		e.motion = func(p unsafe.Pointer) Motion { return r.Motion((*T)(p)) }
	}
	if r.Bounds != nil {
		e.bounds = func(p unsafe.Pointer) fixed.Num { return r.Bounds((*T)(p)) }
	}
	if r.SetMotion != nil {
		e.setMotion = func(p unsafe.Pointer, m Motion) { r.SetMotion((*T)(p), m) }
	}
	if r.Quantise != nil {
		e.quantise = func(p unsafe.Pointer) { r.Quantise((*T)(p)) }
	}
	return e
}
