package relay

import (
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/wire"
	"tendon/systems/internal/code"
	"tendon/systems/internal/inputs"
)

func appendRequest(dst []byte, number uint64, target ecs.Entity, payload []byte) []byte {
	return code.AppendRequest(dst, kindOrder, number, target, payload)
}

func readRequest(message []byte) (number uint64, target ecs.Entity, payload []byte, err error) {
	number, target, payload, ok := code.ReadRequest(message, kindOrder)
	if !ok {
		err = ErrMessage
	}
	return number, target, payload, err
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

// to writes an input message of the player in a seat of s.
func (m *inputMessage) to(s *Server, seat int) []byte {
	before, _ := s.course(m.received, seat)
	return m.append(nil, before, s.Game)
}

// alone writes an input message after ticks without inputs, and readAlone reads it.
func (m *inputMessage) alone(game *ecs.Game) []byte { return m.append(nil, code.Course{}, game) }

func (m *inputMessage) readAlone(message []byte, near ecs.Tick, game *ecs.Game) error {
	r := wire.NewReader(message)
	if err := m.readHead(&r, near); err != nil {
		return err
	}
	return m.readInputs(&r, new(inputs.WindowDecoder), code.Course{}, game)
}
