package code

import (
	"errors"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/wire"
	"tendon/systems"
)

// Messages that several strategies send on the reliable channel. Each strategy numbers its kinds of messages itself, so
// the kind, which is the first byte, is an argument.

// errRow is an entity whose row is no uint32.
var errRow = errors.New("code: a row that is too large")

// AppendAction writes the target and the payload of an order: uvarints of row and birth tick, then the payload behind its
// length.
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

// ValidOrder reports whether the server of a game may stamp an order, by the fields of the order alone. It does not check the type of
// an order of the game.
func ValidOrder(o *image.Order, g *ecs.Game) bool {
	if !o.Kind.Shared() || int(o.Player) >= g.MaxPlayers {
		return false
	}
	switch o.Kind {
	case image.OrderJoin:
		card, ok := image.ParseCard(o.Payload)
		return ok && o.Entity.IsZero() && wire.Clip(card.Name, image.MaxCardName) == card.Name
	case image.OrderLeave:
		return len(o.Payload) == 0 && o.Entity.IsZero()
	}
	return true
}

// AppendRequest writes a player's request for an order: kind (1 byte), the number that a refusal names (uvarint), the action.
func AppendRequest(dst []byte, kind uint8, number uint64, target ecs.Entity, payload []byte) []byte {
	w := wire.NewWriter(dst, systems.MaxReliable)
	w.U8(kind)
	w.Uvarint(number)
	AppendAction(&w, target, payload)
	return w.Bytes()
}

// ReadRequest is the inverse of AppendRequest; the payload aliases the message.
func ReadRequest(message []byte, kind uint8) (number uint64, target ecs.Entity, payload []byte, ok bool) {
	r := wire.NewReader(message)
	got := r.U8()
	number = r.Uvarint()
	target, payload = ReadAction(&r)
	return number, target, payload, r.Close() == nil && got == kind && number > 0
}

// AppendChecksum writes the checksum of a client's state of a tick: kind (1 byte), tick (uvarint), checksum (8 bytes).
func AppendChecksum(dst []byte, kind uint8, f ecs.Tick, sum image.Checksum) []byte {
	w := wire.NewWriter(dst, systems.MaxReliable)
	w.U8(kind)
	w.Uvarint(uint64(f))
	w.U64(uint64(sum))
	return w.Bytes()
}

// ReadChecksum is the inverse of AppendChecksum.
func ReadChecksum(message []byte, kind uint8) (f ecs.Tick, sum image.Checksum, ok bool) {
	r := wire.NewReader(message)
	got := r.U8()
	f, sum = ecs.Tick(r.Uvarint()), image.Checksum(r.U64())
	return f, sum, r.Close() == nil && got == kind
}

// AppendEvents writes the events of a tick, as World.AppendEvents wrote them, or nothing if they are too long for a message.
func AppendEvents(dst []byte, kind uint8, events []byte) []byte {
	w := wire.NewWriter(dst, systems.MaxReliable)
	w.U8(kind)
	w.Raw(events)
	if w.Err() != nil {
		return dst
	}
	return w.Bytes()
}

// ReadEvents appends the events that AppendEvents wrote to dst, at least one; their values alias the message.
func ReadEvents(dst []image.EmittedEvent, message []byte, kind uint8, schema *image.Schema) (list []image.EmittedEvent, ok bool) {
	if len(message) < 2 || message[0] != kind {
		return dst, false
	}
	list, err := schema.ReadEvents(dst, message[1:])
	return list, err == nil
}
