package lab

import (
	"fmt"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/client"
	"tendon/systems"
)

// Desync is what became of a desync that was caused on purpose.
type Desync struct {
	// Fate says how it ended, or that it goes on.
	Fate Fate `json:"fate"`
	// After is how long it took, in ms of virtual time; so far, where it goes on.
	After float64 `json:"after_ms"`
	// Component and what follows say where the states differed, where the strategy finds that out: Here is the client's
	// value, There the server's.
	Component string `json:"component,omitempty"`
	Entity    string `json:"entity,omitempty"`
	Field     string `json:"field,omitempty"`
	Here      string `json:"here,omitempty"`
	There     string `json:"there,omitempty"`
	Tick      uint64 `json:"tick,omitempty"`
}

// Fate is what became of a desync.
type Fate string

// The fates.
const (
	NoDesync   Fate = ""          // none was caused
	Undetected Fate = "pending"   // it is there, and nobody has found it yet
	Found      Fate = "found"     // the server compared checksums, and sent its own state
	Corrected  Fate = "corrected" // the next states of the server's put it right by themselves
	Vanished   Fate = "vanished"  // the game itself made it undone before anybody compared
	Absent     Fate = "absent"    // there was no avatar that could be moved
	Believed   Fate = "believed"  // the client's word counts, so that the server has it now
	Immune     Fate = "immune"    // the client computes nothing that could differ
)

// spring sets the trap for the next tick that the client computes.
func (w *watched) spring() {
	now := w.net.Now()
	w.since, w.resyncs, w.fixed = now, w.own.core.Stats().Resyncs, false
	w.fate = Desync{Fate: Absent}
	if w.own.core.State() != client.Live {
		return
	}
	_, current, _, _ := w.own.core.Snapshots(systems.Time(w.net.LocalNow(w.own.node)))
	if w.trap.arm(current, w.own.seat, w.own.core.Stats().Strategy.Present+1) {
		w.fate.Fate = Undetected
	}
}

// fateWait is how long after a desync it counts as put right by nobody, where no checksums are compared.
const fateWait = 3 * time.Second

// vanishWait is the same where checksums are compared.
const vanishWait = 10 * time.Second

// follow finds out what became of the desync.
func (w *watched) follow() {
	if w.fate.Fate != Undetected {
		return
	}
	w.compare()
	passed := w.net.Now() - w.since
	w.fate.After = milliseconds(passed)
	s := w.own.core.Stats()
	found := w.own.core.Desyncs()
	switch {
	case len(found) > 0 && s.Resyncs > w.resyncs && found[len(found)-1].Tick >= w.trap.tick:
		if w.fate.Fate = Found; w.fate.Component == "" {
			w.fate.name(found[len(found)-1])
		}
	case w.strategy.Needs.Exact && passed < vanishWait:
		return // it will be found
	case w.strategy.Needs.Exact:
		w.fate.Fate = Vanished
	case w.fixed:
		w.fate.Fate = Corrected
	case passed > fateWait && w.trap.sprung:
		w.fate.Fate = Believed
	case passed > fateWait:
		w.fate.Fate = Immune
	default:
		return
	}
	w.trap.tick = 0
}

// compare looks for the first difference between what the client has confirmed and the server's state of the same tick.
// What the engine reports is of a later one, when one mistake has led to many others.
func (w *watched) compare() {
	if !w.strategy.Needs.Exact || w.fate.Component != "" {
		return
	}
	_, _, confirmed, _ := w.own.core.Snapshots(systems.Time(w.net.LocalNow(w.own.node)))
	if confirmed.Empty() || confirmed.Tick() < w.trap.tick {
		return
	}
	theirs := w.state(confirmed.Tick())
	if theirs.Empty() || theirs.Tick() != confirmed.Tick() {
		return
	}
	all := image.Differences(confirmed, theirs, differencesRead)
	for _, d := range all {
		if d.Entity == w.trap.entity {
			w.fate.name(d)
			return
		}
	}
	if len(all) > 0 {
		w.fate.name(all[0])
	}
}

// differencesRead is among how many differences that of the avatar is looked for.
const differencesRead = 100

// name says where the states differ.
func (d *Desync) name(of image.Difference) {
	d.Component, d.Entity, d.Field, d.Here, d.There, d.Tick = of.Component, entityName(of.Entity), of.Field, of.Here, of.There, uint64(of.Tick)
}

// entityName says which entity it is to somebody who sees it on a page.
func entityName(e ecs.Entity) string {
	if e.IsZero() {
		return ""
	}
	owner := "the world"
	if p, ok := e.Owner().Player(); ok {
		owner = fmt.Sprintf("player %d", p+1)
	}
	return fmt.Sprintf("of %s, born in tick %d", owner, e.Born)
}
