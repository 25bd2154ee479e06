// Package raworder declares orders whose data are any bytes, for tests of code that only passes orders on.
package raworder

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"sync"

	"tendon/ecs"
	"tendon/ecs/image"
)

// MaxBytes is the most bytes of an order.
const MaxBytes = 1 + 8*words

const words = (image.MaxOrderBytes - 1) / 8

type data [words]uint64

var declared = sync.OnceValue(func() (list []*ecs.Order[data]) {
	for i := range image.MaxOrderTypes {
		list = append(list, ecs.NewOrder[data]("raw "+strconv.Itoa(i)))
	}
	return list
})

// Orders returns orders that together accept every payload of 1 to MaxBytes bytes without a zero byte at its end, except for
// a single zero byte. The first byte is below image.MaxOrderTypes. run executes them.
func Orders(run func(w *ecs.World, p ecs.Player, target ecs.Entity, payload []byte)) []ecs.AnyOrder {
	return Conditional(run, func(*ecs.World, ecs.Player, ecs.Entity, []byte) string { return "" })
}

// Conditional returns Orders with a condition, as in ecs.OrderRule.If.
func Conditional(run func(w *ecs.World, p ecs.Player, target ecs.Entity, payload []byte), allow func(w *ecs.World, p ecs.Player, target ecs.Entity, payload []byte) string) (list []ecs.AnyOrder) {
	for i, o := range declared() {
		list = append(list, o.Do(func(w *ecs.World, p ecs.Player, target ecs.Entity, v data) {
			run(w, p, target, v.payload(i))
		}).If(func(w *ecs.World, p ecs.Player, target ecs.Entity, v data) string {
			return allow(w, p, target, v.payload(i))
		}))
	}
	return list
}

// payload returns the bytes of an order of type i.
func (d *data) payload(i int) []byte {
	payload := append(make([]byte, 0, MaxBytes), byte(i))
	for _, v := range d {
		payload = binary.LittleEndian.AppendUint64(payload, v)
	}
	return append(payload[:1], bytes.TrimRight(payload[1:], "\x00")...)
}

// Ignored returns Orders without an effect.
func Ignored() []ecs.AnyOrder {
	return Orders(func(*ecs.World, ecs.Player, ecs.Entity, []byte) {})
}

// Bytes returns a payload of n ≥ 1 bytes.
func Bytes(n int) []byte { return bytes.Repeat([]byte{1}, n) }
