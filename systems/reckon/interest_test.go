package reckon

import (
	"testing"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/systems"
	"tendon/systems/motion"
)

// apart plays two walkers until the first is so far away that the other does not hear of him.
func apart(t *testing.T, c Config) *rig {
	t.Helper()
	r := newRig(t, 2, 3, 3, c, false)
	r.pads[0].Walk = true
	r.Run(10 * gameRate)
	r.pads[0].Walk = false
	r.Run(3 * gameRate)
	if s, _ := r.clients[1].Replica(); image.ExistsAt(s, r.walker(0)) {
		t.Fatal("a walker 50 units away is still heard of")
	}
	return r
}

// heard counts the events of a kind that a client's player has heard of since it was last asked.
func (r *rig) heard(seat int, event *ecs.Event[shot]) (n int) {
	for _, e := range r.news[seat] {
		if _, ok := event.Decode(r.Game, e.Event); ok && e.Status == ecs.EffectConfirmed {
			n++
		}
	}
	r.news[seat] = r.news[seat][:0]
	return n
}

// What happens to somebody whom a client does not hear of is not told it, but for what cannot be taken back; who hears of
// him hears of what happens.
func TestEventsAreForThoseWhoHearOfWhomTheyAreAbout(t *testing.T) {
	r := apart(t, Config{Interest: fixed.FromInt(20)})
	r.heard(1, shots)
	for range 3 {
		r.pads[0].Shoot = true
		r.Run(gameRate)
	}
	if own, other := r.heard(0, shots), r.heard(1, shots); own < 3 || other > 0 {
		t.Errorf("of three shots who fired heard %d, who is far away %d", own, other)
	}
	r.pads[1].Shoot = true
	r.Run(gameRate)
	if n := r.heard(1, shots); n != 1 {
		t.Errorf("of a shot of his own a player heard %d", n)
	}
	for range 2 {
		r.pads[0].Hurt = true
		r.Run(10)
	}
	r.Run(gameRate)
	if n := r.heard(1, deaths); n != 1 {
		t.Errorf("a death was told %d times to who is far away", n)
	}
}

// Who comes near is told of at once, by a record and in the state, and not when his next record is due.
func TestWhoComesNearIsToldOfAtOnce(t *testing.T) {
	r := apart(t, Config{Interest: fixed.FromInt(20), StateRate: 1, Records: motion.SendConfig{Period: 5 * systems.Second}})
	r.pads[0] = pad{Walk: true, Heading: 512}
	slot, _ := r.server.motion.things.Slot(r.walker(0).Row)
	for !r.server.sets.Has(1, slot) {
		if r.Step(); r.Tick > 40*gameRate {
			t.Fatal("nobody comes near")
		}
	}
	r.Run(r.Down + 1)
	if s, _ := r.clients[1].Replica(); !image.ExistsAt(s, r.walker(0)) {
		t.Error("the state does not have him yet")
	}
	m, ok := r.clients[1].Shown(r.walker(0), r.Local(1))
	if !ok || far(m.Pos, r.believed(0)) > 0.5 {
		t.Errorf("no record has come: shown at %v (%v), and is at %v", m.Pos, ok, r.believed(0))
	}
}

// What happens to something in its last tick is told to those who heard of it, and to no others.
func TestTheLastEventsOfWhatIsGoneAreForThoseWhoHeardOfIt(t *testing.T) {
	r := apart(t, Config{Interest: fixed.FromInt(20)})
	s, e := r.server, r.walker(0)
	r.server.Stamp(image.Order{Kind: image.OrderLeave, Player: 0}, r)
	r.lose = func(bool, int, []byte) bool { return true }
	r.Tick++
	s.Tick(r.Now())
	event := image.EmittedEvent{Key: image.EventKey{Tick: s.Done(), Entity: e}}
	far, own := s.eventFilter(&s.Peers[1])(&event), s.eventFilter(&s.Peers[0])(&event)
	if _, there := s.World().Image().Motion(e); there || far || !own {
		t.Errorf("there: %v; who was far away hears of it: %v; who was it: %v", there, far, own)
	}
}

// Where a threshold is to grow with the distance of who looks, it does: of what the server moves and of what clients do.
func TestWhatIsFarAwayIsToldOfMoreSeldom(t *testing.T) {
	claims := func(near fixed.Num) (n uint64) {
		r := newRig(t, 2, 3, 3, Config{Records: motion.SendConfig{Near: near, Threshold: fixed.One, Period: 5 * systems.Second}}, false)
		r.pads[0].Walk = true
		r.Run(10 * gameRate)
		before := r.clients[0].Counts().Claims
		for i := range 120 {
			r.pads[0].Heading = int16(i%2) * 60
			r.Run(5)
		}
		return r.clients[0].Counts().Claims - before
	}
	if always, seldom := claims(0), claims(fixed.FromInt(2)); seldom*2 > always || always < 20 {
		t.Errorf("%d records of who is 50 units away, %d with a threshold of 25 times as much", always, seldom)
	}
	r := newRig(t, 2, 3, 3, Config{Records: motion.SendConfig{Near: fixed.One}}, false)
	r.pads[0].Shoot = true
	r.Run(20)
	for slot, thing := range r.server.motion.things.All {
		if thing.entity.Owner() != ecs.OwnedBy(0) || thing.entity == r.walker(0) {
			continue
		}
		want := thing.motion.Pos.Sub(r.believed(1)).Len()
		if got := r.server.motion.viewer(slot); got != want || want == 0 {
			t.Errorf("the nearest who looks at a bolt is %v away, want %v", got, want)
		}
		for off, records := range []int{0, 0, 1} { // its threshold is 2.2 units
			r.server.motion.sent()
			thing.motion.Pos.Y += fixed.FromInt(off)
			if r.server.motion.update(slot, r.Now()); len(r.server.motion.out) != records {
				t.Errorf("of a bolt that is %d units farther off its way %d records leave", off, len(r.server.motion.out))
			}
		}
		return
	}
	t.Error("no bolt")
}
