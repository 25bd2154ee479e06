package rules

import (
	"math"

	"tendon/ecs"
	"tendon/ecs/image"
)

// replay is the kill cam: while the own avatar is dead, the view shows the last 2 s before its death from the killer's side.
// It simulates the confirmed ticks again in a second world. Under relay and lockstep, a client has them; under the other
// strategies, ecs.View.Past is nil and there is no replay.
type replay struct {
	world       *ecs.World // in a past state; nil while there is no replay
	view        *ecs.View  // of world, with the killer as the player who watches
	before, now image.Snapshot
	from, death ecs.Tick // the first and the last tick of world that are shown
	begin       float64  // moment of the own view; the end is the respawn
}

const (
	replayTicks = 2 * tickRate     // before the death
	leastReplay = respawnTicks / 4 // minimum ticks until the respawn

	history = replayTicks + 2*tickRate // a death may become final late
)

// choose starts a replay of a death in tick f if another player killed the own avatar and the past is kept.
func (r *replay) choose(v *ecs.View, d Death, f ecs.Tick) {
	left := float64(f+respawnTicks) - moment(v)
	if v.Past == nil || int(d.Victim) != v.Seat || d.Killer == d.Victim || left < leastReplay {
		return
	}
	*r = replay{}
	from := f - min(f, replayTicks)
	world, ok := v.Past.Fork(from)
	for !ok && from+1 < f { // the first ones may not be kept
		from++
		world, ok = v.Past.Fork(from)
	}
	view, err := ecs.NewView(v.Sim.Game())
	if !ok || err != nil {
		return
	}
	view.Seat = int(d.Killer)
	*r = replay{world: world, view: view, from: from, death: f, begin: moment(v)}
	world.Image().Save(&r.now)
}

// end returns the moment of the own view at which the replay ends.
func (r *replay) end() float64 { return float64(r.death + respawnTicks) }

// moment returns the moment of the past that is shown at a moment of the own view. The replay fills the time until the
// respawn, so that it is a little faster than the match was.
func (r *replay) moment(now float64) float64 {
	share := (now - r.begin) / (r.end() - r.begin)
	return float64(r.from) + min(max(share, 0), 1)*float64(r.death-r.from)
}

// advance brings the replay to the moment of the own view and returns its view, nil if there is none. The replay ends with
// the respawn, and where a tick is no longer kept.
func (r *replay) advance(v *ecs.View) *ecs.View {
	if r.world == nil {
		return nil
	}
	now := moment(v)
	if now < r.begin-staleTicks || now >= r.end() || v.Past == nil {
		*r = replay{}
		return nil
	}
	at := r.moment(now)
	for float64(r.world.Tick()) < at {
		if !v.Past.Follow(r.world) {
			*r = replay{}
			return nil
		}
		r.before, r.now = r.now, r.before
		r.world.Image().Save(&r.now)
		r.show(1)
		for _, e := range r.world.Events() {
			showEffect(r.view, ecs.Effect{Event: e, Status: ecs.EffectConfirmed, First: true})
		}
	}
	r.show(1 - (math.Ceil(at) - at))
	pictureOf(r.view).dropOld(moment(r.view))
	return r.view
}

// show brings the view of the past to a moment between the two states.
func (r *replay) show(alpha float64) {
	before := &r.before
	if before.Empty() {
		before = &r.now
	}
	r.view.Update(before, &r.now, &r.now, alpha)
}

func paintReplay(c ecs.Canvas, v, past *ecs.View) {
	killer := ecs.Player(past.Seat)
	middle := hudHeight * c.Aspect() / 2
	c.Rectangle(middle-2.6, 4, 5.2, 0.9, panel)
	c.Text(middle, 4.1, 0.6, 0, "kill cam: "+label(v, killer), colorOf(v, killer))
}
