package predictor

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/ecs/raworder"
	"tendon/systems"
)

type pad struct{ X int8 }

var errMalformed = errors.New("test: malformed message")

func newWorld(t *testing.T) *ecs.World {
	t.Helper()
	w, err := ecs.NewWorld(&ecs.Game{Name: "predictor", TickRate: 50, MaxPlayers: 2, Input: ecs.NewInput[pad](), Systems: ecs.Systems(func(*ecs.World) {}),
		Orders: raworder.Ignored()}, 1)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func newCore(t *testing.T, seat int) *Core {
	t.Helper()
	c, err := NewCore("test", errMalformed, systems.ClientConfig{World: newWorld(t), Seat: seat})
	if err != nil {
		t.Fatal(err)
	}
	return &c
}

// outbox keeps what was sent.
type outbox struct{ messages [][]byte }

func (o *outbox) Ready(systems.Peer) bool { return true }

func (o *outbox) Room(systems.Peer) int { return 0 }

func (o *outbox) Send(_ systems.Peer, _ systems.Channel, message []byte) {
	o.messages = append(o.messages, slices.Clone(message))
}

// half records the systems that run.
type half struct {
	Half[*half]
	ran []string
}

func newHalf(t *testing.T) *half {
	h := &half{}
	h.Core = *newCore(t, 0)
	run := func(name string) func(*half) { return func(h *half) { h.ran = append(h.ran, name) } }
	h.Start(h, []systems.System[*half]{
		{Name: "message", Phase: systems.Receive, Kind: 7, Accept: func(h *half, m systems.Message) error { h.ran = append(h.ran, string(m.Body[1:])); return nil }},
		{Name: "clock", Phase: systems.Reconcile, Run: run("clock")},
		{Name: "ticks", Phase: systems.Reconcile, Run: run("ticks")},
		{Name: "window", Phase: systems.Send, Run: run("window")},
		{Name: "view", Phase: systems.Present, Run: run("view")},
	})
	return h
}

// Without a state a half runs nothing and accepts nothing. After Begin it runs the systems of each phase in their order.
func TestAHalfRunsItsSystemsOnceAStateIsLoaded(t *testing.T) {
	h := newHalf(t)
	h.Frame(1)
	h.Send(1, &outbox{})
	if err := h.Receive(systems.Datagram, []byte{7, 'a'}, 1); err != errMalformed || len(h.ran) > 0 {
		t.Fatalf("%v, %v before a state was loaded", err, h.ran)
	}
	h.Begin(5, 0, 0)
	for _, message := range [][]byte{nil, {}, {8}} {
		if err := h.Receive(systems.Datagram, message, 6); err != errMalformed {
			t.Errorf("message %v: %v", message, err)
		}
	}
	if err := h.Receive(systems.Datagram, []byte{7, 'a'}, 6); err != nil || h.Now != 5 {
		t.Errorf("%v, the frame's time is %d", err, h.Now)
	}
	h.Frame(7)
	h.Send(8, &outbox{})
	h.schedule.Run(systems.Present, h.self)
	if want := []string{"a", "clock", "ticks", "window", "view"}; !slices.Equal(h.ran, want) || h.Now != 8 || h.Out != nil {
		t.Errorf("ran %v, want %v", h.ran, want)
	}
}

// A player's client settles before it catches up, a spectator's has nothing to settle. Live and CatchingUp alternate.
// A loaded state starts again.
func TestThePhasesFollowEachOther(t *testing.T) {
	for _, v := range []struct {
		seat     int
		answered Phase
	}{{0, Settling}, {-1, CatchingUp}} {
		c := newCore(t, v.seat)
		if c.Loaded() || c.Phase != Idle {
			t.Errorf("seat %d: %v before a state", v.seat, c.Phase)
		}
		for range 2 {
			c.Begin(0, 9, 3)
			if c.CaughtUp(true); c.Phase != Waiting || c.Live() || c.RTT != 3 || c.Counted.ServerTick != 9 {
				t.Errorf("seat %d: %v after Begin", v.seat, c.Phase)
			}
			if c.Answered(); c.Phase != v.answered {
				t.Errorf("seat %d: %v after a message", v.seat, c.Phase)
			}
			c.Reach(CatchingUp)
			c.CaughtUp(true)
			if c.Answered(); !c.Live() || !c.Settled() {
				t.Errorf("seat %d: %v when caught up", v.seat, c.Phase)
			}
			if c.CaughtUp(false); c.Phase != CatchingUp {
				t.Errorf("seat %d: %v when behind", v.seat, c.Phase)
			}
		}
		if c.Counted.Snaps != 1 {
			t.Errorf("%d states taken over", c.Counted.Snaps)
		}
	}
}

// A message is due when there is something new, not sooner than Least after the last one, and after a tick and a quarter
// in any case.
func TestTheTimerSendsNewsAndKeepsAlive(t *testing.T) {
	const ms = systems.Second / 1000
	out := &line{}
	c := Core{Timer: NewSendTimer(50)} // 20 ms
	c.Out = out
	sends := func(now systems.Time) bool {
		c.Now = now
		return c.Sends()
	}
	c.Timer.Restart(0)
	if !sends(0) || sends(24*ms) || !sends(25*ms) {
		t.Error("without Least: due once for something new, and after 25 ms")
	}
	c.Timer.Least, c.Timer.Pending = 16*ms, true
	if sends(40*ms) || !sends(41*ms) || c.Timer.Pending || sends(42*ms) {
		t.Error("with Least: due 16 ms after the last one")
	}
	asked := out.asked
	out.congested = true
	if sends(42*ms) || out.asked != asked || sends(80*ms) || sends(90*ms) {
		t.Error("sends on a congested line, or asks for it before a message is due")
	}
	if out.congested = false; !sends(91*ms) || sends(92*ms) {
		t.Error("a message that was due on a congested line is not sent once afterwards")
	}
}

// line is an outbox that may be congested.
type line struct {
	outbox
	congested bool
	asked     int
}

func (l *line) Ready(systems.Peer) bool {
	l.asked++
	return !l.congested
}

func orderingCore(t *testing.T, seat int) *Core {
	c := newCore(t, seat)
	c.OrderKind = 3
	return c
}

// A spectator has no orders, and an order leaves as a message of its kind.
func TestOrdersAreOfPlayers(t *testing.T) {
	var out outbox
	if err := orderingCore(t, -1).Order(1, ecs.Entity{}, nil, &out); err == nil || len(out.messages) > 0 {
		t.Errorf("%v, %d messages of a spectator", err, len(out.messages))
	}
	if err := orderingCore(t, 1).Order(1, ecs.Entity{}, make([]byte, image.MaxOrderBytes+1), &out); err == nil || len(out.messages) > 0 {
		t.Errorf("%v, %d messages of an order that is too long", err, len(out.messages))
	}
	if err := orderingCore(t, 1).Order(1, ecs.Entity{}, []byte{1}, &out); err != nil || len(out.messages) != 1 || out.messages[0][0] != 3 {
		t.Errorf("%v, %v", err, out.messages)
	}
}

// An error names the strategy and the field. A field at its bounds is accepted.
func TestAnErrorNamesTheField(t *testing.T) {
	w := newWorld(t)
	all := func(c systems.ClientConfig) error {
		core, err := NewCore("some", errMalformed, c)
		if err == nil {
			err = core.CheckPrediction(40)
		}
		return err
	}
	order := func(seat, bytes int) error {
		core, _ := NewCore("some", errMalformed, systems.ClientConfig{World: w, Seat: seat})
		return core.CheckOrder(raworder.Bytes(bytes))
	}
	for field, err := range map[string]error{
		"ClientConfig.World":      all(systems.ClientConfig{}),
		"ClientConfig.Seat is 2":  all(systems.ClientConfig{World: w, Seat: 2}),
		"ClientConfig.Seat is -2": all(systems.ClientConfig{World: w, Seat: -2}),
		"ClientConfig.InputDelay": all(systems.ClientConfig{World: w, InputDelay: maxInputDelay + 1}),
		"InputDelay is -1":        all(systems.ClientConfig{World: w, InputDelay: -1}),
		"MaxPrediction is 41":     all(systems.ClientConfig{World: w, MaxPrediction: 41}),
		"MaxPrediction is -1":     all(systems.ClientConfig{World: w, MaxPrediction: -1}),
		"an order of 1025 bytes":  order(0, image.MaxOrderBytes+1),
		"a spectator":             order(-1, 1),
	} {
		if err == nil || !strings.HasPrefix(err.Error(), "some: ") || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
	for _, c := range []systems.ClientConfig{{World: w, Seat: -1, MaxPrediction: 1}, {World: w, Seat: 1, InputDelay: maxInputDelay, MaxPrediction: 40}} {
		if err := errors.Join(all(c), order(0, raworder.MaxBytes)); err != nil {
			t.Error(err)
		}
	}
}
