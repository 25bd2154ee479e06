package rules

import (
	"fmt"
	"slices"

	"github.com/yohamta/donburi"
	"github.com/yohamta/donburi/filter"

	"tendon/ecs"
)

// Picture is what a view keeps from one picture to the next: where it looks, and what it heard. It is a component of
// an entity of the view's own, so it outlasts every rewind.
type Picture struct {
	camera Camera
	sparks []spark
	notes  []note
	feed   []obituary // oldest first
}

// Pose is what a view adds to everybody's avatar. Dress gives it.
type Pose struct{ struck float64 } // the moment of the last hit

// spark is a hit as it is seen, for sparkTicks.
type spark struct {
	key   ecs.EventKey
	x, y  float64
	begin float64
	size  float64
}

// note is a word that rises from where something happened to the player who watches, for noteTicks.
type note struct {
	key   ecs.EventKey
	x, y  float64
	begin float64
	text  string
	color ecs.Color
}

// obituary is a line of the kill feed, shown for feedTicks.
type obituary struct {
	Death
	begin float64
}

const (
	sparkTicks  = 18
	noteTicks   = 45
	struckTicks = 8
	feedTicks   = 5 * tickRate
	feedLines   = 4
	// staleTicks is from when on news is too old to be shown where it happened.
	staleTicks = 30
)

var (
	picture = donburi.NewComponentType[Picture]()
	pose    = donburi.NewComponentType[Pose]()
)

// pictureOf returns the view's picture. The query is a new one each time, since those that donburi shares are not for
// views on several goroutines.
func pictureOf(v *ecs.View) *Picture {
	entry, ok := donburi.NewQuery(filter.Contains(picture)).First(v.World)
	if !ok {
		entry = v.World.Entry(v.World.Create(picture))
	}
	return picture.Get(entry)
}

// poseOf returns what the view adds to e, nil if e is nobody's avatar.
func poseOf(v *ecs.View, e ecs.Entity) *Pose {
	entry := v.Entry(e)
	if entry == nil || !entry.HasComponent(pose) {
		return nil
	}
	return pose.Get(entry)
}

// dress gives avatars their pose.
func dress(_ *ecs.View, entry *donburi.Entry) {
	if entry.HasComponent(seat) {
		donburi.Add(entry, pose, &Pose{struck: -struckTicks})
	}
}

// heard takes note of what is to be seen of an event. Sparks show at once and go out if the hit is cancelled; the kill
// feed has confirmed deaths only.
func heard(v *ecs.View, e ecs.Effect) {
	p, g := pictureOf(v), v.Sim.Game()
	if d, ok := Deaths.Decode(g, e.Event); ok {
		if e.Status == ecs.EffectConfirmed {
			p.feed = append(p.feed, obituary{Death: d, begin: moment(v)})
			p.feed = slices.Delete(p.feed, 0, max(len(p.feed)-feedLines, 0))
		}
		return
	}
	if e.Status == ecs.EffectCancelled {
		p.forget(e.Event.Key)
		return
	}
	if !e.First || e.Age > staleTicks {
		return
	}
	if h, ok := Hits.Decode(g, e.Event); ok {
		p.hit(v, e.Event.Key, h)
	} else if _, ok := Pickups.Decode(g, e.Event); ok && watches(v, e.Event.Key.Entity) {
		p.note(v, e.Event.Key, "+1 kit", good)
	}
}

// hit shows harm done to the event's entity.
func (p *Picture) hit(v *ecs.View, key ecs.EventKey, h Hit) {
	b, ok := body.Read(v.Sim, key.Entity)
	if !ok {
		return
	}
	x, y := raised(b.Pos)
	p.sparks = append(p.sparks, spark{key: key, x: x, y: y, begin: moment(v), size: 0.6 + float64(h.Damage)/50})
	if pose := poseOf(v, key.Entity); pose != nil {
		pose.struck = moment(v)
	}
	switch {
	case watches(v, key.Entity):
		p.note(v, key, fmt.Sprintf("-%d", h.Damage), bad)
	case int(h.By) == v.Seat:
		p.note(v, key, fmt.Sprint(h.Damage), glow)
	}
}

// note writes a word over the event's entity.
func (p *Picture) note(v *ecs.View, key ecs.EventKey, text string, color ecs.Color) {
	if b, ok := body.Read(v.Sim, key.Entity); ok {
		x, y := raised(b.Pos)
		side := 0.35 * float64(int(key.Tick/rifleTicks%3)-1) // so that one burst's numbers stand apart
		p.notes = append(p.notes, note{key: key, x: x + side, y: y - 1.9, begin: moment(v), text: text, color: color})
	}
}

// forget takes away what was shown of an event.
func (p *Picture) forget(key ecs.EventKey) {
	p.sparks = slices.DeleteFunc(p.sparks, func(s spark) bool { return s.key == key })
	p.notes = slices.DeleteFunc(p.notes, func(n note) bool { return n.key == key })
}

// fade drops what has been seen long enough, and what is of a moment that lies ahead: a view that was loaded anew.
func (p *Picture) fade(now float64) {
	over := func(begin, ticks float64) bool { return now < begin-staleTicks || now >= begin+ticks }
	p.sparks = slices.DeleteFunc(p.sparks, func(s spark) bool { return over(s.begin, sparkTicks) })
	p.notes = slices.DeleteFunc(p.notes, func(n note) bool { return over(n.begin, noteTicks) })
	p.feed = slices.DeleteFunc(p.feed, func(o obituary) bool { return over(o.begin, feedTicks) })
}

// watches reports whether e is steered by who watches.
func watches(v *ecs.View, e ecs.Entity) bool {
	s, ok := seat.Read(v.Sim, e)
	return ok && int(s.Player) == v.Seat
}
