package rules

import (
	"tendon/ecs"
	"tendon/ecs/fixed"
)

// botTurn holds the observations of a bot for one tick. Nothing lasts longer: lasting habits, such as the side to which it
// strafes, follow from the tick number.
type botTurn struct {
	w      *ecs.World
	s      *Scene
	dice   *ecs.Rand
	player ecs.Player
	me     ecs.Entity
	body   Body
	here   fixed.Vec2
	health Health

	foe     ecs.Entity // nearest enemy in sight, or else nearest
	foeBody Body
	foeDist fixed.Num
	inSight bool
}

var (
	keepFrom   = fixed.FromInt(9)        // a bot comes nearer than this to a foe it sees
	keepOff    = fixed.FromInt(5)        // and backs off when nearer than this
	detour     = fixed.FromInt(10)       // how far it goes for a kit in good health
	dodgeRange = fixed.FromInt(7)        // at which it dodges rockets
	dodgeWidth = fixed.FromInt(2)        // how far beside it a rocket may pass
	wobble     = fixed.FromRatio(7, 100) // how far its aim swings, per metre of distance
)

const wobbleTicks = 31 // for which its aim swings to and fro

var rockets = ecs.NewQuery2(ecs.Read(body), ecs.Read(rocket))

// bot returns a computer player's next pad.
func bot(w *ecs.World, p ecs.Player, dice *ecs.Rand) ecs.InputBytes {
	m := botTurn{w: w, s: scene.Of(w), dice: dice, player: p, me: avatar(w, p)}
	if m.me.IsZero() || dead.Has(w, m.me) {
		return pad.Pack(Pad{})
	}
	m.body, _ = body.Read(w, m.me)
	m.here = flat(m.body.Pos)
	m.health, _ = health.Read(w, m.me)
	m.look()
	in := m.dodge(m.shoot(m.walk(Pad{})))
	in.Kit = m.health.HP <= fullHP/2 && m.health.Kits > 0 && w.Tick()%2 == 0
	in.Jump = in.Jump || dice.Chance(1, 150)
	return pad.Pack(in)
}

func (m *botTurn) look() {
	m.foeDist = fixed.Max
	for e, t := range players.In(m.w, level.tiles.Bounds()) {
		if s, _ := seat.Read(m.w, e); e == m.me || allied(m.w, s.Player, m.player) {
			continue
		}
		to := flat(t.Pos.Sub(m.body.Pos))
		dist := to.Len()
		if m.inSight && dist >= m.foeDist {
			continue
		}
		ray := rayFrom(m.body.Pos, to.Normalize(), dist)
		ray.Z += gunHeight // it sees the targets that it can hit
		seen := dist < rifleRange && m.s.Clear(ray) == dist
		if seen || !m.inSight && dist < m.foeDist {
			m.foe, m.foeBody, m.foeDist, m.inSight = e, t, dist, seen
		}
	}
}

// walk goes for a kit when one is wanted, else for the foe: near, but not too near, and never in a straight line.
func (m *botTurn) walk(in Pad) Pad {
	if at, ok := m.wantedKit(); ok {
		return in.WithWalk(m.way(at).Add(m.strafe().Scale(fixed.FromRatio(1, 4))))
	}
	foe := flat(m.foeBody.Pos)
	switch {
	case m.foe.IsZero():
		return in
	case !m.inSight:
		in.Dash = m.dice.Chance(1, 100)
		return in.WithWalk(m.way(foe))
	case m.foeDist > keepFrom:
		return in.WithWalk(m.way(foe).Add(m.strafe()))
	case m.foeDist < keepOff:
		return in.WithWalk(m.strafe().Sub(foe.Sub(m.here).Normalize()))
	}
	return in.WithWalk(m.strafe())
}

// way returns the direction of the next step towards a point, around walls.
func (m *botTurn) way(goal fixed.Vec2) fixed.Vec2 {
	return level.Toward(m.here, goal).Sub(m.here).Normalize()
}

// strafe returns the direction across the line to the foe, to a side that changes with time.
func (m *botTurn) strafe() fixed.Vec2 {
	to := flat(m.foeBody.Pos).Sub(m.here).Normalize()
	if (uint64(m.w.Tick())/37*7+uint64(m.player)*5)%3 == 0 {
		return fixed.Vec2{X: to.Y, Y: -to.X}
	}
	return fixed.Vec2{X: -to.Y, Y: to.X}
}

// wantedKit returns the nearest kit if this is a moment to fetch one.
func (m *botTurn) wantedKit() (at fixed.Vec2, ok bool) {
	if m.health.Kits >= kitsCarried {
		return at, false
	}
	most := detour
	if m.health.HP <= fullHP/2 {
		most = fixed.Max
	}
	for e := range lying.All(m.w) {
		if dist := m.here.Dist(flat(e.B.Pos)); dist < most {
			at, most, ok = flat(e.B.Pos), dist, true
		}
	}
	return at, ok
}

// shoot aims at the foe, ahead of it with a rocket, and not quite steadily.
func (m *botTurn) shoot(in Pad) Pad {
	if !m.inSight {
		return in.WithPoint(m.here.Add(in.Walk().Scale(keepFrom)))
	}
	swing := fixed.Sin(fixed.Tau.Mul(fixed.FromRatio(int64(m.w.Tick()%wobbleTicks), wobbleTicks)) + fixed.FromInt(int(m.player)))
	at := flat(m.foeBody.Pos).Add(m.strafe().Scale(swing.Mul(wobble).Mul(m.foeDist)))
	in.Fire = true
	if m.foeDist > blastRadius && m.dice.Chance(1, 30) {
		in.Rocket = true
		at = at.Add(flat(m.foeBody.Vel).Scale(m.foeDist.Div(rocketSpeed)))
	}
	return in.WithPoint(at)
}

func (m *botTurn) dodge(in Pad) Pad {
	for e := range rockets.All(m.w) {
		to := flat(m.body.Pos.Sub(e.A.Pos))
		dir := flat(e.A.Vel).Normalize()
		ahead, beside := to.Dot(dir), dir.Cross(to)
		if e.B.Shooter == m.player || ahead < 0 || ahead > dodgeRange || beside.Abs() > dodgeWidth {
			continue
		}
		out := fixed.Vec2{X: -dir.Y, Y: dir.X}
		if beside < 0 {
			out = out.Neg()
		}
		in.Dash = in.Dash || m.dice.Chance(1, 12)
		in.Jump = ahead < dodgeWidth
		return in.WithWalk(out)
	}
	return in
}
