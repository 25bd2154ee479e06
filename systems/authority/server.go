package authority

import (
	"cmp"
	"fmt"
	"slices"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback"
	"tendon/systems"
	"tendon/systems/internal/inputs"
)

// Server is the part of a server half that strategies share. A strategy embeds it in its own half and calls Init. It
// implements systems.Server, systems.Historian, systems.Monitor and systems.Queuer.
//
// World is in State(Done), unless Hooks.Simulate computes on demand. States holds the states of the last ticks up to Done,
// and Events their events.
type Server[C, P any] struct {
	Sight                        // of the match itself
	Config  systems.ServerConfig // as Init was given it
	Game    *ecs.Game
	Peers   []Peer[P] // by systems.Peer, up to the last one that is open
	Seats   []Seat    // by player; empty without Config.Buffers
	Step    Step
	Grid    inputs.Grid // up to tick Done
	Sending Sending
	Stamped ecs.Tick // of the last order that was stamped

	byteObserver image.ByteObserver // nil unless bytes are accounted
	config       Config[C, P]
	schedule     systems.Schedule[C]
	waiting      []image.Order     // orders of the next ticks
	sights       []*Sight          // by seat + 1; nil if nothing is private
	budgets      []budget          // by player
	refused      []systems.Refusal // not reported yet
	first        ecs.Tick          // oldest tick whose state can be served
	done         ecs.Tick
}

// Step is the tick that runs, or ran last.
type Step struct {
	Due     systems.Time     // 0 for a tick that is adopted
	Adopted bool             // the tick was final before this server was started
	Inputs  []ecs.InputBytes // by player
	Orders  []image.Order
	Late    image.PlayerSet // players whose input is another than they sent
	State   *image.Snapshot // nil where it is not kept
	Before  *image.Snapshot // of the tick before, once FindChanges has run; empty for the first
}

// Sending is what the systems of phase Send use.
type Sending struct {
	Now     systems.Time
	Out     systems.Outbox
	Message []byte // scratch
}

// Init makes the server ready. It fails for a configuration that is not valid, and with Config.Replicates for a game that
// cannot be replicated.
func (s *Server[C, P]) Init(c Config[C, P]) (err error) {
	c = c.withDefaults()
	world := c.Server.World
	switch {
	case world == nil:
		return fmt.Errorf("%s: ServerConfig.World is nil", c.Name)
	case c.Server.Peers < 1:
		return fmt.Errorf("%s: ServerConfig.Peers is %d, want at least 1", c.Name, c.Server.Peers)
	}
	s.Config, s.config, s.Game, s.first, s.done = c.Server, c, world.Game(), world.Tick(), world.Tick()
	s.Peers = make([]Peer[P], c.Server.Peers)
	for id := range s.Peers {
		s.Peers[id].ID = systems.Peer(id)
	}
	s.Peers = s.Peers[:0]
	s.budgets = slices.Repeat([]budget{newBudget(s.Game)}, s.Game.MaxPlayers)
	s.Step.Inputs = make([]ecs.InputBytes, s.Game.MaxPlayers)
	for p := range s.Step.Inputs {
		s.Step.Inputs[p] = world.Image().Input(ecs.Player(p))
	}
	if c.Buffers {
		s.Seats = make([]Seat, s.Game.MaxPlayers)
		s.useInputs()
	}
	s.Grid.Tick = systems.Second / systems.Time(s.Game.TickRate)
	if s.Sight, err = newSight(&c, world); err == nil {
		err = s.makeSights(&c)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", c.Name, err)
	}
	if c.Behind == 0 {
		s.config.Behind = ecs.Tick(s.States.Depth() - 1)
	}
	if c.SaveEvery == 1 {
		s.Step.State = s.States.Save(world)
		s.redact()
	}
	if s.byteObserver = image.ByteObserverOf(c.Server.Observer); s.byteObserver != nil && c.Replicates {
		s.EachSight(func(v *Sight) { v.Changes.Account(s.byteObserver) })
	}
	s.schedule = systems.NewSchedule(c.Server.Observer, s.Game, c.Systems)
	return nil
}

// ByteObserver returns the observer that counts bytes, or nil if bytes are not counted.
func (s *Server[C, P]) ByteObserver() image.ByteObserver { return s.byteObserver }

// CountPart counts bytes of a message that belong to no entity: see image.ByteObserver.
func (s *Server[C, P]) CountPart(column, bytes int) {
	if s.byteObserver != nil {
		s.byteObserver.Part(0, column, uint64(bytes)*image.ByteUnits)
	}
}

// World returns the match, in the state of the last tick.
func (s *Server[C, P]) World() *ecs.World { return s.Config.World }

// Done returns the last final tick.
func (s *Server[C, P]) Done() ecs.Tick { return s.done }

// OldestServable returns the oldest tick whose state a peer may hold when it is opened.
func (s *Server[C, P]) OldestServable() ecs.Tick {
	if s.config.Oldest != nil {
		return s.config.Oldest()
	}
	return s.Recent()
}

// Recent returns the oldest tick whose state can always be served: see Config.Behind.
func (s *Server[C, P]) Recent() ecs.Tick {
	if s.done < s.first+s.config.Behind {
		return s.first
	}
	return s.done - s.config.Behind
}

// Serves reports whether a peer that holds State(f) may be opened: f is in [OldestServable, Done], or its state is kept.
func (s *Server[C, P]) Serves(f ecs.Tick) bool {
	_, kept := s.keptState(f)
	return f <= s.done && (f >= s.OldestServable() || kept)
}

// maxKept is the largest age of a state that Keep keeps, in ticks. Messages have the low 16 bits of a tick.
const maxKept = 30_000

// Keep keeps the states of these ticks, as far as they are in States, and releases those of other ticks. Where not all fit
// ServerConfig.Backlog, it keeps the first ones.
func (s *Server[C, P]) Keep(states []ecs.Tick) {
	if states = states[:s.affordable(states)]; len(states) > 0 && s.Changes != nil {
		s.EachSight(func(v *Sight) { v.Changes.ObserveAll() })
	}
	s.EachSight(func(v *Sight) { v.keep(states, s.done-min(s.done, maxKept)) })
}

// affordable returns how many of the states fit ServerConfig.Backlog, at least one.
func (s *Server[C, P]) affordable(states []ecs.Tick) int {
	bytes := 0
	for i, f := range states {
		size, ok := s.bytesAt(f)
		if !ok || slices.Contains(states[:i], f) {
			continue
		}
		if bytes += size; i > 0 && bytes > cmp.Or(s.Config.Backlog, systems.KeptBytes) {
			return i
		}
	}
	return len(states)
}

// Release releases the states before tick f, except for those of Keep. Peers with a released state are no longer served.
func (s *Server[C, P]) Release(f ecs.Tick) {
	for k := s.Recent(); k < f; k++ {
		s.EachSight(func(v *Sight) { v.States.Release(k) })
	}
	s.first = max(s.first, f)
}

// Fork returns a second world in the state of tick f, with memory of its own: neither world changes the other. Stepped
// with the inputs and orders that ServerConfig.Taken received, it computes the same states. ok is false if the state is not
// kept. In a fork of one of the oldest states, views of players that look back beyond them are ignored.
func (s *Server[C, P]) Fork(f ecs.Tick) (w *ecs.World, ok bool) {
	return s.States.Fork(s.Game, f)
}

// Tick makes the next tick final: the systems of phase Reconcile choose its inputs and orders, and those of phase Present
// take its state.
func (s *Server[C, P]) Tick(due systems.Time) {
	s.Step.Due, s.Step.Adopted, s.Step.Late, s.Step.Orders = due, false, 0, s.Step.Orders[:0]
	s.schedule.Run(systems.Reconcile, s.config.Context)
	if s.config.Buffers {
		s.vacateLeavers()
	}
	s.Grid.Due, s.Grid.Timed = due, true
	s.finish()
}

// Adopt makes the next tick final as it is given. It panics on a tick that does not follow the last. The error is that of
// CheckTick. A tick has an input for every player. A strategy whose messages cannot contain every tick checks it first.
func (s *Server[C, P]) Adopt(t systems.FinalTick) error {
	if t.Tick != s.done+1 {
		panic(fmt.Sprintf("%s: Adopt of tick %d after tick %d: adopt ticks in turn", s.config.Name, t.Tick, s.done))
	}
	if err := s.CheckTick(t); err != nil {
		return err
	}
	s.Step.Due, s.Step.Adopted, s.Step.Late = 0, true, 0
	clear(s.Step.Inputs)
	copy(s.Step.Inputs, t.Inputs)
	s.Step.Orders = append(s.Step.Orders[:0], t.Orders...)
	s.useInputs()
	s.finish()
	return nil
}

// finish computes the tick in Step, passes it to the sinks and runs the systems of phase Present.
func (s *Server[C, P]) finish() {
	if s.config.Simulate != nil {
		s.config.Simulate()
	} else {
		s.simulate()
	}
	s.done++
	s.publish()
	s.schedule.Run(systems.Present, s.config.Context)
}

// simulate computes the tick in Step, and keeps its events and its state.
func (s *Server[C, P]) simulate() {
	world := s.World()
	world.Step(ecs.TickInputs{Players: s.Step.Inputs, Orders: s.Step.Orders})
	for _, r := range world.Refusals() {
		s.Refuse(&s.Step.Orders[r.Order], r.Reason)
	}
	if s.config.Events {
		s.EachSight(func(v *Sight) { v.addEvents(world) })
	}
	s.Step.State = nil
	if s.Config.States || (s.done+1)%s.config.SaveEvery == 0 {
		s.Step.State = s.States.Save(world)
		s.redact()
	}
}

// publish passes the tick in Step to the sinks, and the result of a match that ended in it.
func (s *Server[C, P]) publish() {
	if taken := s.Config.Taken; taken != nil {
		taken(systems.FinalTick{FinalTick: rollback.FinalTick{Tick: s.done, Inputs: s.Step.Inputs, Late: s.Step.Late, Orders: s.Step.Orders}, World: s.World(), State: s.Step.State})
	}
	if !s.config.Votes {
		s.Config.DecideByServer(s.World())
	}
}

// Decide passes the decision on a match to the sinks.
func (s *Server[C, P]) Decide(d systems.Decision) {
	if decided := s.Config.Decided; decided != nil {
		decided(d)
	}
}

// ReadPast passes the ticks of ServerConfig.Past from oldest on to add, each with the inputs of the two ticks before it. It does
// not pass the first two, unless they are ticks 1 and 2. Peers with a state of these ticks can then be opened. ReadPast panics if a
// tick is missing.
func (s *Server[C, P]) ReadPast(oldest ecs.Tick, add func(t *systems.FinalTick, before, earlier []ecs.InputBytes)) {
	if s.Config.Past == nil {
		return
	}
	rows := make([]ecs.InputBytes, 3*s.Game.MaxPlayers)
	inputs, before, earlier := rows[:s.Game.MaxPlayers], rows[s.Game.MaxPlayers:2*s.Game.MaxPlayers], rows[2*s.Game.MaxPlayers:]
	known, last := 0, ecs.Tick(0) // known counts the ticks before, up to 2
	for t := range s.Config.Past {
		if t.Tick < oldest {
			continue
		}
		if known > 0 && t.Tick != last+1 {
			panic(fmt.Sprintf("%s: ServerConfig.Past yields tick %d after tick %d: it must be without a gap", s.config.Name, t.Tick, last))
		}
		last = t.Tick
		clear(inputs)
		copy(inputs, t.Inputs)
		if t.Tick == 1 {
			known, s.first = 2, 0
		}
		if known == 2 {
			t.Inputs = inputs
			add(&t, before, earlier)
		} else {
			known, s.first = known+1, t.Tick
		}
		inputs, before, earlier = earlier, inputs, before
	}
	if known > 0 && last != s.done {
		panic(fmt.Sprintf("%s: ServerConfig.Past ends with tick %d, the world is at tick %d", s.config.Name, last, s.done))
	}
}
