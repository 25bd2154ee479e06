package rules

import (
	"bytes"
	"testing"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/ecs/race"
	"tendon/rollback"
	"tendon/rollback/record"
	"tendon/systems/lagcomp"
)

// remember gives the arena a past, as a server's world has one.
func (a *arena) remember() *rollback.Snapshots {
	ring := rollback.NewSnapshots(64)
	a.w.Image().SetPast(ring.At)
	ring.Save(a.w)
	return ring
}

func seenAt(p ecs.Player, v image.ViewStamp) image.Order {
	return image.Order{Kind: image.OrderView, Player: p, Payload: image.AppendViewStamp(nil, v)}
}

// shoot fires player 0's rifle at a point in the next tick, in the world of tick view; 0 is the present. It reports whether
// player 1 took damage.
func (a *arena) shoot(ring *rollback.Snapshots, x, y string, view ecs.Tick) bool {
	before := a.health(1).HP
	arms.Put(a.w, avatar(a.w, 0), Arms{})
	a.hold(0, Pad{Fire: true}.WithPoint(point(x, y)))
	ring.Save(a.w)
	if view > 0 {
		a.step(seenAt(0, image.ViewStamp{Tick: view}))
	} else {
		a.step()
	}
	ring.Save(a.w)
	a.hold(0, Pad{})
	return a.health(1).HP < before
}

// Player 1 runs across player 0's sight at 7 m/s: in 12 ticks 1.4 m.
func TestARifleHitsWhoWasSeen(t *testing.T) {
	for _, c := range []struct {
		name string
		late bool
		hits bool
	}{{"judged in the seen state", true, true}, {"judged by the present", false, false}} {
		a := duel(t)
		ring := a.remember()
		a.put(1, "9", "2.5")
		a.hold(1, Pad{Y: 127})
		for range 24 {
			a.step()
			ring.Save(a.w)
		}
		view := a.w.Tick() - 11
		s, _ := ring.At(view)
		seen, _ := body.ReadAt(s, avatar(a.w, 1))
		now := a.body(1)
		if moved := now.Pos.Sub(seen.Pos).Len(); moved < fixed.One {
			t.Fatalf("the target has moved %v m: the test proves nothing", moved)
		}
		if !c.late {
			view = 0
		}
		if hit := a.shoot(ring, seen.Pos.X.String(), seen.Pos.Y.String(), view); hit != c.hits {
			t.Errorf("%s: hit %t", c.name, hit)
		}
	}
}

// Doors stop shots as they stood when the shooter saw them, whatever they do meanwhile.
func TestADoorStopsWhoSawItClosed(t *testing.T) {
	for place := range level.Doors {
		way := &level.Doors[place]
		if !way.Upright {
			continue
		}
		for _, opens := range []bool{true, false} {
			a := newArena(t, 2, 1)
			ring := a.remember()
			middle := fixed.Vec2{X: (way.Min.X + way.Max.X) / 2, Y: (way.Min.Y + way.Max.Y) / 2}
			near, far := fixed.FromInt(1), fixed.FromRatio(27, 10)
			place := func(p ecs.Player, dx fixed.Num) {
				*body.Write(a.w, avatar(a.w, p)) = Body{Pos: lifted(fixed.Vec2{X: middle.X + dx, Y: middle.Y}, 0), Radius: bodyRadius}
				survey(a.w)
			}
			away := fixed.FromInt(4)
			if opens {
				place(0, -away)
				place(1, away)
			} else {
				place(0, -near-fixed.One)
				place(1, far)
			}
			for range 40 { // closed where no player is near, else open
				a.step()
				ring.Save(a.w)
			}
			view := a.w.Tick()
			if opens {
				place(0, -near-fixed.One) // teleports: refused as targets, so player 1 stays
			} else {
				place(0, -away)
				place(1, away)
			}
			ring.Save(a.w)
			for range 12 {
				a.step()
				ring.Save(a.w)
			}
			aim := a.body(1).Pos
			harmed := a.shoot(ring, aim.X.String(), aim.Y.String(), view)
			if harmed == opens {
				t.Errorf("door at %v opens since: %t; the shot of a player who saw it before hits: %t", middle, opens, harmed)
			}
		}
	}
}

func TestTheDeadAreJudgedAsSeenAndSufferNoMore(t *testing.T) {
	a := duel(t)
	ring := a.remember()
	a.run(1)
	ring.Save(a.w)
	alive := a.w.Tick()
	a.step(image.Order{Player: 1, Payload: surrendering})
	ring.Save(a.w)
	a.run(1)
	ring.Save(a.w)
	if !dead.Has(a.w, avatar(a.w, 1)) {
		t.Fatal("player 1 lives")
	}
	if a.shoot(ring, "9", roomY, alive) || a.health(1).HP != 0 {
		t.Error("somebody who is dead by now suffers")
	}
	shot, _ := arms.Read(a.w, avatar(a.w, 0))
	if shot.Struck.X > fixed.FromInt(9) {
		t.Errorf("the shot of a player who saw them alive passes through to %v", shot.Struck.X)
	}
	fallen := a.w.Tick()
	dead.Remove(a.w, avatar(a.w, 1))
	a.run(1) // the removal takes effect
	health.Put(a.w, avatar(a.w, 1), Health{HP: fullHP})
	survey(a.w)
	if a.shoot(ring, "9", roomY, fallen) {
		t.Error("somebody is hit whom the shooter saw dead")
	}
	if !a.shoot(ring, "9", roomY, 0) {
		t.Error("and cannot be hit at all: the test proves nothing")
	}
}

// A new round places all players elsewhere. No shot hits a player at the place of the old round.
func TestNoPlayerIsHitAtThePlaceBeforeANewRound(t *testing.T) {
	a := duel(t)
	ring := a.remember()
	a.run(1)
	ring.Save(a.w)
	view := a.w.Tick()
	startRound(a.w)
	a.put(0, roomX, roomY)
	a.run(1)
	ring.Save(a.w)
	if at := flat(a.body(1).Pos).Dist(point("9", roomY)); at < fixed.One {
		t.Fatal("player 1 was put where they were")
	}
	if a.shoot(ring, "9", roomY, view) {
		t.Error("player 1 is hit where they were")
	}
}

// Rules of a tick use the scene that the last tick left. So a match in which all players saw just that state equals a match
// without views, bit for bit.
func TestSeeingTheLastStateIsSeeingThePresent(t *testing.T) {
	a, b := newArena(t, 12, 7), newArena(t, 12, 7)
	ring, ticks, hits := b.remember(), 1500, 100
	if race.Enabled {
		ticks, hits = 500, 20
	}
	for range ticks {
		a.bots()
		copy(b.in, a.in)
		var orders []image.Order
		for p := range b.in {
			orders = append(orders, seenAt(ecs.Player(p), image.ViewStamp{Tick: b.w.Tick()}))
		}
		a.step()
		b.step(orders...)
		ring.Save(b.w)
		if a.checksum() != b.checksum() {
			t.Fatalf("tick %d differs", a.w.Tick())
		}
	}
	if a.happened.hits < hits || a.happened.deaths == 0 || reach.Cost(b.w).Rewound == 0 {
		t.Errorf("%+v, %+v: the test proves nothing", a.happened, reach.Cost(b.w))
	}
}

// lateMatch plays bots whose views lie back as on links of 30 to 400 ms, and records it as a server does.
func lateMatch(t *testing.T, ticks int) (a *arena, file []byte) {
	a = newArena(t, 12, 7)
	g := a.w.Game()
	var err error
	if a.w, err = ecs.NewWorld(g, 7); err != nil {
		t.Fatal(err)
	}
	ring := a.remember()
	judge, err := lagcomp.NewJudge(lagcomp.Config{TickRate: tickRate, Past: ring.At})
	if err != nil {
		t.Fatal(err)
	}
	var to bytes.Buffer
	w, err := record.NewWriter(&to, g, record.HeaderOf(g, 7, "test"))
	if err != nil {
		t.Fatal(err)
	}
	var saved image.Snapshot
	for i := range ticks {
		f := a.w.Tick() + 1
		var orders []image.Order
		if i == 0 {
			orders = joins(len(a.in))
		} else {
			a.bots()
			for p := range a.in {
				age := ecs.Tick(2 + p*2)
				seen := image.ViewStamp{Tick: f - min(f-1, age), Part: uint8(f % 7 * 36)}
				if v := judge.View(seen, f, 0, 100e6); v.Tick > 0 {
					orders = append(orders, seenAt(ecs.Player(p), v))
				}
			}
		}
		a.step(orders...)
		ring.Save(a.w)
		a.w.Image().Save(&saved)
		if err = w.Tick(record.Tick{Tick: f, Inputs: a.in, Orders: orders, Checksum: saved.Checksum()}); err == nil && w.ImageDue(record.RecordingImages) {
			err = w.Image(&saved)
		}
		if err != nil {
			t.Fatal(err)
		}
		a.inspect()
	}
	if err := w.End(); err != nil {
		t.Fatal(err)
	}
	return a, to.Bytes()
}

// The seen moments are inputs of the match: its recording replays to the same states.
func TestARecordingOfAMatchWithViewsReplays(t *testing.T) {
	ticks := 1500
	if race.Enabled {
		ticks = 700
	}
	a, file := lateMatch(t, ticks)
	if cost := reach.Cost(a.w); a.happened.hits < 50 || cost.Rewound == 0 {
		t.Fatalf("%+v, %+v: the test proves nothing", a.happened, cost)
	}
	r, err := record.Open(file, Game())
	if err != nil {
		t.Fatal(err)
	}
	result, err := r.Verify(r.Last().Tick)
	if err != nil || int(result.To) != ticks {
		t.Errorf("%+v, %v", result, err)
	}
	w, err := r.WorldAt(ecs.Tick(ticks - 50))
	if err != nil || w.Tick() != ecs.Tick(ticks-50) {
		t.Error(err)
	}
}

func TestATickWithViewsAllocatesNothing(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	a := newArena(t, 16, 2)
	ring := a.remember()
	orders, payloads := make([]image.Order, 16), make([][]byte, 16)
	tick := func() {
		a.bots()
		for p := range orders {
			payloads[p] = image.AppendViewStamp(payloads[p][:0], image.ViewStamp{Tick: a.w.Tick() - 10, Part: 128})
			orders[p] = image.Order{Kind: image.OrderView, Player: ecs.Player(p), Payload: payloads[p]}
		}
		a.w.Step(ecs.TickInputs{Players: a.in, Orders: orders})
		ring.Save(a.w)
	}
	for range 20 {
		a.step()
		ring.Save(a.w)
	}
	for range 1500 {
		tick()
	}
	if n := testing.AllocsPerRun(300, tick); n != 0 {
		t.Errorf("a tick with 16 bots and their views allocates %v times", n)
	}
}
