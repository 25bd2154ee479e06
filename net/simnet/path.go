package simnet

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"
)

// Time is a point in virtual time: nanoseconds since the network was made, or since the zero of a node's clock.
type Time = time.Duration

// Limits of a Path. They keep every loop and every sum of times bounded.
const (
	maxDelay       = time.Minute
	maxBandwidth   = 1 << 30 // bytes per second
	maxQueueBytes  = 1 << 30
	maxTraceDelays = 1 << 20

	defaultQueueBytes = 64 << 10 // about that of a home router
)

// Path describes one direction of a link. The zero Path delivers every packet at once. A packet first queues for the
// bandwidth. Then it may be lost. It travels for max(0, delay + jitter), and an extra delay or a duplicate may be added.
type Path struct {
	Delay        time.Duration // one-way base delay, [0, 1 min]
	Walk         Walk          // when its Max is set, replaces Delay by a delay that wanders
	Jitter       Jitter        // added to the base delay of each packet
	Loss         float64       // chance of each packet to be lost, [0, 1]
	Burst        Burst         // outages on top of Loss
	Duplicate    float64       // chance of each packet to arrive twice, the twin with a jitter of its own, [0, 1]
	Reorder      float64       // chance of each packet to be late by ReorderDelay, so that those behind it overtake, [0, 1]
	ReorderDelay time.Duration // [0, 1 min]
	Corrupt      float64       // chance of each copy of a packet to arrive with a flipped bit, [0, 1]
	MTU          int           // largest packet, in bytes, headers included, [68, 65535]; larger ones are dropped. Zero: unlimited
	Bandwidth    int           // in bytes per second, headers included; zero: unlimited
	QueueBytes   int           // how much may wait for the bandwidth; the rest is dropped. Zero: 64 KiB
	Cross        Cross         // traffic of others through the Bandwidth
	Line         string        // all paths of a network with the same Line share one Bandwidth, queue and Cross: those of the newest
	Ordered      bool          // releases packets in the order in which they were sent: a late one holds up those behind it
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
	Kind  JitterKind
	Size  time.Duration   // the half-width, mean or standard deviation, [0, 1 min]
	Trace []time.Duration // recorded delays, one a packet, each in [0, 1 min]. It is only read. See ReadTrace
}

// Burst is the Gilbert–Elliott model in time: a path is good or bad, and while bad it loses packets with the chance Loss.
// It does not depend on the traffic.
type Burst struct {
	EnterPerSecond float64       // mean outages per second of good time, 0 or [1e-6, 1000]
	Stay           time.Duration // mean length of an outage, [1 ms, 1 min] if EnterPerSecond is set
	Loss           float64       // chance of a packet to be lost while bad, (0, 1] if EnterPerSecond is set
}

// Walk is a base delay that wanders between Min and Max: each second it moves evenly to a new value at most StepPerSecond
// away. Both directions of a link walk in step if they have the same Walk.
type Walk struct {
	Min, Max      time.Duration // [0, 1 min], Max zero: no walk
	StepPerSecond time.Duration // largest change in a second, (0, Max − Min]
}

// Profile is a link: what happens on the way up (client to server) and on the way down.
type Profile struct {
	Name  string // "P5"
	Title string // "bad"
	Up    Path
	Down  Path
}

// Validate returns an error that names a field of the profile that is out of its range. Connect, Route and NewProxy call it.
func (p *Profile) Validate() error {
	for _, way := range []struct {
		name string
		path *Path
	}{{"Up", &p.Up}, {"Down", &p.Down}} {
		if err := way.path.validate(); err != nil {
			return fmt.Errorf("simnet: profile %q: %s.%w", p.Name, way.name, err)
		}
	}
	return nil
}

func (p *Path) validate() error {
	err := cmp.Or(
		within("Loss", p.Loss, 0, 1),
		within("Duplicate", p.Duplicate, 0, 1),
		within("Reorder", p.Reorder, 0, 1),
		within("Bandwidth", p.Bandwidth, 0, maxBandwidth),
		within("QueueBytes", p.QueueBytes, 0, maxQueueBytes),
		within("Delay", p.Delay, 0, maxDelay),
		within("ReorderDelay", p.ReorderDelay, 0, maxDelay),
		within("Jitter.Kind", p.Jitter.Kind, 0, Trace),
		within("Jitter.Size", p.Jitter.Size, 0, maxDelay),
		within("Walk.Max", p.Walk.Max, 0, maxDelay),
		within("Corrupt", p.Corrupt, 0, 1),
	)
	if p.MTU != 0 {
		err = cmp.Or(err, within("MTU", p.MTU, 68, 65535)) // 68: the least of IPv4, RFC 791
	}
	if p.Line != "" || p.Cross.Bandwidth != 0 {
		err = cmp.Or(err, within("Bandwidth", p.Bandwidth, 1, maxBandwidth)) // of the line that is shared
	}
	if p.Cross != (Cross{}) {
		err = cmp.Or(err,
			within("Cross.Bandwidth", p.Cross.Bandwidth, 1, maxBandwidth),
			within("Cross.On", p.Cross.On, time.Millisecond, maxDelay),
			within("Cross.Off", p.Cross.Off, 0, maxDelay))
	}
	if p.Burst.EnterPerSecond != 0 {
		err = cmp.Or(err,
			within("Burst.EnterPerSecond", p.Burst.EnterPerSecond, 1e-6, 1000),
			within("Burst.Loss", p.Burst.Loss, math.SmallestNonzeroFloat64, 1),
			within("Burst.Stay", p.Burst.Stay, time.Millisecond, maxDelay))
	}
	if p.Walk.Max != 0 {
		err = cmp.Or(err,
			within("Walk.Min", p.Walk.Min, 0, p.Walk.Max-1),
			within("Walk.StepPerSecond", p.Walk.StepPerSecond, 1, p.Walk.Max-p.Walk.Min))
	}
	if p.Jitter.Kind == Trace {
		err = cmp.Or(err, within("Jitter.Trace length", len(p.Jitter.Trace), 1, maxTraceDelays))
	}
	if i := slices.IndexFunc(p.Jitter.Trace, func(d time.Duration) bool { return d < 0 || d > maxDelay }); i >= 0 {
		err = cmp.Or(err, within(fmt.Sprintf("Jitter.Trace[%d]", i), p.Jitter.Trace[i], 0, maxDelay))
	}
	return err
}

func within[T cmp.Ordered](field string, value, low, high T) error {
	if value >= low && value <= high { // so written that NaN fails
		return nil
	}
	return fmt.Errorf("%s is %v, want [%v, %v]", field, value, low, high)
}
