package reckon

import (
	"testing"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/systems"
	"tendon/systems/internal/inputs"
	"tendon/systems/motion"
)

// apart moves the first of two walkers away, until it is not relevant to the second player.
func apart(t *testing.T, c Config) *rig {
	t.Helper()
	r := newRig(t, 2, 3, 3, c, false)
	r.pads[0].Walk = true
	r.Run(10 * gameRate)
	r.pads[0].Walk = false
	r.Run(3 * gameRate)
	if s, _ := r.clients[1].Replica(); image.ExistsAt(s, r.walker(0)) {
		t.Fatal("a walker 50 units away is still replicated")
	}
	return r
}

// confirmed counts the events of a kind that a client has confirmed since the last call.
func (r *rig) confirmed(seat int, event *ecs.Event[shot]) (n int) {
	for _, e := range r.Peers[seat].Effects {
		if _, ok := event.Decode(r.Game, e.Event); ok && e.Status == ecs.EffectConfirmed {
			n++
		}
	}
	r.Peers[seat].Effects = r.Peers[seat].Effects[:0]
	return n
}

// A client receives the events of relevant entities, and irreversible events of all.
func TestEventsFollowRelevance(t *testing.T) {
	r := apart(t, Config{Interest: fixed.FromInt(20)})
	r.confirmed(1, shots)
	for range 3 {
		r.pads[0].Shoot = true
		r.Run(gameRate)
	}
	if own, remote := r.confirmed(0, shots), r.confirmed(1, shots); own < 3 || remote > 0 {
		t.Errorf("the shooter received %d of three shots, the distant player %d", own, remote)
	}
	r.pads[1].Shoot = true
	r.Run(gameRate)
	if n := r.confirmed(1, shots); n != 1 {
		t.Errorf("the shooter received %d events of one shot", n)
	}
	for range 2 {
		r.pads[0].Hurt = true
		r.Run(10)
	}
	r.Run(gameRate)
	if n := r.confirmed(1, deaths); n != 1 {
		t.Errorf("the distant player received a death %d times", n)
	}
}

// An entity that becomes relevant is sent at once, in a record and in the state. Its next record may be due much
// later.
func TestAnEntityThatComesNearIsSentAtOnce(t *testing.T) {
	r := apart(t, Config{Interest: fixed.FromInt(20), StateRate: 1, Records: motion.SendConfig{Period: 5 * systems.Second}})
	r.pads[0] = pad{Walk: true, Heading: 512}
	for !r.server.relevant(&r.server.Peers[1], r.walker(0)) {
		if r.Step(); r.Tick > 40*gameRate {
			t.Fatal("the walker does not come near")
		}
	}
	r.Run(r.Down + 1)
	if s, _ := r.clients[1].Replica(); !image.ExistsAt(s, r.walker(0)) {
		t.Error("the state does not have the walker yet")
	}
	m, ok := r.clients[1].Shown(r.walker(0), r.Local(1))
	if !ok || far(m.Pos, r.believed(0)) > 0.5 {
		t.Errorf("no record has come: shown at %v (%v), and is at %v", m.Pos, ok, r.believed(0))
	}
}

// Events of the last tick of an entity are sent to the peers that it was relevant to.
func TestTheLastEventsOfAnEntityFollowItsRelevance(t *testing.T) {
	r := apart(t, Config{Interest: fixed.FromInt(20)})
	s, e := r.server, r.walker(0)
	r.server.Stamp(image.Order{Kind: image.OrderLeave, Player: 0}, r)
	r.lose = func(bool, int, []byte) bool { return true }
	r.Next()
	s.Tick(r.Now())
	event := image.EmittedEvent{Key: image.EventKey{Tick: s.Done(), Entity: e}}
	far, own := s.eventFilter(&s.Peers[1])(&event), s.eventFilter(&s.Peers[0])(&event)
	if _, there := s.World().Image().Motion(e); there || far || !own {
		t.Errorf("the walker exists: %v; the event passes the filter of the distant player: %v, of its owner: %v", there, far, own)
	}
}

// A peer that is opened again as a spectator receives every entity at once, as a new one does.
func TestASpectatorReceivesEverything(t *testing.T) {
	r := apart(t, Config{Interest: fixed.FromInt(20)})
	holds := func() (far bool) {
		r.server.Peers[1].Own.relevant(func(e ecs.Entity, _ float32) bool {
			far = far || e == r.walker(0)
			return true
		})
		return far
	}
	before := holds()
	r.server.Open(1, -1, r.server.Done(), r.Now(), r)
	if after := holds(); before || !after {
		t.Errorf("the distant walker is relevant to the player: %v, to the spectator: %v", before, after)
	}
}

// With Near, the threshold grows with the distance of the nearest viewer, on the server and on clients.
func TestDistantEntitiesSendFewerRecords(t *testing.T) {
	claims := func(near fixed.Num) (n uint64) {
		r := newRig(t, 2, 3, 3, Config{Records: motion.SendConfig{Near: near, Threshold: fixed.One, Period: 5 * systems.Second}}, false)
		r.pads[0].Walk = true
		r.Run(10 * gameRate)
		r.lose = func(toClient bool, seat int, message []byte) bool {
			var m moveMessage
			if !toClient && seat == 0 && message[0] == kindMove && m.read(message, r.server.Done(), 0, new(inputs.WindowDecoder), r.Game) == nil {
				n += uint64(len(m.claims))
			}
			return false
		}
		for i := range 120 {
			r.pads[0].Heading = int16(i%2) * 60
			r.Run(5)
		}
		return n
	}
	if always, seldom := claims(0), claims(fixed.FromInt(2)); seldom*2 > always || always < 20 {
		t.Errorf("%d records of a walker 50 units away, %d with a threshold of 25 times as much", always, seldom)
	}
	r := newRig(t, 2, 3, 3, Config{Records: motion.SendConfig{Near: fixed.One}}, false)
	r.pads[0].Shoot = true
	r.Run(20)
	for slot, bolt := range r.server.motion.entities.All {
		if bolt.entity.Owner() != ecs.OwnedBy(0) || bolt.entity == r.walker(0) {
			continue
		}
		want := bolt.motion.Pos.Sub(r.believed(1)).Len()
		if got := r.server.motion.viewer(slot); got != want || want == 0 {
			t.Errorf("the nearest viewer of a bolt is %v away, want %v", got, want)
		}
		for off, records := range []int{0, 0, 1} { // its threshold is 2.2 units
			r.server.motion.out, r.server.motion.bytes = nil, nil
			bolt.motion.Pos.Y += fixed.FromInt(off)
			if r.server.motion.update(slot, r.Now()); len(r.server.motion.out) != records {
				t.Errorf("a bolt that is %d units farther off its course sends %d records", off, len(r.server.motion.out))
			}
		}
		return
	}
	t.Error("no bolt")
}
