package rules

import (
	"tendon/ecs"
	"tendon/ecs/fixed"
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

// floorUnder returns the height of the floor or of the low wall below b.
func floorUnder(b *Body) fixed.Num {
	floor := fixed.Num(0)
	for i := range level.Walls {
		wall := &level.Walls[i]
		if wall.Top <= b.Pos.Z && wall.Top > floor && wall.overlaps(flat(b.Pos), b.Radius) {
			floor = wall.Top
		}
	}
	return floor
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
		for range 2 { // a second time, since in a corner one wall may push into another
			for i := range level.Walls {
				level.Walls[i].expel(b)
			}
			for i := range s.doors[:s.doorCount] {
				s.doors[i].expel(b)
			}
		}
	}
}

func (x *Box) nearest(p fixed.Vec2) fixed.Vec2 {
	return fixed.Vec2{X: p.X.Clamp(x.Min.X, x.Max.X), Y: p.Y.Clamp(x.Min.Y, x.Max.Y)}
}

func (x *Box) overlaps(middle fixed.Vec2, radius fixed.Num) bool {
	if middle.X+radius <= x.Min.X || middle.X-radius >= x.Max.X || middle.Y+radius <= x.Min.Y || middle.Y-radius >= x.Max.Y {
		return false
	}
	return middle.Dist(x.nearest(middle)) < radius
}

// expel pushes a body out of the box by the shortest way.
func (x *Box) expel(b *Body) {
	p := flat(b.Pos)
	if b.Pos.Z >= x.Top || !x.overlaps(p, b.Radius) {
		return
	}
	edge := x.nearest(p)
	out := p.Sub(edge).Normalize()
	if edge == p { // the middle is inside: leave through the nearest side
		out, edge = x.exit(p)
	}
	p = edge.Add(out.Scale(b.Radius))
	b.Pos.X, b.Pos.Y = p.X, p.Y
	if in := flat(b.Vel).Dot(out); in < 0 {
		b.push(flat(b.Vel).Sub(out.Scale(in)))
	}
}

// exit returns the side of the box nearest to p, which is inside: its normal and its point.
func (x *Box) exit(p fixed.Vec2) (normal, edge fixed.Vec2) {
	left, right, up, down := p.X-x.Min.X, x.Max.X-p.X, p.Y-x.Min.Y, x.Max.Y-p.Y
	switch min(left, right, up, down) {
	case left:
		return fixed.Vec2{X: -fixed.One}, fixed.Vec2{X: x.Min.X, Y: p.Y}
	case right:
		return fixed.Vec2{X: fixed.One}, fixed.Vec2{X: x.Max.X, Y: p.Y}
	case up:
		return fixed.Vec2{Y: -fixed.One}, fixed.Vec2{X: p.X, Y: x.Min.Y}
	}
	return fixed.Vec2{Y: fixed.One}, fixed.Vec2{X: p.X, Y: x.Max.Y}
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
