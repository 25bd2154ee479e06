package rules

import (
	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/systems/lagcomp"
)

// Scene holds the obstacles beside the level's walls: the doors, and the living players sorted by the row of squares they
// stand in. It follows from the state, so it is derived, not saved. survey updates it at the end of a tick, so all queries
// of one tick use the state that the players saw.
type Scene struct {
	doors     [maxDoors]Box
	doorCount int
	targets   [maxPlayers]Target
	bands     [maxRows + 1]uint8 // targets[bands[y]:bands[y+1]] stand in row y
}

// Target is a living player.
type Target struct {
	Entity ecs.Entity
	Pos    fixed.Vec3
	Player ecs.Player
}

// maxRows bounds the rows of squares in a level.
const maxRows = 32

var (
	scene  = ecs.NewDerived("scene", buildScene, func(a, b *Scene) bool { return *a == *b })
	alive  = ecs.NewQuery2(ecs.Read(body), ecs.Read(seat), ecs.Without(dead))
	leaves = ecs.NewQuery1(ecs.Read(door)) // the doors, of which the level has the doorways
)

// survey updates the scene at the end of a tick.
func survey(w *ecs.World) { buildScene(w, scene.Of(w)) }

func buildScene(w *ecs.World, into *Scene) {
	*into = Scene{}
	for e := range leaves.All(w) {
		into.doors[into.doorCount] = e.A.Box()
		into.doorCount++
	}
	for e := range alive.All(w) {
		into.bands[band(e.A.Pos.Y)+1]++
	}
	for y := range maxRows {
		into.bands[y+1] += into.bands[y]
	}
	next := into.bands
	for e := range alive.All(w) {
		at := &next[band(e.A.Pos.Y)]
		into.targets[*at] = Target{Entity: e.Entity(), Pos: e.A.Pos, Player: e.B.Player}
		*at++
	}
}

func band(y fixed.Num) int { return min(max(y.Int()/squareSize, 0), maxRows-1) }

// Between returns the players whose rows of squares touch [lo, hi], in the same order on every machine.
func (s *Scene) Between(lo, hi fixed.Num) []Target {
	return s.targets[s.bands[band(lo)]:s.bands[band(hi)+1]]
}

// All returns the living players.
func (s *Scene) All() []Target { return s.targets[:s.bands[maxRows]] }

// Ray is a straight path at constant height.
type Ray struct {
	From   fixed.Vec3
	Dir    fixed.Vec2 // of length 1
	Radius fixed.Num
	Length fixed.Num
}

// Cast returns the distance until the ray touches a wall, a door or a player other than shooter, and that player's entity.
func (s *Scene) Cast(r Ray, shooter ecs.Entity) (far fixed.Num, hit ecs.Entity) {
	far = s.Clear(r)
	end := r.From.Y + r.Dir.Y.Mul(far)
	reach := r.Radius + bodyRadius
	targets := s.Between(min(r.From.Y, end)-reach, max(r.From.Y, end)+reach)
	for i := range targets {
		t := &targets[i]
		if t.Entity == shooter {
			continue
		}
		if d, ok := r.strikes(&t.Pos); ok && d < far {
			far, hit = d, t.Entity
		}
	}
	return far, hit
}

// strikes returns where the ray enters the body of a player at pos, if its middle line can reach it; 0 if it starts inside.
func (r *Ray) strikes(pos *fixed.Vec3) (far fixed.Num, ok bool) {
	if r.From.Z+r.Radius < pos.Z || r.From.Z-r.Radius > pos.Z+bodyHeight {
		return 0, false
	}
	to, radius := flat(*pos).Sub(flat(r.From)), r.Radius+bodyRadius
	along, across := to.Dot(r.Dir), to.Cross(r.Dir).Abs()
	if across >= radius || along <= -radius {
		return 0, false
	}
	half := (radius.Mul(radius) - across.Mul(across)).Sqrt()
	if along+half < 0 {
		return 0, false
	}
	return max(along-half, 0), true
}

// Clear returns how far the ray gets before it touches a wall or a door.
func (s *Scene) Clear(r Ray) fixed.Num {
	inverse := fixed.Vec2{X: fixed.One.Div(r.Dir.X), Y: fixed.One.Div(r.Dir.Y)}
	far := r.Length
	for i := range level.Walls {
		far = r.stop(&level.Walls[i], inverse, far)
	}
	for i := range s.doors[:s.doorCount] {
		far = r.stop(&s.doors[i], inverse, far)
	}
	return far
}

// wallBetween reports whether a wall is between two positions.
func wallBetween(from, to fixed.Vec3) bool {
	way := flat(to.Sub(from))
	r := Ray{From: from, Dir: way.Normalize(), Length: way.Len()}
	return new(Scene).Clear(r) < r.Length
}

// stop returns where the ray enters b, or far if it does not before that. It is the slab method: on each axis the ray
// is between the box's sides from one distance to another; it is inside where both intervals overlap. The box is widened
// by the ray's radius, corners too. inverse is 1/Dir; that of 0 saturates, which puts the sides out of reach.
func (r *Ray) stop(b *Box, inverse fixed.Vec2, far fixed.Num) fixed.Num {
	if b.Top <= r.From.Z {
		return far
	}
	x0, x1 := (b.Min.X - r.Radius - r.From.X), (b.Max.X + r.Radius - r.From.X)
	y0, y1 := (b.Min.Y - r.Radius - r.From.Y), (b.Max.Y + r.Radius - r.From.Y)
	if r.Dir.X == 0 && (x0 >= 0 || x1 <= 0) || r.Dir.Y == 0 && (y0 >= 0 || y1 <= 0) {
		return far
	}
	enter, leave := fixed.Min, fixed.Max
	if r.Dir.X != 0 {
		a, b := x0.Mul(inverse.X), x1.Mul(inverse.X)
		enter, leave = min(a, b), max(a, b)
	}
	if r.Dir.Y != 0 {
		a, b := y0.Mul(inverse.Y), y1.Mul(inverse.Y)
		enter, leave = max(enter, min(a, b)), min(leave, max(a, b))
	}
	if enter >= leave || leave <= 0 || enter >= far {
		return far
	}
	return max(enter, 0)
}

func flat(v fixed.Vec3) fixed.Vec2 { return fixed.Vec2{X: v.X, Y: v.Y} }

func lifted(v fixed.Vec2, z fixed.Num) fixed.Vec3 { return fixed.Vec3{X: v.X, Y: v.Y, Z: z} }

// reach finds the players near a shot in the world that its shooter saw. A dash covers 0.3 m in a tick; a player who has
// moved by a metre was placed elsewhere by a new round.
var reach = lagcomp.NewSweep(body, lagcomp.SweepConfig{Window: 16, Teleport: fixed.One})

// castSeen is Scene.Cast in the world that p saw: the doors and the living players of that moment. A player who has died
// since then stops the shot and takes no damage.
func castSeen(w *ecs.World, p ecs.Player, r Ray, shooter ecs.Entity) (far fixed.Num, hit ecs.Entity) {
	var seen Scene
	for e := range leaves.All(w) {
		if d, ok := door.Seen(w, p, e.Entity()); ok {
			seen.doors[seen.doorCount] = d.Box()
			seen.doorCount++
		}
	}
	far = seen.Clear(r)
	from, to := flat(r.From), flat(r.From).Add(r.Dir.Scale(far))
	lo := fixed.Vec2{X: min(from.X, to.X) - r.Radius, Y: min(from.Y, to.Y) - r.Radius}
	hi := fixed.Vec2{X: max(from.X, to.X) + r.Radius, Y: max(from.Y, to.Y) + r.Radius}
	for target, b := range reach.Near(w, p, lo, hi) {
		if target == shooter || !seat.Has(w, target) {
			continue
		}
		if d, ok := r.strikes(&b.Pos); ok && d < far {
			if _, wasDead := dead.Seen(w, p, target); !wasDead {
				far, hit = d, target
			}
		}
	}
	return far, hit
}

// Door fills one of the level's doorways, but for the part that is open.
type Door struct {
	Open  fixed.Num // in [0, One]: the share of its width drawn back into the wall
	Place uint8     // index in the level's doors
	_     [7]uint8
}

var door = ecs.NewComponent("door", ecs.Roles[Door]{
	Lerp: func(a, b Door, t float64) Door {
		b.Open = a.Open.Lerp(b.Open, fixed.FromFloat(t))
		return b
	},
})

var (
	doorReach = fixed.FromInt(3)             // metres from a player at which a door opens; no player covers it in one tick, so none is caught
	doorStep  = fixed.FromRatio(4, tickRate) // of the width, per tick: open in a quarter of a second
)

func slideDoors(w *ecs.World) {
	s := scene.Of(w)
	for e := range leaves.All(w) {
		way, step := &level.Doors[e.A.Place], -doorStep
		for _, who := range s.Between(way.Min.Y-doorReach, way.Max.Y+doorReach) {
			if way.nearest(flat(who.Pos)).Dist(flat(who.Pos)) < doorReach {
				step = doorStep
			}
		}
		if open := (e.A.Open + step).Clamp(0, fixed.One); open != e.A.Open {
			if w.MayWrite(e.Entity()) {
				door.Write(w, e.Entity()).Open = open
			}
		}
	}
}

// Box returns the part of the doorway that the door fills.
func (d Door) Box() Box {
	way := &level.Doors[d.Place]
	b := way.Box
	if way.Upright {
		b.Max.Y = b.Max.Y.Lerp(b.Min.Y, d.Open)
	} else {
		b.Max.X = b.Max.X.Lerp(b.Min.X, d.Open)
	}
	return b
}
