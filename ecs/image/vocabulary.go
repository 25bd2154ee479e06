package image

import (
	"iter"
	"math/bits"
)

// Tick counts simulation steps. State(0) is the state after Setup; tick f ≥ 1 turns State(f−1) into State(f)
// with the inputs of tick f. There is no tick before 0.
type Tick uint64

// Player is a seat in a match, in [0, Game.MaxPlayers).
type Player uint8

// MaxPlayers is the largest value of Game.MaxPlayers: players are kept in one 64-bit set.
const MaxPlayers = 64

// Owner names the region of row space that an entity's row is taken from. One owner's spawns never move another
// owner's rows, so a mispredicted shot of one player leaves every other identity alone.
type Owner uint8

// OwnedByWorld is the owner of everything that belongs to no player.
const OwnedByWorld Owner = 0

// OwnedBy returns the owner that stands for player p.
func OwnedBy(p Player) Owner { return Owner(p) + 1 }

// Player returns the player that o stands for; ok is false for OwnedByWorld.
func (o Owner) Player() (p Player, ok bool) { return Player(o - 1), o != OwnedByWorld }

// regionShift is the number of bits of a row that count inside an owner's region.
const regionShift = 20

// regionRows is the number of rows in one owner's region.
const regionRows = 1 << regionShift

// Entity is a row and the tick in which the row was taken. The pair is unique in a match: a row freed in a tick is
// not taken again in that tick. The zero Entity is no entity, since row 0 is never taken.
//
// An Entity may be stored in components; it resolves to nothing once the entity is gone.
type Entity struct {
	Row  uint32
	_    uint32 // keeps Born at the same offset on 32-bit targets
	Born Tick
}

// IsZero reports whether e is the zero Entity, which stands for none.
func (e Entity) IsZero() bool { return e.Row == 0 }

// Index returns e's row inside its owner's region, in [0, 2^20).
func (e Entity) Index() uint32 { return e.Row % regionRows }

// Owner returns the owner whose region e's row lies in.
func (e Entity) Owner() Owner { return Owner(e.Row >> regionShift) }

// MaxInputBytes bounds the size of a game's input type.
const MaxInputBytes = 32

// InputBytes is one player's input of one tick in its packed form: the bytes of the game's input type with padding
// zeroed, then zeros. It is comparable, so a prediction is checked with ==.
type InputBytes [MaxInputBytes]byte

// OrderKind says what an Order does.
type OrderKind uint8

// The kinds of orders. Kinds other than OrderGame belong to the engine.
const (
	OrderGame   OrderKind = iota // the game's own action, handed to Game.Order
	OrderJoin                    // the player enters the match: Game.Join runs
	OrderLeave                   // the player leaves the match: Game.Leave runs
	OrderView                    // the moment that the player saw, for this tick: see ViewStamp
	OrderMotion                  // where an entity of the player's is at the end of this tick: see Placement
	orderKinds
)

// Valid reports whether k is a kind this build knows.
func (k OrderKind) Valid() bool { return k < orderKinds }

// Shared reports whether peers that compute the whole match execute orders of this kind too. A view means something
// only where the past is held, and a motion where a server believes clients: on a server, and where its match is played
// again.
func (k OrderKind) Shared() bool { return k < OrderView }

// MaxOrderBytes bounds the payload of an order.
const MaxOrderBytes = 1024

// MaxResultBytes bounds the result of a match, which Game.Result returns.
const MaxResultBytes = 256

// Order is a rare, reliable action that the server stamped into a tick. Orders are never predicted; all peers
// execute those of one tick in the same order, before the tick's systems.
type Order struct {
	Kind    OrderKind
	Player  Player
	Entity  Entity // the entity it is addressed to, or zero
	Payload []byte // at most MaxOrderBytes, only for OrderGame, OrderView and OrderMotion
}

// TickInputs is everything that enters a world in one tick.
type TickInputs struct {
	Players []InputBytes // index = Player; missing ones count as zero
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
