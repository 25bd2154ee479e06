package rollback

import (
	"fmt"
	"strings"

	"tendon/ecs"
	"tendon/ecs/image"
)

// DesyncReport describes where two runs of the same tick differ, in terms of the game's components and fields. It is an
// error.
//
// Here is the side that counts as right: the straight run of a SyncTest, the server, the recording.
type DesyncReport struct {
	Tick ecs.Tick
	// System is the system that wrote data which its queries do not declare; "" if that is not the cause. It is "orders"
	// for hooks.
	System string
	// Derived describes derived data that was not kept up to date; nil if that is not the cause.
	Derived error
	// UnorderedWalk reports that a system of the tick called World.Donburi. Donburi's order of entities depends on history,
	// so a walk in that order is the likely cause.
	UnorderedWalk bool
	// Differences are the first places that differ, at most 8. For an undeclared write, Here is the value before it. It is
	// empty where only checksums are known.
	Differences []image.Difference
	// Components are the checksums of every component and resource. It is empty where only one checksum is known.
	Components []ComponentChecksum
	// Here and There are the whole states' checksums.
	Here, There image.Checksum
	// Inputs and Orders are those of the tick; nil where they are not known. An input has InputSize bytes.
	Inputs    []ecs.InputBytes
	Orders    []image.Order
	Schema    *image.Schema // describes Orders; nil: they are shown as bytes
	InputSize int
	// Seed is the seed that repeats the run; 0 if there is none.
	Seed uint64
}

// ComponentChecksum is the checksum of one component or resource on both sides.
type ComponentChecksum struct {
	Name        string
	Here, There image.Checksum
}

// maxDifferences bounds the places that a report names.
const maxDifferences = 8

// CompareSnapshots returns a report on two states of one game, or nil if they are equal. The snapshots may be of
// different worlds.
func CompareSnapshots(g *ecs.Game, here, there *image.Snapshot) *DesyncReport {
	a, b := here.Checksum(), there.Checksum()
	if a == b {
		return nil
	}
	r := &DesyncReport{Tick: here.Tick(), Here: a, There: b, Differences: image.Differences(here, there, maxDifferences)}
	ours, theirs := here.ComponentChecksums(nil), there.ComponentChecksums(nil)
	for i, name := range g.Schema().Columns() {
		r.Components = append(r.Components, ComponentChecksum{name, ours[i], theirs[i]})
	}
	return r
}

// Error returns the first line of the report.
func (r *DesyncReport) Error() string {
	var b strings.Builder
	b.WriteString("rollback: desync in ")
	switch {
	case r.System != "":
		fmt.Fprintf(&b, "tick %d: %s wrote past what its queries declare", r.Tick, r.System)
		if len(r.Differences) > 0 {
			d := r.Differences[0]
			fmt.Fprintf(&b, ": %s.%s from %s to %s", d.Component, d.Field, d.Here, d.There)
			if !d.Entity.IsZero() {
				fmt.Fprintf(&b, " in row %#x born in tick %d", d.Entity.Row, d.Entity.Born)
			}
		}
	case r.Derived != nil:
		fmt.Fprintf(&b, "tick %d: %v", r.Tick, r.Derived)
	case len(r.Differences) > 0:
		b.WriteString(r.Differences[0].String())
	default:
		fmt.Fprintf(&b, "tick %d: checksum %016x here and %016x there", r.Tick, uint64(r.Here), uint64(r.There))
	}
	if r.UnorderedWalk {
		b.WriteString("; a system of this tick walked donburi's world, whose order depends on history: walk it with ecs.Ordered")
	}
	return b.String()
}

// String returns the whole report, several lines.
func (r *DesyncReport) String() string {
	var b strings.Builder
	b.WriteString(r.Error())
	b.WriteByte('\n')
	for i, d := range r.Differences {
		if i > 0 { // the first line has the first one
			fmt.Fprintf(&b, "  also %v\n", d)
		}
	}
	for _, c := range r.Components {
		mark := "equal"
		if c.Here != c.There {
			mark = fmt.Sprintf("differs: %016x there", uint64(c.There))
		}
		fmt.Fprintf(&b, "  %-12s %016x here, %s\n", c.Name, uint64(c.Here), mark)
	}
	for p, in := range r.Inputs {
		fmt.Fprintf(&b, "  input of player %d: % x\n", p, in[:min(r.InputSize, len(in))])
	}
	for _, o := range r.Orders {
		if r.Schema != nil && o.Kind == image.OrderGame {
			fmt.Fprintf(&b, "  order of player %d, %s\n", o.Player, r.Schema.OrderText(o.Payload))
			continue
		}
		fmt.Fprintf(&b, "  order of player %d, kind %d, %d bytes: % x\n", o.Player, o.Kind, len(o.Payload), o.Payload)
	}
	if r.Seed != 0 {
		fmt.Fprintf(&b, "  seed %d\n", r.Seed)
	}
	return b.String()
}
