package ecs_test

import (
	"fmt"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
)

type Body struct{ X, VX fixed.Num }
type Pad struct{ DX int8 }
type Item struct{ Kind, Count uint16 }
type Bag struct {
	Items ecs.List[Item, [8]Item]
}

var (
	body   = ecs.NewComponent[Body]("body")
	seat   = ecs.NewComponent[ecs.Seat]("seat")
	bag    = ecs.NewComponent[Bag]("bag")
	hit    = ecs.NewEvent[uint32]("hit")
	pad    = ecs.NewInput[Pad]()
	moving = ecs.NewQuery2(ecs.Write(body), ecs.Read(seat))
)

func move(w *ecs.World) {
	for e := range moving.All(w) {
		e.A.VX = fixed.FromInt(int(pad.Of(w, e.B.Player).DX))
		e.A.X += e.A.VX
	}
}

var dots = &ecs.Game{
	Name: "dots", TickRate: 60, MaxPlayers: 2,
	Components: ecs.Components(body, seat, bag), Input: pad,
	Events:  ecs.Events(hit),
	Systems: ecs.Systems(move),
	Join: func(w *ecs.World, p ecs.Player, _ ecs.Card) {
		seat.Put(w, w.Spawn(ecs.OwnedBy(p), body, seat, bag), ecs.Seat{Player: p})
	},
}

// joined returns a world in which player 0 has joined, and that player's entity.
func joined() (*ecs.World, ecs.Entity) {
	w, err := ecs.NewWorld(dots, 1)
	if err != nil {
		panic(err)
	}
	w.Step(ecs.TickInputs{Orders: []image.Order{{Kind: image.OrderJoin, Player: 0}}})
	for e := range moving.All(w) {
		return w, e.Entity()
	}
	panic("nobody joined")
}

// A whole game, three ticks of it.
func Example() {
	w, me := joined()
	for range 3 {
		w.Step(ecs.TickInputs{Players: []ecs.InputBytes{pad.Pack(Pad{DX: 2})}})
	}
	b, _ := body.Read(w, me)
	fmt.Println("tick", w.Tick(), "x", b.X)
	// Output: tick 4 x 6
}

// Rewind, and resimulate with the real input.
func ExampleWorld_Image() {
	w, me := joined()
	var s image.Snapshot
	w.Image().Save(&s)
	w.Step(ecs.TickInputs{Players: []ecs.InputBytes{pad.Pack(Pad{DX: 1})}})
	w.Image().Restore(&s)
	w.Step(ecs.TickInputs{Players: []ecs.InputBytes{pad.Pack(Pad{DX: -1})}})
	b, _ := body.Read(w, me)
	fmt.Println("tick", w.Tick(), "x", b.X)
	// Output: tick 2 x -1
}

// The inner loop of a fast system is an ordinary loop over slices.
func ExampleQuery2_Runs() {
	w, me := joined()
	drift := ecs.NewQuery2(ecs.Write(body), ecs.Read(seat))
	for r := range drift.Runs(w) {
		for i := range r.A {
			r.A[i].X += fixed.One
		}
	}
	b, _ := body.Read(w, me)
	fmt.Println(b.X)
	// Output: 1
}

// A desync report names the game's components and fields.
func ExampleWorld_Image_difference() {
	save := func(dx int8) *image.Snapshot {
		w, _ := joined()
		w.Step(ecs.TickInputs{Players: []ecs.InputBytes{pad.Pack(Pad{DX: dx})}})
		w.Step(ecs.TickInputs{})
		w.Step(ecs.TickInputs{})
		var s image.Snapshot
		w.Image().Save(&s)
		return &s
	}
	here, there := save(1), save(2)
	fmt.Println(here.Checksum() == there.Checksum())
	d, _ := image.FirstDifference(here, there)
	fmt.Println(d)
	// Output:
	// false
	// tick 4: body of entity 0 of player 0 born in tick 1: X is 1 here and 2 there
}

// A late joiner gets the state as bytes.
func ExampleWorld_Image_load() {
	sender, me := joined()
	var s image.Snapshot
	sender.Image().Save(&s)
	data := s.AppendImage(nil)

	w, _ := ecs.NewWorld(dots, 99)
	if err := w.Image().Load(data); err != nil {
		fmt.Println(err)
	}
	fmt.Println("tick", w.Tick(), "player 0 is there:", w.Exists(me))
	fmt.Println(w.Image().Load(data[:40]))
	// Output:
	// tick 1 player 0 is there: true
	// image: the image is damaged: column "tick" of owner 0: cut off in its pages
}

// A list is part of the row and has a bound.
func ExampleList() {
	w, me := joined()
	items := &bag.Write(w, me).Items
	for kind := range uint16(10) {
		if !items.Append(Item{Kind: kind, Count: 1}) {
			fmt.Println("full at", items.Len())
			break
		}
	}
	items.RemoveAt(0)
	for i, item := range items.All() {
		if i < 2 {
			fmt.Println(i, item.Kind)
		}
	}
	// Output:
	// full at 8
	// 0 1
	// 1 2
}

// A game's tests check that its data has the same layout on all targets.
func ExampleGame_Schema() {
	type Crooked struct {
		Team uint32
		Gold uint64
	}
	g := &ecs.Game{Name: "crooked", TickRate: 60, MaxPlayers: 1, Input: pad,
		Components: ecs.Components(ecs.NewComponent[Crooked]("wallet"))}
	fmt.Println(dots.Schema().Portable())
	fmt.Println(g.Schema().Portable())
	// Output:
	// <nil>
	// ecs: component "wallet": ecs_test.Crooked.Gold: lies at byte 8 on 64-bit targets and at 4 on 32-bit ones; put a `_ uint32` before it
}

// Events have a key, by which a view recognizes an event that it has shown before.
func ExampleEvent_Emit() {
	g := *dots
	g.Systems = []ecs.System{{Name: "collide", Run: func(w *ecs.World) {
		for e := range moving.All(w) {
			hit.Emit(w, e.Entity(), 40)
		}
	}}}
	w, _ := ecs.NewWorld(&g, 1)
	w.Step(ecs.TickInputs{Orders: []image.Order{{Kind: image.OrderJoin, Player: 1}}})
	for _, e := range w.Events() {
		damage, _ := hit.Decode(&g, e)
		p, _ := e.Key.Entity.Owner().Player()
		fmt.Println("tick", e.Key.Tick, "player", p, "damage", damage)
	}
	// Output: tick 1 player 1 damage 40
}

// Random numbers outside the state, for bots and tools.
func ExampleWorld_Rand() {
	r := image.NewRand(7)
	fmt.Println(r.IntN(6)+1, r.IntN(6)+1, r.IntN(6)+1)
	// Output: 2 1 3
}

type Drop struct{ Kind, Count uint16 }

var drop = ecs.NewOrder[Drop]("drop")

// An order with a condition. The server refuses it before it is stamped, and every peer when it is executed.
func ExampleNewOrder() {
	dropItems := func(w *ecs.World, p ecs.Player, target ecs.Entity, d Drop) {
		b := bag.Write(w, target)
		for b.Items.Len() > 0 && d.Count > 0 {
			b.Items.RemoveAt(0)
			d.Count--
		}
	}
	hasItems := func(w *ecs.World, p ecs.Player, target ecs.Entity, d Drop) string {
		if b, ok := bag.Read(w, target); !ok || b.Items.Len() < int(d.Count) {
			return "there are not so many items"
		}
		return ""
	}
	game := *dots
	game.Orders = ecs.Orders(drop.Do(dropItems).If(hasItems))
	w, err := ecs.NewWorld(&game, 1)
	if err != nil {
		panic(err)
	}
	mine := w.Spawn(ecs.OwnedBy(0), bag)
	bag.Write(w, mine).Items.Append(Item{Kind: 1})
	orders := ecs.NewOrderQueue(&game) // a client has one: see View.Orders, and Controls
	drop.Give(orders, mine, Drop{Kind: 1, Count: 1})
	drop.Give(orders, mine, Drop{Kind: 1, Count: 5})
	var in ecs.TickInputs
	orders.Drain(func(target ecs.Entity, payload []byte) {
		in.Orders = append(in.Orders, image.Order{Kind: image.OrderGame, Entity: target, Payload: payload})
	})
	w.Step(in)
	b, _ := bag.Read(w, mine)
	fmt.Println(b.Items.Len(), "items left")
	for _, r := range w.Refusals() {
		fmt.Printf("order %d was refused: %s\n", r.Order, r.Reason)
	}
	// Output:
	// 0 items left
	// order 1 was refused: there are not so many items
}

// A player's team comes from the card, which a lobby or a backend put into the connect token. Join accepts any data.
func ExampleCard() {
	type Team struct {
		Name [16]byte
		Red  bool
	}
	team := ecs.NewComponent[Team]("team")
	teams := ecs.NewQuery1(ecs.Read(team))
	game := &ecs.Game{
		Name: "teams", TickRate: 60, MaxPlayers: 2, Components: ecs.Components(team), Input: pad,
		Join: func(w *ecs.World, p ecs.Player, card ecs.Card) {
			t := Team{Red: string(card.Data) == "red"}
			copy(t.Name[:], card.Name)
			team.Put(w, w.Spawn(ecs.OwnedBy(p), team), t)
		},
	}
	w, err := ecs.NewWorld(game, 1)
	if err != nil {
		panic(err)
	}
	card := image.AppendCard(nil, ecs.Card{Name: "ann", Data: []byte("red")}) // the server does this
	w.Step(ecs.TickInputs{Orders: []image.Order{{Kind: image.OrderJoin, Player: 0, Payload: card}}})
	for e := range teams.All(w) {
		fmt.Printf("%s, red: %v\n", e.A.Name[:3], e.A.Red)
	}
	// Output: ann, red: true
}
