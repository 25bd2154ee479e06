package rules

import (
	"github.com/yohamta/donburi"
	"github.com/yohamta/donburi/filter"

	"tendon/ecs"
)

// The components of this file belong to a view alone. They hold any Go type, and they stay while their entity is shown,
// whatever is rewound meanwhile.

// Pose is on every avatar.
type Pose struct {
	struck float64 // moment of the last hit, in ticks
}

// Trail is on every rocket: the last places at which it was shown, newest first, at most one for each tick.
type Trail struct {
	points [trailTicks]ecs.Point
	count  int
	newest float64 // moment of points[0], in ticks
}

const (
	struckTicks = 8 // for which an avatar flashes after a hit
	trailTicks  = 6
)

var (
	pose  = donburi.NewComponentType[Pose]()
	trail = donburi.NewComponentType[Trail]()
)

// Queries for drawing. A donburi query serves any donburi world; shown walks it in a view.
var (
	livingAvatars = donburi.NewQuery(filter.And(filter.Contains(body, seat, look, health, pose), filter.Not(filter.Contains(dead))))
	dashing       = donburi.NewQuery(filter.And(filter.Contains(body, seat, dash, pose), filter.Not(filter.Contains(dead))))
	shooting      = donburi.NewQuery(filter.And(filter.Contains(body, arms, look, pose), filter.Not(filter.Contains(dead))))
	deadAvatars   = donburi.NewQuery(filter.Contains(body, seat, dead))
	flyingRockets = donburi.NewQuery(filter.Contains(body, rocket, trail))
	burningBlasts = donburi.NewQuery(filter.Contains(body, blast))
	lyingKits     = donburi.NewQuery(filter.Contains(kit, body))
	closedDoors   = donburi.NewQuery(filter.Contains(door))
)

// shown returns a function that walks a query in the donburi world of the view, in the order of rows.
func shown(v *ecs.View, query *donburi.Query) func(func(*donburi.Entry) bool) {
	return ecs.Ordered(v.Sim, query)
}

// dress adds the view's components to an entity that has appeared.
func dress(_ *ecs.View, entry *donburi.Entry) {
	switch {
	case entry.HasComponent(seat):
		donburi.Add(entry, pose, &Pose{struck: -struckTicks})
	case entry.HasComponent(rocket):
		donburi.Add(entry, trail, &Trail{})
	}
}

// poseOf returns the pose of e, or nil if e is no avatar that the view shows.
func poseOf(v *ecs.View, e ecs.Entity) *Pose {
	entry := v.Sim.Entry(e)
	if entry == nil || !entry.HasComponent(pose) {
		return nil
	}
	return pose.Get(entry)
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
