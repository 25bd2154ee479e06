package authority

import (
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/systems"
	"tendon/systems/internal/code"
)

// Resync is whether a peer needs an image. It changes from InSync to Needed to Reported, and back to InSync when the peer
// is opened again.
type Resync uint8

// The states of a Resync.
const (
	InSync   Resync = iota
	Needed          // the peer's state differs, it asked for an image, or it is too far behind
	Reported        // the room was informed
)

// Request makes a peer that is in sync need an image.
func (r *Resync) Request() {
	if *r == InSync {
		*r = Needed
	}
}

// Report reports whether the room must be informed now. It returns true once for each request.
func (r *Resync) Report() bool {
	if *r != Needed {
		return false
	}
	*r = Reported
	return true
}

// ClaimedChecksum returns the checksum of State(f) that a message of a peer claims, of a kind that code.AppendChecksum wrote.
// Checksums are exchanged every so many ticks. ok is false if the claim does not count: the message is malformed, which is an
// error, or a resync has replaced or will replace the state.
func (s *Server[C, P]) ClaimedChecksum(m systems.Message, every ecs.Tick) (f ecs.Tick, sum image.Checksum, ok bool, err error) {
	p := &s.Peers[m.From]
	if f, sum, ok = code.ReadChecksum(m.Body, m.Body[0]); !ok {
		return f, sum, false, s.config.Malformed
	}
	return f, sum, f > p.Opened && f <= s.done && f%every == 0 && p.Resync == InSync, nil
}

// Compare compares the checksum of State(f) that a peer claims with the server's, and reports whether they differ. If so,
// the peer needs an image.
func (p *Peer[P]) Compare(f ecs.Tick, own, claim image.Checksum) (differs bool) {
	p.Stats.Checked++
	if claim == own {
		return false
	}
	p.Stats.Desyncs++
	p.Stats.Differed, p.Stats.Claim = f, claim
	p.Resync.Request()
	return true
}
