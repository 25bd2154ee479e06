package image

import (
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"math/bits"
	"math/rand/v2"
)

// Tick counts simulation steps. State(0) is the state after Setup. Tick f ≥ 1 turns State(f−1) into State(f) with the
// inputs of tick f. There is no tick before 0.
type Tick uint64

// Player is a seat in a match, in [0, Game.MaxPlayers).
type Player uint8

// MaxPlayers is the largest value of Game.MaxPlayers: a PlayerSet has 64 bits.
const MaxPlayers = 64

// Owner names the region of rows from which an entity's row is taken. Spawns of one owner never move rows of another, so a
// mispredicted spawn of one player does not change other identities.
type Owner uint8

// OwnedByWorld is the owner of everything that belongs to no player.
const OwnedByWorld Owner = 0

// OwnedBy returns the owner for player p.
func OwnedBy(p Player) Owner { return Owner(p) + 1 }

// Player returns the player of the owner. ok is false for OwnedByWorld.
func (o Owner) Player() (p Player, ok bool) { return Player(o - 1), o != OwnedByWorld }

// regionShift is the number of bits of a row inside an owner's region.
const regionShift = 20

// regionRows is the number of rows in one owner's region.
const regionRows = 1 << regionShift

// Entity is a row and the tick in which the row was taken. The pair is unique in a match: a row freed in a tick is not
// taken again in that tick. The zero Entity is no entity, because row 0 is never taken.
//
// An Entity may be stored in components. Functions find nothing for it after the entity is removed.
type Entity struct {
	Row  uint32
	_    uint32 // keeps Born at the same offset on 32-bit targets
	Born Tick
}

// IsZero reports whether e is the zero Entity, which means none.
func (e Entity) IsZero() bool { return e.Row == 0 }

// Index returns e's row inside its owner's region, in [0, 2^20).
func (e Entity) Index() uint32 { return e.Row % regionRows }

// Owner returns the owner of the region that contains e's row.
func (e Entity) Owner() Owner { return Owner(e.Row >> regionShift) }

// MaxInputBytes bounds the size of a game's input type.
const MaxInputBytes = 32

// InputBytes is one player's input of one tick in its packed form: the bytes of the game's input type with padding zeroed,
// then zeros. It is comparable: a predicted input is checked with ==.
type InputBytes [MaxInputBytes]byte

// OrderKind is the action of an Order.
type OrderKind uint8

// The kinds of orders. Kinds other than OrderGame belong to the engine.
const (
	OrderGame   OrderKind = iota // of a type in Game.Orders: see Schema.ReadOrder
	OrderJoin                    // the player enters the match: Game.Join runs. See AppendCard
	OrderLeave                   // the player leaves the match: Game.Leave runs
	OrderView                    // the moment that the player saw in this tick: see ViewStamp
	OrderMotion                  // position of one of the player's entities at the end of this tick: see Placement
	OrderSwitch                  // the match continues with another sync strategy after this tick: see AppendSwitch. No state changes
	OrderPause                   // the last tick before a pause: the server's clock stops until the match continues. No state changes. See PauseOrder
	OrderResume                  // the match has continued. No state changes. See PauseOrder
	OrderRules                   // another build computes the match, from this tick or the one before. No state changes. See AppendRules
	orderKinds
)

// Valid reports whether k is a kind that this build supports.
func (k OrderKind) Valid() bool { return k < orderKinds }

// Shared reports whether peers that simulate the whole match execute orders of this kind too. Views need history, and
// motions come from clients with authority: servers and replays execute them, other peers do not.
func (k OrderKind) Shared() bool { return k.Valid() && k != OrderView && k != OrderMotion }

// MaxOrderBytes bounds the payload of an order.
const MaxOrderBytes = 1024

// MaxResultBytes bounds the result of a match, which Game.Result returns.
const MaxResultBytes = 256

// Verdict is the result of a match and how it was decided: the part of a systems.Decision that clients receive.
type Verdict struct {
	Tick   Tick
	Result []byte // as Game.Result returned it
	// How is "server" if the server computed the match, "majority" if the players voted, "replay" if the votes differed and the
	// server replayed the match. It is "audit" if the server replayed although the votes agreed. It is "disputed" if some
	// votes differed and the server did not replay.
	How                          string
	Registered, Voted, Dissented PlayerSet // in the match at its end; sent a result; sent another result than Result
}

// Order is a rare, reliable action that the server stamped into a tick. Orders are never predicted. All peers execute the
// orders of a tick in the same sequence, before the tick's systems.
type Order struct {
	Kind    OrderKind
	Player  Player
	Entity  Entity // the entity that it addresses, or zero
	Payload []byte // at most MaxOrderBytes, not for OrderLeave
	// Number is the giver's number of a game order, which a refusal names. Only the server that received the order from the
	// giver has it. It is not part of a record or of a message to clients. 0: not known.
	Number uint64
}

// PauseOrder returns an order of kind OrderPause or OrderResume that a player requested. Its payload is the byte 1. The payload
// of an order without a player is empty: the operator requested it, or the server ended a pause at its longest time.
func PauseOrder(kind OrderKind, p Player) Order {
	return Order{Kind: kind, Player: p, Payload: []byte{1}}
}

// OfServer reports whether the order is of the server or its operator. Player has no meaning then.
func (o *Order) OfServer() bool {
	return o.Kind == OrderSwitch || o.Kind == OrderRules || (o.Kind == OrderPause || o.Kind == OrderResume) && len(o.Payload) == 0
}

// AppendSwitch appends the payload of an order of kind OrderSwitch: the length of the strategy's name as one byte, the name,
// and the strategy's parameters. The name has at most 255 bytes.
func AppendSwitch(dst []byte, strategy string, params []byte) []byte {
	return append(append(append(dst, byte(len(strategy))), strategy...), params...)
}

// Strategy returns the strategy that an order of kind OrderSwitch chooses. ok is false for other orders, and if AppendSwitch has not
// written the payload.
func (o *Order) Strategy() (name string, ok bool) {
	b := o.Payload
	if o.Kind != OrderSwitch || len(b) == 0 || len(b) <= int(b[0]) || b[0] == 0 {
		return "", false
	}
	return string(b[1 : 1+int(b[0])]), true
}

// AppendRules appends the payload of an order of kind OrderRules. It has the fingerprints of the game before and after the
// change, 8 bytes each, lowest first. The name of the build that computed the ticks before follows, cut to fit an order.
func AppendRules(dst []byte, before, after uint64, build string) []byte {
	dst = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(dst, before), after)
	return append(dst, build[:min(len(build), MaxOrderBytes-16)]...)
}

// ParseRules returns the parts of the payload of an order of kind OrderRules. ok is false if AppendRules has not written it.
func ParseRules(payload []byte) (before, after uint64, build string, ok bool) {
	if len(payload) < 16 {
		return 0, 0, "", false
	}
	return binary.LittleEndian.Uint64(payload), binary.LittleEndian.Uint64(payload[8:]), string(payload[16:]), true
}

// TickInputs is everything that enters a world in one tick.
type TickInputs struct {
	Players []InputBytes // index = Player; missing inputs are zero
	Orders  []Order
}

// PlayerSet is a set of players.
type PlayerSet uint64

// Has reports whether p is in the set.
func (s PlayerSet) Has(p Player) bool { return s&(1<<p) != 0 }

// With returns the set with p in it.
func (s PlayerSet) With(p Player) PlayerSet { return s | 1<<p }

// Without returns the set without p.
func (s PlayerSet) Without(p Player) PlayerSet { return s &^ (1 << p) }

// Len returns the number of players in the set.
func (s PlayerSet) Len() int { return bits.OnesCount64(uint64(s)) }

// All returns the players of the set, ascending.
func (s PlayerSet) All() iter.Seq[Player] {
	return func(yield func(Player) bool) {
		for rest := uint64(s); rest != 0; rest &= rest - 1 {
			if !yield(Player(bits.TrailingZeros64(rest))) {
				return
			}
		}
	}
}

// Rand is a random source. A world's source is part of its state, so a resimulated tick draws the same numbers. The
// generator is PCG-DXSM of math/rand/v2.
type Rand struct{ pcg rand.PCG }

// NewRand returns a source of its own, for bots and tools, which must not draw from a world's.
func NewRand(seed uint64) *Rand {
	r := &Rand{}
	r.pcg.Seed(seed, mix(seed+1))
	return r
}

// Uint64 returns a number uniform in [0, 2^64).
func (r *Rand) Uint64() uint64 { return r.pcg.Uint64() }

// IntN returns a number uniform in [0, n). It panics if n ≤ 0.
func (r *Rand) IntN(n int) int {
	if n <= 0 {
		panic("ecs: Rand.IntN wants n ≥ 1: pass the number of choices")
	}
	return int(r.below(uint64(n)))
}

// below returns a number uniform in [0, bound). It rejects the few draws that would be biased (Lemire, "Fast Random Integer
// Generation in an Interval", 2019).
func (r *Rand) below(bound uint64) uint64 {
	hi, lo := bits.Mul64(r.Uint64(), bound)
	if lo < bound {
		for threshold := -bound % bound; lo < threshold; {
			hi, lo = bits.Mul64(r.Uint64(), bound)
		}
	}
	return hi
}

// Chance reports true with probability of/in.
func (r *Rand) Chance(of, in int) bool { return r.IntN(in) < of }

// Weighted returns the index of one of the weights. The probability of an index is its weight divided by the sum of all. It panics if
// a weight is negative or above 2^31-1, or if all are 0.
func (r *Rand) Weighted(weights ...int) int {
	sum := uint64(0)
	for _, weight := range weights {
		if weight < 0 || weight > math.MaxInt32 {
			panic(fmt.Sprintf("ecs: Rand.Weighted has a weight of %d, want [0, 2^31)", weight))
		}
		sum += uint64(weight)
	}
	if sum == 0 {
		panic("ecs: Rand.Weighted wants a weight above 0: give one of the choices a weight")
	}
	rest, i := r.below(sum), 0
	for ; rest >= uint64(weights[i]); i++ {
		rest -= uint64(weights[i])
	}
	return i
}

// Shuffle brings n elements into a random order; every order is equally likely. swap exchanges the elements i and j. It is the
// algorithm of R. A. Fisher and F. Yates in the form of R. Durstenfeld, 1964. It panics if n < 0.
func (r *Rand) Shuffle(n int, swap func(i, j int)) {
	if n < 0 {
		panic("ecs: Rand.Shuffle wants n ≥ 0: pass the number of elements")
	}
	for i := n - 1; i > 0; i-- {
		swap(i, r.IntN(i+1))
	}
}
