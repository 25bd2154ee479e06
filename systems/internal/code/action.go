package code

import (
	"errors"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/wire"
)

// errRow is an entity whose row is no uint32.
var errRow = errors.New("code: a row that is too large")

// AppendAction writes what an order is addressed to and what it says: uvarints of row and birth tick, then the payload
// behind its length.
func AppendAction(w *wire.Writer, target ecs.Entity, payload []byte) {
	w.Uvarint(uint64(target.Row))
	w.Uvarint(uint64(target.Born))
	w.Blob(payload)
}

// ReadAction is the inverse of AppendAction; the payload, at most image.MaxOrderBytes, aliases the message. A
// malformed action makes r fail.
func ReadAction(r *wire.Reader) (target ecs.Entity, payload []byte) {
	row, born := r.Uvarint(), r.Uvarint()
	if row > 1<<32-1 {
		r.Fail(errRow)
	}
	return ecs.Entity{Row: uint32(row), Born: ecs.Tick(born)}, r.Blob(image.MaxOrderBytes)
}
