package state

import (
	"errors"

	"tendon/net/wire"
)

// Ack says which bodies a client has taken. Numbers of bodies are cut to 16 bits. The zero Ack says: none.
type Ack struct {
	Any     bool   // a body was taken
	Newest  uint16 // the newest that was
	Older   uint32 // bit i: the one i+1 before it, too; those in between that are not will never be
	Lost    bool   // a body could not be used: what is in it is needed whole
	Refused uint16 // the newest such
}

// ErrAck is returned for an Ack of bodies that were never sent, and for bytes that are no Ack.
var ErrAck = errors.New("state: an acknowledgement that no client can mean")

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

// ReadAck is the inverse of Append. A malformed acknowledgement makes r fail.
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
