package client

import (
	"bytes"
	"math"
	"slices"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/systems"
)

// effects passes the effects of a strategy to the owner of the client. The owner receives each irreversible effect once, in
// the order of ticks, although states are loaded meanwhile. Effects that wait when a state is loaded are kept.
type effects struct {
	filter   func(systems.Effect) // e.pass, bound once
	to       func(systems.Effect) // the present receiver
	newest   ecs.Tick             // irreversible effects of ticks ≤ newest were received from the strategy
	again    ecs.Tick             // those of ticks ≤ again that arrive now are repetitions
	kept     []systems.Effect     // irreversible ones that wait; their values lie in values
	values   []byte
	verdicts []systems.Decision // that wait
}

// maxVerdicts bounds the verdicts that wait. Beyond it the oldest is dropped.
const maxVerdicts = 16

// verdict stores a copy of a decision, whose slices are valid during the call.
func (e *effects) verdict(d *systems.Decision) {
	if len(e.verdicts) == maxVerdicts {
		e.verdicts = slices.Delete(e.verdicts, 0, 1)
	}
	v := *d
	v.Result = bytes.Clone(d.Result)
	e.verdicts = append(e.verdicts, v)
}

// drainVerdicts passes the verdicts that wait to f.
func (e *effects) drainVerdicts(present ecs.Tick, f func(systems.Effect)) {
	for i := range e.verdicts {
		d := &e.verdicts[i]
		v := &image.Verdict{Tick: d.Tick, Result: d.Result, How: d.How.String(), Registered: d.Registered, Voted: d.Voted, Dissented: d.Dissented}
		one := systems.Effect{Verdict: v, Status: ecs.EffectConfirmed, First: true, Age: present - min(d.Tick, present)}
		one.Event.Key.Tick, one.Event.Key.Type, one.Event.Irreversible = d.Tick, math.MaxUint16, true
		f(one)
	}
	e.verdicts = e.verdicts[:0]
}

const maxKept = 1024 // bounds the kept effects. Beyond it all of them are dropped

// pass passes on an effect of the strategy, unless it is a repetition.
func (e *effects) pass(one systems.Effect) {
	if one.Event.Irreversible {
		if one.Event.Key.Tick <= e.again {
			return
		}
		e.newest = max(e.newest, one.Event.Key.Tick)
	}
	e.to(one)
}

func (e *effects) keep(one systems.Effect) {
	if !one.Event.Irreversible {
		return
	}
	if len(e.kept) == maxKept {
		e.kept, e.values = e.kept[:0], e.values[:0]
	}
	e.values = append(e.values, one.Event.Value...)
	e.kept = append(e.kept, one)
}

// drain passes all effects to f, first the kept ones.
func (e *effects) drain(strategy systems.Client, f func(systems.Effect)) {
	at := 0
	for _, one := range e.kept {
		size := len(one.Event.Value)
		one.Event.Value = e.values[at : at+size : at+size]
		at += size
		f(one)
	}
	e.kept, e.values = e.kept[:0], e.values[:0]
	e.from(strategy, f)
}

func (e *effects) from(strategy systems.Client, f func(systems.Effect)) {
	if e.filter == nil {
		e.filter = e.pass
	}
	e.to = f
	strategy.Effects(e.filter)
	e.to = nil
}

// beforeLoad is called before a strategy loads a state or is replaced, which may drop effects that wait and repeat others.
func (e *effects) beforeLoad(strategy systems.Client) {
	e.from(strategy, e.keep)
	e.again = e.newest
}

// restart is called for another match, or if the match goes on from an earlier tick: no effect is a repetition then.
func (e *effects) restart() { e.newest, e.again = 0, 0 }
