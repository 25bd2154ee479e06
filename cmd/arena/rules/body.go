package rules

import (
	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/space"
)

// Body is a position and a velocity, in metres and metres per second. Z is height above the floor. After
// every tick the circle of a living player's body overlaps no wall and no door that is higher than Z.
type Body struct {
	Pos, Vel fixed.Vec3
	Radius   fixed.Num
}

// Look is the direction that a player faces, of length 1.
type Look struct{ Dir fixed.Vec2 }

var (
	body = ecs.NewComponent("body", ecs.Roles[Body]{
		Lerp: func(a, b Body, t float64) Body {
			if flat(a.Pos).Dist(flat(b.Pos)) < jumpCut {
				b.Pos = a.Pos.Lerp(b.Pos, fixed.FromFloat(t))
			}
			return b
		},
		Motion:    func(b *Body) ecs.Motion { return ecs.Motion{Pos: b.Pos, Vel: b.Vel} },
		SetMotion: func(b *Body, m ecs.Motion) { b.Pos, b.Vel = m.Pos, m.Vel },
		Tolerance: fixed.FromRatio(1, 100),
		Bounds:    func(b *Body) fixed.Num { return b.Radius },
		Priority:  4,
	})
	look = ecs.NewComponent("look", ecs.Roles[Look]{
		Lerp: func(a, b Look, t float64) Look {
			return Look{a.Dir.Lerp(b.Dir, fixed.FromFloat(t)).Normalize()}
		},
	})
	seat = ecs.NewComponent[ecs.Seat]("seat")
)

const tickRate = 60

var (
	tickTime   = fixed.FromRatio(1, tickRate) // seconds
	jumpCut    = fixed.FromInt(4)             // metres, more than a dash covers in ten ticks; a longer move is a respawn
	bodyRadius = fixed.FromRatio(1, 2)
	bodyHeight = fixed.FromRatio(18, 10)
	runSpeed   = fixed.FromInt(7)  // m/s, the most that walking reaches
	runPush    = fixed.FromInt(60) // m/s², on the ground
	airPush    = fixed.FromInt(15) // m/s², in the air
	friction   = fixed.FromInt(6)  // share of the speed lost per second, on the ground
	gravity    = fixed.FromInt(18) // m/s²
	jumpSpeed  = fixed.FromInt(7)  // m/s upwards: 1.36 m high, 0.78 s long

	walkers = ecs.NewQuery4(ecs.Write(body), ecs.Read(seat), ecs.Read(dash), ecs.Read(look), ecs.Without(dead))
	faces   = ecs.NewQuery3(ecs.Write(look), ecs.Read(body), ecs.Read(seat), ecs.Without(dead))
)

// face turns each player to the point that they aim at.
func face(w *ecs.World) {
	for e := range faces.All(w) {
		to := pad.Of(w, e.C.Player).Point().Sub(flat(e.B.Pos))
		if dir := to.Normalize(); dir != (fixed.Vec2{}) {
			e.A.Dir = dir
		}
	}
}

// move advances all players by one tick: steering, dash, jump, gravity, walls.
func move(w *ecs.World) {
	s := scene.Of(w)
	for e := range walkers.All(w) {
		b, in := e.A, pressed(w, e.B.Player)
		grounded := b.Pos.Z <= floorUnder(b) && b.Vel.Z <= 0
		if w.Tick() < e.C.Until {
			b.push(e.C.Dir.Scale(dashSpeed))
		} else {
			b.steer(in.Walk(), grounded)
		}
		if in.Jump && grounded {
			b.Vel.Z = jumpSpeed
		}
		s.slide(b, flat(b.Vel).Scale(tickTime))
		b.push(flat(b.Vel).Limit(dashSpeed)) // roundings may have left a little more
		b.fall(floorUnder(b))
	}
}

// push sets the velocity along the floor and leaves the one upwards.
func (b *Body) push(v fixed.Vec2) { b.Vel = lifted(v, b.Vel.Z) }

// steer applies friction and the player's steering. Walking never accelerates beyond runSpeed. Only friction slows a body
// that a dash or a blast made faster.
func (b *Body) steer(walk fixed.Vec2, grounded bool) {
	v, force := flat(b.Vel), airPush
	if grounded {
		v, force = v.Scale(fixed.One-friction.Mul(tickTime)), runPush
	}
	b.push(v.Add(walk.Scale(force.Mul(tickTime))).Limit(max(runSpeed, v.Len())))
}

// fall moves a body up or down. z(t) = z₀ + v·t − g·t²/2 is exact, so a jump is the same parabola at any tick rate.
func (b *Body) fall(floor fixed.Num) {
	if b.Pos.Z > floor || b.Vel.Z > 0 {
		b.Pos.Z += b.Vel.Z.Mul(tickTime) - gravity.Mul(tickTime).Mul(tickTime)/2
		b.Vel.Z -= gravity.Mul(tickTime)
	}
	if b.Pos.Z <= floor {
		b.Pos.Z, b.Vel.Z = floor, 0
	}
}

// floorUnder returns the height of the floor or of the wall below b.
func floorUnder(b *Body) fixed.Num {
	if b.Pos.Z < lowTop {
		return 0
	}
	circle := space.Circle(flat(b.Pos), b.Radius)
	switch {
	case b.Pos.Z >= wallTop && level.tiles.Overlap(&circle, highTiles):
		return wallTop
	case level.tiles.Overlap(&circle, space.Of(lowTile)):
		return lowTop
	}
	return 0
}

// floorAt returns the height of the floor or of the low wall at a place.
func floorAt(x, y fixed.Num) fixed.Num {
	return floorUnder(&Body{Pos: fixed.Vec3{X: x, Y: y, Z: lowTop}, Radius: bodyRadius})
}

// slide moves a body along the floor. No step is longer than half its radius, so it cannot pass through a wall. A wall
// pushes the body out and removes the velocity towards the wall, and the body slides along the side.
func (s *Scene) slide(b *Body, by fixed.Vec2) {
	steps := 1 + by.Len().Div(b.Radius/2).Int()
	step := by.Scale(fixed.FromRatio(1, int64(steps)))
	for range steps {
		b.Pos.X, b.Pos.Y = b.Pos.X+step.X, b.Pos.Y+step.Y
		for range 4 { // more than once, since in a corner one wall may push into another
			c, ok := s.touch(b)
			if !ok {
				break
			}
			p := c.Point.Add(c.Normal.Scale(b.Radius))
			b.Pos.X, b.Pos.Y = p.X, p.Y
			b.push(space.Bounce(flat(b.Vel), c.Normal, 0))
		}
	}
}

// touch returns the deepest contact of a body with walls and doors.
func (s *Scene) touch(b *Body) (deepest space.Contact, ok bool) {
	circle := space.Circle(flat(b.Pos), b.Radius)
	deepest, ok = level.tiles.Touch(&circle, solidAt(b.Pos.Z))
	for i := range s.doors[:s.doorCount] {
		if c, hit := space.Touch(&circle, &s.doors[i]); hit && c.Depth > deepest.Depth && b.Pos.Z < wallTop {
			deepest, ok = c, true
		}
	}
	return deepest, ok
}

// Dash is a short burst of speed in one direction: it lasts until tick Until and can be used again from tick Ready on.
type Dash struct {
	Dir          fixed.Vec2 // of length 1
	Until, Ready ecs.Tick
}

var (
	dash      = ecs.NewComponent[Dash]("dash")
	dashSpeed = fixed.FromInt(18) // m/s, the largest speed along the floor
	dashers   = ecs.NewQuery3(ecs.Read(dash), ecs.Read(seat), ecs.Read(look), ecs.Without(dead))
)

const (
	dashTicks    = 10
	dashCooldown = 90 // ticks from one dash to the next
)

// startDashes begins the dashes of this tick's presses, in the direction in which the player walks, or looks when standing.
func startDashes(w *ecs.World) {
	for e := range dashers.All(w) {
		in := pressed(w, e.B.Player)
		if !in.Dash || w.Tick() < e.A.Ready {
			continue
		}
		dir := in.Walk().Normalize()
		if dir == (fixed.Vec2{}) {
			dir = e.C.Dir
		}
		dash.Put(w, e.Entity(), Dash{Dir: dir, Until: w.Tick() + dashTicks, Ready: w.Tick() + dashCooldown})
	}
}
