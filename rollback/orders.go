package rollback

import (
	"encoding/binary"
	"slices"

	"github.com/cespare/xxhash/v2"

	"tendon/ecs"
	"tendon/ecs/image"
)

// OrderLog holds the orders that were stamped into recent and coming ticks, in stamped order. Orders are rare: the
// log is a short list, ascending by tick.
type OrderLog struct {
	list []stampedOrder
}

type stampedOrder struct {
	tick  ecs.Tick
	order image.Order
}

// Add appends an order to those of tick f. The payload is copied.
func (l *OrderLog) Add(f ecs.Tick, o image.Order) {
	o.Payload = slices.Clone(o.Payload)
	at, _ := slices.BinarySearchFunc(l.list, f+1, func(s stampedOrder, f ecs.Tick) int {
		if s.tick < f {
			return -1
		}
		return 1
	})
	l.list = slices.Insert(l.list, at, stampedOrder{f, o})
}

// AppendAt appends the orders of tick f to dst in stamped order and returns the extended slice. Payloads alias the
// log.
func (l *OrderLog) AppendAt(dst []image.Order, f ecs.Tick) []image.Order {
	for i := range l.list {
		if s := &l.list[i]; s.tick == f {
			dst = append(dst, s.order)
		} else if s.tick > f {
			break
		}
	}
	return dst
}

// DropBefore forgets the orders of ticks < f.
func (l *OrderLog) DropBefore(f ecs.Tick) {
	n := 0
	for n < len(l.list) && l.list[n].tick < f {
		n++
	}
	l.list = slices.Delete(l.list, 0, n)
}

// Len returns the number of orders in the log.
func (l *OrderLog) Len() int { return len(l.list) }

// OrderDigest is a short proof that two peers hold the same orders of a tick in the same order; it is 0 for none.
type OrderDigest uint32

// DigestOrders returns the digest of a tick's orders.
func DigestOrders(orders []image.Order) OrderDigest {
	if len(orders) == 0 {
		return 0
	}
	var d xxhash.Digest
	d.Reset()
	var head [22]byte
	for _, o := range orders {
		head[0], head[1] = byte(o.Kind), byte(o.Player)
		binary.LittleEndian.PutUint32(head[2:], o.Entity.Row)
		binary.LittleEndian.PutUint64(head[6:], uint64(o.Entity.Born))
		binary.LittleEndian.PutUint64(head[14:], uint64(len(o.Payload)))
		d.Write(head[:])
		d.Write(o.Payload)
	}
	sum := d.Sum64()
	return OrderDigest(sum^sum>>32) | 1 // never 0, which stands for no orders
}

// LookBack returns how many ticks the views among the orders of tick f look back at most, 0 if none counts: what of the
// past the world needs that plays the tick. It is at most image.MaxViewTicks, whatever the orders say.
func LookBack(f ecs.Tick, orders []image.Order) (reach ecs.Tick) {
	for i := range orders {
		if o := &orders[i]; o.Kind == image.OrderView {
			v, ok := image.ParseViewStamp(o.Payload)
			if ok && v.Tick > 0 && v.Tick < f && f-v.Tick <= image.MaxViewTicks {
				reach = max(reach, f-v.Tick)
			}
		}
	}
	return reach
}
