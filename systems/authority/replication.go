package authority

import (
	"tendon/ecs/image"
	"tendon/systems/state"
)

// FindChanges finds what the running tick changed: see Changed. All of replication, interest management and motion records
// use the result. It is the first system of phase Present.
func (s *Server[C, P]) FindChanges() {
	before, ok := s.States.At(s.done - 1)
	if !ok {
		before = &image.Snapshot{}
	}
	s.Step.Before = before
	s.Changed.Find(before, s.Step.State)
	for _, v := range s.sights {
		now, _ := v.States.At(s.done)
		if before, ok = v.States.At(s.done - 1); !ok {
			before = &image.Snapshot{}
		}
		v.Changed.Find(before, now)
	}
}

// Replicate passes what the running tick changed to Changes. It is a system of phase Present.
func (s *Server[C, P]) Replicate() {
	s.EachSight(func(v *Sight) {
		now, _ := v.States.At(s.done)
		v.Changes.Observe(now, &v.Changed)
	})
}

// FilterEvents selects for each peer the events of the running tick that pass its filter. It is a system of phase Present,
// after the one that updates interest.
func (s *Server[C, P]) FilterEvents() {
	for i := range s.Peers {
		if p := &s.Peers[i]; p.Open {
			p.Events.add(s.done, p.Sight.happened)
		}
	}
}

// openReplication starts replication for a peer that holds State(p.Opened).
func (s *Server[C, P]) openReplication(p *Peer[P], sight *Sight) {
	if p.Sender == nil || p.Sight != sight {
		p.Sender = state.NewSender(sight.Changes)
	}
	held, _ := sight.StateAt(p.Opened)
	p.Sender.Open(p.Seat, held)
	filter := (func(*image.EmittedEvent) bool)(nil)
	if s.config.Filter != nil {
		filter = s.config.Filter(p)
	}
	p.Events.open(p.Opened, s.done, filter)
}

// SendEvents sends each peer the events that it was not sent yet, as reliable messages of a kind. They are sent to a peer
// that waits for an image, too: events are not in it.
func (s *Server[C, P]) SendEvents(kind uint8) {
	s.Serve(func(_ C, p *Peer[P]) {
		s.CountPart(image.PartEvents, p.Events.send(p.ID, &p.Sight.Events, s.done, kind, &s.Sending.Message, s.Sending.Out))
	})
}

// RequestImage starts a resync of a peer that asked for an image. It does nothing while one is under way.
func (p *Peer[P]) RequestImage() {
	if p.Resync == InSync {
		p.Stats.Desyncs++
		p.Resync.Request()
	}
}
