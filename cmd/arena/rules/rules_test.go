package rules

import (
	"testing"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
)

// East of the spawn point in the upper left corner lies an open floor of 9 m, then a wall from x = 14 to 16.
const (
	roomX, roomY = "5", "3"
	wallX        = 14 // its near side, in the row of roomY
)

// near reports whether two numbers differ by less than 1/per.
func near(a, b fixed.Num, per int64) bool { return (a - b).Abs() < fixed.FromRatio(1, per) }

// duel places two players face to face, 4 m apart in the open.
func duel(t *testing.T) *arena {
	a := newArena(t, 2, 1)
	a.put(0, roomX, roomY)
	a.put(1, "9", roomY)
	return a
}

func TestADashCanBeUsedAgainOnlyAfterItsCooldown(t *testing.T) {
	a := newArena(t, 1, 1)
	var began []ecs.Tick
	for i := range 300 {
		a.hold(0, Pad{X: 127, Dash: i%2 == 0}) // pressed anew every other tick
		before, _ := dash.Read(a.w, avatar(a.w, 0))
		a.step()
		if now, _ := dash.Read(a.w, avatar(a.w, 0)); now != before {
			began = append(began, a.w.Tick())
		}
	}
	if len(began) != 4 {
		t.Fatalf("dashes began at %v, want 4 in 300 ticks", began)
	}
	for i := 1; i < len(began); i++ {
		if began[i]-began[i-1] != dashCooldown {
			t.Errorf("dashes began at %v, want %d ticks between them", began, dashCooldown)
		}
	}
}

func TestADashIsFasterThanWalkingAndEnds(t *testing.T) {
	a := newArena(t, 1, 1)
	a.put(0, roomX, roomY)
	a.hold(0, Pad{X: 127})
	a.run(30)
	if v := a.body(0).Vel.X; !near(v, runSpeed, 1000) {
		t.Fatalf("walking reaches %v m/s, want %v", v, runSpeed)
	}
	a.put(0, roomX, roomY)
	a.hold(0, Pad{X: 127, Dash: true})
	a.run(dashTicks)
	if v := a.body(0).Vel.X; !near(v, dashSpeed, 1000) {
		t.Fatalf("a dash goes at %v m/s, want %v", v, dashSpeed)
	}
	a.put(0, roomX, roomY)
	a.run(40)
	if v := a.body(0).Vel.X; v > runSpeed {
		t.Errorf("40 ticks after a dash the player still moves at %v m/s", v)
	}
}

func TestFrictionStopsWhoeverLetsGo(t *testing.T) {
	a := newArena(t, 1, 1)
	a.put(0, roomX, roomY)
	a.hold(0, Pad{X: 127})
	a.run(20)
	a.hold(0, Pad{})
	a.run(60)
	if v := flat(a.body(0).Vel).Len(); v > fixed.FromRatio(1, 20) {
		t.Errorf("a second after letting go the player slides at %v m/s", v)
	}
}

// The height of a jump is v·t − g·t²/2 at every tick, so it does not depend on the tick rate.
func TestAJumpIsAParabola(t *testing.T) {
	a := newArena(t, 1, 1)
	a.hold(0, Pad{Jump: true}) // held: one jump only
	var peak fixed.Num
	flight := 0
	for k := int64(1); k <= 100; k++ {
		a.step()
		z := a.body(0).Pos.Z
		time := fixed.FromRatio(k, tickRate)
		want := max(jumpSpeed.Mul(time)-gravity.Mul(time).Mul(time)/2, 0)
		if !near(z, want, 1<<20) {
			t.Fatalf("tick %d of the jump is %v m high, want %v", k, z, want)
		}
		peak = max(peak, z)
		if z > 0 {
			flight++
		}
	}
	if want := jumpSpeed.Mul(jumpSpeed).Div(2 * gravity); !near(peak, want, 100) {
		t.Errorf("the jump peaks at %v m, want v²/2g = %v", peak, want)
	}
	if want := (2 * jumpSpeed).Div(gravity).Mul(fixed.FromInt(tickRate)).Int(); flight != want {
		t.Errorf("the jump lasts %d ticks, want 2v/g = %d", flight, want)
	}
}

func TestALowWallStopsWalkersAndCarriesJumpers(t *testing.T) {
	wall := lowWall(t)
	x := (wall.Min.X + wall.Max.X) / 2
	start := lifted(fixed.Vec2{X: x, Y: wall.Min.Y - fixed.One}, 0)
	for _, jumps := range []bool{false, true} {
		a := newArena(t, 1, 1)
		*body.Write(a.w, avatar(a.w, 0)) = Body{Pos: start, Radius: bodyRadius}
		survey(a.w)
		a.hold(0, Pad{Y: 127, Jump: jumps})
		stood := false
		for range 60 {
			a.step()
			a.inspect()
			b := a.body(0)
			stood = stood || b.Pos.Z == wall.Top && b.Pos.Y > wall.Min.Y
		}
		if stood != jumps {
			t.Errorf("jumping %v: stood on the low wall %v", jumps, stood)
		}
		if crossed := a.body(0).Pos.Y > wall.Min.Y; crossed != jumps {
			t.Errorf("jumping %v: crossed the wall's side %v", jumps, crossed)
		}
	}
}

func lowWall(t *testing.T) Box {
	for _, x := range level.Walls {
		if x.Top == lowTop {
			return x
		}
	}
	t.Fatal("the level has no low wall")
	return Box{}
}

func TestARifleHitsWhoStandsInTheWay(t *testing.T) {
	a := duel(t)
	a.hold(0, Pad{Fire: true}.WithPoint(point("9", roomY)))
	a.run(2 * rifleTicks)
	if a.happened.shots != 2 || a.health(1).HP != fullHP-2*rifleDamage || a.health(0).HP != fullHP {
		t.Errorf("%d shots left %d and %d HP, want 2 shots and %d and %d", a.happened.shots, a.health(0).HP, a.health(1).HP, fullHP, fullHP-2*rifleDamage)
	}
}

func TestARifleIsStoppedByAWall(t *testing.T) {
	a := newArena(t, 2, 1)
	a.put(0, "11", roomY)
	a.put(1, "17", roomY)
	a.hold(0, Pad{Fire: true}.WithPoint(point("17", roomY)))
	a.run(60)
	if a.happened.shots < 7 || a.happened.hits != 0 {
		t.Errorf("%d shots at a wall hit %d times", a.happened.shots, a.happened.hits)
	}
	if s, _ := arms.Read(a.w, avatar(a.w, 0)); !near(s.Struck.X, fixed.FromInt(wallX), 1<<20) {
		t.Errorf("the shots end at x = %v, want the wall at %d", s.Struck.X, wallX)
	}
}

// A target above or below the line of fire is missed: height counts.
func TestARiflePassesUnderAJumperAndOverALowWall(t *testing.T) {
	a := duel(t)
	body.Write(a.w, avatar(a.w, 1)).Pos.Z = gunHeight + fixed.FromRatio(1, 10)
	survey(a.w)
	a.hold(0, Pad{Fire: true}.WithPoint(point("9", roomY)))
	a.step()
	if a.happened.shots != 1 || a.happened.hits != 0 {
		t.Errorf("%d shots under a jumper hit %d times", a.happened.shots, a.happened.hits)
	}

	wall := lowWall(t)
	at := fixed.Vec2{X: wall.Min.X + fixed.One, Y: wall.Min.Y - fixed.One}
	over := rayFrom(lifted(at, gunHeight), fixed.Vec2{Y: fixed.One}, 3*fixed.One)
	under := over
	under.Z = lowTop / 2
	s := scene.Of(a.w)
	if s.Clear(over) != over.Length || s.Clear(under) != fixed.One {
		t.Errorf("a ray over a low wall gets %v m, one below its top %v m; want 3 and 1", s.Clear(over), s.Clear(under))
	}
}

func TestARifleIsStoppedByAClosedDoorAndPassesAnOpenOne(t *testing.T) {
	way := level.Doors[0]
	if !way.Upright {
		t.Fatal("the first door does not stand in a wall along y")
	}
	y := (way.Min.Y + way.Max.Y) / 2
	for _, open := range []fixed.Num{0, fixed.One} {
		a := newArena(t, 2, 1)
		for p, x := range []fixed.Num{way.Min.X - 4*fixed.One, way.Max.X + 4*fixed.One} {
			*body.Write(a.w, avatar(a.w, ecs.Player(p))) = Body{Pos: lifted(fixed.Vec2{X: x, Y: y}, 0), Radius: bodyRadius}
		}
		for e := range leaves.All(a.w) {
			if e.A.Place == 0 {
				door.Write(a.w, e.Entity()).Open = open
			}
		}
		survey(a.w)
		a.hold(0, Pad{Fire: true}.WithPoint(flat(a.body(1).Pos)))
		a.step()
		if hits := a.happened.hits; (hits == 1) != (open == fixed.One) || a.happened.shots != 1 {
			t.Errorf("door open by %v: %d of %d shots hit", open, hits, a.happened.shots)
		}
	}
}

func TestADoorOpensForWhoComesNearAndClosesBehind(t *testing.T) {
	a := newArena(t, 1, 1)
	way := level.Doors[0]
	openness := func() fixed.Num {
		for e := range leaves.All(a.w) {
			if e.A.Place == 0 {
				return e.A.Open
			}
		}
		return -1
	}
	at := way.Min.Sub(point("1.5", "0"))
	*body.Write(a.w, avatar(a.w, 0)) = Body{Pos: lifted(at.Add(point("0", "1")), 0), Radius: bodyRadius}
	survey(a.w)
	a.run(20)
	if openness() != fixed.One {
		t.Fatalf("with somebody near for 20 ticks the door is open by %v", openness())
	}
	a.hold(0, Pad{X: 127}) // through it
	for range 60 {
		a.step()
		a.inspect()
	}
	if x := a.body(0).Pos.X; x < way.Max.X+doorReach {
		t.Fatalf("the player got only to x = %v through the door at %v", x, way.Max.X)
	}
	a.run(20)
	if openness() != 0 {
		t.Errorf("with no player near the door is open by %v", openness())
	}
}

func TestARocketExplodesAtTheWall(t *testing.T) {
	a := newArena(t, 1, 1)
	a.put(0, roomX, roomY)
	a.hold(0, Pad{Rocket: true}.WithPoint(point("30", roomY)))
	for a.happened.explosions == 0 && a.w.Tick() < 120 {
		a.step()
		a.inspect()
	}
	for e := range blastsOf.All(a.w) {
		if want := fixed.FromInt(wallX) - rocketRadius; !near(e.A.Pos.X, want, 1<<20) || e.A.Pos.Y != fixed.FromInt(3) {
			t.Errorf("the rocket exploded at %v, want x = %v", e.A.Pos, want)
		}
		a.run(blastTicks)
		if a.w.Exists(e.Entity()) {
			t.Error("the blast is still there after its time")
		}
		return
	}
	t.Error("the rocket never exploded")
}

func TestRocketsInAllDirectionsStayInTheLevel(t *testing.T) {
	a := newArena(t, 1, 1)
	for i := range 40 {
		for p := range level.Spawns {
			*body.Write(a.w, avatar(a.w, 0)) = Body{Pos: lifted(level.Spawns[p], 0), Radius: bodyRadius}
			shot := a.w.Spawn(ecs.OwnedBy(0), body, rocket)
			dir := fixed.FromAngle(fixed.FromRatio(int64(i), 6), rocketSpeed)
			body.Put(a.w, shot, Body{Pos: lifted(level.Spawns[p], rocketHeight), Vel: lifted(dir, 0), Radius: rocketRadius})
			rocket.Put(a.w, shot, Rocket{Until: a.w.Tick() + rocketTicks, From: avatar(a.w, 0)})
		}
		for range 8 {
			a.step()
			a.inspect()
		}
	}
	a.run(rocketTicks)
	if a.happened.explosions != 40*len(level.Spawns) {
		t.Errorf("%d of %d rockets exploded", a.happened.explosions, 40*len(level.Spawns))
	}
}

func TestARocketHurtsWhomItHitsMoreThanWhoStandsBy(t *testing.T) {
	a := newArena(t, 3, 1)
	a.put(0, roomX, roomY)
	a.put(1, "11", roomY)
	a.put(2, "11", "4.8")
	a.hold(0, Pad{Rocket: true}.WithPoint(point("11", roomY)))
	a.run(40)
	direct, beside := fullHP-a.health(1).HP, fullHP-a.health(2).HP
	if direct <= beside || beside <= 0 || a.health(0).HP != fullHP {
		t.Errorf("damage of the rocket: %d to its target, %d to the player beside it, %d to the shooter", direct, beside, fullHP-a.health(0).HP)
	}
	if a.happened.rockets != 1 {
		t.Errorf("a press held for 40 ticks sent %d rockets", a.happened.rockets)
	}
}

func TestAJumpClearsARocket(t *testing.T) {
	a := duel(t)
	jumper := body.Write(a.w, avatar(a.w, 1))
	jumper.Pos.Z = rocketHeight + rocketRadius + fixed.FromRatio(1, 10)
	survey(a.w)
	r := rayFrom(lifted(flat(a.body(0).Pos), rocketHeight), fixed.Vec2{X: fixed.One}, 6*fixed.One)
	r.Radius = rocketRadius
	if far, hit := scene.Of(a.w).Cast(a.w, r, avatar(a.w, 0)); !hit.IsZero() || far != r.Length {
		t.Errorf("a rocket under a jumper hit %v after %v m", hit, far)
	}
}

func TestABlastDoesNotReachBehindAWall(t *testing.T) {
	a := newArena(t, 3, 1)
	a.put(1, "13", roomY)
	a.put(2, "16.6", roomY) // the wall stands between 14 and 16
	explode(a.w, scene.Of(a.w), lifted(point("13.8", roomY), rocketHeight), 0)
	a.step()
	if a.health(1).HP >= fullHP || a.health(2).HP != fullHP {
		t.Errorf("the blast left %d HP in front of the wall and %d behind", a.health(1).HP, a.health(2).HP)
	}
}

// Harm is gathered, the kit applied, then death judged: the order of shots within a tick decides nothing.
func TestAKitUsedInTheTickOfTheLastShotSaves(t *testing.T) {
	for _, uses := range []bool{false, true} {
		a := duel(t)
		health.Put(a.w, avatar(a.w, 1), Health{HP: rifleDamage, Kits: 1})
		a.hold(0, Pad{Fire: true}.WithPoint(point("9", roomY)))
		a.hold(1, Pad{Kit: uses})
		a.step()
		h := a.health(1)
		if died := a.happened.deaths == 1; died == uses || dead.Has(a.w, avatar(a.w, 1)) == uses {
			t.Errorf("kit used %v: died %v", uses, died)
		}
		if uses && (h.HP != kitHP || h.Kits != 0) {
			t.Errorf("the kit left %d HP and %d kits", h.HP, h.Kits)
		}
	}
}

func TestADeathCountsAndEndsWithARespawn(t *testing.T) {
	a := duel(t)
	health.Put(a.w, avatar(a.w, 1), Health{HP: 1})
	a.hold(0, Pad{Fire: true}.WithPoint(point("9", roomY)))
	a.step()
	table := scores.Read(a.w).Of
	if table[0] != (Score{Points: 1, Kills: 1}) || table[1] != (Score{Deaths: 1}) || a.happened.points != 1 {
		t.Errorf("after a kill the table has %+v and %+v", table[0], table[1])
	}
	a.hold(0, Pad{})
	a.hold(1, Pad{X: 127, Fire: true})
	fell := a.body(1).Pos
	a.run(respawnTicks - 1)
	if a.body(1).Pos != fell || a.happened.shots != 1 || !dead.Has(a.w, avatar(a.w, 1)) {
		t.Error("the dead moved, shot or rose early")
	}
	a.step()
	if a.happened.respawns != 1 || a.health(1) != (Health{HP: fullHP, Kits: 1}) {
		t.Errorf("after %d ticks: %d respawns, %+v", respawnTicks, a.happened.respawns, a.health(1))
	}
	if d := flat(a.body(0).Pos).Dist(flat(a.body(1).Pos)); d < spawnDistance {
		t.Errorf("respawned %v m from the killer", d)
	}
}

func TestSurrenderIsADeathThatCostsAPoint(t *testing.T) {
	a := duel(t)
	a.hold(0, Pad{Kit: true})
	a.step(image.Order{Player: 0, Payload: []byte("no such order")}, image.Order{Player: 0, Payload: surrendering})
	if got := scores.Read(a.w).Of[0]; got != (Score{Points: -1, Deaths: 1}) || a.happened.deaths != 1 {
		t.Errorf("a surrender left %+v after %d deaths", got, a.happened.deaths)
	}
	a.step(image.Order{Player: 0, Payload: surrendering}) // the dead have nothing left to lose
	if got, wound := scores.Read(a.w).Of[0].Points, a.health(0).Wound; got != -1 || wound != 0 || a.happened.hits != 1 {
		t.Errorf("a second surrender left %d points, a wound of %d and %d hits", got, wound, a.happened.hits)
	}
}

func TestAKitIsTakenOnceAndLiesThereAgainLater(t *testing.T) {
	a := newArena(t, 2, 1)
	count := func() (n int) {
		for range lying.All(a.w) {
			n++
		}
		return n
	}
	for p := range ecs.Player(2) {
		*body.Write(a.w, avatar(a.w, p)) = Body{Pos: lifted(level.Kits[0], 0), Radius: bodyRadius}
	}
	survey(a.w)
	a.step()
	if a.happened.pickups != 1 || count() != len(level.Kits)-1 || a.health(0).Kits+a.health(1).Kits != 3 {
		t.Fatalf("two on one kit: %d pickups, %d kits lie, carried %d and %d", a.happened.pickups, count(), a.health(0).Kits, a.health(1).Kits)
	}
	a.put(0, roomX, roomY)
	a.put(1, roomX, roomY)
	a.run(kitTicks - 1)
	if count() != len(level.Kits)-1 {
		t.Fatal("the kit is back early")
	}
	a.run(1)
	if count() != len(level.Kits) {
		t.Fatal("the kit is not back in time")
	}
	health.Write(a.w, avatar(a.w, 0)).Kits = kitsCarried
	*body.Write(a.w, avatar(a.w, 0)) = Body{Pos: lifted(level.Kits[0], 0), Radius: bodyRadius}
	survey(a.w)
	a.run(5)
	if a.happened.pickups != 1 {
		t.Error("somebody with full pockets took a kit")
	}
}

func TestARoundEndsOnceWithOneResultAndTheNextBegins(t *testing.T) {
	a := duel(t)
	health.Put(a.w, avatar(a.w, 1), Health{HP: 1})
	a.hold(0, Pad{Fire: true}.WithPoint(point("9", roomY)))
	a.step()
	a.hold(0, Pad{})
	for a.w.Tick() < playTicks-1 {
		a.step()
	}
	if a.happened.results != 0 {
		t.Fatal("the round ended early")
	}
	a.step()
	r, ok := Results.Decode(a.w.Game(), a.happened.lastResult)
	if !ok || r != (Result{Round: 1, Winner: 0}) || !a.happened.lastResult.Irreversible {
		t.Fatalf("the result is %+v, want player 0 to win round 1", r)
	}
	shots := a.happened.shots
	a.hold(0, Pad{Fire: true, Rocket: true})
	a.run(breakTicks)
	if a.happened.shots != shots || a.happened.rockets != 0 {
		t.Error("weapons worked in the break")
	}
	c := clock.Read(a.w)
	if !c.Playing || c.Round != 2 || c.Ends != a.w.Tick()+playTicks || scores.Read(a.w) != (Scores{}) {
		t.Errorf("after the break: %+v, %+v", c, scores.Read(a.w))
	}
	a.run(100)
	if a.happened.results != 1 {
		t.Errorf("%d results of one round", a.happened.results)
	}
}

func TestARoundWithoutALeaderIsADraw(t *testing.T) {
	a := newArena(t, 3, 1)
	for _, c := range []struct {
		points [3]int16
		best   ecs.Player
		draw   bool
	}{{[3]int16{0, 0, 0}, 0, true}, {[3]int16{1, 2, 0}, 1, false}, {[3]int16{2, 1, 2}, 0, true}, {[3]int16{-1, -2, -3}, 0, false}, {[3]int16{0, 0, 1}, 2, false}} {
		for p, n := range c.points {
			scores.Write(a.w).Of[p].Points = n
		}
		best, draw := leader(a.w)
		if draw != c.draw || !draw && best != c.best {
			t.Errorf("points %v: leader %d, draw %v", c.points, best, draw)
		}
	}
}

func TestWhoLeavesIsGoneAndMayComeBack(t *testing.T) {
	a := newArena(t, 3, 1)
	gone := avatar(a.w, 1)
	a.step(image.Order{Kind: image.OrderLeave, Player: 1})
	if a.w.Exists(gone) || !avatar(a.w, 1).IsZero() || living(a.w) != 2 {
		t.Fatal("the player's entity is still there")
	}
	scores.Write(a.w).Of[1].Points = 7
	a.step(image.Order{Kind: image.OrderJoin, Player: 1})
	if back := avatar(a.w, 1); back.IsZero() || back == gone || scores.Read(a.w).Of[1] != (Score{}) {
		t.Errorf("the player came back as %v with %+v", back, scores.Read(a.w).Of[1])
	}
}

var blastsOf = ecs.NewQuery2(ecs.Read(body), ecs.Read(blast))

// living returns the number of players that others can find.
func living(w *ecs.World) (n int) {
	for range players.In(w, level.tiles.Bounds()) {
		n++
	}
	return n
}
