package reckon

import (
	"testing"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/systems/motion"
)

// ride attaches the walker of player 1 to that of player 0.
func ride(w *ecs.World, r *motion.Record) {
	if rider, parent := walker(w, 1), walker(w, 0); r.Entity == rider {
		on, _ := w.Image().Motion(parent)
		r.Mode, r.Parent, r.Pos, r.Vel = motion.Attached, parent, r.Pos.Sub(on.Pos), r.Vel.Sub(on.Vel)
	}
}

// A rider's records are relative to its parent, so that it moves on every client as the parent is shown there. Without Allow,
// the server refuses them.
func TestAnAttachedAvatarMovesWithItsParent(t *testing.T) {
	for _, allowed := range []bool{true, false} {
		c := Config{Mode: ride}
		if allowed {
			c.Allow = func(r motion.Record) bool { return r.Mode == motion.Attached }
		}
		r := newRig(t, 2, 3, 3, c, false)
		apart, from := r.believed(1).Sub(r.believed(0)), r.believed(0)
		for seat := range r.pads {
			r.pads[seat].Walk = true
		}
		r.Run(gameRate)
		if went := far(r.believed(0), from); went < 0.5 {
			t.Fatalf("the parent moved by %v only", went)
		}
		last, _ := r.server.avatar(r.walker(1)).belief.Record()
		refused := r.guard(1).Refused
		if !allowed {
			if refused == 0 || last.Mode == motion.Attached {
				t.Errorf("without Allow %d records are refused, and the last is of mode %v", refused, last.Mode)
			}
			continue
		}
		if refused > 0 || last.Mode != motion.Attached || last.Parent != r.walker(0) {
			t.Errorf("%d records are refused, and the last is %+v", refused, last)
		}
		for name, is := range map[string]fixed.Vec3{
			"on the server":          r.believed(1).Sub(r.believed(0)),
			"on the parent's client": r.shown(0, 1).Sub(r.own(0)),
		} {
			if far(is, apart) > 0.3 {
				t.Errorf("%s the rider is at %v from its parent, want %v", name, is, apart)
			}
		}
	}
}
