package rules

import (
	"math"
	"slices"

	"github.com/yohamta/donburi"

	"tendon/ecs"
	"tendon/ecs/fixed"
)

// The level is seen from above. Height is shown by shifting up the screen and by the shadow left behind. Drawing may use
// floats: nothing of it comes back into the simulation.

func rgb(hex uint32) ecs.Color {
	return ecs.Color{R: uint8(hex >> 16), G: uint8(hex >> 8), B: uint8(hex), A: 255}
}

func fade8(c ecs.Color, opacity float64) ecs.Color {
	c.A = uint8(255 * min(max(opacity, 0), 1))
	return c
}

var (
	floorColor, gridColor = rgb(0x1b1e28), rgb(0x232735)
	backdrop              = rgb(0x12141b)
	wallColor, wallSide   = rgb(0x5b6684), rgb(0x39415a)
	lowColor, lowSide     = rgb(0x7d6b58), rgb(0x544739)
	doorColor, doorSide   = rgb(0xd99f3c), rgb(0x8f6320)
	shadow                = ecs.Color{A: 90}
	white, dim            = rgb(0xf2f4f8), rgb(0x98a1b8)
	good, bad             = rgb(0x6fd08c), rgb(0xe5484d)
	you                   = rgb(0xfff7d6) // the ring around the local player
	flame, glow           = rgb(0xff8a3d), rgb(0xffe08a)

	// playerColors are 16 hues that stay apart on the dark floor; index = player.
	playerColors = [maxPlayers]ecs.Color{
		rgb(0x4cc2ff), rgb(0xff6b6b), rgb(0x7ee081), rgb(0xffc857), rgb(0xc792ea), rgb(0xff9ff3), rgb(0x5eead4), rgb(0xf4a261),
		rgb(0x90a8ff), rgb(0xd4e157), rgb(0xff8fab), rgb(0x26c6da), rgb(0xbcaaa4), rgb(0x81c784), rgb(0xffab91), rgb(0xe0e0e0),
	}
	teamColors = [teamCount]ecs.Color{Red: rgb(0xff3030), Blue: rgb(0x2f6bff)}
)

const (
	heightShift = 0.5  // screen metres up per metre of height
	wallShift   = 0.17 // the same for walls, which would hide too much otherwise
)

// colorOf returns the colour of a player: that of the team, or else of the seat.
func colorOf(v *ecs.View, p ecs.Player) ecs.Color {
	if t := teams.Read(v.Sim).Of[p]; t != NoTeam {
		return teamColors[t%teamCount]
	}
	return playerColors[p]
}

// draw draws the level and its entities, of the present or of a replay, and the HUD of the present.
func draw(c ecs.Canvas, v *ecs.View) {
	p := pictureOf(v)
	p.dropOld(moment(v))
	past := p.replay.advance(v)
	if past == nil {
		paintLevel(c, v, p)
	} else {
		paintLevel(c, past, pictureOf(past))
	}
	paintHud(c.Hud(), v, p)
	if past != nil {
		paintReplay(c.Hud(), v, past)
	}
}

func paintLevel(c ecs.Canvas, v *ecs.View, p *Picture) {
	p.camera.frame(v, c.Aspect())
	c.Camera(p.camera.x, p.camera.y, p.camera.height)
	paintFloor(c)
	paintFloorItems(c, v)
	paintBlocks(c, v)
	living := slices.Collect(ecs.Ordered(v.Sim, livingAvatars))
	paintAvatars(c, v, living)
	paintFire(c, v, living)
	paintEffects(c, p, moment(v))
}

func paintFloor(c ecs.Canvas) {
	width, height := level.size()
	c.Rectangle(-width, -height, 3*width, 3*height, backdrop)
	c.Rectangle(0, 0, width, height, floorColor)
	for x := 0.0; x <= width; x += squareSize {
		c.Rectangle(x-0.02, 0, 0.04, height, gridColor)
	}
	for y := 0.0; y <= height; y += squareSize {
		c.Rectangle(0, y-0.02, width, 0.04, gridColor)
	}
}

// paintBlocks draws doors, low walls and walls, each as the side towards the viewer and the top. All shadows come first,
// so that none falls on a neighbour.
func paintBlocks(c ecs.Canvas, v *ecs.View) {
	var doors []Box
	for entry := range ecs.Ordered(v.Sim, shutDoors) {
		doors = append(doors, door.GetValue(entry).Box())
	}
	low, high := level.Walls[level.high:], level.Walls[:level.high]
	paintBoxes(c, slices.Concat(doors, low, high), 0.2, 0.2, shadow)
	for _, group := range []struct {
		boxes     []Box
		top, side ecs.Color
	}{{doors, doorColor, doorSide}, {low, lowColor, lowSide}, {high, wallColor, wallSide}} {
		paintBoxes(c, group.boxes, 0, 0, group.side)
		for _, b := range group.boxes {
			paintBoxes(c, []Box{b}, 0, -wallShift*b.Top.Float(), group.top)
		}
	}
}

// paintBoxes draws the floor plans of boxes, shifted by (dx, dy).
func paintBoxes(c ecs.Canvas, boxes []Box, dx, dy float64, color ecs.Color) {
	for _, b := range boxes {
		left, top := at(b.Min)
		right, bottom := at(b.Max)
		c.Rectangle(left+dx, top+dy, right-left, bottom-top, color)
	}
}

// paintFloorItems draws kits and dead avatars, which lie on the floor.
func paintFloorItems(c ecs.Canvas, v *ecs.View) {
	for entry := range ecs.Ordered(v.Sim, lyingKits) {
		x, y := at(flat(body.GetValue(entry).Pos))
		c.Rectangle(x-0.40, y-0.35, 0.9, 0.9, shadow)
		paintKit(c, x-0.45, y-0.45, 0.9)
	}
	for entry := range ecs.Ordered(v.Sim, deadAvatars) {
		x, y := at(flat(body.GetValue(entry).Pos))
		paintCross(c, x, y, 0.35, 0.16, fade8(colorOf(v, seat.GetValue(entry).Player), 0.6))
	}
}

// paintAvatars draws the living avatars. An avatar that was just hit flashes; the local player's has a ring.
func paintAvatars(c ecs.Canvas, v *ecs.View, living []*donburi.Entry) {
	for _, entry := range living {
		if d := dash.GetValue(entry); v.Tick < d.Until {
			x, y := raised(body.GetValue(entry).Pos)
			dx, dy := at(d.Dir)
			c.Line(x-1.6*dx, y-1.6*dy, x, y, 0.7, fade8(colorOf(v, seat.GetValue(entry).Player), 0.3))
		}
	}
	for _, entry := range living {
		pos, player, h := body.GetValue(entry).Pos, seat.GetValue(entry).Player, health.GetValue(entry)
		gx, gy := at(flat(pos))
		x, y := raised(pos)
		dx, dy := at(look.GetValue(entry).Dir)
		c.Circle(gx+0.08, gy+0.12, 0.5-0.12*pos.Z.Float(), shadow)
		if int(player) == v.Seat {
			paintRing(c, gx, gy, 0.68, 0.78, you)
		}
		c.Line(x+0.3*dx, y+0.3*dy, x+0.95*dx, y+0.95*dy, 0.2, dim)
		c.Circle(x, y, 0.5, colorOf(v, player))
		c.Circle(x+0.15*dx, y+0.15*dy, 0.26, floorColor)
		if age := (moment(v) - pose.Get(entry).struck) / struckTicks; age >= 0 && age < 1 {
			c.Circle(x, y, 0.5, fade8(white, 0.8*(1-age)))
		}
		paintGauge(c, x-0.6, y-0.95, 1.2, 0.16, float64(h.HP)/fullHP, shadow, h.color())
		for i := range int(h.Kits) {
			c.Rectangle(x-0.6+0.24*float64(i), y-1.19, 0.18, 0.18, white)
		}
	}
}

// paintRing draws a ring: a polygon that goes round outside, steps in, and comes back inside.
func paintRing(c ecs.Canvas, x, y, inner, outer float64, color ecs.Color) {
	const corners = 28
	var points [2 * (corners + 1)]ecs.Point
	for i := range corners + 1 {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / corners)
		points[i] = ecs.Point{X: x + outer*cos, Y: y + outer*sin}
		points[len(points)-1-i] = ecs.Point{X: x + inner*cos, Y: y + inner*sin}
	}
	c.Polygon(points[:], color)
}

func (h *Health) color() ecs.Color {
	if h.HP <= lowHP {
		return bad
	}
	return good
}

// paintKit draws a med kit into a square.
func paintKit(c ecs.Canvas, x, y, size float64) {
	c.Rectangle(x, y, size, size, white)
	c.Rectangle(x+0.4*size, y+0.15*size, 0.2*size, 0.7*size, bad)
	c.Rectangle(x+0.15*size, y+0.4*size, 0.7*size, 0.2*size, bad)
}

func paintFire(c ecs.Canvas, v *ecs.View, living []*donburi.Entry) {
	now := moment(v)
	for _, entry := range living {
		a, pos := arms.GetValue(entry), body.GetValue(entry).Pos
		if age := int(v.Tick) + rifleTicks - int(a.Rifle); a.Rifle != 0 && age < 4 {
			x0, y0 := raised(lifted(flat(pos).Add(look.GetValue(entry).Dir), pos.Z))
			x1, y1 := raised(lifted(a.Struck, pos.Z))
			c.Line(x0, y0, x1, y1, 0.07, fade8(glow, 0.8-0.2*float64(age)))
			c.Circle(x1, y1, 0.14, fade8(glow, 0.9-0.2*float64(age)))
		}
	}
	for entry := range ecs.Ordered(v.Sim, flyingRockets) {
		b, t := body.GetValue(entry), trail.Get(entry)
		x, y := raised(b.Pos)
		t.follow(x, y, now)
		gx, gy := at(flat(b.Pos))
		c.Circle(gx, gy+0.2, 0.16, shadow)
		for i := t.count - 1; i >= 0; i-- {
			c.Circle(t.points[i].X, t.points[i].Y, 0.21-0.03*float64(i), fade8(flame, 0.64-0.1*float64(i)))
		}
		dx, dy := at(flat(b.Vel).Normalize())
		c.Line(x-0.25*dx, y-0.25*dy, x+0.25*dx, y+0.25*dy, 0.22, colorOf(v, rocket.GetValue(entry).Shooter))
		c.Circle(x+0.25*dx, y+0.25*dy, 0.11, white)
	}
	for entry := range ecs.Ordered(v.Sim, burningBlasts) {
		b := body.GetValue(entry)
		x, y := raised(b.Pos)
		left := min(max((float64(blast.GetValue(entry).Until)-now)/blastTicks, 0), 1)
		radius := b.Radius.Float() * math.Sqrt(1-0.9*left)
		c.Circle(x, y, radius, fade8(flame, 0.55*left))
		c.Circle(x, y, radius*0.6, fade8(glow, 0.8*left))
		c.Circle(x, y, radius*0.3, fade8(white, left))
	}
}

func paintEffects(c ecs.Canvas, p *Picture, now float64) {
	for _, s := range p.effects {
		age := max(now-s.begin, 0)
		if s.text != "" {
			age /= noteTicks
			c.Text(s.x, s.y-0.8*age, 0.6, 0, s.text, fade8(s.color, 2-2*age))
			continue
		}
		age /= sparkTicks
		turn := float64(s.event%64) * 3.5
		for i := range 7 {
			sin, cos := math.Sincos(turn + float64(i)*2*math.Pi/7)
			near, far := 0.3+s.size*age, 0.3+s.size*math.Sqrt(age)
			c.Line(s.x+near*cos, s.y+near*sin, s.x+far*cos, s.y+far*sin, 0.09, fade8(glow, 1-age))
		}
	}
}

func at(p fixed.Vec2) (x, y float64) { return p.X.Float(), p.Y.Float() }

// raised returns where a point above the floor is on the screen.
func raised(p fixed.Vec3) (x, y float64) { return p.X.Float(), p.Y.Float() - heightShift*p.Z.Float() }
