package reckon

import (
	"tendon/ecs"
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
