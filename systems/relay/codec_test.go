package relay

import (
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/systems/internal/code"
)

func appendRequest(dst []byte, target ecs.Entity, payload []byte) []byte {
	return code.AppendRequest(dst, kindOrder, target, payload)
}

func readRequest(message []byte) (target ecs.Entity, payload []byte, err error) {
	target, payload, ok := code.ReadRequest(message, kindOrder)
	if !ok {
		err = ErrMessage
	}
	return target, payload, err
}

// hashMessage is a checksum that a client sends.
type hashMessage struct {
	tick ecs.Tick
	sum  image.Checksum
}

func (m *hashMessage) append(dst []byte) []byte {
	return code.AppendChecksum(dst, kindHash, m.tick, m.sum)
}

func (m *hashMessage) read(message []byte) (err error) {
	var ok bool
	if m.tick, m.sum, ok = code.ReadChecksum(message, kindHash); !ok {
		err = ErrMessage
	}
	return err
}
