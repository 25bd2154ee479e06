package lockstep

import (
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/systems/internal/code"
)

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
