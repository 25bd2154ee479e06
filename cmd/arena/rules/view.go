package rules

import (
	"fmt"
	"math"
	"slices"

	"github.com/yohamta/donburi"
	"github.com/yohamta/donburi/filter"

	"tendon/ecs"
	"tendon/ecs/fixed"
)

// The components of this file belong to a view alone. They hold any Go type, and they stay while their entity is shown,
// whatever is rewound meanwhile. Times are moments, in ticks.

// Pose is on every avatar.
type Pose struct {
	struck float64 // moment of the last hit
}

// Trail is on every rocket: the last places at which it was shown, newest first, at most one for each tick.
type Trail struct {
	points [trailTicks]ecs.Point
	count  int
	newest float64 // moment of points[0]
}

// Picture is what a view keeps from one picture to the next. It is on one entity of the view's own.
type Picture struct {
	camera  Camera
	feed    []feedLine // oldest first
	effects []effect
	replay  replay
}

// feedLine is a line of the kill feed, shown for feedTicks.
type feedLine struct {
	Death
	begin float64
}

// effect shows an event: as a spark or, if it has a text, as a note that rises from its place.
type effect struct {
	event       uint64 // its ID
	x, y, begin float64
	size        float64 // of a spark
	text        string
	color       ecs.Color // of a note
}

const (
	struckTicks = 8 // for which an avatar flashes after a hit
	trailTicks  = 6
	sparkTicks  = 18
	noteTicks   = 45
	feedTicks   = 5 * tickRate
	feedLines   = 4
	staleTicks  = 30 // age from which an event is not shown at its place
)

var (
	pose     = donburi.NewComponentType[Pose]()
	trail    = donburi.NewComponentType[Trail]()
	picture  = donburi.NewComponentType[Picture]()
	pictures = donburi.NewQuery(filter.Contains(picture))
)

// The queries of the drawing. A donburi query serves every donburi world; ecs.Ordered walks it in a view, in the order of rows.
var (
	livingAvatars = donburi.NewQuery(filter.And(filter.Contains(body, seat, look, arms, health, dash, pose), filter.Not(filter.Contains(dead))))
	deadAvatars   = donburi.NewQuery(filter.Contains(body, seat, dead))
	flyingRockets = donburi.NewQuery(filter.Contains(body, rocket, trail))
	burningBlasts = donburi.NewQuery(filter.Contains(body, blast))
	lyingKits     = donburi.NewQuery(filter.Contains(body, kit))
	shutDoors     = donburi.NewQuery(filter.Contains(door))
)

// dress adds the view's components to an entity that has appeared.
func dress(_ *ecs.View, entry *donburi.Entry) {
	switch {
	case entry.HasComponent(seat):
		donburi.Add(entry, pose, &Pose{struck: -struckTicks})
	case entry.HasComponent(rocket):
		donburi.Add(entry, trail, &Trail{})
	}
}

// kept returns a component of the view on e; nil if there is none.
func kept[T any](v *ecs.View, c *donburi.ComponentType[T], e ecs.Entity) *T {
	if entry := v.Sim.Entry(e); entry != nil && entry.HasComponent(c) {
		return c.Get(entry)
	}
	return nil
}

// follow adds the place of this moment. A moment that is not within the trail starts it again.
func (t *Trail) follow(x, y, now float64) {
	passed := now - t.newest
	if passed < 0 || passed > trailTicks {
		t.count = 0
	}
	if t.count > 0 && passed < 1 {
		return
	}
	copy(t.points[1:], t.points[:])
	t.points[0], t.newest = ecs.Point{X: x, Y: y}, now
	t.count = min(t.count+1, trailTicks)
}

// pictureOf returns the view's picture and creates it first where the view has none.
func pictureOf(v *ecs.View) *Picture {
	entry, ok := pictures.First(v.World)
	if !ok {
		entry = v.World.Entry(v.World.Create(picture))
	}
	return picture.Get(entry)
}

// showEffect shows an event. Sparks show while a hit is predicted and disappear if it is cancelled; the kill feed has
// confirmed deaths only.
func showEffect(v *ecs.View, e ecs.Effect) {
	g, p, now, key := v.Sim.Game(), pictureOf(v), moment(v), e.Event.Key
	if d, ok := Deaths.Decode(g, e.Event); ok {
		if e.Status == ecs.EffectConfirmed {
			p.feed = append(p.feed, feedLine{Death: d, begin: now})
			p.feed = slices.Delete(p.feed, 0, max(len(p.feed)-feedLines, 0))
			p.replay.choose(v, d, key.Tick)
		}
		return
	}
	b, ok := body.Read(v.Sim, key.Entity)
	switch {
	case e.Status == ecs.EffectCancelled:
		p.effects = slices.DeleteFunc(p.effects, func(x effect) bool { return x.event == e.ID })
		return
	case !e.First || e.Age > staleTicks || !ok:
		return
	}
	x, y := raised(b.Pos)
	note := func(text string, color ecs.Color) {
		side := 0.35 * float64(int(key.Tick/rifleTicks%3)-1) // the numbers of one burst stand side by side
		p.effects = append(p.effects, effect{event: e.ID, x: x + side, y: y - 1.9, begin: now, text: text, color: color})
	}
	local := key.Entity == watcher(v)
	if h, ok := Hits.Decode(g, e.Event); ok {
		p.effects = append(p.effects, effect{event: e.ID, x: x, y: y, begin: now, size: 0.6 + float64(h.Damage)/50})
		if p := kept(v, pose, key.Entity); p != nil {
			p.struck = now
		}
		switch {
		case local:
			note(fmt.Sprintf("-%d", h.Damage), bad)
		case int(h.By) == v.Seat:
			note(fmt.Sprint(h.Damage), glow)
		}
	} else if _, ok := Pickups.Decode(g, e.Event); ok && local {
		note("+1 kit", good)
	}
}

// dropOld removes effects and lines of the feed whose time is over. It also removes those that begin far ahead of now, which
// are left from before the view was loaded again.
func (p *Picture) dropOld(now float64) {
	over := func(begin, ticks float64) bool { return now < begin-staleTicks || now >= begin+ticks }
	p.feed = slices.DeleteFunc(p.feed, func(l feedLine) bool { return over(l.begin, feedTicks) })
	p.effects = slices.DeleteFunc(p.effects, func(x effect) bool {
		if x.text != "" {
			return over(x.begin, noteTicks)
		}
		return over(x.begin, sparkTicks)
	})
}

// Camera is the part of the level that a view shows. A player's follows the own avatar, softly and within the level; a
// spectator's shows the whole level beside the score table. It moves with the moment that is shown, so it keeps no clock.
type Camera struct {
	x, y, height float64 // metres; the middle, and what is shown from top to bottom
	at           float64 // the moment of the last picture
	seat         int     // who watched then
}

const (
	followHeight = 20.0 // metres, from top to bottom
	followLead   = 2.5  // metres that a player sees farther to where they look
	followLag    = 9.0  // ticks after which the camera has covered 63 % of its distance
	followMost   = 15.0 // metres: from there on, it cuts
	followEdge   = 1.0  // metres shown outside the level; on the left, as much as the score table hides
)

// moment returns what a view shows, in ticks.
func moment(v *ecs.View) float64 { return float64(v.Tick) - 1 + v.Alpha }

// watcher returns the local player's avatar, or the zero Entity.
func watcher(v *ecs.View) ecs.Entity {
	if v.Seat < 0 {
		return ecs.Entity{}
	}
	return avatar(v.Sim, ecs.Player(v.Seat))
}

// frame moves the camera on to the moment of the view. A player who has not entered yet sees what a spectator sees.
func (k *Camera) frame(v *ecs.View, aspect float64) {
	now := moment(v)
	width, height := level.size()
	me := watcher(v)
	b, ok := body.Read(v.Sim, me)
	if !ok {
		room := max(aspect-tableWidth/hudHeight, aspect/2) // beside the score table, in heights of the picture
		*k = Camera{height: max(height+2*followEdge, (width+2*followEdge)/room)}
		k.x, k.y = width/2-(aspect-room)*k.height/2, height/2
		return
	}
	l, _ := look.Read(v.Sim, me)
	x, y := at(flat(b.Pos).Add(l.Dir.Scale(fixed.FromFloat(followLead))))
	x = within(x, followHeight*aspect/2, -followHeight*tableWidth/hudHeight, width+followEdge)
	y = within(y, followHeight/2, -followEdge, height+followEdge)
	passed := now - k.at
	if k.height != followHeight || k.seat != v.Seat || passed < 0 || math.Hypot(x-k.x, y-k.y) > followMost {
		k.x, k.y = x, y
	}
	share := 1 - math.Exp(-max(passed, 0)/followLag)
	*k = Camera{x: k.x + share*(x-k.x), y: k.y + share*(y-k.y), height: followHeight, at: now, seat: v.Seat}
}

// within keeps half the picture's length to either side of p between two edges, or p in their middle where it does not
// fit.
func within(p, half, from, to float64) float64 {
	if 2*half > to-from {
		return (from + to) / 2
	}
	return min(max(p, from+half), to-half)
}
