package verify

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/matchsim/halves"
	"tendon/net/simnet"
	"tendon/systems"
)

// bench is a server without clients, and the messages that it sends to peer 0. Players 0 and 1 are on peers 0 and 1,
// and a spectator is on peer 2.
type bench struct {
	*match
	s    *Server
	sent []stateMessage
}

func newBench(t *testing.T, limits Config) *bench {
	b := &bench{match: newMatch(t, testGame(60), limits, 60)}
	b.s = b.server
	for id := range 3 {
		seat := id
		if id == 2 {
			seat = -1
		} else {
			b.s.Stamp(image.Order{Kind: image.OrderJoin, Player: ecs.Player(id)}, b)
		}
		b.s.Open(systems.Peer(id), seat, 0, 0, b)
	}
	b.tick(1)
	return b
}

// Send keeps what is sent to peer 0.
func (b *bench) Ready(systems.Peer) bool { return true }

func (b *bench) Room(systems.Peer) int { return 1 << 16 }

func (b *bench) Send(to systems.Peer, _ systems.Channel, message []byte) {
	var m stateMessage
	if to == 0 {
		if err := m.read(slices.Clone(message)); err != nil {
			b.T.Error(err)
		}
		b.sent = append(b.sent, m)
	}
}

func (b *bench) tick(n int) {
	for range n {
		b.s.Tick(0)
		b.s.Send(0, b)
	}
}

// ask sends commands of a peer, numbered from first.
func (b *bench) ask(id systems.Peer, first uint64, commands ...Command) error {
	m := askMessage{held: b.s.Done(), first: first, asked: commands}
	message, n := m.append(nil, systems.MaxReliable, b.Game)
	if n != len(commands) {
		b.T.Fatal("they do not fit")
	}
	return b.s.Receive(id, systems.Datagram, message, 0, b)
}

func (b *bench) last() *stateMessage { return &b.sent[len(b.sent)-1] }

func input(p pad) Command { return Command{Kind: CommandInput, Input: padInput.Pack(p)} }

func order(price int32, id uint32) Command {
	return Command{Kind: CommandOrder, Given: 1, Order: purchase(price, id)}
}

// A command that arrives again is answered as before, and not carried out again. Every State repeats the answer until
// the client acknowledges it.
func TestAnAnsweredCommandIsAnsweredFromTheCache(t *testing.T) {
	b := newBench(t, Config{})
	asked := []Command{order(10, 1), order(5000, 2), order(20, 3)}
	for range 5 {
		if err := b.ask(0, 1, asked...); err != nil {
			t.Fatal(err)
		}
		b.tick(1)
		if m := b.last(); m.answered != 3 || !slices.Equal(m.rejected, []rejection{{2, ReasonInvalid}}) {
			t.Fatalf("answered %d, rejected %v", m.answered, m.rejected)
		}
	}
	if got := walletOf(b.s.World(), 0); got != (wallet{Gold: startGold - 30, Bought: 2}) || len(b.orders()) != 2 {
		t.Errorf("%+v after %d orders", got, len(b.orders()))
	}
	// Another connection of the seat is answered the same.
	b.s.Close(0)
	b.s.Open(0, 0, b.s.Done(), 0, b)
	b.tick(1)
	if m := b.last(); m.answered != 3 || len(m.rejected) != 1 {
		t.Errorf("answered %d, rejected %v", m.answered, m.rejected)
	}
	_ = b.ask(0, 1, asked...)
	b.tick(1)
	if len(b.orders()) != 2 {
		t.Error("carried out again by another connection")
	}
	if err := b.ask(0, 4); err != nil {
		t.Fatal(err)
	}
	b.tick(1)
	if m := b.last(); m.answered != 3 || len(m.rejected) != 0 {
		t.Errorf("answered %d, rejected %v, although the client has the answers", m.answered, m.rejected)
	}
}

// A rejection is repeated until the client has acknowledged it.
func TestARejectionIsRepeatedUntilAcknowledged(t *testing.T) {
	b := newBench(t, Config{})
	for first := uint64(1); first <= 3; first++ {
		_ = b.ask(0, first, []Command{order(5000, 1), order(1, 2), order(5000, 3)}[first-1:]...)
		b.tick(1)
		want := []rejection{{1, ReasonInvalid}, {3, ReasonInvalid}}
		if first > 1 {
			want = want[1:]
		}
		if m := b.last(); !slices.Equal(m.rejected, want) {
			t.Errorf("first %d: rejected %v", first, m.rejected)
		}
	}
}

// A message that was overtaken brings nothing back: not a command, nor an older state, nor a rejection.
func TestAnOvertakenMessageChangesNothing(t *testing.T) {
	b := newBench(t, Config{})
	old := askMessage{held: 0, first: 1, asked: []Command{input(pad{DX: 1})}}
	_ = b.ask(0, 1, input(pad{DX: 1}), input(pad{DX: -1}))
	b.tick(1)
	_ = b.ask(0, 3)
	before := b.s.Peers[0].Acked
	message, _ := old.append(nil, systems.MaxDatagram, b.Game)
	if err := b.s.Receive(0, systems.Datagram, message, 0, b); err != nil {
		t.Fatal(err)
	}
	b.tick(1)
	if in := padInput.Unpack(b.s.Step.Inputs[0]); in.DX != -1 || b.s.Peers[0].Acked != before || b.last().base != before {
		t.Errorf("holds %+v, acknowledged %d, was %d", in, b.s.Peers[0].Acked, before)
	}
}

// Commands that a client gave up are not sent any more. Numbers continue behind them, for the next process as well.
func TestNumbersThatWereLeftOutAreDecidedOn(t *testing.T) {
	b := newBench(t, Config{})
	_ = b.ask(0, 10)
	b.tick(1)
	if m := b.last(); m.answered != 9 {
		t.Errorf("answered %d", m.answered)
	}
	_ = b.ask(0, 8, order(1, 1), order(1, 2), order(1, 3))
	b.tick(1)
	if m := b.last(); m.answered != 10 || len(b.orders()) != 1 || walletOf(b.s.World(), 0).Bought != 1 {
		t.Errorf("answered %d, %d orders", m.answered, len(b.orders()))
	}
}

// Commands of all players are decided on in the order of their arrival. Those of a player who leaves or is not in the
// match are rejected.
func TestCommandsAreDecidedInTheOrderOfTheirArrival(t *testing.T) {
	b := newBench(t, Config{})
	_ = b.ask(1, 1, order(1, 11))
	_ = b.ask(0, 1, order(1, 1))
	_ = b.ask(1, 1, order(1, 11), order(1, 12))
	b.tick(1)
	var ids []byte
	for _, o := range b.orders() {
		ids = append(ids, byte(orderOf(o.Payload).ID))
	}
	if !slices.Equal(ids, []byte{11, 1, 12}) {
		t.Errorf("carried out %v", ids)
	}
	_ = b.ask(0, 2, input(pad{DX: 1}))
	b.tick(3)
	if b.s.Step.Inputs[0] == (ecs.InputBytes{}) {
		t.Fatal("the test proves nothing")
	}
	_ = b.ask(0, 3, order(1, 2), input(pad{DX: 2}))
	b.s.Stamp(image.Order{Kind: image.OrderLeave, Player: 0}, b)
	b.tick(1)
	if m := b.last(); len(b.orders()) != 3 || !slices.Equal(m.rejected, []rejection{{3, ReasonAbsent}, {4, ReasonAbsent}}) {
		t.Errorf("%d orders, rejected %v", len(b.orders()), m.rejected)
	}
	b.s.Stamp(image.Order{Kind: image.OrderJoin, Player: 0}, b)
	b.tick(3)
	if b.s.Step.Inputs[0] != (ecs.InputBytes{}) || b.s.seats[0].held != (ecs.InputBytes{}) {
		t.Error("a player who joins has an input that another player held")
	}
}

// A held input that the game refuses has no effect while it is refused, and continues afterwards. Systems never see an
// input that the game refuses.
func TestAHeldInputThatIsRefusedRests(t *testing.T) {
	b := newBench(t, Config{})
	_ = b.ask(0, 1, input(pad{DX: 1}))
	b.tick(2)
	_ = b.ask(1, 1, order(1, killing))
	b.tick(2)
	if !bodyOf(b.s.World(), 0).Dead || b.s.Step.Inputs[0] != (ecs.InputBytes{}) {
		t.Errorf("dead, and does %v", padInput.Unpack(b.s.Step.Inputs[0]))
	}
	b.tick(70)
	if bodyOf(b.s.World(), 0).Dead || padInput.Unpack(b.s.Step.Inputs[0]).DX != 1 || len(b.last().rejected) > 0 {
		t.Errorf("awake, and does %v", padInput.Unpack(b.s.Step.Inputs[0]))
	}
}

// No client sends these. They are refused, and change nothing.
func TestTheServerRefusesMalformedMessages(t *testing.T) {
	b := newBench(t, Config{})
	b.tick(300)
	ask := func(m askMessage) []byte {
		message, _ := m.append(nil, systems.MaxReliable, b.Game)
		return message
	}
	dirty := input(pad{Throw: true})
	dirty.Input[2] = 7
	many := make([]Command, 65)
	fine := ask(askMessage{held: 290, first: 1, asked: []Command{input(pad{DX: 1})}})
	tooMany := ask(askMessage{held: 290, first: 1, asked: many})
	for name, v := range map[string]struct {
		peer systems.Peer
		m    []byte
	}{
		"empty":                   {0, nil},
		"of another kind":         {0, []byte{9, 1, 2}},
		"State":                   {0, (&stateMessage{delta: b.last().delta}).append(nil)},
		"short":                   {0, fine[:len(fine)-1]},
		"trailing":                {0, append(slices.Clone(fine), 0)},
		"ahead of the server":     {0, ask(askMessage{held: 302, first: 1})},
		"far ahead":               {0, ask(askMessage{held: 1<<31 - 1, first: 1})},
		"number 0":                {0, ask(askMessage{held: 290})},
		"a leap":                  {0, ask(askMessage{held: 290, first: maxLeap + 2})},
		"too many":                {0, tooMany},
		"too many behind others":  {0, ask(askMessage{held: 290, first: 1, skip: 64, asked: many[:1]})},
		"input no program makes":  {0, ask(askMessage{held: 290, first: 1, asked: []Command{dirty}})},
		"command of a spectator":  {2, fine},
		"order too long":          {0, ask(askMessage{held: 290, first: 1, asked: []Command{{Kind: CommandOrder, Order: make([]byte, image.MaxOrderBytes+1)}}})},
		"from a peer not open":    {5, fine},
		"number beyond 64 bits":   {0, ask(askMessage{held: 290, first: 1<<64 - 2})},
		"command of no kind":      {0, append(fine[:len(fine)-4:len(fine)-4], 2, 0, 0, 0)},
		"piece":                   {0, appendPiece(nil, false, fine)},
		"boolean of two in lost":  {0, append([]byte{1, 34, 1, 0, 0, 2}, 1, 0, 0)},
		"uvarint that is padded":  {0, []byte{1, 34, 1, 0, 0, 0, 0x81, 0, 0, 0}},
		"more commands than said": {0, append(slices.Clone(fine), fine[9:]...)},
	} {
		before, seat := b.s.Peers[:cap(b.s.Peers)][v.peer], b.s.seats[0]
		if err := b.s.Receive(v.peer, systems.Datagram, v.m, 0, b); !errors.Is(err, ErrMessage) {
			t.Errorf("%s: %v", name, err)
		}
		after := b.s.Peers[:cap(b.s.Peers)][v.peer]
		if after.Acked != before.Acked || after.Resync != before.Resync || len(b.s.queue) != 0 || b.s.seats[0].newest != seat.newest || b.s.seats[0].first != seat.first {
			t.Errorf("%s: changed the server", name)
		}
	}
	if st := b.s.PeerStats(0); st.Refused < 15 {
		t.Errorf("%+v", st)
	}
}

// A flood costs its sender: messages beyond the budget are dropped unread, commands that wait are bounded, and the next
// player is served as ever.
func TestAFloodIsBounded(t *testing.T) {
	b := newBench(t, Config{})
	first := uint64(1)
	for range 2000 {
		var many []Command
		for i := range 64 {
			many = append(many, Command{Kind: CommandOrder, Given: 1, Order: make([]byte, image.MaxOrderBytes), Number: uint64(i)})
		}
		if err := b.ask(0, first, many[:16]...); err != nil {
			t.Fatal(err)
		}
		first += 16
	}
	if n := len(b.s.queue); n != 32 || b.s.seats[0].waiting != 32 {
		t.Errorf("%d commands wait", n)
	}
	if st := b.s.PeerStats(0); st.Refused < 1900 {
		t.Errorf("%+v", st)
	}
	if err := b.s.Receive(0, systems.Datagram, []byte{kindAsk}, 0, b); err != nil {
		t.Error("read beyond the budget:", err)
	}
	_ = b.ask(1, 1, order(1, 1))
	b.tick(1)
	if len(b.orders()) != 1 || len(b.s.seats[0].rejected) > maxOutstanding || b.s.seats[0].waiting != 0 {
		t.Errorf("%d orders, %d rejections kept", len(b.orders()), len(b.s.seats[0].rejected))
	}
}

// A server that starts again from its journal has the ticks, but not the numbers of their commands. A command whose
// answer was lost with the old server may be in these ticks. It is not carried out again, and its answer is that its
// outcome is unknown.
func TestAServerThatIsStartedAgainCarriesNothingOutTwice(t *testing.T) {
	b := newBench(t, Config{})
	client := commandQueue{known: true, first: 1, sent: 1}
	client.add(order(1, 1))
	client.add(input(pad{DX: 1}))
	under := slices.Clone(client.list)
	if err := b.ask(0, 1, under...); err != nil {
		t.Fatal(err)
	}
	b.tick(1) // its State is lost
	if len(b.orders()) != 1 {
		t.Fatalf("%d orders", len(b.orders()))
	}
	var taken []image.Order
	half, err := newServer(systems.ServerConfig{World: b.s.World(), Peers: 3, Taken: func(f systems.FinalTick) { taken = append(taken, f.Orders...) }}, Config{})
	if err != nil {
		t.Fatal(err)
	}
	b.s = half.(*Server)
	b.s.Open(0, 0, b.s.Done(), 0, b)
	if err := b.ask(0, 1, under...); err != nil {
		t.Fatal(err)
	}
	b.tick(1)
	if len(taken) != 0 {
		t.Fatalf("carried out again: %v", taken)
	}
	rejected, again := client.receive(b.last())
	unknown := 0
	for _, a := range client.answers {
		if a.Reason == ReasonTimedOut {
			unknown++
		}
	}
	if rejected != 0 || !again || unknown != 2 || len(client.list) != 0 {
		t.Errorf("%d rejected, again %v, %d unknown, %d under way", rejected, again, unknown, len(client.list))
	}
	client.add(order(1, 2))
	if err := b.ask(0, client.first, client.list...); err != nil {
		t.Fatal(err)
	}
	if b.tick(1); len(taken) != 1 || b.last().answered != client.first {
		t.Errorf("%d orders of the next command, answered up to %d of %d", len(taken), b.last().answered, client.first)
	}
}

// A tick holds as many orders as a journal can count. With one more, its match could never be written again. Further
// orders are rejected like those above the rate.
func TestATickHoldsNoMoreOrdersThanAJournalCounts(t *testing.T) {
	b := newBench(t, Config{MaxOutstanding: 64})
	for range maxOrders - 30 {
		b.s.Stamp(image.Order{Kind: image.OrderGame, Payload: purchase(0, 1)}, b)
	}
	for id := range systems.Peer(2) {
		if err := b.ask(id, 1, slices.Repeat([]Command{order(1, 1)}, 16)...); err != nil {
			t.Fatal(err)
		}
	}
	b.tick(1)
	rate := 0
	for _, seat := range b.s.seats {
		for _, r := range seat.rejected {
			if r.reason == ReasonRate {
				rate++
			}
		}
	}
	if rate != 2 || len(b.s.scratch.numbers) != maxOrders {
		t.Errorf("%d of 32 orders were too many, want 2; %d were looked at", rate, len(b.s.scratch.numbers))
	}
}

// A peer that reports a loss receives one image, and no other peer does.
func TestALossIsReportedOnce(t *testing.T) {
	b := newBench(t, Config{})
	m := askMessage{held: 1, lost: true, first: 1}
	message, _ := m.append(nil, systems.MaxDatagram, b.Game)
	for range 5 {
		if err := b.s.Receive(0, systems.Datagram, message, 0, b); err != nil {
			t.Fatal(err)
		}
		b.tick(1)
	}
	var told []systems.Peer
	for range 3 {
		b.s.Desynced(func(p systems.Peer) { told = append(told, p) })
	}
	if !slices.Equal(told, []systems.Peer{0}) || b.s.PeerStats(0).Desyncs != 1 {
		t.Errorf("told of %v, %+v", told, b.s.PeerStats(0))
	}
	b.s.Open(0, 0, b.s.Done(), 0, b)
	b.tick(2)
	b.s.Desynced(func(p systems.Peer) { t.Error("again") })
}

// A client refuses what no server sends, and is as it was; what it could only show wrongly it does not show.
func TestTheClientRefusesMalformedMessages(t *testing.T) {
	l := newLoop(t, testGame(60), Config{}, 1, 2, zigzag)
	for range 100 {
		l.Step()
	}
	c := l.clients[0]
	l.server.Tick(0)
	l.server.Tick(0)
	good := slices.Clone(l.server.state(&l.server.Peers[0], c.present, l.server.Done()))
	var m stateMessage
	if err := m.read(good); err != nil || m.base != c.present {
		t.Fatal(err, m.base)
	}
	with := func(change func(m *stateMessage)) []byte {
		n := m
		n.delta = slices.Clone(m.delta)
		change(&n)
		return n.append(nil)
	}
	present := c.present
	for name, message := range map[string][]byte{
		"empty":            nil,
		"ask":              {kindAsk, 0, 0, 0, 0, 0, 1, 0, 0},
		"cut":              good[:len(good)/2],
		"no delta":         with(func(m *stateMessage) { m.delta = nil }),
		"damaged events":   with(func(m *stateMessage) { m.happened = [][]byte{{byte(m.tick), 99, 0, 0, 1}} }),
		"events of before": with(func(m *stateMessage) { m.happened = [][]byte{{byte(m.base), 0, 0, 0, 1}} }),
		"empty piece":      {kindPiece, 0},
		"piece of rubbish": {kindPiece, 0, 1, 2, 3},
	} {
		if err := c.Receive(systems.Reliable, message, 0); err == nil && name != "cut" {
			t.Errorf("%s: taken", name)
		}
		if c.present != present || c.World().Tick() != present {
			t.Fatalf("%s: changed the client", name)
		}
	}
	if c.Receive(systems.Datagram, appendPiece(nil, false, good), 0) == nil {
		t.Error("a piece as a datagram")
	}
	c.lost = false // the cut one was such
	// One bit of the delta: the checksum does not fit, or the delta is damaged. Never is it shown.
	for bit := 12 * 8; bit < len(m.delta)*8; bit += 5 {
		before := c.refused
		message := with(func(m *stateMessage) { m.delta[bit/8] ^= 1 << (bit % 8) })
		if err := c.Receive(systems.Datagram, message, 0); err != nil || c.refused != before+1 || !c.lost {
			t.Fatalf("bit %d: %v, refused %d", bit, err, c.refused-before)
		}
		if c.present != present || c.World().Tick() != present {
			t.Fatalf("bit %d: changed the client", bit)
		}
		c.lost = false
	}
	// A base that is not held: as a datagram it may be old; on the reliable channel it is the end of the chain.
	future := with(func(m *stateMessage) { m.delta[1]++; m.happened = nil })
	if err := c.Receive(systems.Datagram, future, 0); err != nil || c.lost || c.present != present {
		t.Errorf("%v, lost %t", err, c.lost)
	}
	if err := c.Receive(systems.Reliable, future, 0); err != nil || !c.lost || c.present != present {
		t.Errorf("%v, lost %t", err, c.lost)
	}
	if err := c.Receive(systems.Datagram, good, 0); err != nil || c.present != m.tick {
		t.Errorf("the good one: %v", err)
	}
	hashes := c.Counted.Hashes
	if err := c.Receive(systems.Datagram, good, 9); err != nil || c.present != m.tick || c.Counted.Hashes != hashes {
		t.Errorf("again: %v", err)
	}
	// A newer one from an older base, damaged: the world stays where it is shown.
	l.server.Tick(0)
	spoilt := slices.Clone(l.server.state(&l.server.Peers[0], present, l.server.Done()))
	spoilt[len(spoilt)-2] ^= 1
	if err := c.Receive(systems.Datagram, spoilt, 0); err != nil || c.World().Tick() != c.present || c.present != m.tick {
		t.Errorf("%v, world in tick %d, present %d", err, c.World().Tick(), c.present)
	}
	// Nothing but bases that are not held: then only an image helps.
	c.lost = false
	for n := 0; !c.lost; n++ {
		if err := c.Receive(systems.Datagram, with(func(m *stateMessage) { m.delta[1] += 20; m.happened = nil }), 0); err != nil || n > 200 {
			t.Fatal(err, n)
		}
	}
	// Pieces of no end do not pile up.
	pieces, endless := 0, appendPiece(nil, true, make([]byte, pieceBytes))
	for c.Receive(systems.Reliable, endless, 0) == nil {
		pieces++
	}
	if pieces != maxState/pieceBytes || len(c.pieces) != 0 {
		t.Errorf("%d pieces were kept", pieces)
	}
}

// With as many commands unanswered as there may be, an order is refused where it is given, and a press waits for room.
func TestCommandsWithoutRoomWaitOrAreRefused(t *testing.T) {
	down := false
	l := newLoop(t, testGame(60), Config{MaxOutstanding: 4}, 1, 1, func(_, tick int) pad { return pad{Throw: down} })
	for range 50 {
		l.Step()
	}
	c := l.clients[0]
	var errs []error
	for id := range uint32(6) {
		errs = append(errs, c.Order(1, ecs.Entity{Row: 5}, purchase(1, id), nil))
	}
	pending := c.Pending(nil)
	if len(pending) != 4 || errs[3] != nil || errs[4] != ErrOutstanding || errs[5] != ErrOutstanding {
		t.Fatalf("%d pending, %v", len(pending), errs)
	}
	for i, p := range pending {
		if p.Kind != CommandOrder || p.Target.Row != 5 || !slices.Equal(p.Order, purchase(1, uint32(i))) || p.Number != pending[0].Number+uint64(i) || p.Sent == 0 {
			t.Errorf("%+v", p)
		}
	}
	if c.Order(1, ecs.Entity{}, make([]byte, image.MaxOrderBytes+1), nil) == nil {
		t.Error("an order that is too long")
	}
	down = true
	l.Step()
	down = false
	if len(c.Pending(nil)) > 4 {
		t.Error("more than there may be")
	}
	fired := 0
	for range 10 {
		l.Step()
		if padInput.Unpack(l.server.Step.Inputs[0]).Throw {
			fired++
		}
	}
	if fired != 1 || len(c.Pending(nil)) != 0 || walletOf(c.World(), 0).Bought != 4 {
		t.Errorf("fired %d times, %d pending, %+v", fired, len(c.Pending(nil)), walletOf(c.World(), 0))
	}
}

// However fast the display is, a client sends one message a tick. Without new input and new states it repeats the last
// one four times a second.
func TestAClientSendsOncePerTick(t *testing.T) {
	for _, hz := range []int{30, 60, 75, 144, 240, 1000} {
		l := newLoop(t, testGame(60), Config{}, 1, 1, zigzag)
		for range 30 {
			l.Step()
		}
		c, sent, base := l.clients[0], 0, l.Now()
		out := halves.Outbox(func(systems.Peer, systems.Channel, []byte) { sent++ })
		r := image.NewRand(1)
		for f := 1; f <= hz; f++ { // a second of it
			c.SetInput(padInput.Pack(pad{DX: int8(r.IntN(100)), Throw: true}))
			now := base + systems.Time(f)*systems.Second/systems.Time(hz)
			c.Frame(now)
			c.Send(now, out)
		}
		if want := min(hz, 60); sent < want-2 || sent > want+2 {
			t.Errorf("%d frames a second: %d messages", hz, sent)
		}
		for len(c.Pending(nil)) > 0 {
			c.commands.receive(&stateMessage{answered: c.commands.next() - 1})
		}
		sent, c.unsent = 0, false
		still, _ := c.own.Sample()
		still = c.Game.Input.Predict(still)
		c.own.Restart(still, c.Game)
		for f := range 100 {
			now := base + 2*systems.Second + systems.Time(f)*systems.Second/60
			c.SetInput(still)
			c.Frame(now)
			c.Send(now, out)
		}
		if sent < 6 || sent > 7 {
			t.Errorf("%d messages without anything new in 100 ticks", sent)
		}
	}
}

// Without jitter there is no playout delay: the display goes from one state to the next in a tick, from when the latter
// arrived. It stops there until another state arrives.
func TestTheDisplayTakesATickFromStateToState(t *testing.T) {
	l := newLoop(t, testGame(60), Config{}, 1, 1, zigzag)
	for range 60 {
		l.Step()
	}
	c, now := l.clients[0], l.Now()
	for _, part := range []int{0, 1, 2, 3, 4, 9} {
		previous, current, confirmed, alpha := c.View(now + systems.Time(part)*l.Length/4)
		if current.Tick() != c.present || confirmed != current || part < 4 && previous.Tick()+1 != current.Tick() {
			t.Errorf("%d → %d, confirmed %d, present %d", previous.Tick(), current.Tick(), confirmed.Tick(), c.present)
		}
		at := float64(previous.Tick()) + alpha*float64(current.Tick()-previous.Tick())
		if want := float64(c.present) - 1 + min(float64(part)/4, 1); math.Abs(at-want) > 2*nearTick {
			t.Errorf("tick %v is shown after %d quarters of a tick, want %v", at, part, want)
		}
	}
}

// A server that takes over a match goes on with it: the states are those of the first, and what players held they hold.
func TestAdoptedTicksLeadToTheSameState(t *testing.T) {
	var ticks []systems.FinalTick
	game := testGame(60)
	first := newMatch(t, game, Config{}, 70)
	half, err := New(Config{}).NewServer(systems.ServerConfig{World: newWorld(t, game, 70), Peers: 1, Taken: func(f systems.FinalTick) {
		f.Inputs = slices.Clone(f.Inputs)
		f.Orders = slices.Clone(f.Orders)
		for i := range f.Orders {
			f.Orders[i].Payload = slices.Clone(f.Orders[i].Payload)
		}
		ticks = append(ticks, f)
	}})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{match: first, s: half.(*Server)}
	b.s.Open(0, 0, 0, 0, b)
	b.s.Stamp(image.Order{Kind: image.OrderJoin}, b)
	b.tick(1)
	for i := range uint64(40) {
		_ = b.ask(0, i*2+1, input(pad{DX: int8(i % 3), Throw: i%4 == 0}), order(int32(i)*3, uint32(i)))
		b.tick(20)
	}
	again, err := New(Config{}).NewServer(systems.ServerConfig{World: newWorld(t, game, 70), Peers: 1})
	if err != nil {
		t.Fatal(err)
	}
	s := again.(*Server)
	for _, f := range ticks {
		s.Adopt(f)
	}
	sum := func(s *Server) image.Checksum { state, _ := s.States.At(s.Done()); return state.Checksum() }
	if s.Done() != b.s.Done() || sum(s) != sum(b.s) || s.World().Tick() != s.Done() || len(ticks) < 800 || walletOf(s.World(), 0).Bought < 10 {
		t.Errorf("tick %d of %d: %x, want %x", s.Done(), b.s.Done(), sum(s), sum(b.s))
	}
	for range 10 {
		s.Tick(0)
		b.s.Tick(0)
	}
	if sum(s) != sum(b.s) {
		t.Error("they go on differently")
	}
	if s.OldestServable() != s.Done()-511 {
		t.Error(s.OldestServable(), s.Done())
	}
}

// A half says which field of its configuration is wrong, before anything is made of it.
func TestAnInvalidConfigIsNamed(t *testing.T) {
	world := newWorld(t, testGame(60), 1)
	for name, c := range map[string]Config{
		"Config.Timeout": {Timeout: 5}, "Config.MaxOutstanding": {MaxOutstanding: 65}, "Config.InputsPerTick": {InputsPerTick: -1},
		"Config.History": {History: 1},
	} {
		if _, err := New(c).NewServer(systems.ServerConfig{World: world, Peers: 1}); err == nil || !strings.Contains(err.Error(), name+" is ") {
			t.Errorf("server, %s: %v", name, err)
		}
		if _, err := New(c).NewClient(systems.ClientConfig{World: world}); err == nil || !strings.Contains(err.Error(), name+" is ") {
			t.Errorf("client, %s: %v", name, err)
		}
	}
	for name, c := range map[string]systems.ClientConfig{
		"World": {}, "Seat": {World: world, Seat: 4}, "Params": {World: world, Params: []byte{2}},
	} {
		if _, err := Strategy.NewClient(c); err == nil || !strings.Contains(err.Error(), "ClientConfig."+name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, c := range map[string]systems.ServerConfig{"World": {Peers: 1}, "Peers": {World: world}} {
		if _, err := Strategy.NewServer(c); err == nil || !strings.Contains(err.Error(), "ServerConfig."+name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if Strategy.Name != "verify" || Strategy.Predicts || Strategy.Needs != (systems.Needs{}) || len(Strategy.Params) == 0 {
		t.Errorf("%+v", Strategy)
	}
	half, err := New(Config{}).NewClient(systems.ClientConfig{World: world, Params: New(Config{Reliable: true, MaxOutstanding: 7, Timeout: systems.Second}).Params})
	if err != nil {
		t.Fatal(err)
	}
	if c := half.(*Client).limits; !c.Reliable || c.MaxOutstanding != 7 || c.Timeout != systems.Second {
		t.Errorf("the client does not do as the server: %+v", c)
	}
}

// A peer that acknowledges nothing receives as much as may be under way, and then nothing. One acknowledgement of all
// frees all of it, however short the history is.
func TestUnacknowledgedStatesAreBounded(t *testing.T) {
	for _, v := range []struct {
		bystanders, history, most int
	}{{1, 256, maxStates}, {1, 16, 16}, {300, 256, maxStates}} {
		game, sent, messages := bystanderGame(v.bystanders), 0, 0
		half, err := New(Config{Reliable: true, History: v.history}).NewServer(systems.ServerConfig{World: newWorld(t, game, 1), Peers: 1})
		if err != nil {
			t.Fatal(err)
		}
		s := half.(*Server)
		out := halves.Outbox(func(_ systems.Peer, _ systems.Channel, m []byte) { sent += len(m); messages++ })
		s.Open(0, -1, 0, 0, out)
		for range min(200, v.history+v.history/2) {
			s.Tick(0)
			s.Send(0, out)
		}
		if messages == 0 || messages > v.most || sent > window || v.bystanders > 1 && sent < window/2 {
			t.Errorf("%d bystanders, history of %d: %d messages of %d bytes", v.bystanders, v.history, messages, sent)
		}
		m := askMessage{held: s.Peers[0].Own.chain, first: 1}
		message, _ := m.append(nil, systems.MaxReliable, game)
		if err := s.Receive(0, systems.Reliable, message, 0, out); err != nil {
			t.Fatal(err)
		}
		if p := &s.Peers[0]; p.Own.flight.Bytes != 0 || p.Own.flight.Len() != 0 {
			t.Errorf("history of %d: %d states of %d bytes are under way after all was acknowledged", v.history, p.Own.flight.Len(), p.Own.flight.Bytes)
		}
	}
}

// A lost acknowledgement does not stop a server whose window is full, though nothing follows it.
func TestALostAcknowledgementIsRepeated(t *testing.T) {
	m := newMatch(t, bystanderGame(300), Config{}, 5)
	p := m.join(round(100*time.Millisecond), simnet.Clock{}, -1, 60, 0, wander(1))
	m.Net.RunUntil(2 * time.Second)
	m.Lost = func(toClient bool, _ int, _ systems.Channel, _ []byte) bool { return !toClient }
	m.Net.RunUntil(4 * time.Second)
	if bytes := m.server.Peers[p.peer.ID].Own.flight.Bytes; bytes < window*9/10 {
		t.Errorf("%d bytes are unacknowledged, want a full window", bytes)
	}
	m.Lost = nil
	m.Net.RunUntil(5 * time.Second)
	if lag := m.server.Done() - p.present; lag > 20 || len(p.peer.Flagged) > 0 {
		t.Errorf("%d ticks behind, flagged %d times", lag, len(p.peer.Flagged))
	}
}

// A client keeps the states that deltas on their way may begin at, and gives the others back.
func TestAClientKeepsAsManyStatesAsAreUnderWay(t *testing.T) {
	for _, mode := range modes {
		l := newLoop(t, testGame(60), mode.config, 1, 3, zigzag)
		for range 600 {
			l.Step()
		}
		c, held := l.clients[0], 0
		for f := c.present - 250; f <= c.present; f++ {
			if _, ok := c.ring.At(f); ok {
				held++
			}
		}
		if held < 2 || held > 10 {
			t.Errorf("%s: %d states are held with a round trip of 6 ticks", mode.name, held)
		}
	}
}

// Orders of a game without orders are ignored, even if it validates them.
func TestOrdersOfAGameWithoutOrdersDoNothing(t *testing.T) {
	game := testGame(60)
	game.Orders = nil
	half, err := New(Config{}).NewServer(systems.ServerConfig{World: newWorld(t, game, 1), Peers: 1})
	if err != nil {
		t.Fatal(err)
	}
	s, b := half.(*Server), &bench{match: &match{Match: &halves.Match{T: t}}}
	s.Open(0, 0, 0, 0, b)
	s.Stamp(image.Order{Kind: image.OrderJoin}, b)
	s.Tick(0)
	m := askMessage{first: 1, asked: []Command{order(1, 1), order(5000, 1)}}
	message, _ := m.append(nil, systems.MaxDatagram, game)
	if err := s.Receive(0, systems.Datagram, message, 0, b); err != nil {
		t.Fatal(err)
	}
	s.Tick(0)
	s.Send(0, b)
	if b.last().answered != 2 || walletOf(s.World(), 0).Gold != startGold {
		t.Errorf("answered %d, %+v", b.last().answered, walletOf(s.World(), 0))
	}
}

// Peers share the deltas of a tick. Each peer is sent the delta from the state that it holds, and the answers of its own seat.
func TestPeersShareDeltasFromTheSameStateOnly(t *testing.T) {
	inBothModes(t, func(t *testing.T, c Config) {
		b := newBench(t, c)
		got := map[systems.Peer]stateMessage{}
		out := halves.Outbox(func(to systems.Peer, _ systems.Channel, message []byte) {
			var m stateMessage
			if err := m.read(slices.Clone(message)); err != nil {
				t.Error(err)
			}
			got[to] = m
		})
		older := b.s.Done()
		_ = b.ask(1, 1, order(5000, 1)) // too expensive
		b.tick(3)
		for _, id := range []systems.Peer{0, 2} { // peer 1 still holds the older state
			if err := b.ask(id, 1); err != nil {
				t.Fatal(err)
			}
		}
		newer := b.s.Done()
		b.s.Tick(0)
		b.s.Send(0, out)
		if c.Reliable { // the channel delivers what was sent before
			older = newer
		}
		for id, base := range map[systems.Peer]ecs.Tick{0: newer, 1: older, 2: newer} {
			m := got[id]
			if m.base != base || m.tick != b.s.Done() || len(m.rejected) != map[systems.Peer]int{1: 1}[id] {
				t.Errorf("peer %d is sent tick %d from %d with %d rejections, want %d from %d", id, m.tick, m.base, len(m.rejected), b.s.Done(), base)
			}
			state, _ := b.s.StateAt(base)
			w := newWorld(t, b.Game, 1)
			err := w.Image().Load(state.AppendImage(nil))
			if err = cmp.Or(err, w.Image().ApplyDelta(m.delta)); err != nil || checksum(w) != checksum(b.s.World()) {
				t.Errorf("peer %d: the delta from tick %d leads to another state: %v", id, base, err)
			}
		}
	})
}

func checksum(w *ecs.World) image.Checksum {
	var s image.Snapshot
	w.Image().Save(&s)
	defer s.Release()
	return s.Checksum()
}
