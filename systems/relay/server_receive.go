package relay

import (
	"bytes"

	"tendon/ecs"
	"tendon/net/wire"
	"tendon/systems"
	"tendon/systems/internal/code"
	"tendon/systems/internal/inputs"
	"tendon/systems/vote"
)

// receiveInput accepts the inputs of a player, or the acknowledgement of a spectator.
func (s *Server) receiveInput(m systems.Message) error {
	p, in := &s.Peers[m.From], &s.scratch.input
	if !s.AllowMessage(p) {
		return nil
	}
	r := wire.NewReader(m.Body)
	if in.readHead(&r, p.Acked) != nil || in.received > s.Done() || s.readInputs(p, &r) != nil {
		return ErrMessage
	}
	// The last acknowledgement counts, not the newest tick: one that was sent before an image was loaded may arrive after
	// it. One that was overtaken only makes the next confirmation longer.
	if in.received >= s.OldestServable() {
		if in.received > p.Acked {
			p.Own.moved, p.Own.waits = s.Done(), 0
		}
		p.Acked, p.Stats.Acked = in.received, in.received
	}
	if p.Seat >= 0 {
		s.ReceiveInputs(m, in.received+1, in.inputs)
	}
	return nil
}

// readInputs parses the inputs of an input message. Those of a client that is far behind cannot be decoded. They are too late, and
// readInputs returns as many empty inputs, so that their lateness is measured.
func (s *Server) readInputs(p *peer, r *wire.Reader) error {
	in := &s.scratch.input
	var before code.Course
	if p.Seat >= 0 {
		var ok bool
		if before, ok = s.course(in.received, p.Seat); !ok {
			in.inputs = nil
			if count := int(r.U8()); in.received+recentTicks <= s.Done() && count <= inputs.MaxWindow {
				in.inputs = noInputs[:count]
			}
			if r.Err() != nil {
				return ErrMessage
			}
			return nil
		}
	}
	if in.readInputs(r, &p.Own.decoder, before, s.Game) != nil || p.Seat < 0 && len(in.inputs) > 0 {
		return ErrMessage
	}
	return nil
}

var noInputs [inputs.MaxWindow]ecs.InputBytes

// receiveHash compares a checksum of a peer with the server's.
func (s *Server) receiveHash(m systems.Message) error {
	p := &s.Peers[m.From]
	f, claim, ok, err := s.ClaimedChecksum(m, checkEvery)
	if own, kept := s.checksums.At(f / checkEvery); ok && kept && p.Compare(f, *own, claim) {
		strikes := int(p.Stats.Desyncs) // of a spectator's connection
		if p.Seat >= 0 {
			s.strikes[p.Seat]++
			strikes = s.strikes[p.Seat]
		}
		p.Stats.Expelled = strikes >= vote.MaxStrikes
	}
	return err
}

// receiveOrder accepts an order that a player requests. It is stamped with the next Send.
func (s *Server) receiveOrder(m systems.Message) error {
	o, ok, err := s.Requested(m)
	if ok {
		o.Payload = bytes.Clone(o.Payload)
		s.requested = append(s.requested, o)
	}
	return err
}
