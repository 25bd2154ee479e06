package verify

import (
	"tendon/ecs"
)

// The test game: each player walks in the plane and fires. A shot that hits hurts its target, and a player hurt three
// times is dead for a second. With an order a player buys an item for gold. Positions are floats, since only the server
// computes them.
type (
	body struct {
		X, Y   float64
		Hurt   uint8
		Dead   bool
		_      uint32 // keeps Awakes at the same offset on 32-bit targets
		Awakes ecs.Tick
	}
	wallet struct {
		Gold, Bought int32
	}
	shot struct {
		X, Y, VX, VY float64
		Left         int32
		By           ecs.Player
	}
	fired  struct{ By ecs.Player }
	bought struct {
		By ecs.Player
		ID uint32
	}
)

var (
	bodyComp   = ecs.NewComponent[body]("body")
	walletComp = ecs.NewComponent[wallet]("wallet")
	seatComp   = ecs.NewComponent[ecs.Seat]("seat")
	shotComp   = ecs.NewComponent[shot]("shot")
	firedNews  = ecs.NewEvent[fired]("fired")
	boughtNews = ecs.NewEvent[bought]("bought")
	deathNews  = ecs.NewIrreversibleEvent[fired]("death")
	bodies     = ecs.NewQuery2(ecs.Write(bodyComp), ecs.Read(seatComp))
	wallets    = ecs.NewQuery2(ecs.Write(walletComp), ecs.Read(seatComp))
	shots      = ecs.NewQuery1(ecs.Write(shotComp))
)

// The actions of the test game.
const (
	startGold = 1000
	forbidden = 100     // a DX that is never allowed
	killing   = 1 << 31 // a purchase with this number and a player's kills the player
)

func walk(w *ecs.World) {
	for e := range bodies.All(w) {
		if e.A.Dead {
			if w.Tick() >= e.A.Awakes {
				*e.A = body{}
			}
			continue
		}
		in := padInput.Of(w, e.B.Player)
		e.A.X += float64(in.DX)
		e.A.Y += float64(in.DY) * 0.3
		if in.Throw {
			firedNews.Emit(w, e.Entity(), fired{e.B.Player})
			s := w.Spawn(ecs.OwnedBy(e.B.Player), shotComp)
			shotComp.Put(w, s, shot{X: e.A.X, Y: e.A.Y, VX: float64(w.Rand().IntN(100)-50) / 100, VY: 0.1, Left: 20, By: e.B.Player})
		}
	}
}

func fly(w *ecs.World) {
	for e := range shots.All(w) {
		e.A.X, e.A.Y = e.A.X+e.A.VX, e.A.Y+e.A.VY
		if e.A.Left--; e.A.Left <= 0 {
			w.Despawn(e.Entity())
			continue
		}
		for b := range bodies.All(w) {
			if dx := b.A.X - e.A.X; b.B.Player == e.A.By || b.A.Dead || dx < -1 || dx > 1 {
				continue
			}
			if b.A.Hurt++; b.A.Hurt >= 3 {
				b.A.Dead, b.A.Awakes = true, w.Tick()+60
				deathNews.Emit(w, b.Entity(), fired{b.B.Player})
			}
			w.Despawn(e.Entity())
			break
		}
	}
}

func bodyOf(w *ecs.World, p ecs.Player) (b body) {
	for e := range bodies.All(w) {
		if e.B.Player == p {
			return *e.A
		}
	}
	return b
}

func walletOf(w *ecs.World, p ecs.Player) (b wallet) {
	for e := range wallets.All(w) {
		if e.B.Player == p {
			return *e.A
		}
	}
	return b
}

// offer is the data of an order: a price and a number that names it.
type offer struct {
	Price int32
	ID    uint32
}

var buy = ecs.NewOrder[offer]("buy")

// purchase returns the payload of an order.
func purchase(price int32, id uint32) []byte { return buy.Pack(testGame(60), offer{price, id}) }

func orderOf(payload []byte) offer {
	o, _ := buy.Unpack(testGame(60), payload)
	return o
}

func testGame(rate int) *ecs.Game {
	return &ecs.Game{Name: "market", TickRate: rate, MaxPlayers: 4, Input: padInput,
		Components: ecs.Components(bodyComp, walletComp, seatComp, shotComp), Events: ecs.Events(firedNews, boughtNews, deathNews),
		Systems: ecs.Systems(walk, fly),
		Join: func(w *ecs.World, p ecs.Player, _ ecs.Card) {
			e := w.Spawn(ecs.OwnedBy(p), bodyComp, walletComp, seatComp)
			seatComp.Put(w, e, ecs.Seat{Player: p})
			bodyComp.Put(w, e, body{X: float64(p) * 5})
			walletComp.Put(w, e, wallet{Gold: startGold})
		},
		Leave: func(w *ecs.World, p ecs.Player) {
			for e := range bodies.All(w) {
				if e.B.Player == p {
					w.Despawn(e.Entity())
				}
			}
		},
		Orders: ecs.Orders(buy.Do(buys).If(mayBuy)),
		Validate: func(w *ecs.World, p ecs.Player, in ecs.InputBytes) bool {
			return in == (ecs.InputBytes{}) || padInput.Unpack(in).DX != forbidden && !bodyOf(w, p).Dead
		},
	}
}

func mayBuy(w *ecs.World, p ecs.Player, _ ecs.Entity, o offer) string {
	switch {
	case bodyOf(w, p).Dead:
		return "the dead buy nothing"
	case walletOf(w, p).Gold < o.Price:
		return "too dear"
	}
	return ""
}

func buys(w *ecs.World, p ecs.Player, _ ecs.Entity, o offer) {
	if id := o.ID; id >= killing {
		for e := range bodies.All(w) {
			if uint32(e.B.Player) == id-killing {
				e.A.Dead, e.A.Awakes = true, w.Tick()+60
			}
		}
	}
	for e := range wallets.All(w) {
		if e.B.Player == p {
			e.A.Gold -= o.Price
			e.A.Bought++
			boughtNews.Emit(w, e.Entity(), bought{p, o.ID})
		}
	}
}
