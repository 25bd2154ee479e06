package authority_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/ecs/raworder"
	"tendon/rollback"
	"tendon/systems"
	"tendon/systems/authority"
	"tendon/systems/internal/code"
)

type pad struct{ X int8 }

var padInput = ecs.NewInput[pad]()

// spot is where the player of a seat stands.
type spot struct{ X int32 }

var (
	seatComp = ecs.NewComponent[ecs.Seat]("seat")
	spotComp = ecs.NewComponent[spot]("spot")
)

// spotGame moves the spot of each player by the player's input, and refuses inputs above 100.
func spotGame() *ecs.Game {
	movers := ecs.NewQuery2(ecs.Read(seatComp), ecs.Write(spotComp))
	return &ecs.Game{Name: "spots", TickRate: 60, MaxPlayers: 2, Input: padInput, Components: ecs.Components(seatComp, spotComp),
		Orders: raworder.Ignored(),
		Join: func(w *ecs.World, p ecs.Player, _ ecs.Card) {
			e := w.Spawn(ecs.OwnedBy(p), seatComp, spotComp)
			seatComp.Put(w, e, ecs.Seat{Player: p})
		},
		Validate: func(_ *ecs.World, _ ecs.Player, in ecs.InputBytes) bool { return padInput.Unpack(in).X <= 100 },
		Systems: []ecs.System{{Name: "move", Run: func(w *ecs.World) {
			for e := range movers.All(w) {
				e.B.X += int32(padInput.Of(w, e.A.Player).X)
			}
		}}},
	}
}

// half is a strategy of the test. It logs the order of its steps.
type half struct {
	authority.Server[*half, link]
	log []string
}

// link counts the messages that a peer was sent.
type link struct{ sent int }

const (
	kindInput = 1
	kindOrder = 2
)

var errBad = errors.New("spots: malformed message")

// note returns a system that logs its name and Done.
func note(name string, p systems.Phase) systems.System[*half] {
	return systems.System[*half]{Name: name, Phase: p, Run: func(h *half) { h.log = append(h.log, fmt.Sprintf("%s after %d", name, h.Done())) }}
}

var halfSystems = []systems.System[*half]{
	{Name: "inputs", Kind: kindInput, Accept: (*half).receiveInput},
	{Name: "orders", Kind: kindOrder, Reliable: true, Accept: (*half).ReceiveOrder},
	{Name: "orders", Phase: systems.Reconcile, Run: (*half).NextOrders},
	{Name: "inputs", Phase: systems.Reconcile, Run: (*half).ChooseInputs},
	note("reconcile", systems.Reconcile),
	{Name: "changes", Phase: systems.Present, Run: (*half).FindChanges},
	{Name: "replication", Phase: systems.Present, Run: (*half).Replicate},
	note("present", systems.Present),
	{Name: "send", Phase: systems.Send, Run: func(h *half) { h.Serve((*half).send) }},
}

// receiveInput accepts [kind] [tick] [x] …: inputs of the ticks from tick on.
func (h *half) receiveInput(m systems.Message) error {
	p := &h.Peers[m.From]
	if !h.AllowMessage(p) {
		return nil
	}
	if len(m.Body) < 3 || p.Seat < 0 {
		return errBad
	}
	var list []ecs.InputBytes
	for _, x := range m.Body[2:] {
		list = append(list, padInput.Pack(pad{int8(x)}))
	}
	h.ReceiveInputs(m, ecs.Tick(m.Body[1]), list)
	return nil
}

func (h *half) send(p *authority.Peer[link]) {
	p.Own.sent++
	h.Sending.Out.Send(p.ID, systems.Datagram, []byte{byte(p.Own.sent)})
}

// outbox logs what is sent.
type outbox struct {
	to   []systems.Peer
	busy systems.Peer // 0: none
}

func (o *outbox) Send(to systems.Peer, _ systems.Channel, _ []byte) { o.to = append(o.to, to) }

func (o *outbox) Ready(to systems.Peer) bool { return o.busy == 0 || to != o.busy }

func (o *outbox) Room(systems.Peer) int { return 0 }

func newHalf(t *testing.T, change func(*authority.Config[*half, link])) *half {
	t.Helper()
	w, err := ecs.NewWorld(spotGame(), 1)
	if err != nil {
		t.Fatal(err)
	}
	h := &half{}
	c := authority.Config[*half, link]{Name: "spots", Malformed: errBad, Server: systems.ServerConfig{World: w, Peers: 3}, Context: h,
		Systems: halfSystems, History: 4, OrdersPerTick: 2, Buffers: true, Replicates: true}
	if change != nil {
		change(&c)
	}
	if err := h.Init(c); err != nil {
		t.Fatal(err)
	}
	h.FindChanges()
	h.Replicate()
	return h
}

// joined returns a half with player 0 in the match, at tick 2.
func joined(t *testing.T, change func(*authority.Config[*half, link])) *half {
	h := newHalf(t, change)
	h.Open(0, 0, 0, 0, nil)
	h.Stamp(image.Order{Kind: image.OrderJoin}, nil)
	h.Tick(0)
	h.Tick(0)
	h.log = nil
	return h
}

// x returns where player 0 stands.
func (h *half) x() int32 {
	for e := range h.Step.State.Entities {
		s, _ := spotComp.Read(h.World(), e)
		return s.X
	}
	return -1
}

func TestATickRunsReconcileTheGameTheSinksAndPresent(t *testing.T) {
	var h *half
	h = joined(t, func(c *authority.Config[*half, link]) {
		c.Server.Taken = func(f systems.FinalTick) {
			if h == nil {
				return // before the test
			}
			h.log = append(h.log, fmt.Sprintf("taken %d after %d at %d", f.Tick, h.Done(), h.World().Tick()))
		}
	})
	h.Tick(0)
	if want := []string{"reconcile after 2", "taken 3 after 3 at 3", "present after 3"}; !slices.Equal(h.log, want) {
		t.Errorf("%q, want %q", h.log, want)
	}
	if h.log = nil; h.Adopt(systems.FinalTick{FinalTick: rollback.FinalTick{Tick: 4}}) != nil || !h.Step.Adopted {
		t.Error("a tick is not adopted")
	}
	if want := []string{"taken 4 after 4 at 4", "present after 4"}; !slices.Equal(h.log, want) {
		t.Errorf("adopted: %q, want %q", h.log, want)
	}
}

func TestEachPlayerHasOneInputPerTick(t *testing.T) {
	h := joined(t, nil)
	receive := func(body ...byte) {
		if err := h.Receive(0, systems.Datagram, append([]byte{kindInput}, body...), 0, nil); err != nil {
			t.Fatal(err)
		}
	}
	receive(3, 5, 101, 7) // of ticks 3 to 5; that of tick 4 is refused by the game
	receive(3, 50)        // too late to change it
	for _, want := range []struct {
		x    int32
		late bool
	}{{5, false}, {5, true}, {12, false}, {19, true}} { // the last one is predicted from the one before
		h.Tick(0)
		if x := h.x(); x != want.x || h.Step.Late.Has(0) != want.late {
			t.Errorf("tick %d: at %d, late %v, want %+v", h.Done(), x, h.Step.Late.Has(0), want)
		}
	}
	if n := h.Seats[0].Altered; n != 1+2 { // with that of tick 2
		t.Errorf("%d inputs were altered", n)
	}
	h.Stamp(image.Order{Kind: image.OrderLeave}, nil)
	h.Stamp(image.Order{Kind: image.OrderJoin}, nil)
	h.Tick(0)
	h.Tick(0)
	if x := h.x(); x != 19+7 { // the input of the player who leaves counts in the tick in which they leave
		t.Errorf("a player who joins has the input of the one before: at %d", x)
	}
}

func TestOrdersWaitForATickThatHasRoom(t *testing.T) {
	h, payload := joined(t, nil), []byte{0}
	for want := ecs.Tick(3); want <= 5; want++ {
		for range 2 {
			if f := h.Stamp(image.Order{Kind: image.OrderGame, Payload: payload}, nil); f != want {
				t.Errorf("stamped into tick %d, want %d", f, want)
			}
			payload[0]++ // the server has a copy
		}
	}
	next := byte(0)
	for left := 4; left >= 0; left -= 2 {
		if h.Tick(0); len(h.Step.Orders) != 2 || h.Waiting() != left {
			t.Errorf("tick %d has %d orders, %d wait", h.Done(), len(h.Step.Orders), h.Waiting())
		}
		for _, o := range h.Step.Orders {
			if o.Payload[0] != next {
				t.Errorf("order %d instead of %d", o.Payload[0], next)
			}
			next++
		}
	}
}

func TestChangesAreFoundOncePerTick(t *testing.T) {
	h := joined(t, nil)
	rows := func() (n int) {
		for range h.Changed.Rows {
			n++
		}
		return n
	}
	h.Tick(0)
	if rows() != 0 || h.Step.Before.Tick() != 2 {
		t.Errorf("%d rows changed since tick %d in a tick without input", rows(), h.Step.Before.Tick())
	}
	h.Receive(0, systems.Datagram, []byte{kindInput, 4, 1}, 0, nil)
	if h.Tick(0); rows() != 1 {
		t.Errorf("%d rows changed in a tick that moves one entity", rows())
	}
}

func TestAMessageThatNoSystemAcceptsIsRefused(t *testing.T) {
	h := joined(t, nil)
	order := code.AppendRequest(nil, kindOrder, 1, ecs.Entity{}, []byte("go"))
	h.Open(1, -1, 0, 0, nil)
	for name, c := range map[string]struct {
		from systems.Peer
		ch   systems.Channel
		body []byte
	}{
		"nothing":                {0, systems.Reliable, nil},
		"an unknown kind":        {0, systems.Reliable, []byte{9}},
		"an order as a datagram": {0, systems.Datagram, order},
		"a broken order":         {0, systems.Reliable, order[:3]},
		"a spectator's order":    {1, systems.Reliable, order},
		"a system's error":       {0, systems.Datagram, []byte{kindInput}},
		"a peer that is closed":  {2, systems.Reliable, order},
	} {
		before := h.PeerStats(c.from).Refused
		if err := h.Receive(c.from, c.ch, c.body, 0, nil); err != errBad {
			t.Errorf("%s: %v", name, err)
		}
		if n := h.PeerStats(c.from).Refused - before; n != 1 && c.from != 2 {
			t.Errorf("%s: counted %d times", name, n)
		}
	}
	if err := h.Receive(0, systems.Reliable, order, 0, nil); err != nil || h.Waiting() != 1 {
		t.Errorf("%v, %d orders wait", err, h.Waiting())
	}
}

// The limits of a peer allow a burst at first, then what each tick adds, and after a pause no more than the burst again.
func TestBudgetAllowsABurstAndThenItsRate(t *testing.T) {
	h := joined(t, nil)
	p := &h.Peers[0]
	use := func() (messages, orders int) {
		for h.AllowMessage(p) {
			messages++
		}
		for h.AllowOrder(0, nil) {
			orders++
		}
		return messages, orders
	}
	ticks := func(n int) {
		for range n {
			h.Tick(0)
		}
	}
	if m, o := use(); m != authority.MaxMessages || o != orderBurst {
		t.Errorf("%d messages and %d orders at first", m, o)
	}
	ticks(1)
	if m, o := use(); m != 2 || o != 0 {
		t.Errorf("%d messages and %d orders after a tick", m, o)
	}
	ticks(5)
	if _, o := use(); o != 1 {
		t.Errorf("%d orders after a tenth of a second", o)
	}
	ticks(300)
	if m, o := use(); m != authority.MaxMessages || o != orderBurst {
		t.Errorf("%d messages and %d orders after a pause", m, o)
	}
}

// A long order takes more of the budget, and so does one that is refused.
func TestAnOrderCostsItsSize(t *testing.T) {
	h := joined(t, nil)
	long := image.Order{Kind: image.OrderGame, Payload: raworder.Bytes(raworder.MaxBytes)}
	refuse := func(o *image.Order) string { return h.RefuseOrder(o, 3, false) }
	if refuse(&long) != "" || refuse(&long) != image.ReasonTooMany {
		t.Error("1 KiB has not the cost of 16 orders")
	}
	for range orderBurst - 16 {
		if !h.AllowOrder(0, nil) {
			t.Error("a short order has not the cost of one")
		}
	}
	if h.AllowOrder(0, nil) || !h.AllowOrder(1, nil) {
		t.Error("the budget is not that of one player")
	}
	undeclared := image.Order{Kind: image.OrderGame, Player: 1, Payload: make([]byte, image.MaxOrderBytes+1)}
	if refuse(&undeclared) == "" || h.AllowOrder(1, make([]byte, 3*64)) {
		t.Error("an order that is not declared costs nothing")
	}
}

func TestSendServesOpenPeersInTheirOrder(t *testing.T) {
	h := joined(t, nil)
	h.Open(2, -1, 2, 0, nil)
	var out outbox
	h.Send(0, &out)
	h.Close(0)
	h.Send(0, &out)
	if want := []systems.Peer{0, 2, 2}; !slices.Equal(out.to, want) {
		t.Errorf("sent to %v, want %v", out.to, want)
	}
	out.to, out.busy = nil, 2
	if h.Send(0, &out); len(out.to) > 0 {
		t.Errorf("sent to %v on a congested line", out.to)
	}
	if h.PeerOf(0) != nil || h.Peers[0].Own.sent != 0 || h.Peers[2].Own.sent != 2 {
		t.Error("a closed peer keeps its part, or an open one lost it")
	}
}

// The intervals of peers begin in different ticks, so that a server has the same work in each.
func TestIntervalsOfPeersAreSpread(t *testing.T) {
	h := joined(t, nil)
	begins := map[ecs.Tick]int{}
	var last [3]uint64
	for range 60 {
		for i := range last {
			if n := h.Interval(&h.Peers[:len(last)][i], 20); n != last[i] {
				last[i] = n
				begins[h.Done()%3]++
			}
		}
		h.Tick(0)
	}
	for third, n := range begins {
		if n < 20 || n > 22 {
			t.Errorf("%d intervals begin in tick %d of 3", n, third)
		}
	}
}

// The room is informed once of a peer that needs an image, until the peer is opened again.
func TestResyncIsReportedOnce(t *testing.T) {
	h := joined(t, nil)
	reported := func() (list []systems.Peer) {
		h.Desynced(func(p systems.Peer) { list = append(list, p) })
		return list
	}
	if list := reported(); list != nil {
		t.Errorf("%v are in sync", list)
	}
	h.Peers[0].RequestImage()
	h.Peers[0].RequestImage()
	if list := reported(); !slices.Equal(list, []systems.Peer{0}) || h.PeerStats(0).Desyncs != 1 {
		t.Errorf("%v need an image, %+v", list, h.PeerStats(0))
	}
	h.Peers[0].Resync.Request()
	if list := reported(); list != nil || h.Peers[0].Resync != authority.Reported {
		t.Errorf("%v were reported again", list)
	}
	h.Open(0, 0, 2, 0, nil)
	h.Peers[0].Resync.Request()
	if list := reported(); len(list) != 1 {
		t.Error("a peer that was opened again is not reported")
	}
}

// An error names the strategy and the field.
func TestAnErrorNamesTheField(t *testing.T) {
	w, _ := ecs.NewWorld(spotGame(), 1)
	for field, c := range map[string]systems.ServerConfig{"ServerConfig.World": {Peers: 1}, "ServerConfig.Peers": {World: w}} {
		h := &half{}
		err := h.Init(authority.Config[*half, link]{Name: "some", Server: c, Context: h})
		if err == nil || !strings.HasPrefix(err.Error(), "some: "+field) {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// A mistake of the caller is a panic at once: later, its cause would not be known.
func TestAMistakeOfTheCallerPanics(t *testing.T) {
	h := newHalf(t, func(c *authority.Config[*half, link]) { c.Name = "some" })
	for range 20 {
		h.Tick(0)
	}
	open := func(seat int, have ecs.Tick) func() { return func() { h.Open(0, seat, have, 0, nil) } }
	stamp := func(o image.Order) func() { return func() { h.Stamp(o, nil) } }
	adopt := func(f ecs.Tick) func() {
		return func() { h.Adopt(systems.FinalTick{FinalTick: rollback.FinalTick{Tick: f}}) }
	}
	for _, c := range []struct {
		name   string
		f      func()
		panics bool
	}{
		{"a spectator", open(-1, 20), false},
		{"the last seat", open(1, 20), false},
		{"no seat", open(2, 20), true},
		{"less than a spectator", open(-2, 20), true},
		{"the oldest state", open(0, 17), false},
		{"a state that is gone", open(0, 16), true},
		{"a state of the future", open(0, 21), true},
		{"a tick again", adopt(20), true},
		{"a gap", adopt(22), true},
		{"the tick that follows", adopt(21), false},
		{"an order", stamp(image.Order{Kind: image.OrderGame, Player: 1, Payload: raworder.Bytes(raworder.MaxBytes)}), false},
		{"an order without a player", stamp(image.Order{Kind: image.OrderGame, Player: 2}), true},
		{"an order that is long", stamp(image.Order{Kind: image.OrderGame, Payload: make([]byte, image.MaxOrderBytes+1)}), true},
		{"an order of a strategy's", stamp(image.Order{Kind: image.OrderView}), true},
	} {
		func() {
			defer func() {
				r := recover()
				if text, _ := r.(string); (r != nil) != c.panics || c.panics && !strings.HasPrefix(text, "some: ") {
					t.Errorf("%s: %v", c.name, r)
				}
			}()
			c.f()
		}()
	}
}

// The kept states fit Backlog. The first ones in the list are kept, and at least one.
func TestKeptStatesAreBounded(t *testing.T) {
	h := joined(t, nil)
	size := h.Step.State.Bytes()
	for _, c := range []struct {
		backlog int
		want    []ecs.Tick
	}{{1, []ecs.Tick{2}}, {2*size + size/2, []ecs.Tick{2, 3}}, {0, []ecs.Tick{2, 3, 4}}} {
		h := joined(t, func(config *authority.Config[*half, link]) { config.Server.Backlog = c.backlog })
		for range 20 {
			h.Keep([]ecs.Tick{2, 3, 4})
			h.Tick(0)
		}
		var kept []ecs.Tick
		for f := range h.Recent() {
			if h.Serves(f) {
				kept = append(kept, f)
			}
		}
		if !slices.Equal(kept, c.want) {
			t.Errorf("%d bytes: ticks %d are kept, want %d; a state has %d bytes", c.backlog, kept, c.want, size)
		}
	}
}

// Places after the last open peer are not visited. A peer that is not open may be closed, asked for and received from.
func TestPlacesWithoutPeersAreNotVisited(t *testing.T) {
	h, out := newHalf(t, nil), &outbox{}
	most := cap(h.Peers)
	visited := func(want int) {
		t.Helper()
		if len(h.Peers) != want || cap(h.Peers) != most {
			t.Errorf("%d of %d places are visited, want %d of %d", len(h.Peers), cap(h.Peers), want, most)
		}
	}
	visited(0)
	h.Open(2, -1, 0, 0, out)
	h.Open(0, -1, 0, 0, out)
	visited(3)
	h.Close(1)
	h.Close(2)
	h.Close(2)
	visited(1)
	if err := h.Receive(2, systems.Datagram, []byte{kindInput}, 0, out); err != errBad || h.PeerStats(2) != (systems.PeerStats{}) {
		t.Errorf("a peer that was closed: %v, %+v", err, h.PeerStats(2))
	}
	h.Open(2, -1, 0, 0, out)
	if h.Peers[1].ID != 1 || h.Peers[2].ID != 2 {
		t.Errorf("peers %d and %d have the numbers of others", h.Peers[1].ID, h.Peers[2].ID)
	}
}

const orderBurst = 20 // of ecs.OrderBudget
