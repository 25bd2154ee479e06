package lockstep

import (
	"errors"
	"iter"
	"strings"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/ecs/race"
	"tendon/ecs/raworder"
	"tendon/net/matchsim/halves"
	"tendon/net/simnet"
	"tendon/rollback"
	"tendon/systems"
)

// The error of an invalid Config names the field and a valid value.
func TestAConfigThatCannotWorkIsRefusedByTheFieldsName(t *testing.T) {
	world := newWorld(t, testGame(), 1)
	for _, test := range []struct {
		Config
		says string
	}{
		{Config{Interval: 4}, "Interval 4: choose 1, 2, 3, 5, 10 or 15"},
		{Config{Margin: 13}, "Margin 13: choose 1 to 12 frames, -1 for none"},
		{Config{Closing: 3}, "Closing 3: choose Optimistic, Waiting or Hybrid"},
		{Config{Closing: Hybrid, Wait: -1}, "Wait -1e-06 ms: choose 0 to two frames' time"},
		{Config{Closing: Hybrid, Wait: systems.Second / 20}, "Wait 50 ms: choose at most two frames' time, which is 33.333333 ms at 60 ticks per second"},
		{Config{Backlog: 1 << 30}, "Backlog 1073741824 bytes: choose 1 to 33554432, or 0 for 8388608"},
		{Config{VoteTime: -systems.Second}, "VoteTime -1000 ms: choose a time above 0, or 0 for 10000 ms"},
		{Config{Audits: 1001}, "Audits 1001: choose 0 to 1000"},
		{Config{DissentReplays: 101}, "DissentReplays 101: choose 0 to 100 replays per player"},
		{Config{DissentReplays: -1}, "DissentReplays -1: choose 0 to 100 replays per player"},
	} {
		_, err := New(test.Config).NewServer(systems.ServerConfig{World: world, Peers: 1})
		var field *FieldError
		if !errors.As(err, &field) || !strings.HasPrefix(err.Error(), "lockstep: bad Config: "+test.says) {
			t.Errorf("%+v: %v", test.Config, err)
		}
		// Only the tick rate determines the time of two frames.
		if early := test.Check(); test.Wait < systems.Second/20 && (early == nil || early.Error() != err.Error()) {
			t.Errorf("%+v: Check says %v", test.Config, early)
		}
	}
	if err := (Config{}).Check(); err != nil {
		t.Error(err)
	}
	for _, sc := range []systems.ServerConfig{{Peers: 1}, {World: world}} {
		if _, err := Strategy.NewServer(sc); err == nil {
			t.Errorf("%+v", sc)
		}
	}
	for _, cc := range []systems.ClientConfig{{}, {World: world, Seat: 4}, {World: world, Seat: -2}} {
		if _, err := Strategy.NewClient(cc); err == nil {
			t.Errorf("%+v", cc)
		}
	}
	big := testGame()
	big.Input, big.MaxPlayers = ecs.NewInput[[32]byte](), 64
	if _, err := Strategy.NewClient(systems.ClientConfig{World: newWorld(t, big, 1)}); err == nil || !strings.Contains(err.Error(), "64 players with inputs of 32 bytes") {
		t.Error(err)
	}
}

// The Params carry the settings that a client needs, whatever the defaults of its own program are. Params that no
// server sends are refused.
func TestParamsCarryTheSettingsOfAClient(t *testing.T) {
	for _, c := range []Config{{}, Article(), {Interval: 15, Margin: 12, Reliable: true, Closing: Hybrid}} {
		s := New(c)
		half, err := Strategy.NewClient(systems.ClientConfig{World: newWorld(t, testGame(), 1), Params: s.Params})
		if err != nil {
			t.Fatal(err)
		}
		got := half.(*Client).limits
		want, _ := c.withDefaults()
		if got.Interval != want.Interval || got.Margin != want.Margin || got.NoCatchUp != want.NoCatchUp || got.Reliable != want.Reliable ||
			(got.Closing != Optimistic) != (want.Closing != Optimistic) {
			t.Errorf("%+v became %+v", want, got)
		}
	}
	for _, params := range [][]byte{{}, {0}, {0, 2}, {8, 2, 1}, {0, 4, 1}, {0, 2, 14}, {0, 2, 1, 0}} {
		if _, err := Strategy.NewClient(systems.ClientConfig{World: newWorld(t, testGame(), 1), Params: params}); err == nil {
			t.Errorf("%v: %v", params, err)
		}
	}
}

// A log returns every frame that was added, from any position, and to other logs.
func TestALogReturnsEveryFrame(t *testing.T) {
	game := testGame()
	l, r := newLog(7, game), image.NewRand(1)
	f, before := newFrame(game), make([]ecs.InputBytes, game.MaxPlayers)
	var all []entered
	for range 1500 {
		f.follow(before, game)
		for p := range game.MaxPlayers {
			if r.Chance(1, 4) {
				f.change(ecs.Player(p), padInput.Pack(pad{DX: int8(r.Uint64()), Throw: r.Chance(1, 2)}), game)
			}
		}
		for r.Chance(1, 8) && len(f.orders) < 8 {
			f.orders = append(f.orders, image.Order{Kind: image.OrderGame, Player: 3, Entity: ecs.Entity{Row: uint32(r.Uint64()), Born: ecs.Tick(r.Uint64() >> r.IntN(64))}, Payload: make([]byte, r.IntN(1025))})
		}
		l.add(&f, before)
		all = append(all, enteredOf(systems.FinalTick{FinalTick: rollback.FinalTick{Inputs: f.inputs, Orders: f.orders}}))
		copy(before, f.inputs)
	}
	l.dropThrough(600)
	if l.first > 601 || l.first < 400 || l.last != 1507 || len(l.blocks) != 4 {
		t.Fatal(l.first, l.last, len(l.blocks))
	}
	c := cursor{frame: newFrame(game)}
	for _, start := range []ecs.Tick{l.first - 1, 700, 1506} {
		for c.seek(l, start); c.at < l.last; {
			c.next(l)
			if got, want := enteredOf(systems.FinalTick{FinalTick: rollback.FinalTick{Inputs: c.inputs, Orders: c.orders}}).String(), all[c.at-8].String(); got != want {
				t.Fatalf("from %d, frame %d: %s, want %s", start, c.at, got, want)
			}
		}
	}
	size := l.bytes
	l.dropThrough(1507)
	if l.bytes != 0 || size < 10000 {
		t.Error(l.bytes, size)
	}
}

// A spectator receives every frame, and its operations are refused.
func TestASpectatorFollowsAndItsOperationsAreRefused(t *testing.T) {
	for _, reliable := range []bool{false, true} {
		m := newMatch(t, testGame(), 9, Config{Reliable: reliable})
		m.join(profile(t, "P3"), simnet.Clock{}, 0, 60, wander(1))
		c := m.join(profile(t, "P3"), simnet.Clock{}, -1, 60, wander(2))
		m.Net.RunUntil(5 * time.Second)
		if err := c.Order(1, ecs.Entity{}, nil, c.peer); err == nil {
			t.Error("a spectator gave an order")
		}
		if !c.Live() || c.at()+20 < m.server.Done() || len(c.own.list) > 0 {
			t.Errorf("%+v", c.Stats())
		}
		m.wantSound(200)
	}
}

// LS-09, LS-10: a client without a state starts from the image that there is. One that joins a server without
// simulation late starts from the first frame. Both catch up quickly, and without the events that they missed.
func TestALateClientCatchesUp(t *testing.T) {
	for i, way := range ways {
		if race.Enabled && i > 2 {
			continue // the same, slowly
		}
		t.Run(way.name, func(t *testing.T) {
			m := newMatch(t, testGame(), 10, way.config)
			m.join(profile(t, "P2"), simnet.Clock{}, 0, 60, wander(1))
			shop(m)
			m.Net.RunUntil(30 * time.Second)
			c := m.join(profile(t, "P3"), simnet.Clock{}, 1, 60, wander(2))
			least, missed := m.server.World().Tick(), m.server.Done()
			m.until(c.Live)
			if took := m.Net.Now() - 30*time.Second; took > 1500*ms {
				t.Errorf("catching up from %d to %d took %v", least, missed, took)
			}
			for _, e := range c.peer.Effects {
				if e.Event.Key.Tick+60 < missed || e.Event.Key.Tick <= missed && !e.Event.Irreversible {
					t.Fatalf("news of frame %d of %d: %+v", e.Event.Key.Tick, missed, e)
				}
			}
			m.Net.RunUntil(34 * time.Second)
			if len(c.peer.Effects) < 5 || !c.Live() || c.at()+30 < m.server.Done() {
				t.Errorf("%d effects, %+v", len(c.peer.Effects), c.Stats())
			}
			m.wantSound(0)
		})
	}
}

// A server that keeps little of a match computes what it cannot keep, and a peer that is too far behind gets an image.
func TestABoundedBacklogIsKeptAndOutlived(t *testing.T) {
	if race.Enabled {
		t.Skip("the same, slowly")
	}
	for _, onDemand := range []bool{false, true} {
		m := newMatch(t, testGame(), 11, Config{OnDemand: onDemand, Backlog: 24 << 10})
		m.join(profile(t, "P2"), simnet.Clock{}, 0, 60, wander(1))
		c := m.join(profile(t, "P2"), simnet.Clock{}, 1, 60, wander(2))
		m.Net.RunUntil(4 * time.Second)
		m.Net.Partition(c.peer.Node, m.Node, 4*time.Second, 94*time.Second)
		m.Net.RunUntil(90 * time.Second)
		s := m.server
		if s.log.bytes > 40<<10 || s.OldestServable() == 0 || s.OldestServable() > s.World().Tick() {
			t.Errorf("%d bytes, oldest %d, world %d", s.log.bytes, s.OldestServable(), s.World().Tick())
		}
		if onDemand && s.World().Tick()+600 > s.Done() {
			t.Errorf("the world is at %d of %d", s.World().Tick(), s.Done())
		}
		m.Net.RunUntil(105 * time.Second)
		if !c.Live() || c.at()+30 < s.Done() || c.peer.Loads != 2 {
			t.Errorf("%v: %+v, %d loads", onDemand, c.Stats(), c.peer.Loads)
		}
	}
}

// A client that received nothing for a while, but not too long, receives what it missed on the reliable channel and is
// live again.
func TestAnOutageIsCaughtUpWithoutAnImage(t *testing.T) {
	for i, way := range ways {
		if way.config.Closing != Optimistic || race.Enabled && i > 1 {
			continue // the others wait for the player; or it is the same, slowly
		}
		t.Run(way.name, func(t *testing.T) {
			m := four(t, profile(t, "P3"), 12, way.config)
			shop(m)
			c := m.clients[2]
			m.Net.Partition(c.peer.Node, m.Node, 4*time.Second, 14*time.Second)
			m.Net.RunUntil(20 * time.Second)
			if !c.Live() || c.at()+30 < m.server.Done() || c.peer.Loads != 1 {
				t.Errorf("%+v, %d loads", c.Stats(), c.peer.Loads)
			}
			m.wantSound(0)
		})
	}
}

// A server that starts again from its record goes on where the old one was, and serves clients that hold older states.
func TestARestartedServerGoesOnFromItsRecord(t *testing.T) {
	game := testGame()
	var record []systems.FinalTick
	l := newLoop(t, Config{}, game, 2, 2, zigzag)
	l.server.Config.Taken = func(f systems.FinalTick) {
		e := enteredOf(f)
		record = append(record, systems.FinalTick{FinalTick: rollback.FinalTick{Tick: f.Tick, Inputs: e.inputs, Orders: e.orders}})
	}
	for range 300 {
		l.Step()
	}
	// the new server has an image of frame 200, what was before it, and takes over the rest
	world := newWorld(t, game, 1)
	for _, f := range record[:200] {
		world.Step(ecs.TickInputs{Players: f.Inputs, Orders: f.Orders})
	}
	for _, from := range []int{0, 50} {
		half, err := Strategy.NewServer(systems.ServerConfig{World: world, Peers: 2, Past: past(record[from:200])})
		if err != nil {
			t.Fatal(err)
		}
		s := half.(*Server)
		want := ecs.Tick(from)
		if from > 0 {
			want += 2 // the first two frames are what the third is coded against
		}
		if s.OldestServable() != want {
			t.Errorf("from %d: oldest %d", from, s.OldestServable())
		}
		if from == 0 {
			continue
		}
		for _, f := range record[200:] {
			s.Adopt(f)
		}
		if s.Done() != 300 || string(imageOf(s.World())) != string(imageOf(l.server.World())) {
			t.Fatal("the states differ at", s.Done())
		}
		// a client of the old server goes on with the new one
		c := l.clients[0]
		at := c.at()
		next := newLoop(t, Config{}, game, 0, 2, nil)
		next.Server, next.Tick, next.NoRTT = systems.Full(s), l.Tick-1, true
		next.Next()
		p := next.Add(halves.Plan{Input: func(int) ecs.InputBytes { return padInput.Pack(zigzag(0, next.Tick)) }})
		p.Half = c
		p.Load(300)
		p.OpenNow(at)
		next.Run(200)
		if !c.Live() || c.at() < 480 || s.PeerStats(0).Checked == 0 || s.PeerStats(0).Desyncs > 0 {
			t.Errorf("%+v %+v", c.Stats(), s.PeerStats(0))
		}
	}
}

func past(record []systems.FinalTick) iter.Seq[systems.FinalTick] {
	return func(yield func(systems.FinalTick) bool) {
		for _, f := range record {
			if !yield(f) {
				return
			}
		}
	}
}

// The interval rises when more than a fifth of the clients stall, falls when none does for half a minute, and stays in
// its bounds.
func TestTheIntervalFollowsTheClients(t *testing.T) {
	v := interval{n: 2}
	peers := make([]peer, 6)
	for i := range 5 {
		peers[i].Open, peers[i].Own.live = true, true
	}
	f := ecs.Tick(0)
	run := func(seconds int) {
		for range seconds * 60 {
			f++
			v.observe(f, peers, 60)
		}
	}
	peers[0].Own.stalled = 5000
	if run(60); v.n != 2 {
		t.Errorf("one of five made it %d", v.n)
	}
	peers[1].Own.stalled = 101
	if run(5); v.n != 3 {
		t.Errorf("two of five made it %d", v.n)
	}
	if run(60); v.n != 15 {
		t.Errorf("it went to %d", v.n)
	}
	peers[0].Own.stalled, peers[1].Own.stalled = 9, 9
	if run(25); v.n != 15 {
		t.Errorf("it fell early, to %d", v.n)
	}
	if run(5); v.n != 10 {
		t.Errorf("it did not fall: %d", v.n)
	}
	if run(300); v.n != 1 {
		t.Errorf("it went to %d", v.n)
	}
	peers[0].Own.stalled = 10
	v.n = 5
	if run(60); v.n != 5 {
		t.Errorf("between the bounds it went to %d", v.n)
	}
}

// An input that the game refuses counts for nothing, on every peer alike, and what comes after it is not spoilt.
func TestAnInputThatTheGameRefusesCountsForNothing(t *testing.T) {
	for _, onDemand := range []bool{false, true} {
		game := testGame()
		game.Validate = func(w *ecs.World, p ecs.Player, in ecs.InputBytes) bool {
			return padInput.Unpack(in).DX == 0 || w.Tick()%3 != 0
		}
		m := newMatch(t, game, 15, Config{OnDemand: onDemand})
		for s := range 3 {
			m.join(profile(t, "P3"), simnet.Clock{}, s, 60, wander(uint64(s)))
		}
		m.given = true              // a server without simulation publishes inputs as they were given
		m.Net.RunUntil(tickAt(361)) // in which the inputs of those who move are refused: the image has others than the log
		late := m.join(profile(t, "P3"), simnet.Clock{}, 3, 60, wander(8))
		m.Net.RunUntil(9 * time.Second)
		refused := 0
		for _, e := range late.executed {
			for _, in := range e.inputs {
				if p := padInput.Unpack(in); p.DX != 0 {
					if (e.tick-1)%3 == 0 {
						t.Fatalf("frame %d: %+v", e.tick, p)
					}
					refused++
				}
			}
		}
		if refused < 50 {
			t.Error(refused)
		}
		m.wantSound(0)
	}
}

// A player who is connected and sends no operations stops the match for 5 s. When their operations were complete for some
// time, they can stop it for a tenth of that time.
func TestASilentPlayerStopsAWaitingServerForABoundedTime(t *testing.T) {
	m := newMatch(t, testGame(), 17, Config{Closing: Waiting})
	for s := range 2 {
		m.join(profile(t, "P2"), simnet.Clock{}, s, 60, wander(uint64(s)))
	}
	silent := m.clients[1].peer
	m.Net.RunUntil(4 * time.Second)
	silent.Off = true
	m.Net.RunUntil(8 * time.Second)
	stood := m.server.Done()
	m.Net.RunUntil(14 * time.Second)
	if went := m.server.Done() - stood; stood > 300 || went < 240 {
		t.Errorf("frame %d after four seconds without operations, %d frames in the six seconds after them", stood, went)
	}
	silent.Off = false
	m.Net.RunUntil(24 * time.Second)
	silent.Off = true
	held := m.Held
	m.Net.RunUntil(34 * time.Second)
	if again := m.Held - held; again == 0 || again > 2*60 {
		t.Errorf("after ten seconds with operations it waited for %d ticks", again)
	}
}

// A server that waits stands still where the last syncs were lost, until they are sent again.
func TestAServerThatWaitsRepeatsWhatWasLost(t *testing.T) {
	m := newMatch(t, testGame(), 16, Config{Closing: Waiting})
	for s := range 2 {
		m.join(profile(t, "P2"), simnet.Clock{}, s, 60, wander(uint64(s)))
	}
	c := m.clients[1]
	m.Net.Cut(m.Node, c.peer.Node, 4*time.Second, 5*time.Second)
	m.Net.RunUntil(5 * time.Second)
	if m.Held < 30 {
		t.Errorf("it waited for %d ticks", m.Held)
	}
	m.Net.RunUntil(8 * time.Second)
	if m.server.Done() < 360 || c.at()+20 < m.server.Done() {
		t.Errorf("at %d, the client at %d", m.server.Done(), c.at())
	}
	m.wantSound(200)
}

// A player who leaves has no input from that frame on. Operations before the join take effect with the join. A seat
// that another connection takes starts clean.
func TestASeatStartsCleanAndWaitsForTheJoin(t *testing.T) {
	s, l := newServerHalf(t, Config{RelayAtOnce: true})
	say := func(first uint32, dx int8, fire bool) {
		m := opsMessage{received: 0, first: first, ops: []op{{in: padInput.Pack(pad{DX: dx, Throw: fire})}}}
		message, _ := m.append(nil, s.Game)
		if err := s.Receive(0, systems.Datagram, message, 0, l); err != nil {
			t.Fatal(err)
		}
	}
	wants := func(what string, dx int8, fire bool) {
		t.Helper()
		s.Tick(0)
		if got := padInput.Unpack(s.before[1]); got.DX != dx || got.Throw != fire {
			t.Errorf("%s: %+v", what, got)
		}
	}
	s.Open(0, 1, 0, 0, l)
	say(1, 4, true)
	say(2, 5, false)
	wants("before the join", 0, false)
	s.Stamp(image.Order{Kind: image.OrderJoin, Player: 1}, l)
	wants("joining", 5, true)
	wants("held", 5, false)
	say(3, 6, true)
	s.Stamp(image.Order{Kind: image.OrderLeave, Player: 1}, l)
	wants("leaving", 0, false)
	wants("gone", 0, false)
	say(4, 7, false)
	s.Close(0)
	s.Open(0, 1, s.Done(), 0, l)
	s.Stamp(image.Order{Kind: image.OrderJoin, Player: 1}, l)
	wants("somebody else", 0, false)
	say(1, 8, false)
	wants("somebody else plays", 8, false)
}

// Orders beyond what one frame takes go into the next ones, in their order.
func TestOrdersBeyondAFramesRoomGoIntoTheNext(t *testing.T) {
	for _, size := range []int{1, raworder.MaxBytes} {
		s, l := newServerHalf(t, Config{})
		perFrame, last := min(maxOrders, maxOrderPayload/size), ecs.Tick(0)
		for i := range 200 {
			payload := raworder.Bytes(size)
			payload[0] = byte(i)
			last = s.Stamp(image.Order{Kind: image.OrderGame, Payload: payload}, l)
			if want := ecs.Tick(1 + i/perFrame); last != want {
				t.Fatalf("order %d of %d bytes goes into frame %d, want %d", i, size, last, want)
			}
		}
		n := 0
		c := cursor{frame: newFrame(s.Game)}
		for s.Done() < last {
			s.Tick(0)
			c.seek(s.log, s.Done()-1)
			c.next(s.log)
			for _, o := range c.orders {
				if o.Payload[0] != byte(n) {
					t.Fatalf("frame %d: order %d stands where %d should", s.Done(), o.Payload[0], n)
				}
				n++
			}
		}
		if n != 200 {
			t.Error(n)
		}
	}
}

// A frame that is larger than a datagram reaches every client, and datagrams follow it.
func TestALargeFrameGoesOverTheReliableChannel(t *testing.T) {
	for _, c := range []Config{{}, {RelayAtOnce: true}, {Reliable: true}} {
		m := newMatch(t, testGame(), 31, c)
		for s := range 3 {
			m.join(profile(t, "P3"), simnet.Clock{}, s, 60, wander(uint64(s)))
		}
		m.Net.RunUntil(3 * time.Second)
		for range 5 {
			m.server.Stamp(image.Order{Kind: image.OrderGame, Payload: raworder.Bytes(raworder.MaxBytes)}, m)
		}
		f, sent := m.server.Done()+1, m.Down.Reliable
		m.Net.RunUntil(5 * time.Second)
		for i, p := range m.clients {
			if link := &m.server.Peers[p.peer.ID].Own; !p.Live() || p.at() < f+60 || link.near == c.Reliable || len(p.peer.Flagged) > 0 {
				t.Errorf("%+v: client %d is at %d, live %v, near %v", c, i, p.at(), p.Live(), link.near)
			}
		}
		if n := m.Down.Reliable - sent; !c.Reliable && !c.RelayAtOnce && (n < 3 || n > 60) {
			t.Errorf("%+v: %d messages on the reliable channel", c, n)
		}
	}
}

func newServerHalf(t *testing.T, c Config) (*Server, systems.Outbox) {
	half, err := New(c).NewServer(systems.ServerConfig{World: newWorld(t, testGame(), 1), Peers: 2})
	if err != nil {
		t.Fatal(err)
	}
	return half.(*Server), halves.Discard
}
