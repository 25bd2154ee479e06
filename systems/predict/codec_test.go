package predict

import (
	"tendon/ecs"
	"tendon/systems/internal/code"
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
