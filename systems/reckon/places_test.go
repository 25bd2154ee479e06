package reckon

import (
	"testing"

	"tendon/ecs/fixed"
	"tendon/systems"
)

// What moves is told by records; the state leaves its place out until it has rested. Systems on clients that look at
// others find them where records have them.
func TestTheStateLeavesOutWhereThingsAreThatMove(t *testing.T) {
	r := newRig(t, 2, 3, 3, Config{}, false)
	told := func() fixed.Vec3 {
		s, _ := r.clients[1].Replica()
		m, _ := s.Motion(r.walker(0))
		return m.Pos
	}
	r.Run(3 * gameRate)
	from := told()
	r.pads[0].Walk = true
	r.Run(3 * gameRate)
	if told() != from {
		t.Errorf("the state has brought a walker to %v, from %v", told(), from)
	}
	here, _ := r.clients[1].World().Image().Motion(r.walker(0))
	if d := far(here.Pos, r.believed(0)); d > 0.3 || far(r.believed(0), from) < 10 {
		t.Errorf("a client computes with a walker that is %.2f off, and has gone %.1f", d, far(r.believed(0), from))
	}
	r.pads[0].Walk = false
	r.Run(int(systems.RestTime / systems.Second * gameRate))
	if told() != from {
		t.Errorf("the state has brought a walker that has just come to rest to %v", told())
	}
	r.Run(gameRate)
	if told() != r.believed(0) {
		t.Errorf("the state has a walker that rests at %v, the server at %v", told(), r.believed(0))
	}
}

// Where a system puts something far away, the state has it at once: a record of that may be lost.
func TestTheStateHasWhereThingsJumpTo(t *testing.T) {
	r := newRig(t, 2, 3, 3, Config{}, false)
	r.pads[0] = pad{Walk: true, Hurt: true}
	r.Step()
	r.pads[0].Hurt = true
	r.Run(2)
	home := fixed.Vec3{Y: fixed.FromInt(-200)}
	for range 3 * gameRate {
		if r.Step(); far(r.believed(0), home) < 1 {
			break
		}
	}
	r.Run(gameRate / 2)
	s, _ := r.clients[1].Replica()
	if m, _ := s.Motion(r.walker(0)); far(m.Pos, home) > 1 || far(r.believed(0), home) < 1 {
		t.Errorf("the state has it at %v, and it has gone on to %v", m.Pos, r.believed(0))
	}
}

// A client that comes in while things move is told where they are by records, whatever its image and the state say.
func TestWhoComesInSeesWhatMovesWhereItIs(t *testing.T) {
	r := newRig(t, 2, 3, 3, Config{}, false)
	r.pads[0].Walk = true
	r.Run(2 * gameRate)
	r.server.Close(1)
	r.Drop(1)
	r.lose = func(toClient bool, seat int, _ []byte) bool { return !toClient && seat == 1 }
	r.Run(gameRate)
	r.lose = nil
	r.connect(1)
	r.Run(2 * gameRate)
	if d := far(r.shown(1, 0), r.believed(0)); d > 0.3 {
		t.Errorf("off by %.2f", d)
	}
	r.pads[0].Walk = false
	r.Run(4 * gameRate)
	s, _ := r.clients[1].Replica()
	if m, _ := s.Motion(r.walker(0)); m.Pos != r.believed(0) {
		t.Errorf("the state has it at %v, the server at %v", m.Pos, r.believed(0))
	}
}
