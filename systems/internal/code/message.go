package code

import (
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/wire"
	"tendon/systems"
)

// Messages that several strategies send on the reliable channel. Each strategy numbers its kinds of messages itself, so
// the kind, which is the first byte, is an argument.

// AppendRequest writes a player's wish for an order.
func AppendRequest(dst []byte, kind uint8, target ecs.Entity, payload []byte) []byte {
	w := wire.NewWriter(dst, systems.MaxReliable)
	w.U8(kind)
	AppendAction(&w, target, payload)
	return w.Bytes()
}

// ReadRequest is the inverse of AppendRequest; the payload aliases the message.
func ReadRequest(message []byte, kind uint8) (target ecs.Entity, payload []byte, ok bool) {
	r := wire.NewReader(message)
	said := r.U8()
	target, payload = ReadAction(&r)
	if r.Close() != nil || said != kind {
		return ecs.Entity{}, nil, false
	}
	return target, payload, true
}

// AppendEvents writes the events of a tick, as World.AppendEvents wrote them; what is too long for a message is left out
// as a whole.
func AppendEvents(dst []byte, kind uint8, events []byte) []byte {
	w := wire.NewWriter(dst, systems.MaxReliable)
	w.U8(kind)
	w.Raw(events)
	if w.Err() != nil {
		return dst
	}
	return w.Bytes()
}

// ReadEvents appends to dst what AppendEvents wrote, at least one event; their values alias the message.
func ReadEvents(dst []image.EmittedEvent, message []byte, kind uint8, schema *image.Schema) (list []image.EmittedEvent, ok bool) {
	if len(message) < 2 || message[0] != kind {
		return dst, false
	}
	list, err := schema.ReadEvents(dst, message[1:])
	if err != nil {
		return dst, false
	}
	return list, true
}
