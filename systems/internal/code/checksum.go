package code

import (
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/wire"
	"tendon/systems"
)

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
