package relay

import (
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/wire"
	"tendon/systems"
	"tendon/systems/internal/code"
)

// stampedOrder is an order in its tick. number counts the orders of the tick, from 0: with the tick it names the
// order, so that one which is sent again is known.
type stampedOrder struct {
	tick   ecs.Tick
	number int
	order  image.Order
}

// maxOrdersPerTick bounds the orders of one tick; the server stamps what is beyond into the next.
const maxOrdersPerTick = 255

func (s *stampedOrder) append(dst []byte) []byte {
	w := wire.NewWriter(dst, systems.MaxReliable)
	w.U8(kindStamped)
	w.Uvarint(uint64(s.tick))
	w.U8(uint8(s.number))
	w.U8(uint8(s.order.Kind))
	w.U8(uint8(s.order.Player))
	code.AppendAction(&w, s.order.Entity, s.order.Payload)
	return w.Bytes()
}

// read parses a stamped order; its payload aliases the message.
func (s *stampedOrder) read(message []byte, game *ecs.Game) error {
	r := wire.NewReader(message)
	kind := r.U8()
	s.tick, s.number = ecs.Tick(r.Uvarint()), int(r.U8())
	s.order.Kind, s.order.Player = image.OrderKind(r.U8()), ecs.Player(r.U8())
	s.order.Entity, s.order.Payload = code.ReadAction(&r)
	if r.Close() != nil || kind != kindStamped || s.tick == 0 || s.number >= maxOrdersPerTick ||
		!s.order.Kind.Shared() || int(s.order.Player) >= game.MaxPlayers {
		return ErrMessage
	}
	return nil
}

// mostRepeated bounds the orders that are sent a peer again at once.
const mostRepeated = 4

// repeatOrders sends the orders of the tick that a peer confirms next again, as datagrams, four times a second. All that
// follows waits for them, and the reliable channel repeats a lost message that nothing follows only after several round
// trips.
func (s *Server) repeatOrders(p *peer) {
	if s.Done()%max(1, ecs.Tick(s.Game.TickRate/4)) != 0 {
		return
	}
	f := p.Acked + 1
	s.scratch.orders = s.orders.AppendAt(s.scratch.orders[:0], f)
	for i, o := range s.scratch.orders[:min(len(s.scratch.orders), mostRepeated)] {
		message := stampedOrder{tick: f, number: i, order: o}
		if s.Sending.Message = message.append(s.Sending.Message[:0]); len(s.Sending.Message) <= systems.MaxDatagram {
			s.Sending.Out.Send(p.ID, systems.Datagram, s.Sending.Message)
		}
	}
}
