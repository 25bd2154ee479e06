package reckon

import (
	"testing"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/net/wire"
	"tendon/systems"
	"tendon/systems/motion"
	"tendon/systems/predictor"
)

// Bolts, scores and deaths are the server's. A client shows its bolt once the server has spawned it, at its present
// position.
func TestSpawnsComeFromTheServer(t *testing.T) {
	const way = 10
	r := newRig(t, 2, way, way, Config{}, false)
	r.pads[0].Shoot = true
	arrived := [2]int{}
	for i := range 2*way + 12 {
		r.Step()
		for seat, c := range r.clients {
			n := 0
			for e := range flying.All(c.World()) {
				n++
				truth, ok := r.server.World().Image().Motion(e.Entity())
				shown, ok2 := c.Shown(e.Entity(), r.Local(seat))
				if ok && ok2 && far(truth.Pos, shown.Pos) > 0.3 {
					t.Errorf("frame %d: client %d shows a bolt %.2f from its position", i, seat, far(truth.Pos, shown.Pos))
				}
			}
			if n > 0 && arrived[seat] == 0 {
				arrived[seat] = i
			}
		}
	}
	// The server uses the input when it arrives. It sends a spawn in that tick, before the next of 5 bodies a second.
	for seat, i := range arrived {
		if i < 2*way-1 || i > 2*way+6 {
			t.Errorf("client %d received the bolt after %d frames, the round trip is %d", seat, i, 2*way)
		}
	}
	r.Run(2 * gameRate)
	for seat, c := range r.clients {
		for e := range flying.All(c.World()) {
			t.Errorf("client %d still has %v", seat, e.Entity())
		}
		if s := scores.Read(c.World()); s.Shots != 1 {
			t.Errorf("client %d counts %d shots", seat, s.Shots)
		}
	}
}

// An event of the local player is reported at once, and once. A death, and every event of another player, is reported
// when the server confirms it.
func TestEventsAreReportedOnce(t *testing.T) {
	const way = 12
	r := newRig(t, 2, way, way, Config{}, false)
	r.Peers[0].Effects, r.Peers[1].Effects = nil, nil
	r.pads[0].Shoot = true
	r.Run(2)
	if len(r.Peers[0].Effects) != 1 || r.Peers[0].Effects[0].Status != ecs.EffectPredicted {
		t.Fatalf("effects of the shooter: %+v, want one prediction", r.Peers[0].Effects)
	}
	r.pads[0].Hurt = true
	r.Run(1)
	r.pads[0].Hurt = true
	r.Run(way)
	for _, e := range r.Peers[0].Effects {
		if _, ok := deaths.Decode(r.Game, e.Event); ok {
			t.Error("a death is reported before the server confirmed it")
		}
	}
	r.Run(2*way + 20)
	for seat, p := range r.Peers {
		var first, confirmed, cancelled [2]int
		for _, e := range p.Effects {
			k := 0
			if _, ok := deaths.Decode(r.Game, e.Event); ok {
				k = 1
			}
			if e.First {
				first[k]++
			}
			switch e.Status {
			case ecs.EffectConfirmed:
				confirmed[k]++
			case ecs.EffectCancelled:
				cancelled[k]++
			}
		}
		if first != [2]int{1, 1} || confirmed != [2]int{1, 1} || cancelled != [2]int{} {
			t.Errorf("client %d: first %v, confirmed %v, cancelled %v", seat, first, confirmed, cancelled)
		}
	}
}

// The state of an avatar beside its position is predicted, and corrected by the server. A reload that is unknown to
// the server is reverted, and the position of the walker does not jump.
func TestCorrectionsKeepThePositionOfAnAvatar(t *testing.T) {
	r := newRig(t, 1, 6, 6, Config{}, false)
	r.pads[0].Walk = true
	r.Run(gameRate)
	c, e := r.clients[0], r.walker(0)
	lives.Write(c.World(), e).Points = 7
	c.History.Save(c.World())
	last := r.own(0)
	for range gameRate {
		r.Step()
		if d := far(r.own(0), last); d > 2.5*top/gameRate { // a frame may compute two ticks
			t.Fatalf("a step of %.3f", d)
		}
		last = r.own(0)
	}
	if l, _ := lives.Read(c.World(), e); l.Points != 100 || c.Stats().Corrections != 1 || c.Stats().Snaps != 0 {
		t.Errorf("%d points, %+v", l.Points, c.Stats())
	}
}

// A client that reconnects starts at the server's position of its walker. No walker jumps, although the client's
// clock differs.
func TestAReconnectedClientStartsAtTheServersPosition(t *testing.T) {
	r := newRig(t, 2, 5, 5, Config{}, false)
	r.pads[0].Walk = true
	r.Run(2 * gameRate)
	r.Peers[0].Drop()
	r.lose = func(toClient bool, seat int, _ []byte) bool { return seat == 0 }
	r.Run(5 * gameRate)
	stands := r.believed(0)
	r.Run(30)
	if d := far(r.believed(0), stands); d > 0 {
		t.Errorf("a walker without records for 5 s still moves: %.2f", d)
	}
	r.lose = nil
	r.Peers[0].Enter()
	r.Run(2 * gameRate)
	if !r.clients[0].Live() {
		t.Fatal("not live")
	}
	epoch := r.server.avatar(r.walker(0)).epoch
	r.Run(2 * gameRate)
	snaps := r.clients[0].Stats().Snaps // one is the state that was loaded
	if d := far(r.own(0), r.believed(0)); d > 0.2 || r.server.avatar(r.walker(0)).epoch != epoch || r.guard(0).Clamped > 0 || snaps != 1 {
		t.Errorf("off by %.2f, %+v, %d snaps", d, r.guard(0), snaps)
	}
	if d := far(r.own(0), r.shown(1, 0)); d > 0.4 {
		t.Errorf("the remote walker is off by %.2f", d)
	}
}

// A player receives the entities that are near, and those that come near within a second. The player's own walker is
// always replicated.
func TestInterestLimitsReplication(t *testing.T) {
	r := newRig(t, 2, 3, 3, Config{Interest: fixed.FromInt(20)}, false)
	r.pads[0].Walk = true // away, along x
	r.Run(10 * gameRate)
	c := r.clients[1]
	if c.World().Exists(r.walker(0)) || c.remotes.all.Get(r.walker(0).Row) != nil {
		t.Errorf("a walker %.0f away is replicated", far(r.believed(0), r.believed(1)))
	}
	if !c.World().Exists(r.walker(1)) || !r.clients[0].World().Exists(r.walker(0)) {
		t.Error("a player's own walker is not replicated")
	}
	r.pads[0].Heading = 512
	r.Run(10 * gameRate)
	if !c.World().Exists(r.walker(0)) {
		t.Fatalf("a walker %.0f away is not replicated", far(r.believed(0), r.believed(1)))
	}
	if d := far(r.own(0), r.shown(1, 0)); d > 0.4 {
		t.Errorf("the walker that came near is off by %.2f", d)
	}
}

// Without clocks, every record counts as Assumed old. That is exact for an equal delay, and otherwise off by the
// speed times the difference. Nothing else changes.
func TestWithoutClocks(t *testing.T) {
	const way = 6 // 100 ms
	for assumed, off := range map[systems.Time]float64{100 * ms: 0, 200 * ms: 2 * top * 0.1, 50 * ms: 2 * top * 0.05} {
		r := newRig(t, 2, way, way, Config{Assumed: assumed}, false)
		r.pads[0].Walk = true
		r.Run(6 * gameRate)
		if d := far(r.own(0), r.shown(1, 0)); d < off-0.35 || d > off+0.35 {
			t.Errorf("assumed %d ms: off by %.2f, want %.2f", assumed/ms, d, off)
		}
		if s := r.guard(0); r.corrections(0) > 0 || s.Accepted == 0 {
			t.Errorf("assumed %d ms: %+v", assumed/ms, s)
		}
	}
}

// A trusted client may move its walker anywhere. Others see it there with no motion in between.
func TestATrustedClientTeleports(t *testing.T) {
	r := newRig(t, 2, 4, 4, Config{Trusting: true}, false)
	r.pads[0].Walk = true
	r.Run(gameRate)
	c, to := r.clients[0], fixed.Vec3{X: fixed.FromInt(-300)}
	c.put(c.avatar(r.walker(0)), ecs.Motion{Pos: to})
	for i := range 2 * gameRate {
		r.Step()
		if x := r.shown(1, 0).X.Float(); i > 10 && x > -280 || x > 20 {
			t.Fatalf("shown at %.1f, %d frames after the teleport", x, i)
		}
	}
	if d := far(r.own(0), r.believed(0)); d > 0.2 || r.corrections(0) > 0 {
		t.Errorf("off by %.2f, %+v", d, r.guard(0))
	}
}

// Records take less than 10 bytes as soon as the receiver holds an anchor.
func TestRecordsAreCompactOnTheWire(t *testing.T) {
	r := newRig(t, 2, 3, 3, Config{}, false)
	r.pads[0] = pad{Walk: true}
	r.Run(gameRate)
	records, compact, bytes, unknown := 0, 0, 0, 0
	r.lose = func(toClient bool, seat int, message []byte) bool {
		if !toClient || message[0] != kindUpdate {
			return false
		}
		var h updateHead
		reader := wire.NewReader(message)
		if err := h.read(&reader, r.server.Done(), 0); err != nil {
			t.Fatal(err)
		}
		for range reader.Count(maxRecords, 1) {
			var record motion.Record
			left := reader.Len()
			record.Read(&reader, 0)
			bytes += left - reader.Len()
			records++
			if record.Anchor != 0 {
				compact++
				if o := r.clients[seat].remotes.all.Get(record.Entity.Row); o == nil || o.set>>record.Anchor&1 == 0 {
					unknown++
				}
			}
		}
		return false
	}
	for i := range 40 {
		r.pads[0].Heading = int16(i * 256)
		r.Run(gameRate / 2)
	}
	t.Logf("%d records, %d compact, %.1f bytes each", records, compact, float64(bytes)/float64(records))
	if float64(compact) < 0.8*float64(records) || float64(bytes) > 10*float64(records) || records < 80 {
		t.Errorf("%d records, %d compact, %d bytes", records, compact, bytes)
	}
	if unknown > 0 {
		t.Errorf("%d records had an unknown anchor", unknown)
	}
}

// A new client shows all moving entities as soon as it plays, before their next records are due.
func TestANewClientShowsMovingEntitiesAtOnce(t *testing.T) {
	r := newRig(t, 2, 3, 3, Config{Records: motion.SendConfig{Period: 5 * sec}}, false)
	r.pads[0].Walk = true
	r.Run(gameRate)
	r.Peers[1].Drop()
	r.Peers[1].Enter()
	r.Run(gameRate / 2)
	if d := far(r.own(0), r.shown(1, 0)); d > 0.4 {
		t.Errorf("off by %.2f half a second after connecting", d)
	}
}

// A client that cannot use a row of bodies requests an image until it comes. The server reports the request once.
func TestAClientWithoutUsableBodiesNeedsAnImage(t *testing.T) {
	r := newRig(t, 1, 3, 3, Config{}, false)
	p := r.Peers[0]
	loads := p.Loads
	for frames := 0; p.Loads == loads && frames < gameRate; frames++ {
		r.clients[0].Unusable = predictor.MostUnusable
		r.Step()
	}
	r.Run(2 * gameRate)
	if len(p.Flagged) != 1 || p.Loads != loads+1 || !r.clients[0].Live() {
		t.Errorf("reported %d times, %d images, live %v", len(p.Flagged), p.Loads-loads, r.clients[0].Live())
	}
}
