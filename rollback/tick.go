package rollback

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/cespare/xxhash/v2"

	"tendon/ecs"
	"tendon/ecs/image"
)

// FinalTick is one tick that cannot change any more: everything that entered it, and the checksum of the state after it.
// Sync strategies return final ticks; journals, recordings and histories store them.
type FinalTick struct {
	Tick     ecs.Tick
	Inputs   []ecs.InputBytes // index = Player; missing ones are zero
	Late     image.PlayerSet  // players whose input the server substituted
	Orders   []image.Order    // in stamped order
	Checksum image.Checksum   // of the state after the tick; 0 if unknown
}

// OrderLog holds the orders of recent and coming ticks, in the order in which the server stamped them. Its zero value is
// empty.
type OrderLog struct {
	list []stampedOrder // ascending by tick
}

type stampedOrder struct {
	tick  ecs.Tick
	order image.Order
}

// from returns the position of the first order of a tick ≥ f.
func (l *OrderLog) from(f ecs.Tick) int {
	at, _ := slices.BinarySearchFunc(l.list, f, func(s stampedOrder, f ecs.Tick) int { return cmp.Compare(s.tick, f) })
	return at
}

// Add appends an order to those of tick f. The payload is copied.
func (l *OrderLog) Add(f ecs.Tick, o image.Order) {
	o.Payload = slices.Clone(o.Payload)
	l.list = slices.Insert(l.list, l.from(f+1), stampedOrder{f, o})
}

// AppendAt appends the orders of tick f to dst in stamped order and returns the extended slice. Payloads alias the
// log.
func (l *OrderLog) AppendAt(dst []image.Order, f ecs.Tick) []image.Order {
	if n := len(l.list); n == 0 || l.list[n-1].tick < f {
		return dst // most ticks have none
	}
	for i := l.from(f); i < len(l.list) && l.list[i].tick == f; i++ {
		dst = append(dst, l.list[i].order)
	}
	return dst
}

// AppendAfter appends the orders of ticks > f to dst, by tick and in stamped order, and returns the extended slice. Payloads
// alias the log.
func (l *OrderLog) AppendAfter(dst []image.Order, f ecs.Tick) []image.Order {
	for i := range l.list {
		if s := &l.list[i]; s.tick > f {
			dst = append(dst, s.order)
		}
	}
	return dst
}

// DropBefore removes the orders of ticks < f.
func (l *OrderLog) DropBefore(f ecs.Tick) {
	if len(l.list) > 0 && l.list[0].tick < f {
		l.list = slices.Delete(l.list, 0, l.from(f))
	}
}

// DigestOrders returns a digest of a tick's orders and their sequence, by which two peers compare them. It is 0 for no
// orders.
func DigestOrders(orders []image.Order) uint32 {
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
	return uint32(sum^sum>>32) | 1 // never 0, which stands for no orders
}

// inputLog holds the inputs of recent ticks, index = player.
type inputLog struct{ Ring[[]ecs.InputBytes] }

// newInputLog returns a log for the last depth ticks (rounded up to a power of two) of this many players.
func newInputLog(players, depth int) inputLog {
	l := inputLog{NewRing[[]ecs.InputBytes](depth)}
	inputs := make([]ecs.InputBytes, l.Depth()*players)
	for i := range l.slots {
		from, to := i*players, (i+1)*players
		l.slots[i].value = inputs[from:to:to]
	}
	return l
}

// row returns the inputs of tick f. The slice aliases the log and may be written. A tick that was not in the log replaces
// the one Depth ticks older, and its inputs are zero.
func (l *inputLog) row(f ecs.Tick) []ecs.InputBytes {
	row, held := l.Slot(f)
	if !held {
		clear(*row)
	}
	return *row
}
