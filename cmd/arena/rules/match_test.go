package rules

import (
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/ecs/race"
	"tendon/net/matchtest"
)

// A demo that shows an engine something must be full of structure that changes, predicted deaths and respawns.
func TestBotsReallyPlay(t *testing.T) {
	least := map[int]counts{
		2:  {kills: 2, pickups: 3, rockets: 20, respawns: 2},
		4:  {kills: 5, pickups: 8, rockets: 50, respawns: 5},
		16: {kills: 40, pickups: 20, rockets: 200, respawns: 40},
	}
	for players, want := range least {
		a := newArena(t, players, 11)
		moved := map[image.Checksum]bool{}
		for tick := range 60 * tickRate {
			a.bots()
			a.step()
			a.inspect()
			if tick%64 == 0 {
				moved[a.checksum()] = true
			}
		}
		h := a.happened
		t.Logf("%d players: %+v", players, h)
		if h.kills < want.kills || h.pickups < want.pickups || h.rockets < want.rockets || h.respawns < want.respawns {
			t.Errorf("%d bots had too little of a match: %+v, want at least %+v", players, h, want)
		}
		if h.rockets-h.explosions < 0 || h.deaths < h.kills || h.points != h.deaths || h.results != 1 {
			t.Errorf("%d bots: numbers contradict each other: %+v", players, h)
		}
		if len(moved) != 57 {
			t.Errorf("%d bots: the checksum took %d values in 57 looks", players, len(moved))
		}
		if n := a.w.Image().Strays(); n != 0 {
			t.Errorf("%d writes were not declared", n)
		}
	}
}

// The golden checksum holds the rules, the engine and the arithmetic to the same bits on every target and in every
// build. A change of the rules changes it; nothing else may.
func TestAScriptedMatchHasTheGoldenChecksum(t *testing.T) {
	const golden image.Checksum = 0xeff598fe7e136fc
	a := newArena(t, 8, 1)
	for a.w.Tick() < 1200 {
		for p := range a.in {
			a.in[p] = script(a.w.Tick()+1, ecs.Player(p))
		}
		a.step()
		a.inspect()
	}
	if h := a.happened; h.shots < 500 || h.rockets < 50 || h.hits < 20 || h.deaths < 3 || h.pickups < 1 {
		t.Errorf("the script shows too little of the rules: %+v", h)
	}
	if got := a.checksum(); got != golden {
		t.Errorf("checksum after 1200 scripted ticks is %#x, want %#x", got, golden)
	}
}

// played holds the inputs of a match and its checksums; index = tick.
type played struct {
	inputs []ecs.TickInputs
	sums   []image.Checksum
}

// playedSeed is the seed of its world.
const playedSeed = 5

// playBots plays a match of bots in which players come, go and surrender.
func playBots(t *testing.T, ticks int) (r played) {
	a := newArena(t, 6, playedSeed)
	r.inputs = []ecs.TickInputs{{}, {Orders: joins(6)}}
	r.sums = []image.Checksum{0, a.checksum()}
	for tick := 2; tick <= ticks; tick++ {
		a.bots()
		in := ecs.TickInputs{Players: append([]ecs.InputBytes(nil), a.in...)}
		p := ecs.Player(tick / 97 % 6)
		switch tick % 97 {
		case 20:
			in.Orders = []image.Order{{Player: p, Payload: surrendering}, {Player: p, Payload: []byte("no such order")}}
		case 40:
			in.Orders = []image.Order{{Kind: image.OrderLeave, Player: p}}
		case 60: // one leaves and another comes in the same tick
			in.Orders = []image.Order{{Kind: image.OrderLeave, Player: (p + 1) % 6}, {Kind: image.OrderJoin, Player: p}}
		case 80:
			in.Orders = []image.Order{{Kind: image.OrderJoin, Player: (p + 1) % 6}}
		}
		a.step(in.Orders...)
		r.inputs = append(r.inputs, in)
		r.sums = append(r.sums, a.checksum())
	}
	return r
}

// RB-10.
func TestTheArenaIsDeterministic(t *testing.T) { matchtest.SyncTest(t, Game()) }

// Peers on targets of both word sizes must share a match.
func TestLayoutsAreTheSameOnEveryTarget(t *testing.T) {
	if err := Game().Schema().Portable(); err != nil {
		t.Error(err)
	}
	if Game().Schema().HasFloats() {
		t.Error("the arena's state holds floats, which differ between targets")
	}
}

// A packed pad comes off the wire. The rules accept every value of it.
func TestHostilePadsBreakNothing(t *testing.T) {
	a := newArena(t, 8, 3)
	dice := image.NewRand(9)
	for range 900 {
		for p := range a.in {
			for i := range a.in[p] {
				a.in[p][i] = byte(dice.Uint64())
			}
			a.in[p] = a.w.Game().Input.Clean(a.in[p])
		}
		a.step()
		a.inspect()
	}
	if a.happened.shots == 0 || a.happened.rockets == 0 {
		t.Errorf("random pads did nothing: %+v", a.happened)
	}
}

func TestATickAllocatesNothing(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	a := newArena(t, 16, 2)
	var ring [8]image.Snapshot
	tick := func() {
		a.bots()
		a.w.Step(ecs.TickInputs{Players: a.in})
		a.w.Image().Save(&ring[a.w.Tick()%8])
	}
	for range 1500 {
		tick()
	}
	if n := testing.AllocsPerRun(300, tick); n != 0 {
		t.Errorf("a tick with 16 bots allocates %v times", n)
	}
}

// BenchmarkTick is the rules alone, for 16 players in the thick of a match.
func BenchmarkTick(b *testing.B) {
	a := newArena(b, 16, 2)
	inputs := make([][]ecs.InputBytes, 0, 1200)
	var start image.Snapshot
	for range 300 {
		a.bots()
		a.step()
	}
	a.w.Image().Save(&start)
	for range cap(inputs) {
		a.bots()
		inputs = append(inputs, append([]ecs.InputBytes(nil), a.in...))
		a.step()
	}
	i := 0
	for b.Loop() {
		if i%len(inputs) == 0 {
			a.w.Image().Restore(&start)
		}
		a.w.Step(ecs.TickInputs{Players: inputs[i%len(inputs)]})
		i++
	}
}

// BenchmarkBots is what 16 bots think in a tick.
func BenchmarkBots(b *testing.B) {
	a := newArena(b, 16, 2)
	for range 300 {
		a.bots()
		a.step()
	}
	for b.Loop() {
		a.bots()
	}
}
