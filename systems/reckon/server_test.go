package reckon

import (
	"slices"
	"testing"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/ecs/race"
	"tendon/systems"
	"tendon/systems/internal/inputs"
	"tendon/systems/motion"
	"tendon/systems/state"
)

// A player's action shows in the same frame, at any delay. The server and other clients are behind by the delay at
// most, and exact on a straight line.
func TestActionsShowAtOnce(t *testing.T) {
	for _, way := range []int{1, 3, 30, 60} {
		r := newRig(t, 2, way, way, Config{}, false)
		at := r.own(0)
		r.pads[0].Walk = true
		r.Run(2) // a frame may be a hair too early for its tick
		if r.own(0) == at {
			t.Errorf("way %d: nothing moved in two frames", way)
		}
		r.Run(2*way + 3*gameRate)
		if d := far(r.own(0), r.believed(0)); d > 0.15 {
			t.Errorf("way %d: the server is off by %.2f on a straight line", way, d)
		}
		if d := far(r.own(0), r.shown(1, 0)); d > 0.35 {
			t.Errorf("way %d: the remote walker is off by %.2f on a straight line", way, d)
		}
		if r.corrections(0) > 0 {
			t.Errorf("way %d: corrected: %+v", way, r.guard(0))
		}
	}
}

// Recordings and journals hold inputs and orders, among them the positions that clients claimed. A replay of them
// computes the same states, including respawns.
func TestAReplayOfInputsAndOrdersIsEqual(t *testing.T) {
	r := newRig(t, 2, 5, 5, Config{}, false)
	for i := range 20 {
		r.pads[0] = pad{Heading: int16(i * 100), Walk: true, Shoot: i%3 == 0, Hurt: i%4 == 0}
		r.pads[1] = pad{Heading: int16(-i * 70), Walk: i%2 == 0, Shoot: true}
		r.Run(30)
	}
	motions := 0
	for _, f := range r.taken {
		for _, o := range f.Orders {
			if o.Kind == image.OrderMotion {
				motions++
			}
		}
	}
	if f := r.replay(); f != 0 || motions < 1000 {
		t.Errorf("tick %d differs, with %d motions", f, motions)
	}
	for i := range r.taken { // the negative control: without the motions the states differ
		r.taken[i].Orders = slices.DeleteFunc(r.taken[i].Orders, func(o image.Order) bool { return o.Kind == image.OrderMotion })
	}
	if r.replay() == 0 {
		t.Error("a replay without the motions is equal")
	}
}

// A server that adopts the ticks of a journal has the same state as the one that computed them.
func TestAdoptedTicksAreTheSame(t *testing.T) {
	r := newRig(t, 1, 4, 4, Config{}, false)
	r.pads[0] = pad{Walk: true, Shoot: true}
	r.Run(100)
	half, err := New(Config{}).NewServer(systems.ServerConfig{World: newWorld(t, r.Game), Peers: 1})
	if err != nil {
		t.Fatal(err)
	}
	again := half.(*Server)
	for _, f := range r.taken {
		if err := again.Adopt(f); err != nil {
			t.Fatal(err)
		}
	}
	var s image.Snapshot
	again.World().Image().Save(&s)
	if s.Checksum() != r.sums[len(r.sums)-1] || len(again.avatars) != 1 {
		t.Errorf("another state after %d ticks, %d avatars", again.Done(), len(again.avatars))
	}
}

// DR-08 of the whole strategy: a client computes its walker 1.5 times as fast for 30 s. It gets at most 1.05 times as
// far, and is corrected. A trusting server accepts it.
func TestDR08TheWholeStrategyLimitsAFastClient(t *testing.T) {
	for _, trusting := range []bool{false, true} {
		r := newRig(t, 2, 6, 6, Config{Trusting: trusting}, true)
		from := r.believed(0)
		r.pads[0] = pad{Walk: true, Fast: true}
		r.Run(30 * gameRate)
		d := far(r.believed(0), from) / top
		s, snaps := r.guard(0), r.clients[0].Stats().Snaps
		t.Logf("trusting %v: %.2f s of way at full speed in 30 s, %+v, %d snaps", trusting, d, s, snaps)
		if !trusting && (d > 30*1.05+0.5 || s.Clamped == 0 || snaps == 0) {
			t.Errorf("a fast client gets %.2f times as far, %+v", d/30, s)
		}
		if trusting && (d < 44 || r.corrections(0) > 0) {
			t.Errorf("a trusting server believes %.2f times as far, %+v", d/30, s)
		}
	}
}

// When a system moves an avatar, its client follows. Records of before are not valid any more. Others see it at the
// new position with no motion in between.
func TestARespawnCorrectsTheClient(t *testing.T) {
	r := newRig(t, 2, 8, 8, Config{}, false)
	r.pads[0] = pad{Walk: true}
	r.Run(gameRate)
	e := r.walker(0)
	avatar := func() *avatar { return r.server.avatar(e) }
	before := avatar().epoch
	r.pads[0].Hurt = true
	r.Step()
	r.pads[0].Hurt = true
	r.Run(gameRate / 2)
	home := fixed.Vec3{Y: fixed.FromInt(-200)}
	respawned, sawBetween := 0, false
	for i := range 4 * gameRate {
		r.Step()
		if respawned == 0 && far(r.believed(0), home) < 1 {
			respawned = i
			if a := avatar(); a.epoch != before+1 || !a.held {
				t.Errorf("epoch %d after %d, unanswered %v", a.epoch, before, a.held)
			}
		}
		if d := far(r.shown(1, 0), home); d > 30 && respawned > 0 && i > respawned+20 {
			sawBetween = true
		}
		if respawned > 0 && i == respawned+10 && far(r.own(0), home) > 1 {
			t.Errorf("the client is at %v, %d ticks after the respawn", r.own(0), i-respawned)
		}
	}
	if respawned == 0 {
		t.Fatal("no walker respawned")
	}
	if snaps := r.clients[0].Stats().Snaps; avatar().held || snaps != 1 || avatar().epoch != before+1 || sawBetween {
		t.Errorf("unanswered %v, %d snaps, epoch %d after %d, between: %v", avatar().held, snaps, avatar().epoch, before, sawBetween)
	}
	if d := far(r.own(0), r.believed(0)); d > 0.2 {
		t.Errorf("off by %.2f in the end", d)
	}
	// A record of before the correction is not valid.
	old := claim{epoch: before, record: motion.Record{Entity: e, Stamp: motion.StampOf(r.Local(0)) + 1, Pos: fixed.Vec3{X: fixed.FromInt(9)}}}
	was := r.guard(0)
	r.claim(0, old)
	if r.guard(0) != was || far(r.believed(0), old.record.Pos) < 100 {
		t.Errorf("a record of an old epoch: %+v after %+v", r.guard(0), was)
	}
}

// claim sends a message with records from a client.
func (r *rig) claim(seat int, c ...claim) error {
	m := moveMessage{received: r.server.Done(), claims: c}
	return r.server.Receive(systems.Peer(seat), systems.Datagram, m.append(nil, r.Game), r.Now(), r)
}

// A correction and its answer are repeated until they arrive.
func TestALostCorrectionIsRepeated(t *testing.T) {
	r := newRig(t, 1, 5, 5, Config{}, false)
	a := r.server.avatar(r.walker(0))
	r.server.correct(a, fixed.Vec3{X: fixed.FromInt(50)}, r.Now())
	r.lose = func(bool, int, []byte) bool { return true }
	r.Run(gameRate)
	r.lose = nil
	r.Run(12)
	if d := far(r.own(0), fixed.Vec3{X: fixed.FromInt(50)}); d > 1 {
		t.Fatalf("the correction did not arrive: %v", r.own(0))
	}
	r.server.correct(a, fixed.Vec3{X: fixed.FromInt(90)}, r.Now())
	r.lose = func(toClient bool, _ int, m []byte) bool { return !toClient && m[0] == kindMove }
	r.Run(20)
	r.lose = nil
	r.Run(20) // long before the next record is due
	if a.held || far(r.own(0), fixed.Vec3{X: fixed.FromInt(90)}) > 1 || far(r.believed(0), r.own(0)) > 0.2 {
		t.Errorf("unanswered %v, at %v and %v", a.held, r.own(0), r.believed(0))
	}
}

// An avatar that is held for the answer of its client is released when the client's connection ends.
func TestAnAvatarIsReleasedWhenItsConnectionEnds(t *testing.T) {
	r := newRig(t, 1, 5, 5, Config{}, false)
	a := r.server.avatar(r.walker(0))
	if r.server.correct(a, fixed.Vec3{X: fixed.FromInt(50)}, r.Now()); !a.held {
		t.Fatal("a corrected avatar is not held")
	}
	if r.server.Close(0); a.held {
		t.Error("the avatar is held for a client that has gone")
	}
}

// Records of entities that are no avatar of the sender are ignored: avatars of others, bolts, unknown entities.
func TestRecordsOfOthersChangeNothing(t *testing.T) {
	r := newRig(t, 2, 2, 2, Config{}, false)
	r.pads[1] = pad{Shoot: true}
	r.Run(20)
	bolt := ecs.Entity{}
	for e := range flying.All(r.server.World()) {
		bolt = e.Entity()
	}
	if bolt.IsZero() {
		t.Fatal("no bolt")
	}
	epoch := r.server.avatar(r.walker(1)).epoch
	for i, e := range []ecs.Entity{r.walker(1), bolt, {Row: 99, Born: 4}, {}} {
		guards, believed := [2]motion.GuardStats{r.guard(0), r.guard(1)}, r.server.avatar(r.walker(1)).belief.Stats
		err := r.claim(0, claim{epoch, motion.Record{Entity: e, Stamp: motion.StampOf(r.Local(0)), Pos: fixed.Vec3{X: fixed.FromInt(500)}}})
		if err != nil || guards != [2]motion.GuardStats{r.guard(0), r.guard(1)} || r.server.avatar(r.walker(1)).belief.Stats != believed {
			t.Errorf("%d: %v, the server has used the record: %+v, %+v", i, err, r.guard(0), r.guard(1))
		}
	}
	r.Run(30)
	if d := far(r.own(1), r.believed(1)); d > 0.2 {
		t.Errorf("the remote walker is off by %.2f", d)
	}
}

// Stamps of the future and the past, positions and speeds out of bounds: accepted records stay within the limits. An
// honest client is accepted again later.
func TestHostileStampsAndPlaces(t *testing.T) {
	for _, off := range []motion.Stamp{100, -100, 1900, -1900, 40, -7} {
		r := newRig(t, 2, 3, 3, Config{}, false)
		e, from := r.walker(0), r.believed(0)
		for i := range 3 * gameRate {
			epoch := r.server.avatar(e).epoch
			n := fixed.FromInt(i)
			rec := motion.Record{Entity: e, Stamp: motion.StampOf(r.Local(0)) + off + motion.Stamp(i%3), Pos: fixed.Vec3{X: n.Mul(n), Y: fixed.One << 24}, Vel: fixed.Vec3{X: motion.MaxVelocity, Z: -motion.MaxVelocity}}
			if err := r.claim(0, claim{epoch, rec}); err != nil {
				t.Fatal(err)
			}
			r.Step()
		}
		if d := far(r.believed(0), from); d > 1.05*top*(3+2.5+0.1+1)+0.5*top { // 2.5 s of jitter, and 1 s of extrapolation
			t.Errorf("stamps %d off: moved by %.1f", off, d)
		}
		if s := r.guard(0); s.Clamped == 0 && s.Stale == 0 && off > -1900 { // such a record counts as repeated
			t.Errorf("stamps %d off: %+v: the run proves nothing", off, s)
		}
		r.Run(25 * gameRate)
		if d := far(r.own(0), r.believed(0)); d > 0.3 {
			t.Errorf("stamps %d off: %.2f off in the end: %+v", off, d, r.guard(0))
		}
	}
}

// Records, messages and orders beyond the rate limits are dropped. Other clients are not affected.
func TestFloodsAreDropped(t *testing.T) {
	r := newRig(t, 2, 3, 3, Config{}, false)
	e := r.walker(0)
	r.pads[1].Walk = true
	before := r.guard(0)
	for range gameRate {
		epoch := r.server.avatar(e).epoch
		for i := range 12 {
			rec := claim{epoch, motion.Record{Entity: e, Stamp: motion.StampOf(r.Local(0)) + motion.Stamp(i), Flags: motion.FlagStop, Pos: r.believed(0)}}
			if err := r.claim(0, rec, rec, rec, rec); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.server.Receive(0, systems.Reliable, appendRequest(nil, 1, e, nil), r.Now(), r); err != nil {
			t.Fatal(err)
		}
		r.Step()
	}
	s := r.guard(0)
	if checked(s)-checked(before) > 100 || s.Accepted == before.Accepted {
		t.Errorf("%+v after %+v", s, before)
	}
	if refused := r.server.PeerStats(0).Refused; refused < 100 {
		t.Errorf("%d messages refused", refused)
	}
	if d := far(r.own(1), r.believed(1)); d > 0.2 {
		t.Errorf("the remote walker is off by %.2f", d)
	}
}

// Messages that no client sends are refused and change nothing.
func TestForgedMessagesAreRefused(t *testing.T) {
	r := newRig(t, 1, 2, 2, Config{}, false)
	good := moveMessage{received: r.server.Done()}
	b := good.append(nil, r.Game)
	ahead := moveMessage{received: r.server.Done() + 1}
	bodies := moveMessage{received: r.server.Done(), ack: state.Ack{Any: true, Newest: 60000}}
	relative := moveMessage{received: r.server.Done(), claims: []claim{{1, motion.Record{Entity: r.walker(0), Anchor: 1}}}}
	none := moveMessage{received: r.server.Done(), anchors: []anchorAck{{row: 1}}}
	for name, m := range map[string][]byte{
		"nothing": {}, "kind": {77}, "cut": b[:len(b)-1], "longer": append(slices.Clone(b), 0), "a tick to come": ahead.append(nil, r.Game),
		"bodies never sent": bodies.append(nil, r.Game), "a relative claim": relative.append(nil, r.Game), "anchor 0": none.append(nil, r.Game),
		"clock": {0xC1, 0}, "an order as a datagram": appendRequest(nil, 1, ecs.Entity{}, nil),
	} {
		if err := r.server.Receive(0, systems.Datagram, m, r.Now(), r); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	for name, m := range map[string][]byte{"nothing": {}, "kind": {77}, "news": {kindUpdate}, "clock": {0xC0, 1}, "events": {kindEvents, 1, 2}} {
		if err := r.clients[0].Receive(systems.Reliable, m, r.Local(0)); err == nil {
			t.Errorf("%s: accepted by a client", name)
		}
	}
	if r.server.Receive(0, systems.Datagram, b, r.Now(), r) != nil {
		t.Error("the valid message is refused")
	}
}

// Neither half allocates while all players walk and shoot.
func TestATickAllocatesNothing(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	for name, c := range map[string]Config{"all": {StateRate: 60}, "interest": {StateRate: 60, Interest: fixed.FromInt(100)}} {
		r := newRig(t, 3, 3, 3, c, false)
		i := 0
		r.server.Config.Taken = nil
		step := func() {
			i++
			for seat := range r.pads {
				r.pads[seat] = pad{Heading: int16(i / 37 * 200), Walk: i/100%3 != 0, Shoot: i%20 == 0}
			}
			r.Step()
			for _, p := range r.Peers {
				p.Effects = p.Effects[:0]
			}
		}
		for range 3000 { // until every ring has come round a few times
			step()
		}
		if n := testing.AllocsPerRun(600, step); n > 0 {
			t.Errorf("%s: %v allocations a frame", name, n)
		}
	}
}

// A client whose inputs are all refused still receives their margin, and can correct its clock. That happens when the
// first round trip was not measured, or the clock was set.
func TestRefusedInputsAreMeasured(t *testing.T) {
	r := newRig(t, 1, 2, 2, Config{}, false)
	r.Run(200)
	done, seat := r.server.Done(), &r.server.Seats[0]
	for name, c := range map[string]struct {
		received ecs.Tick
		count    int
		refused  uint64
	}{"two seconds late": {done - 130, 10, 0}, "two seconds early": {done, 120, 57}} {
		before := r.server.PeerStats(0).Refused
		seat.PopWorst()
		m := moveMessage{received: c.received, done: make([]ecs.InputBytes, c.count)}
		if err := r.server.Receive(0, systems.Datagram, m.append(nil, r.Game), r.Now(), r); err != nil {
			t.Fatal(err)
		}
		if w, ok := seat.Worst(); !ok || c.refused == 0 && w != (inputs.Margin{Tick: done - 120, Value: -120 * inputs.MarginUnit}) {
			t.Errorf("%s: %+v, %v", name, w, ok)
		}
		if n := r.server.PeerStats(0).Refused - before; n != c.refused {
			t.Errorf("%s: %d refused, want %d", name, n, c.refused)
		}
	}
}

// A client whose tick numbers are far too late or too early recovers soon.
func TestWrongTickNumbersRecover(t *testing.T) {
	for _, off := range []int{-300, -70, 70, 130, 300, 900} {
		r := newRig(t, 1, 2, 2, Config{}, false)
		c := r.clients[0]
		c.ticks.jump(ecs.Tick(int(r.server.Done()) + off))
		r.Run(4 * gameRate)
		before := r.server.PeerStats(0).Substituted
		r.Run(gameRate)
		if n := r.server.PeerStats(0).Substituted - before; n > 0 {
			t.Errorf("%d ticks off: %d inputs were substituted in the fifth second, the last margin was %v", off, n, c.Stats().Margin)
		}
	}
}
