//go:build moving

package ecs

import (
	"math"
	"strings"
	"testing"

	"tendon/ecs/fixed"
)

// The test game of this package: every shape of component that the image knows, and systems that spawn and despawn.

type tPos struct{ X, Y fixed.Num }
type tVel struct{ X, Y fixed.Num }

// tMixed has padding, nesting, arrays, booleans, floats and references.
type tMixed struct {
	Alive  bool
	Lives  int32
	Inner  struct{ A, B int16 }
	Slots  [3]uint8
	_      uint8
	Heat   float32
	_      uint32
	Target Entity
	Energy float64
	Flags  [2]bool
	Depth  uint16
	_      uint32
}
type tBag struct {
	Items ecsItems
	Gold  uint64
}
type tItem struct {
	Kind  uint16
	Count uint32
}
type ecsItems = List[tItem, [4]tItem]
type tWide struct{ Cells [100]uint64 } // five rows in a page

type tScore struct{ Points [4]int32 }
type tClock struct {
	Left  uint32
	Phase uint8
}

type tPad struct {
	DX, DY int8
	Fire   bool `tendon:"press"`
	Aim    uint32
}

type tHit struct {
	Damage uint16
	_      uint32
	By     uint64
}

var (
	cPos   = NewComponent[tPos]("pos")
	cVel   = NewComponent[tVel]("vel")
	cMixed = NewComponent[tMixed]("mixed")
	cBag   = NewComponent[tBag]("bag")
	cWide  = NewComponent[tWide]("wide")
	cSeat  = NewComponent[Seat]("seat")
	cTag   = NewComponent[struct{}]("tag")
	rScore = NewResource[tScore]("score")
	rClock = NewResource[tClock]("clock")
	eHit   = NewEvent[tHit]("hit")
	eDeath = NewIrreversibleEvent[uint32]("death")
	tInput = NewInput[tPad]()

	qMove   = NewQuery2(Write(cPos), Read(cVel))
	qPos    = NewQuery1(Read(cPos))
	qSeat   = NewQuery2(Write(cVel), Read(cSeat))
	qBag    = NewQuery2(Write(cBag), Read(cSeat))
	qSeated = NewQuery1(Read(cSeat))
	qMixed  = NewQuery2(Write(cMixed), Read(cPos))
)

// tGame returns a fresh declaration without systems.
func tGame() *Game {
	return &Game{Name: "t", TickRate: 60, MaxPlayers: 4, Input: tInput,
		Components: Components(cPos, cVel, cMixed, cBag, cWide, cSeat, cTag),
		Resources:  Resources(rScore, rClock),
		Events:     Events(eHit, eDeath)}
}

// busyGame returns the test game with systems that move, fire, collect and kill.
func busyGame() *Game {
	g := tGame()
	g.Systems = Systems(busySteer, busyMove, busyFire, busyAge, busyCollect)
	g.Setup = func(w *World) {
		for i := range 20 {
			e := w.Spawn(OwnedByWorld, cPos, cVel, cMixed)
			cPos.Put(w, e, tPos{fixed.FromInt(i), fixed.FromInt(w.Rand().IntN(100))})
			cMixed.Put(w, e, tMixed{Lives: int32(60 + i*7), Energy: float64(i) / 4})
		}
		*rClock.Write(w) = tClock{Left: 3600}
	}
	g.Join = func(w *World, p Player) {
		e := w.Spawn(OwnedBy(p), cPos, cVel, cSeat, cBag)
		cSeat.Put(w, e, Seat{p})
	}
	g.Leave = func(w *World, p Player) {
		for e := range qSeated.All(w) {
			if e.A.Player == p {
				w.Despawn(e.Entity())
			}
		}
	}
	g.Order = func(w *World, p Player, target Entity, order []byte) {
		rScore.Write(w).Points[p] += int32(len(order))
	}
	return g
}

func busySteer(w *World) {
	for e := range qSeat.All(w) {
		in := tInput.Of(w, e.B.Player)
		e.A.X, e.A.Y = fixed.FromInt(int(in.DX)), fixed.FromInt(int(in.DY))
	}
}

func busyMove(w *World) {
	for r := range qMove.Runs(w) {
		for i := range r.A {
			r.A[i].X += r.B[i].X
			r.A[i].Y += r.B[i].Y
		}
	}
}

func busyFire(w *World) {
	for p := range w.Players().All() {
		if tInput.Of(w, p).Fire && !tInput.Last(w, p).Fire {
			e := w.Spawn(OwnedBy(p), cPos, cVel, cMixed)
			cVel.Put(w, e, tVel{X: fixed.FromInt(w.Rand().IntN(5)), Y: 1})
			cMixed.Put(w, e, tMixed{Alive: true, Lives: 25, Heat: 1.5})
			eHit.Emit(w, e, tHit{Damage: 3, By: uint64(p)})
		}
	}
}

func busyAge(w *World) {
	for e := range qMixed.All(w) {
		e.A.Lives--
		e.A.Heat *= 0.5
		if e.A.Lives <= 0 {
			w.Despawn(e.Entity())
			eDeath.Emit(w, e.Entity(), uint32(w.Tick()))
			n := w.Spawn(e.Entity().Owner(), cPos, cMixed)
			cMixed.Put(w, n, tMixed{Lives: int32(20 + w.Rand().IntN(90))})
		}
	}
	c := rClock.Write(w)
	c.Left--
	c.Phase = uint8(c.Left / 100)
}

func busyCollect(w *World) {
	for e := range qBag.All(w) {
		if w.Tick()%7 == 0 && !e.A.Items.Append(tItem{Kind: uint16(w.Tick()), Count: 1}) {
			e.A.Items.RemoveAt(0)
			e.A.Gold += 5
		}
	}
}

// busyInputs returns the inputs and orders of a tick, the same for every run.
func busyInputs(f Tick) (in TickInputs) {
	in.Players = make([]InputBytes, 4)
	for p := range in.Players {
		z := mix(uint64(f)<<8 | uint64(p))
		in.Players[p] = tInput.Pack(tPad{DX: int8(z % 5), DY: int8(z >> 8 % 3), Fire: z>>16%4 == 0, Aim: uint32(z >> 32)})
	}
	switch {
	case f >= 1 && f <= 4:
		in.Orders = []Order{{Kind: OrderJoin, Player: Player(f - 1)}}
	case f%97 == 0:
		in.Orders = []Order{{Kind: OrderLeave, Player: 2}, {Kind: OrderGame, Player: 1, Payload: []byte("buy")}}
	case f%97 == 20:
		in.Orders = []Order{{Kind: OrderJoin, Player: 2}}
	}
	return in
}

// newWorld returns a world of the game in State(0).
func newWorld(t testing.TB, g *Game) *World {
	t.Helper()
	w, err := NewWorld(g, 1)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// inSystem runs f as if it were the only system of a tick.
func inSystem(w *World, f func()) {
	w.Step(TickInputs{}) // of a game without systems: the next tick begins
	f()
	w.flush()
	w.releaseHeld()
}

// saved returns a snapshot of the world.
func saved(w *World) *Snapshot {
	s := &Snapshot{}
	w.Image().Save(s)
	return s
}

// play steps a world to tick until.
func play(w *World, until Tick) {
	for w.Tick() < until {
		w.Step(busyInputs(w.Tick() + 1))
	}
}

// An author who forgot a field must read its name, not a panic of the engine.
func TestCheckNamesEachMissingField(t *testing.T) {
	cases := []struct {
		want   string
		damage func(g *Game)
	}{
		{"Game.Name", func(g *Game) { g.Name = "" }},
		{"Game.TickRate", func(g *Game) { g.TickRate = 0 }},
		{"Game.TickRate", func(g *Game) { g.TickRate = 1001 }},
		{"Game.MaxPlayers", func(g *Game) { g.MaxPlayers = 0 }},
		{"Game.MaxPlayers", func(g *Game) { g.MaxPlayers = 65 }},
		{"Game.Input", func(g *Game) { g.Input = nil }},
		{"Game.Systems[1].Run", func(g *Game) { g.Systems = []System{{Run: busyMove}, {Name: "x"}} }},
		{`"pos" is empty, declared twice`, func(g *Game) { g.Components = append(g.Components, cPos) }},
		{`"tick" is empty, declared twice`, func(g *Game) { g.Components = append(g.Components, NewComponent[tPos]("tick")) }},
		{`event name "hit"`, func(g *Game) { g.Events = append(g.Events, eHit) }},
		{`component "bad": struct { N int }.N: int has`, func(g *Game) {
			g.Components = append(g.Components, NewComponent[struct{ N int }]("bad"))
		}},
		{`Roles.Priority of "bad" is -1`, func(g *Game) {
			g.Components = append(g.Components, NewComponent("bad", Roles[tPos]{Priority: -1}))
		}},
		{`Roles.Priority of "bad" is NaN`, func(g *Game) {
			g.Components = append(g.Components, NewComponent("bad", Roles[tPos]{Priority: float32(math.NaN())}))
		}},
		{`Roles.Tolerance of "bad" is -1`, func(g *Game) {
			g.Components = append(g.Components, NewComponent("bad", Roles[tPos]{Tolerance: -fixed.One, Motion: func(*tPos) (m Motion) { return m }}))
		}},
		{`Roles of "bad" have`, func(g *Game) {
			g.Components = append(g.Components, NewComponent("bad", Roles[tPos]{Tolerance: fixed.One}))
		}},
		{"Game.MoveLimit is -1", func(g *Game) { g.MoveLimit = -fixed.One }},
		{`the tag "stpe=1/2" is none`, func(g *Game) {
			g.Components = append(g.Components, NewComponent[struct {
				X fixed.Num `tendon:"stpe=1/2"`
			}]("bad"))
		}},
		{`event "bad"`, func(g *Game) { g.Events = append(g.Events, NewEvent[string]("bad")) }},
		{"at most 32", func(g *Game) { g.Input = NewInput[[5]uint64]() }},
	}
	for _, c := range cases {
		g := tGame()
		c.damage(g)
		_, err := NewWorld(g, 1)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v does not name %s", err, c.want)
		}
	}
	if err := tGame().Check(); err != nil {
		t.Error(err)
	}
}

// Two peers that differ in any of these would compute different states, or read each other's bytes wrongly.
func TestFingerprintChangesWithEachIngredient(t *testing.T) {
	base := busyGame().Fingerprint()
	if again := busyGame().Fingerprint(); again != base {
		t.Fatal("the same game has two fingerprints")
	}
	changes := map[string]func(g *Game){
		"name":            func(g *Game) { g.Name = "u" },
		"tick rate":       func(g *Game) { g.TickRate = 30 },
		"players":         func(g *Game) { g.MaxPlayers = 5 },
		"component order": func(g *Game) { g.Components[0], g.Components[1] = g.Components[1], g.Components[0] },
		"component name":  func(g *Game) { g.Components[6] = NewComponent[struct{}]("gat") },
		"component field": func(g *Game) { g.Components[0] = NewComponent[struct{ X, Z fixed.Num }]("pos") },
		"component kind":  func(g *Game) { g.Components[5] = NewComponent[struct{ Player int8 }]("seat") },
		"resource": func(g *Game) {
			g.Resources = g.Resources[:1]
			g.Components = append([]AnyComponent{NewComponent[tClock]("clock")}, g.Components...)
		},
		"event":           func(g *Game) { g.Events = g.Events[:1] },
		"irreversible":    func(g *Game) { g.Events[0] = NewIrreversibleEvent[tHit]("hit") },
		"input":           func(g *Game) { g.Input = NewInput[struct{ DX, DY int8 }]() },
		"input's presses": func(g *Game) { g.Input = NewInput[tPadHeld]() },
		"system order":    func(g *Game) { g.Systems[0], g.Systems[1] = g.Systems[1], g.Systems[0] },
		"asset":           func(g *Game) { g.Assets = []Asset{{"level", []byte{1}}} },
		"asset content":   func(g *Game) { g.Assets = []Asset{{"level", []byte{2}}} },
		"asset name":      func(g *Game) { g.Assets = []Asset{{"lever", []byte{1}}} },
	}
	seen := map[uint64]string{base: "the game unchanged"}
	for name, change := range changes {
		g := busyGame()
		change(g)
		if err := g.Check(); err != nil {
			t.Fatal(name, err)
		}
		if other, ok := seen[g.Fingerprint()]; ok {
			t.Errorf("a change of %s has the fingerprint of %s", name, other)
		}
		seen[g.Fingerprint()] = name
	}
}

// tPadHeld is tPad without the press.
type tPadHeld struct {
	DX, DY int8
	Fire   bool
	Aim    uint32
}

// The golden test of the whole core: if this number moves, recordings and peers of the last version no longer agree.
func TestStateAfter600TicksIsPinned(t *testing.T) {
	w := newWorld(t, busyGame())
	play(w, 600)
	const golden = 0xb903c161b2b479ca
	if got := saved(w).Checksum(); got != golden {
		t.Errorf("checksum %#x, pinned %#x", uint64(got), uint64(golden))
	}
	if w.Image().Strays() != 0 {
		t.Errorf("%d undeclared writes", w.Image().Strays())
	}
}

// Systems run in their listed order, under their functions' names, inside an observer's brackets.
func TestObserverHearsEverySystemInOrder(t *testing.T) {
	g := busyGame()
	w := newWorld(t, g)
	o := &recorder{}
	w.Image().SetObserver(o)
	w.Step(TickInputs{})
	if first, last := o.heard[0], o.heard[len(o.heard)-1]; first != int(SectionSimulate) || last != -int(SectionSimulate) {
		t.Errorf("a tick begins with section %d and ends with %d", first, last)
	}
	for i := range g.Systems {
		if s := SectionSystems + Section(i); o.heard[2*i+1] != int(s) || o.heard[2*i+2] != -int(s) {
			t.Fatal(o.heard)
		}
	}
	if g.Systems[0].Name != "busySteer" {
		t.Error(g.Systems[0].Name)
	}
}

type recorder struct{ heard []int }

func (r *recorder) Enter(s Section) { r.heard = append(r.heard, int(s)) }
func (r *recorder) Leave(s Section) { r.heard = append(r.heard, -int(s)) }
func (r *recorder) Turn(Tick)       {}

func (r *recorder) Name(Section, string, string) {}

// Joining, leaving and the game's orders are facts of their tick: executed once, in the order stamped.
func TestOrdersAreExecutedOnceInTheirOrder(t *testing.T) {
	g := tGame()
	var log []string
	g.Join = func(w *World, p Player) { log = append(log, "join"+string('0'+rune(p))) }
	g.Leave = func(w *World, p Player) { log = append(log, "leave"+string('0'+rune(p))) }
	g.Order = func(w *World, p Player, e Entity, order []byte) { log = append(log, string(order)) }
	w := newWorld(t, g)
	w.Step(TickInputs{Orders: []Order{
		{Kind: OrderJoin, Player: 1}, {Kind: OrderJoin, Player: 1}, // the second is no news
		{Kind: OrderLeave, Player: 3}, // was never there
		{Kind: OrderGame, Player: 1, Payload: []byte("buy")},
		{Kind: OrderJoin, Player: 0}, {Kind: OrderLeave, Player: 1},
		{Kind: OrderJoin, Player: 200}, {Kind: 99, Player: 0},
	}})
	if got := strings.Join(log, " "); got != "join1 buy join0 leave1" {
		t.Error(got)
	}
	if ps := w.Players(); ps.Len() != 1 || !ps.Has(0) || ps.Has(1) {
		t.Errorf("players %b", ps)
	}
	for p := range w.Players().All() {
		if p != 0 {
			t.Error(p)
		}
	}
	log = nil
	w.Step(TickInputs{})
	if len(log) != 0 {
		t.Error("orders of an earlier tick ran again:", log)
	}
}

// An order that the game refuses does nothing, and the next one is judged by the state without it. The engine's own
// orders are not the game's to refuse.
func TestARefusedOrderIsPassedOver(t *testing.T) {
	g := tGame()
	g.Order = func(w *World, p Player, e Entity, order []byte) { rScore.Write(w).Points[p] += int32(order[0]) }
	g.ValidateOrder = func(w *World, p Player, e Entity, order []byte) bool {
		return len(order) == 1 && e.Row == 5 && rScore.Read(w).Points[p]+int32(order[0]) <= 10
	}
	w := newWorld(t, g)
	buy := func(p Player, n byte) Order { return Order{Player: p, Entity: Entity{Row: 5}, Payload: []byte{n}} }
	orders := []Order{{Kind: OrderJoin, Player: 2}, buy(1, 7), buy(1, 4), buy(2, 4), buy(1, 3), buy(1, 1), {Player: 3, Payload: []byte{1}}, {Player: 3}}
	w.Step(TickInputs{Orders: orders})
	if got := rScore.Read(w).Points; got != [4]int32{0, 10, 4, 0} || !w.Players().Has(2) {
		t.Error(got, w.Players())
	}
	g.Order = nil // then there is nothing to ask for
	g.ValidateOrder = func(*World, Player, Entity, []byte) bool { t.Error("asked of an order without effect"); return true }
	w.Step(TickInputs{Orders: orders})
}

// Hooks are code: a game with other rules for its orders has another build, but the same bytes, so they are no part of
// the fingerprint and older recordings stay good.
func TestHooksAreNoPartOfTheFingerprint(t *testing.T) {
	g := busyGame()
	before := g.Fingerprint()
	g.ValidateOrder = func(*World, Player, Entity, []byte) bool { return true }
	g.Result = func(*World) []byte { return nil }
	if g.Fingerprint() != before {
		t.Error("a hook changes the fingerprint")
	}
}

// What an order spawned is there for the next order of the tick and for the first system.
func TestOrdersSeeWhatEarlierOrdersDid(t *testing.T) {
	g := tGame()
	var seen []int
	count := func(w *World) {
		n := 0
		for range qPos.All(w) {
			n++
		}
		seen = append(seen, n)
	}
	g.Join = func(w *World, p Player) { count(w); w.Spawn(OwnedBy(p), cPos); count(w) }
	g.Systems = Systems(count)
	w := newWorld(t, g)
	w.Step(TickInputs{Orders: []Order{{Kind: OrderJoin, Player: 0}, {Kind: OrderJoin, Player: 1}}})
	if len(seen) != 5 || seen[0] != 0 || seen[1] != 0 || seen[2] != 1 || seen[3] != 1 || seen[4] != 2 {
		t.Error(seen)
	}
}

// Data that every peer must share is found by name.
func TestAssetIsFoundByName(t *testing.T) {
	g := &Game{Assets: []Asset{{"level", []byte("wall")}}}
	if string(g.Asset("level")) != "wall" || g.Asset("other") != nil {
		t.Error(g.Asset("level"))
	}
}

// A component used without being listed has no column; the sentence says what to do.
func TestUnlistedComponentPanicsWithASentence(t *testing.T) {
	w := newWorld(t, tGame())
	other := NewComponent[tPos]("other")
	mustPanic(t, "Game.Components", func() { other.Has(w, Entity{}); other.Read(w, Entity{Row: 1}) })
	mustPanic(t, "Game.Events", func() { NewEvent[tHit]("unlisted").Emit(w, Entity{}, tHit{}) })
	mustPanic(t, "Game.Derived", func() { NewDerived("unlisted", func(*World, *int) {}, nil).Of(w) })
	mustPanic(t, "OwnedBy(p)", func() { w.Spawn(OwnedBy(4), cPos) })
	mustPanic(t, "another world", func() { w.Image().Restore(saved(newWorld(t, tGame()))) })
	mustPanic(t, "another world", func() { w.Image().Restore(&Snapshot{}) })
}

func mustPanic(t *testing.T, want string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if r, _ := recover().(string); !strings.Contains(r, want) {
			t.Errorf("panic %q does not say %q", r, want)
		}
	}()
	f()
}
