package image

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

// Schema describes the state of a game: its columns in their order, its input, its events and its number of players. It
// does not change.
type Schema struct {
	Resources  []*Declaration
	Components []*Declaration
	Events     []*Declaration
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
	list := slices.Concat(s.Resources, s.Components, s.Events)
	if s.Input != nil {
		list = append(list, s.Input.declaration)
	}
	return list
}

// Check returns every error in the declarations, each with the name of its component, resource, event or input type.
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
		want(d.roles.motion != nil || d.roles.setMotion == nil && d.roles.tolerance == 0, "Roles of %q have SetMotion or Tolerance and no Motion: say where the entity is", d.name)
	}
	events := map[string]bool{"": true}
	for _, d := range s.Events {
		want(!events[d.name], "the event name %q is empty or declared twice: give each event a name of its own and list it once", d.name)
		events[d.name] = true
	}
	want(binary.NativeEndian.Uint16([]byte{1, 0}) == 1, "this target stores the highest byte first; images, checksums and inputs are defined for the other order")
	return errs
}

// Describe appends to dst the part of a game's fingerprint that follows from the declarations: names, kinds and layouts.
func (s *Schema) Describe(dst []byte) []byte {
	for _, d := range s.declared() {
		dst = fmt.Appendf(dst, " %s %q %x", d.kind, d.name, d.layout.fingerprint)
	}
	for _, t := range s.Events {
		dst = fmt.Appendf(dst, " event %q %x %t", t.name, t.layout.fingerprint, t.irreversible)
	}
	return fmt.Appendf(dst, " input %x", s.Input.declaration.layout.fingerprint)
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

// HasFloats reports whether simulated state or input holds floating-point numbers. Peers of such a game must run the same
// build for the same architecture, because float results differ between targets.
func (s *Schema) HasFloats() bool {
	return s.Input.declaration.layout.floats || slices.ContainsFunc(s.declared(), func(d *Declaration) bool { return d.layout.floats })
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

// Portable reports every component, resource, event and input whose bytes lie elsewhere on a target of the other word size.
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
