package room_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/client"
	"tendon/net/room"
	"tendon/net/session"
	"tendon/systems"
	"tendon/systems/lockstep"
	"tendon/systems/predict"
	"tendon/systems/reckon"
	"tendon/systems/relay"
)

// slowDisk is a sink whose commits end after several calls.
type slowDisk struct {
	calls   int // that a commit takes
	left    int // of the one under way
	last    ecs.Tick
	begun   ecs.Tick // the last tick in the commit under way
	durable ecs.Tick
	failure error
}

func (d *slowDisk) sink() room.Sink {
	return room.Sink{Tick: func(f systems.FinalTick) { d.last = f.Tick }, Commit: func() error {
		if d.failure != nil {
			return d.failure
		}
		if d.left == 0 {
			d.left, d.begun = d.calls+1, d.last
		}
		if d.left--; d.left > 0 {
			return room.ErrPending
		}
		d.durable = d.begun
		return nil
	}}
}

// A room computes its ticks while each commit takes 24 frames. No client receives a tick before its commit has ended. Clients join
// and chat meanwhile, and the strategy changes.
func TestARoomComputesWhileItsCommitsAreUnderWay(t *testing.T) {
	d := &slowDisk{}
	g := newRig(t, func(c *room.Config) {
		c.Strategies = []systems.Strategy{lockstep.Strategy}
		c.Sinks = append(c.Sinks, d.sink())
	})
	var chats []string
	all := func(c *client.Config) {
		hasAll(c)
		c.Chat = func(l session.ChatLine) { chats = append(chats, l.Text) }
	}
	a := g.enter(player(1), all)
	g.live()
	d.calls = 24
	var b *testClient
	for i := range 600 {
		switch i {
		case 60:
			b = g.enter(player(2), all)
		case 120:
			a.core.Chat("hello")
		case 300:
			if err := g.room.Switch("lockstep"); err != nil {
				t.Fatal(err)
			}
		}
		before := g.room.Tick()
		g.step()
		if g.room.Tick() != before+1 && g.count(image.OrderSwitch) == 0 {
			t.Fatalf("frame %d computed tick %d after %d", i, g.room.Tick(), before)
		}
		for _, v := range g.clients {
			if got := v.core.Stats().Strategy.Confirmed; got > d.durable {
				t.Fatalf("tick %d is confirmed, and the commit of %d has not ended", got, d.durable+1)
			}
		}
	}
	if b.core.State() != client.Live || a.core.State() != client.Live || a.core.Playing() != "lockstep" || len(chats) != 2 {
		t.Errorf("the clients are %v and %v, playing %s; chat %q", a.core.State(), b.core.State(), a.core.Playing(), chats)
	}
	if c := a.core.Stats().Strategy.Confirmed; c+80 < g.room.Tick() {
		t.Errorf("tick %d of %d is confirmed", c, g.room.Tick())
	}
	if n := g.room.Stats().Unwritten; n != 0 {
		t.Errorf("%d commits failed", n)
	}
}

// A commit that fails after it was pending stops the match. Its messages are held until it succeeds. A notice is sent at once.
func TestACommitThatFailsLateHoldsItsMessages(t *testing.T) {
	d := &slowDisk{}
	g := newRig(t, func(c *room.Config) { c.Sinks = append(c.Sinks, d.sink()) })
	var notices []string
	a := g.enter(player(1), func(c *client.Config) { c.Notice = func(_ int, text string) { notices = append(notices, text) } })
	g.live()
	g.steps(30)
	d.calls = 3
	g.steps(2)
	d.failure = errors.New("the disk is full")
	g.steps(60)
	if c := a.core.Stats().Strategy.Confirmed; c > d.durable || len(notices) != 1 {
		t.Errorf("tick %d is confirmed of %d committed ones; notices %q", c, d.durable, notices)
	}
	stopped := g.room.Tick()
	g.steps(10)
	if g.room.Tick() != stopped || g.room.Stats().Unwritten < 60 {
		t.Errorf("the match continues: %+v", g.room.Stats())
	}
	d.failure, d.calls = nil, 0
	g.steps(60)
	if c := a.core.Stats().Strategy.Confirmed; g.room.Tick() < stopped+50 || c < stopped {
		t.Errorf("tick %d is confirmed of %d", c, g.room.Tick())
	}
}

// While a journal cannot be written, clients receive that as the reason, and not that the server stands still. When it can be
// written again, they receive that the match continues.
func TestTheReasonOfAWaitIsTheJournal(t *testing.T) {
	d := &slowDisk{}
	g := newRig(t, func(c *room.Config) { c.Sinks = append(c.Sinks, d.sink()) })
	var notices []string
	g.enter(player(1), func(c *client.Config) { c.Notice = func(_ int, text string) { notices = append(notices, text) } })
	g.live()
	g.steps(30)
	d.failure = errors.New("the disk is full")
	g.steps(5 * 60)
	stopped := g.room.Tick()
	d.failure = nil
	g.steps(60)
	want := []string{"the match waits: the server cannot write its journal", "the match continues: the server can write its journal again"}
	if st := g.room.Stats(); !slices.Equal(notices, want) || st.GivenUp > 0 || st.Tick < stopped+55 || st.Tick > stopped+65 {
		t.Errorf("notices %q; tick %d after %d, %v given up", notices, st.Tick, stopped, st.GivenUp)
	}
}

// A room that closes ends its sessions at once, and sends nothing about ticks whose commit is under way.
func TestARoomThatClosesDoesNotWaitForACommit(t *testing.T) {
	d := &slowDisk{}
	g := newRig(t, func(c *room.Config) { c.Sinks = append(c.Sinks, d.sink()) })
	a := g.enter(player(1), nil)
	g.live()
	d.calls = 1000
	g.steps(5)
	g.room.Suspend()
	g.steps(5)
	if err := a.core.Err(); !errors.Is(err, &session.Error{Code: session.CodeRestarting}) {
		t.Errorf("the client received %v", err)
	}
	if c := a.core.Stats().Strategy.Confirmed; c > d.durable {
		t.Errorf("tick %d is confirmed of %d", c, d.durable)
	}
}

// An image of a tick is not sent if the commit of the tick fails after it was pending. The clients receive the notice that the match
// waits, even those with held messages, but not before their Welcome.
func TestACommitThatFailsLateHoldsItsImage(t *testing.T) {
	d := &slowDisk{}
	g := newRig(t, func(c *room.Config) { c.Sinks = append(c.Sinks, d.sink()) })
	notices := map[uint64]int{}
	enter := func(id uint64) *testClient {
		return g.enter(player(id), func(c *client.Config) {
			c.Notice = func(_ int, text string) {
				if strings.HasPrefix(text, "the match waits") {
					notices[id]++
				}
			}
		})
	}
	full := errors.New("the disk is full")
	enter(1)
	g.live()
	d.failure = full
	g.steps(2)
	enter(2)
	g.steps(3)
	d.failure, d.calls = nil, 1000
	g.step() // the image is compressed
	d.failure = full
	g.step()
	pieces := g.sent[bytePiece]
	enter(3)
	g.steps(60)
	if n := g.sent[bytePiece] - pieces; n > 0 {
		t.Errorf("%d pieces of an image of tick %d were sent, and %d is committed", n, g.room.Tick(), d.durable)
	}
	if notices[1] != 2 || notices[2] != 1 {
		t.Errorf("the clients received %v notices", notices)
	}
	d.failure, d.left = nil, 1
	g.steps(3)
	enter(4)
	g.steps(3)
	d.failure = full
	g.steps(3)
	d.failure, d.calls, d.left = nil, 0, 1
	g.live()
	if notices[1] != 3 || notices[4] != 1 {
		t.Errorf("the clients received %v notices", notices)
	}
	for _, v := range g.clients {
		if v.core.State() != client.Live {
			t.Errorf("a client is %v: %v", v.core.State(), v.core.Err())
		}
	}
}

// While a match waits for its journal, clients compute and send further inputs. Those that are too early then are no evidence.
func TestInputsThatArriveWhileTheMatchWaitsAreNotRefused(t *testing.T) {
	for _, strategy := range []systems.Strategy{relay.Strategy, lockstep.Strategy, predict.Strategy} {
		d := &slowDisk{}
		g := newRig(t, func(c *room.Config) {
			c.Strategy = strategy
			c.Sinks = append(c.Sinks, d.sink())
		})
		a := g.enter(player(1), nil)
		g.live()
		refused := func() uint64 { return g.room.Peer(a.peer).Strategy.Refused }
		d.failure = errors.New("the disk is full")
		g.steps(2 * 60)
		waiting := refused()
		d.failure = nil
		g.steps(5 * 60)
		if refused() > 0 {
			t.Errorf("%s: %d inputs are refused while the match waits, %d after it", strategy.Name, waiting, refused())
		}
	}
}

// A client plays as before soon after its match has waited for its journal, however long that was.
func TestAClientPlaysAsBeforeAfterALongWait(t *testing.T) {
	for _, strategy := range []systems.Strategy{relay.Strategy, predict.Strategy, reckon.Strategy} {
		d := &slowDisk{}
		g := newRig(t, func(c *room.Config) {
			c.Strategy = strategy
			c.Sinks = append(c.Sinks, d.sink())
		})
		a := g.enter(player(1), nil)
		g.live()
		d.failure = errors.New("the disk is full")
		g.steps(20 * 60)
		d.failure = nil
		g.steps(25 * 60)
		st := a.core.Stats().Strategy
		if st.Stalled != systems.NotStalled || st.InputDelay > 0 {
			t.Errorf("%s: %v, input delay %d, margin %v", strategy.Name, st.Stalled, st.InputDelay, st.Margin)
		}
	}
}

// While a match waits for its journal, an order would be lost at a restart. A pause, its end and a change of the strategy are refused.
func TestAMatchThatWaitsForItsJournalRefusesChanges(t *testing.T) {
	d := &slowDisk{}
	g := newRig(t, func(c *room.Config) {
		c.Strategies, c.Pause.By = []systems.Strategy{lockstep.Strategy}, room.PauseAdmin
		c.Sinks = append(c.Sinks, d.sink())
	})
	g.enter(player(1), nil)
	g.live()
	d.failure = errors.New("the disk is full")
	g.steps(60)
	for name, err := range map[string]error{"pause": g.room.Pause(true, room.Admin), "resume": g.room.Pause(false, room.Admin), "switch": g.room.Switch("lockstep")} {
		if err == nil || !strings.Contains(err.Error(), "waits for its journal") || !errors.Is(err, room.ErrPause) && !errors.Is(err, room.ErrSwitch) {
			t.Errorf("%s: %v", name, err)
		}
	}
	d.failure = nil
	g.steps(5)
	if err := g.room.Switch("lockstep"); err != nil {
		t.Error(err)
	}
	if err := g.room.Pause(true, room.Admin); err != nil {
		t.Error(err)
	}
}
