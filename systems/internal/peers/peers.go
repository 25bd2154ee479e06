// Package peers holds what the server's half of every strategy knows of an open connection in the same way: whether it
// needs an image, and what it may still send.
//
// # Tasks
//
//   - find that a peer needs an image, and say so once: [Flaw]
//   - bound what a client that predicts may send: [Budget]
package peers

// Flaw says whether a peer needs an image. It is said once: from Found to Told, and Sound again when the peer is opened
// anew.
type Flaw uint8

// The flaws.
const (
	Sound Flaw = iota
	Found      // its state differs, it says so itself, or it is too far behind
	Told       // the room knows; nothing more is said until the peer is opened anew
)

// Fault notes that the peer needs an image.
func (f *Flaw) Fault() {
	if *f == Sound {
		*f = Found
	}
}

// Tell reports whether the room is to be told now.
func (f *Flaw) Tell() bool {
	if *f != Found {
		return false
	}
	*f = Told
	return true
}

// Budget is what a client may still send that runs ahead of the server. It sends at most one message of inputs a tick, at
// up to 1.1 times the pace, and a few others; what a hitch held up comes at once.
type Budget struct {
	Messages int
	Orders   int // in 1/TickRate
}

// The bounds of a Budget.
const (
	messagesPerTick = 2
	MaxMessages     = 256 // that may come at once
	OrdersPerSecond = 10
)

// NewBudget returns a full budget.
func NewBudget(ticksPerSecond int) Budget {
	return Budget{Messages: MaxMessages, Orders: OrdersPerSecond * ticksPerSecond}
}

// Message reports whether the peer may send one more message, and counts it.
func (b *Budget) Message() bool {
	if b.Messages == 0 {
		return false
	}
	b.Messages--
	return true
}

// Order reports whether the player may give one more order, and counts it.
func (b *Budget) Order(ticksPerSecond int) bool {
	if b.Orders < ticksPerSecond {
		return false
	}
	b.Orders -= ticksPerSecond
	return true
}

// Refill adds one tick's worth.
func (b *Budget) Refill(ticksPerSecond int) {
	b.Messages = min(b.Messages+messagesPerTick, MaxMessages)
	b.Orders = min(b.Orders+OrdersPerSecond, OrdersPerSecond*ticksPerSecond)
}
