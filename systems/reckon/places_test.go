package reckon

import (
	"testing"

	"tendon/ecs/fixed"
	"tendon/systems"
)

// Records carry the positions of moving entities; bodies of state leave them out until the entity has rested. In a
// client's world, remote entities are where their records lead.
func TestTheStateOmitsPositionsOfMovingEntities(t *testing.T) {
	r := newRig(t, 2, 3, 3, Config{}, false)
	replicated := func() fixed.Vec3 {
		s, _ := r.clients[1].Replica()
		m, _ := s.Motion(r.walker(0))
		return m.Pos
	}
	r.Run(3 * gameRate)
	from := replicated()
	r.pads[0].Walk = true
	r.Run(3 * gameRate)
	if replicated() != from {
		t.Errorf("the state has brought a walker to %v, from %v", replicated(), from)
	}
	here, _ := r.clients[1].World().Image().Motion(r.walker(0))
	if d := far(here.Pos, r.believed(0)); d > 0.3 || far(r.believed(0), from) < 10 {
		t.Errorf("a client computes with a walker that is %.2f off, and has gone %.1f", d, far(r.believed(0), from))
	}
	r.pads[0].Walk = false
	r.Run(int(systems.RestTime / systems.Second * gameRate))
	if replicated() != from {
		t.Errorf("the state has brought a walker that has just come to rest to %v", replicated())
	}
	r.Run(gameRate)
	if replicated() != r.believed(0) {
		t.Errorf("the state has a walker that rests at %v, the server at %v", replicated(), r.believed(0))
	}
}

// A jump by a system is in the next body of state: a record of it may be lost.
func TestTheStateHasThePositionAfterAJump(t *testing.T) {
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

// A new client receives the positions of moving entities in records. Its image and the state may have older ones.
func TestANewClientReceivesPositionsInRecords(t *testing.T) {
	r := newRig(t, 2, 3, 3, Config{}, false)
	r.pads[0].Walk = true
	r.Run(2 * gameRate)
	r.Peers[1].Drop()
	r.lose = func(toClient bool, seat int, _ []byte) bool { return !toClient && seat == 1 }
	r.Run(gameRate)
	r.lose = nil
	r.Peers[1].Enter()
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
