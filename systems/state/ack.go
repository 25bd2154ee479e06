package state

import (
	"errors"

	"tendon/net/wire"
)

// Ack acknowledges the deltas that a client has accepted. Sequence numbers are cut to 16 bits. The zero Ack acknowledges
// none.
type Ack struct {
	Any     bool   // a delta was accepted
	Newest  uint16 // the newest accepted one
	Older   uint32 // bit i: the delta i+1 before Newest was accepted, too; others in between never will be
	Lost    bool   // a delta was refused: its items must be sent whole
	Refused uint16 // the newest refused one
}

// ErrAck is returned for an Ack of deltas that were never sent, and for malformed bytes.
var ErrAck = errors.New("state: invalid acknowledgement")

const (
	ackAny  = 1
	ackLost = 2
)

// Append writes the acknowledgement: 1 to 9 bytes.
func (a Ack) Append(w *wire.Writer) {
	flags := uint8(0)
	if a.Any {
		flags |= ackAny
	}
	if a.Lost {
		flags |= ackLost
	}
	w.U8(flags)
	if a.Any {
		w.U16(a.Newest)
		w.U32(a.Older)
	}
	if a.Lost {
		w.U16(a.Refused)
	}
}

// ReadAck is the inverse of Append. r fails for malformed bytes.
func ReadAck(r *wire.Reader) (a Ack) {
	flags := r.U8()
	if flags > ackAny|ackLost {
		r.Fail(ErrAck)
	}
	if a.Any = flags&ackAny != 0; a.Any {
		a.Newest, a.Older = r.U16(), r.U32()
	}
	if a.Lost = flags&ackLost != 0; a.Lost {
		a.Refused = r.U16()
	}
	if r.Err() != nil {
		return Ack{}
	}
	return a
}
