package simnet

import (
	"fmt"
	"time"
)

// Time is a point in virtual time: nanoseconds since the network was made, or, where a node's clock is meant, since
// that clock's zero.
type Time = time.Duration

// Limits of a Path. They keep every loop and every sum of times bounded; the worst standard profile stays far inside
// them.
const (
	maxDelay       = time.Minute
	maxBandwidth   = 1 << 30 // bytes per second
	maxQueueBytes  = 1 << 30
	maxTraceDelays = 1 << 20

	// defaultQueueBytes is the queue of a path that has a bandwidth but names no queue: about that of a home router.
	defaultQueueBytes = 64 << 10
)

// Path describes one direction of a link. The zero Path delivers every packet at once.
//
// A packet first queues for the bandwidth. Then it may be lost. It travels for max(0, delay + jitter), and an extra
// delay or a duplicate may be added.
type Path struct {
	// Delay is the one-way base delay, [0, 1 min]. Zero: none.
	Delay time.Duration

	// Walk, when its Max is set, replaces Delay by a delay that wanders.
	Walk Walk

	// Jitter is added to the base delay of each packet. Zero: none.
	Jitter Jitter

	// Loss is the chance of each packet to be lost, [0, 1]. Zero: none.
	Loss float64

	// Burst adds outages on top of Loss. Zero: none.
	Burst Burst

	// Duplicate is the chance of each packet to arrive twice, the twin with a jitter of its own, [0, 1]. Zero: never.
	Duplicate float64

	// Reorder is the chance of each packet to be late by ReorderDelay, so that those behind it overtake, [0, 1]. Zero:
	// never.
	Reorder float64

	// ReorderDelay is the extra delay of a reordered packet, [0, 1 min].
	ReorderDelay time.Duration

	// Bandwidth is in bytes per second, headers included. Zero: unlimited.
	Bandwidth int

	// QueueBytes is how much may wait for the bandwidth; what does not fit is dropped (tail drop). Zero: 64 KiB. Unused
	// without a Bandwidth.
	QueueBytes int

	// Ordered releases packets in the order in which they were sent: a late one holds up those behind it. Lost ones are
	// not waited for.
	Ordered bool
}

// JitterKind is the shape of a jitter distribution.
type JitterKind uint8

// The shapes of jitter. A sum below zero counts as no delay at all.
const (
	NoJitter    JitterKind = iota // every packet takes the base delay
	Uniform                       // even in [−Size, +Size]
	Exponential                   // mean Size, never negative
	Normal                        // standard deviation Size, mean zero
	Trace                         // the values of Jitter.Trace in turn, over and over
)

// Jitter is the part of the delay that differs from packet to packet.
type Jitter struct {
	Kind JitterKind

	// Size is the half-width, mean or standard deviation, [0, 1 min].
	Size time.Duration

	// Trace holds recorded delays, one a packet, each in [0, 1 min]. It is only read. See ReadTrace.
	Trace []time.Duration
}

// Burst is the Gilbert–Elliott model: a path is good or bad, and while bad it loses packets with the chance Loss. The
// state changes either from packet to packet (Enter, Leave) or in time (EnterPerSecond, Stay), not both. A chain in
// time does not depend on the traffic: two strategies that run under the same seed meet the same outages.
type Burst struct {
	Enter float64 // chance per packet of good → bad, [0, 1]
	Leave float64 // chance per packet of bad → good, (0, 1] if Enter is set

	EnterPerSecond float64       // mean outages per second of good time, 0 or [1e-6, 1000]
	Stay           time.Duration // mean length of an outage, [1 ms, 1 min] if EnterPerSecond is set

	Loss float64 // chance of a packet to be lost while bad, (0, 1] if a chain is set
}

// Walk is a base delay that wanders between Min and Max: each second it heads for a new value at most StepPerSecond
// away, and moves there evenly. Both directions of a link walk in step if they have the same Walk, so that the round
// trip is twice the one-way delay.
type Walk struct {
	Min, Max      time.Duration // [0, 1 min], Max zero: no walk
	StepPerSecond time.Duration // largest change in a second, (0, Max − Min]
}

// Profile is a link: what happens on the way up (client to server) and on the way down. Round trip time is the sum of
// both; there is no bare "latency".
type Profile struct {
	Name  string // "P5"
	Title string // "bad"
	Up    Path
	Down  Path
}

// Validate says which field of the profile is out of its range. Connect, Route and NewProxy call it.
func (p *Profile) Validate() error {
	if err := p.Up.validate(); err != nil {
		return fmt.Errorf("simnet: profile %q: Up.%w", p.Name, err)
	}
	if err := p.Down.validate(); err != nil {
		return fmt.Errorf("simnet: profile %q: Down.%w", p.Name, err)
	}
	return nil
}

func (p *Path) validate() error {
	for _, c := range [...]struct {
		field string
		value float64
	}{
		{"Loss", p.Loss}, {"Duplicate", p.Duplicate}, {"Reorder", p.Reorder},
		{"Burst.Enter", p.Burst.Enter}, {"Burst.Leave", p.Burst.Leave}, {"Burst.Loss", p.Burst.Loss},
	} {
		if !(c.value >= 0 && c.value <= 1) { // so written that NaN fails
			return fmt.Errorf("%s is %v, not a chance in [0, 1]", c.field, c.value)
		}
	}
	for _, d := range [...]struct {
		field string
		value time.Duration
	}{
		{"Delay", p.Delay}, {"ReorderDelay", p.ReorderDelay}, {"Jitter.Size", p.Jitter.Size},
		{"Walk.Min", p.Walk.Min}, {"Walk.Max", p.Walk.Max}, {"Burst.Stay", p.Burst.Stay},
	} {
		if d.value < 0 || d.value > maxDelay {
			return fmt.Errorf("%s is %v, not in [0, %v]", d.field, d.value, maxDelay)
		}
	}
	if p.Bandwidth < 0 || p.Bandwidth > maxBandwidth {
		return fmt.Errorf("Bandwidth is %d bytes per second, not in [0, %d]", p.Bandwidth, maxBandwidth)
	}
	if p.QueueBytes < 0 || p.QueueBytes > maxQueueBytes {
		return fmt.Errorf("QueueBytes is %d, not in [0, %d]", p.QueueBytes, maxQueueBytes)
	}
	if err := p.Jitter.validate(); err != nil {
		return err
	}
	if err := p.Walk.validate(); err != nil {
		return err
	}
	return p.Burst.validate()
}

func (j *Jitter) validate() error {
	if j.Kind > Trace {
		return fmt.Errorf("Jitter.Kind is %d, not one of the five kinds", j.Kind)
	}
	if j.Kind == Trace && (len(j.Trace) == 0 || len(j.Trace) > maxTraceDelays) {
		return fmt.Errorf("Jitter.Trace holds %d delays, not [1, %d]", len(j.Trace), maxTraceDelays)
	}
	for i, d := range j.Trace {
		if d < 0 || d > maxDelay {
			return fmt.Errorf("Jitter.Trace[%d] is %v, not in [0, %v]", i, d, maxDelay)
		}
	}
	return nil
}

func (w *Walk) validate() error {
	if w.Max == 0 {
		return nil
	}
	if w.Min >= w.Max {
		return fmt.Errorf("Walk.Min is %v, not below Walk.Max %v", w.Min, w.Max)
	}
	if w.StepPerSecond <= 0 || w.StepPerSecond > w.Max-w.Min {
		return fmt.Errorf("Walk.StepPerSecond is %v, not in (0, %v]", w.StepPerSecond, w.Max-w.Min)
	}
	return nil
}

func (b *Burst) validate() error {
	switch {
	case b.Enter == 0 && b.EnterPerSecond == 0:
		return nil
	case b.Enter > 0 && b.EnterPerSecond > 0:
		return fmt.Errorf("Burst has both Enter and EnterPerSecond; a chain runs per packet or in time")
	case b.Enter > 0 && b.Leave == 0:
		return fmt.Errorf("Burst.Leave is 0, so the first outage would never end")
	case b.Enter == 0 && !(b.EnterPerSecond >= 1e-6 && b.EnterPerSecond <= 1000):
		return fmt.Errorf("Burst.EnterPerSecond is %v, not 0 or in [1e-6, 1000]", b.EnterPerSecond)
	case b.EnterPerSecond > 0 && b.Stay < time.Millisecond:
		return fmt.Errorf("Burst.Stay is %v, not in [1ms, %v]", b.Stay, maxDelay)
	case b.Loss == 0:
		return fmt.Errorf("Burst.Loss is 0, so an outage would lose nothing")
	}
	return nil
}
