package rules

import (
	"fmt"
	"slices"

	"github.com/yohamta/donburi"
	"github.com/yohamta/donburi/filter"

	"tendon/ecs"
	"tendon/ecs/image"
)

// Spark is a hit as it is shown, for sparkTicks. It is on an entity of the view's own.
type Spark struct {
	effect
	size float64
}

// Note is a text that rises from the place of an event about the local player, for noteTicks. It is on an entity of the
// view's own.
type Note struct {
	effect
	text  string
	color ecs.Color
}

// effect is the common part of sparks and notes: the event that they show, their place and the moment they began.
type effect struct {
	key   image.EventKey
	x, y  float64
	begin float64 // in ticks
}

// Picture is what a view keeps from one picture to the next. It is on one entity of the view's own.
type Picture struct {
	camera Camera
	feed   []feedLine // oldest first
}

// feedLine is a line of the kill feed, shown for feedTicks.
type feedLine struct {
	Death
	begin float64
}

const (
	sparkTicks = 18
	noteTicks  = 45
	feedTicks  = 5 * tickRate
	feedLines  = 4
	staleTicks = 30 // age from which an event is not shown at its place
)

var (
	spark   = donburi.NewComponentType[Spark]()
	note    = donburi.NewComponentType[Note]()
	picture = donburi.NewComponentType[Picture]()

	sparks   = donburi.NewQuery(filter.Contains(spark))
	notes    = donburi.NewQuery(filter.Contains(note))
	pictures = donburi.NewQuery(filter.Contains(picture))
)

// pictureOf returns the view's picture and creates it first where the view has none.
func pictureOf(v *ecs.View) *Picture {
	for entry := range shown(v, pictures) {
		return picture.Get(entry)
	}
	return picture.Get(v.World.Entry(v.World.Create(picture)))
}

// showEffect shows an event. Sparks show while a hit is predicted and disappear if it is cancelled; the kill feed has
// confirmed deaths only.
func showEffect(v *ecs.View, e ecs.Effect) {
	g := v.Sim.Game()
	if d, ok := Deaths.Decode(g, e.Event); ok {
		if e.Status == ecs.EffectConfirmed {
			p := pictureOf(v)
			p.feed = append(p.feed, feedLine{Death: d, begin: moment(v)})
			p.feed = slices.Delete(p.feed, 0, max(len(p.feed)-feedLines, 0))
		}
		return
	}
	if e.Status == ecs.EffectCancelled {
		removeEffects(v, func(x *effect, _ float64) bool { return x.key == e.Event.Key })
		return
	}
	if !e.First || e.Age > staleTicks {
		return
	}
	if h, ok := Hits.Decode(g, e.Event); ok {
		showHit(v, e.Event.Key, h)
	} else if _, ok := Pickups.Decode(g, e.Event); ok && isLocal(v, e.Event.Key.Entity) {
		addNote(v, e.Event.Key, "+1 kit", good)
	}
}

// showHit shows a spark at the entity that was hit, and the damage if the local player caused or suffered it.
func showHit(v *ecs.View, key image.EventKey, h Hit) {
	b, ok := body.Read(v.Sim, key.Entity)
	if !ok {
		return
	}
	x, y := raised(b.Pos)
	entry := v.World.Entry(v.World.Create(spark))
	spark.SetValue(entry, Spark{effect: effect{key, x, y, moment(v)}, size: 0.6 + float64(h.Damage)/50})
	if pose := poseOf(v, key.Entity); pose != nil {
		pose.struck = moment(v)
	}
	switch {
	case isLocal(v, key.Entity):
		addNote(v, key, fmt.Sprintf("-%d", h.Damage), bad)
	case int(h.By) == v.Seat:
		addNote(v, key, fmt.Sprint(h.Damage), glow)
	}
}

// addNote writes a text above the event's entity.
func addNote(v *ecs.View, key image.EventKey, text string, color ecs.Color) {
	b, ok := body.Read(v.Sim, key.Entity)
	if !ok {
		return
	}
	x, y := raised(b.Pos)
	side := 0.35 * float64(int(key.Tick/rifleTicks%3)-1) // the numbers of one burst stand side by side
	entry := v.World.Entry(v.World.Create(note))
	note.SetValue(entry, Note{effect: effect{key, x + side, y - 1.9, moment(v)}, text: text, color: color})
}

// dropOld removes effects and lines of the feed whose time is over. It also removes those that begin far ahead of now, which
// are left from before the view was loaded again.
func dropOld(v *ecs.View, p *Picture, now float64) {
	over := func(begin, ticks float64) bool { return now < begin-staleTicks || now >= begin+ticks }
	removeEffects(v, func(x *effect, ticks float64) bool { return over(x.begin, ticks) })
	p.feed = slices.DeleteFunc(p.feed, func(l feedLine) bool { return over(l.begin, feedTicks) })
}

// removeEffects removes the effects for which match returns true. match also receives for how many ticks an effect shows.
func removeEffects(v *ecs.View, match func(x *effect, ticks float64) bool) {
	for entry := range shown(v, sparks) {
		if match(&spark.Get(entry).effect, sparkTicks) {
			entry.Remove()
		}
	}
	for entry := range shown(v, notes) {
		if match(&note.Get(entry).effect, noteTicks) {
			entry.Remove()
		}
	}
}

// isLocal reports whether the local player steers e.
func isLocal(v *ecs.View, e ecs.Entity) bool {
	s, ok := seat.Read(v.Sim, e)
	return ok && int(s.Player) == v.Seat
}
