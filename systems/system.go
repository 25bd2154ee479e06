package systems

import (
	"fmt"

	"tendon/ecs"
	"tendon/ecs/image"
)

// Phase is a part of a tick that the systems of a strategy fill. Simulate, the part in between, belongs to the game.
type Phase uint8

// The phases. A server half runs Receive for each message, then Reconcile, Simulate and Present for each tick, then Send
// once. A client half runs Receive for each message, then Reconcile, Simulate and Send once a frame of the display, and
// Present when a view is drawn.
const (
	Receive   Phase = iota // accepts a message from the other side
	Reconcile              // server: chooses what enters the tick; client: advances the clock, samples inputs, computes ticks
	Send                   // writes messages to the other side
	Present                // server: passes the new state to replication and votes; client: updates the view
	phases
)

// String returns the phase's name, as cost tables print it.
func (p Phase) String() string {
	if p >= phases {
		return fmt.Sprintf("phase %d", uint8(p))
	}
	return [phases]string{"receive", "reconcile", "send", "present"}[p]
}

// Message is a message that arrived at a half, with where it came from and when. Body is valid during the call.
type Message struct {
	From    Peer // 0 on a client
	Channel Channel
	Body    []byte
	Now     Time
	Out     Outbox // for an answer that cannot wait for Send; nil on a client
}

// System is one named step of a half, over the half's context C. A half is the list of its systems.
type System[C any] struct {
	// Name is the row of the cost table that the system is accounted in. Required, unique within a phase of a half.
	Name string
	// Phase is when the system runs. Systems of one phase run in the order of the list.
	Phase Phase
	// Run is the step. Required in every phase but Receive.
	Run func(C)
	// Kind is the first byte of the messages that the system accepts, in phase Receive only.
	Kind uint8
	// Reliable refuses messages of that kind that came on another channel than the reliable one.
	Reliable bool
	// Accept takes a message. Required in phase Receive. An error leaves the half unchanged.
	Accept func(C, Message) error
}

// Schedule runs the systems of a half. An observer sees each of them as a section of its own, numbered after the
// systems of the game.
type Schedule[C any] struct {
	observer image.Observer
	phases   [phases][]step[C]
}

type step[C any] struct {
	System[C]
	section image.Section
}

// NewSchedule returns the schedule of a list of systems. The observer may be nil. It panics on a system without a name or a
// function, two of one name in a phase, and two for one kind of message.
func NewSchedule[C any](o image.Observer, g *ecs.Game, list []System[C]) Schedule[C] {
	s := Schedule[C]{observer: o}
	first := image.SectionSystems + image.Section(len(g.Systems))
	for i, system := range list {
		s.check(&system)
		section := first + image.Section(i)
		if o != nil {
			o.Name(section, system.Phase.String(), system.Name)
		}
		s.phases[system.Phase] = append(s.phases[system.Phase], step[C]{system, section})
	}
	return s
}

// check panics on a system that cannot run beside those that the schedule has.
func (s *Schedule[C]) check(system *System[C]) {
	receives := system.Phase == Receive
	if system.Name == "" || system.Phase >= phases || receives != (system.Accept != nil) || receives == (system.Run != nil) {
		panic(fmt.Sprintf("systems: system %q of %v: give it a name, and Accept in phase receive or Run in another", system.Name, system.Phase))
	}
	for i := range s.phases[system.Phase] {
		other := &s.phases[system.Phase][i]
		if other.Name == system.Name || system.Phase == Receive && other.Kind == system.Kind {
			panic(fmt.Sprintf("systems: systems %q and %q of phase %v have one name or accept one kind of message",
				other.Name, system.Name, system.Phase))
		}
	}
}

// Run runs the systems of a phase other than Receive, in the order of the list.
func (s *Schedule[C]) Run(p Phase, c C) {
	for i := range s.phases[p] {
		step := &s.phases[p][i]
		step.section.Enter(s.observer)
		step.System.Run(c)
		step.section.Leave(s.observer)
	}
}

// Receive gives a message to the system that accepts its kind. known is false if there is none for the kind on that
// channel.
func (s *Schedule[C]) Receive(c C, m Message) (known bool, err error) {
	if len(m.Body) == 0 {
		return false, nil
	}
	for i := range s.phases[Receive] {
		step := &s.phases[Receive][i]
		if step.Kind == m.Body[0] && (m.Channel == Reliable || !step.Reliable) {
			step.section.Enter(s.observer)
			err = step.Accept(c, m)
			step.section.Leave(s.observer)
			return true, err
		}
	}
	return false, nil
}
