package rules

import (
	"fmt"
	"slices"

	"tendon/ecs"
)

// The HUD has a canvas of its own, 16 high. Clock and score table are on the left, kill feed and the local player's values
// on the right, and announcements in the middle.

const (
	hudHeight  = 16.0
	tableWidth = 4.2 // of the score table, margins included
	nameWidth  = 2.2 // of a name in the kill feed
)

var (
	panel     = ecs.Color{R: 10, G: 12, B: 18, A: 205}
	highlight = ecs.Color{R: 255, G: 255, B: 255, A: 38}
	track     = ecs.Color{R: 255, G: 255, B: 255, A: 30}
)

func paintHud(c ecs.Canvas, v *ecs.View, p *Picture) {
	paintTable(c, v)
	paintFeed(c, v, p)
	me := watcher(v)
	paintBanner(c, v, me)
	paintSelf(c, v, me)
}

func paintTable(c ecs.Canvas, v *ecs.View) {
	m, table := clock.Read(v.Sim), scores.Read(v.Sim).Of
	rank := slices.SortedStableFunc(v.Sim.Players().All(), func(a, b ecs.Player) int { return int(table[b].Points) - int(table[a].Points) })
	const left, right, row = 0.2, tableWidth - 0.2, 0.62
	c.Rectangle(left, 0.2, right-left, 1.85+row*float64(len(rank)), panel)
	seconds := max(int(m.Ends)-int(v.Tick)+tickRate-1, 0) / tickRate
	c.Text(left+0.25, 0.3, 0.9, -1, fmt.Sprintf("%d:%02d", seconds/60, seconds%60), white)
	title := fmt.Sprintf("round %d", m.Round)
	if !m.Playing {
		title = "break"
	}
	c.Text(left+0.25, 1.3, 0.42, -1, title, dim)
	for i, p := range rank {
		y := 1.95 + row*float64(i)
		if int(p) == v.Seat {
			c.Rectangle(left, y, right-left, row, highlight)
			c.Rectangle(left, y, 0.09, row, colorOf(v, p))
		}
		c.Rectangle(left+0.25, y+0.16, 0.3, 0.3, colorOf(v, p))
		name, ping := white, ""
		switch s := v.Seated(p); {
		case s.Ping > 0:
			ping = fmt.Sprintf("%d ms", s.Ping.Milliseconds())
		case len(v.Roster) > 0 && !s.Connected:
			name, ping = dim, "away"
		}
		c.Text(left+0.75, y+0.05, 0.44, -1, shortLabel(v, p), name)
		c.Text(right-0.95, y+0.12, 0.3, 1, ping, dim)
		c.Text(right-0.25, y+0.05, 0.44, 1, fmt.Sprint(table[p].Points), white)
	}
}

// label returns the name that the picture shows for a player: the chosen one, or the number of the seat.
func label(v *ecs.View, p ecs.Player) string {
	if name := v.Seated(p).Name; name != "" {
		return name
	}
	return fmt.Sprintf("P%d", p)
}

// scoreText is the score of a player in the window's table.
func scoreText(v *ecs.View, p ecs.Player) string { return fmt.Sprint(scores.Read(v.Sim).Of[p].Points) }

// shortLabel is the beginning of the label, at most nameWidth wide.
func shortLabel(v *ecs.View, p ecs.Player) string {
	const most = 8
	if name := []rune(label(v, p)); len(name) > most {
		return string(name[:most-1]) + "…"
	}
	return label(v, p)
}

// paintFeed draws the kill feed, newest last.
func paintFeed(c ecs.Canvas, v *ecs.View, p *Picture) {
	right, now := hudHeight*c.Aspect()-0.2, moment(v)
	for i, o := range p.feed {
		y := 0.2 + 0.66*float64(i)
		shown := min(1, (o.begin+feedTicks-now)/tickRate)
		left := right - nameWidth - 1 // of the victim's part
		if o.Killer != o.Victim {
			left -= nameWidth + 0.1
		}
		c.Rectangle(left, y, right-left, 0.6, fade8(panel, shown*0.8))
		if int(o.Victim) == v.Seat || int(o.Killer) == v.Seat {
			c.Rectangle(left, y, right-left, 0.6, fade8(white, shown*0.15))
		}
		if o.Killer != o.Victim {
			paintName(c, v, left+0.15, y, o.Killer, shown)
		}
		paintCross(c, right-nameWidth-0.6, y+0.3, 0.15, 0.09, fade8(bad, shown))
		paintName(c, v, right-nameWidth-0.15, y, o.Victim, shown)
	}
}

// paintName draws a player's colour and label, nameWidth wide.
func paintName(c ecs.Canvas, v *ecs.View, x, y float64, p ecs.Player, shown float64) {
	c.Rectangle(x, y+0.16, 0.28, 0.28, fade8(colorOf(v, p), shown))
	c.Text(x+0.4, y+0.06, 0.4, -1, shortLabel(v, p), fade8(white, shown))
}

func paintCross(c ecs.Canvas, x, y, half, width float64, color ecs.Color) {
	c.Line(x-half, y-half, x+half, y+half, width, color)
	c.Line(x-half, y+half, x+half, y-half, width, color)
}

// paintBanner shows who won the round, or when the local player returns.
func paintBanner(c ecs.Canvas, v *ecs.View, me ecs.Entity) {
	m, text, color := clock.Read(v.Sim), "", white
	switch d, ok := dead.Read(v.Sim, me); {
	case !m.Playing && m.Winner == 0:
		text = "the round is a draw"
	case !m.Playing && int(m.Winner)-1 == v.Seat:
		text, color = "you win the round", colorOf(v, ecs.Player(m.Winner-1))
	case !m.Playing:
		text, color = label(v, ecs.Player(m.Winner-1))+" wins the round", colorOf(v, ecs.Player(m.Winner-1))
	case ok && d.Until > v.Tick:
		text = fmt.Sprintf("back in %d", (d.Until-v.Tick+tickRate-1)/tickRate)
	default:
		return
	}
	middle, half := hudHeight*c.Aspect()/2, 0.29*float64(len(text))+0.6
	c.Rectangle(middle-half, 2.3, 2*half, 1.5, panel)
	c.Text(middle, 2.5, 0.9, 0, text, color)
}

// paintSelf draws the local player's health, kits, and how far dash and rocket are ready.
func paintSelf(c ecs.Canvas, v *ecs.View, me ecs.Entity) {
	h, ok := health.Read(v.Sim, me)
	if !ok {
		return
	}
	d, _ := dash.Read(v.Sim, me)
	a, _ := arms.Read(v.Sim, me)
	const width, top = 6.2, hudHeight - 2.2
	right := hudHeight*c.Aspect() - 0.2
	left := right - width
	c.Rectangle(left, top, width, 2, panel)
	c.Text(right-0.25, top+0.08, 0.7, 1, fmt.Sprint(h.HP), white)
	paintGauge(c, left+0.25, top+0.36, width-2.1, 0.36, float64(h.HP)/fullHP, track, h.color())
	for i := range kitsCarried {
		x := left + 0.25 + 0.62*float64(i)
		c.Rectangle(x, top+1.15, 0.5, 0.5, track)
		if i < int(h.Kits) {
			paintKit(c, x, top+1.15, 0.5)
		}
	}
	paintReady(c, left+1.75, top+1.05, "dash", v, d.Ready, dashCooldown)
	paintReady(c, left+3.95, top+1.05, "rocket", v, a.Rocket, rocketCooldown)
}

// paintReady draws a label and the share that is over of a wait of so many ticks, which ends in tick ready; 2 wide.
func paintReady(c ecs.Canvas, x, y float64, name string, v *ecs.View, ready ecs.Tick, ticks float64) {
	text, bar, share := white, playerColors[0], 1-(float64(ready)-moment(v)-1)/ticks
	if share < 1 {
		text, bar = dim, dim
	}
	c.Text(x, y, 0.4, -1, name, text)
	paintGauge(c, x, y+0.55, 2, 0.16, share, track, bar)
}

func paintGauge(c ecs.Canvas, x, y, width, height, share float64, back, color ecs.Color) {
	c.Rectangle(x, y, width, height, back)
	c.Rectangle(x, y, width*min(max(share, 0), 1), height, color)
}
