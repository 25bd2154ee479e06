package session

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"tendon/ecs"
	"tendon/systems"
)

type letter struct {
	ch      systems.Channel
	message []byte
}

// memory is a transport that keeps what it is sent.
type memory struct {
	room    int
	letters []letter
}

func (m *memory) Send(ch systems.Channel, message []byte) error {
	if ch == systems.Reliable {
		if len(message) > m.room {
			return errors.New("full")
		}
		m.room -= len(message)
	}
	m.letters = append(m.letters, letter{ch, slices.Clone(message)})
	return nil
}

func (m *memory) Room() int { return m.room }

func (m *memory) take() []letter {
	list := m.letters
	m.letters = nil
	for _, l := range list {
		if l.ch == systems.Reliable {
			m.room += len(l.message)
		}
	}
	return list
}

func channelOf(b byte) systems.Channel { return systems.Datagram - systems.Channel(b&1) }
func timeOf(ns int64) systems.Time     { return systems.Time(ns) }

type spot struct{ X, Y int32 }

var cSpot = ecs.NewComponent[spot]("spot")

func testWorld(t testing.TB, entities int) *ecs.World {
	g := &ecs.Game{Name: "session", TickRate: 60, MaxPlayers: 4, Input: ecs.NewInput[uint16](), Components: ecs.Components(cSpot),
		Setup: func(w *ecs.World) {
			for i := range entities {
				e := w.Spawn(ecs.OwnedByWorld, cSpot)
				x := w.Rand().Uint64()
				cSpot.Put(w, e, spot{int32(i), int32(x)})
			}
		}}
	w, err := ecs.NewWorld(g, 1)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// pair is both ends with nothing between them.
type pair struct {
	t      testing.TB
	server *Server
	client *Client
	down   memory // what the server sent
	up     memory
	now    systems.Time
	tick   ecs.Tick

	heard, told []EventKind // by server and client
	last        Event       // what the client heard last, with a message of its own
	image       *Image
	epoch       uint8
	onReady     func(tick ecs.Tick)
}

func newPair(t testing.TB, sc ServerConfig, cc ClientConfig) *pair {
	p := &pair{t: t, down: memory{room: 1 << 18}, up: memory{room: 1 << 18}, epoch: 7, tick: 100}
	sc.TickRate = 60
	var err error
	if p.server, err = NewServer(sc, &p.down, 0); err != nil {
		t.Fatal(err)
	}
	if p.client, err = NewClient(cc, &p.up, 0); err != nil {
		t.Fatal(err)
	}
	p.onReady = func(ecs.Tick) { p.server.Opened() }
	return p
}

// step delivers everything both ways and lets a tick go by.
func (p *pair) step() {
	p.now += systems.Second / 60
	for _, l := range p.up.take() {
		e := p.server.Receive(l.ch, l.message, p.now)
		if e.Kind == EventNone {
			continue
		}
		p.heard = append(p.heard, e.Kind)
		switch e.Kind {
		case EventHello:
			p.server.Welcome(Welcome{Strategy: "s", Rate: 60, Seat: 2, Epoch: p.epoch, Tick: p.tick, Image: p.image != nil}, e.Hello.Have, p.now)
			if p.image != nil {
				p.server.SendImage(p.image, p.epoch, p.now)
			}
		case EventReady:
			p.onReady(e.Tick)
		}
	}
	for _, l := range p.down.take() {
		e := p.client.Receive(l.ch, l.message, p.now)
		if e.Kind == EventNone {
			continue
		}
		p.told, p.last = append(p.told, e.Kind), e
		p.last.Message = slices.Clone(e.Message)
		if e.Kind == EventImage {
			p.client.Ready()
		}
	}
	p.tick++
	if p.image != nil {
		p.image.Work(64 << 10)
	}
	p.server.Frame(p.now, p.tick)
	p.client.Frame(p.now)
}

func (p *pair) run(ticks int) {
	for range ticks {
		p.step()
	}
}

func imageOf(t testing.TB, w *ecs.World) *Image {
	var s ecs.Snapshot
	w.Save(&s)
	return NewImage(&s, 0)
}

// The whole way in: Hello, Welcome, image, Ready, Live; and the image is the state.
func TestAClientIsWelcomedLoadsTheImageAndGoesLive(t *testing.T) {
	w := testWorld(t, 20000)
	p := newPair(t, ServerConfig{}, ClientConfig{Hello: Hello{Name: "ada"}})
	p.image = imageOf(t, w)
	size := p.image.Size()
	for i := 0; i < 600 && !p.server.Open(); i++ {
		p.step()
	}
	if !p.server.Open() {
		t.Fatalf("not open; server %v, client %v, progress %v", p.server.Err(), p.client.Err(), p.client.Progress())
	}
	if got := len(p.last.Message); p.last.Kind != EventImage || got != size {
		t.Fatalf("last event %d with %d bytes, want an image of %d", p.last.Kind, got, size)
	}
	other := testWorld(t, 0)
	if err := other.LoadImage(p.last.Message); err != nil {
		t.Fatal(err)
	}
	var a, b ecs.Snapshot
	w.Save(&a)
	other.Save(&b)
	if a.Checksum() != b.Checksum() {
		t.Error("the loaded state differs")
	}
	p.client.Live()
	p.run(2)
	if want := []EventKind{EventHello, EventReady, EventLive}; !slices.Equal(p.heard, want) {
		t.Errorf("the server heard %v, want %v", p.heard, want)
	}
	if rtt, ok := p.client.RTT(); !ok || rtt > systems.Second/10 {
		t.Errorf("round trip %v, %v", rtt, ok)
	}
}

// An image must not make an order wait, nor flood the peer: it keeps to its budget and to the transport's room.
func TestAnImageKeepsToItsBudget(t *testing.T) {
	p := newPair(t, ServerConfig{ImageRate: 64 << 10}, ClientConfig{})
	p.image = imageOf(t, testWorld(t, 60000))
	p.run(10)
	start, from := p.server.Stats().BytesSent, p.now
	p.run(60)
	if p.server.Open() {
		t.Fatal("the image was too small to tell")
	}
	sent, seconds := p.server.Stats().BytesSent-start, float64(p.now-from)/1e9
	if limit := 64<<10*seconds + 3*imagePackedMax; float64(sent) > limit || sent < 32<<10 {
		t.Errorf("%d bytes in %.2f s, want at most %.0f and at least half of that", sent, seconds, limit)
	}
	// With no more room than the reserve, nothing of it leaves.
	p.down.room = imageReserve
	start = p.server.Stats().BytesSent
	for range 30 {
		p.server.Frame(p.now, 1)
	}
	if sent := p.server.Stats().BytesSent - start; sent > 100 {
		t.Errorf("%d bytes of an image were sent although only the reserve was free", sent)
	}
}

// Every bit of an image counts: one that was damaged on the way must never reach LoadImage.
func TestADamagedImageEndsTheSession(t *testing.T) {
	im := imageOf(t, testWorld(t, 3000))
	im.Work(1 << 30)
	im.packed = slices.Clone(im.packed)
	im.head.sum ^= 1
	p := newPair(t, ServerConfig{}, ClientConfig{})
	p.image = im
	p.run(60)
	if !errors.Is(p.client.Err(), &Error{Code: CodeProtocol}) || slices.Contains(p.told, EventImage) {
		t.Errorf("client %v, told %v", p.client.Err(), p.told)
	}
}

// A head may announce what it likes; memory is taken as pieces arrive, and above MaxImage not at all.
func TestAnAnnouncedImageTakesNoMemoryBeforeItArrives(t *testing.T) {
	s := imageSink{}
	if err := s.open(imageHead{size: 64 << 20}, 64<<20); err != nil {
		t.Fatal(err)
	}
	if got := cap(s.raw) + cap(s.scratch); got > 2*imagePiece {
		t.Errorf("%d bytes were reserved for an image of which nothing has arrived", got)
	}
	if err := s.open(imageHead{size: 64<<20 + 1}, 64<<20); err == nil {
		t.Error("an image above the limit was accepted")
	}
	// A piece that unpacks to more than a piece is refused by the decoder, not unpacked first.
	bomb := newCoder().EncodeAll(make([]byte, 8<<20), nil)
	if err := s.open(imageHead{size: 16 << 20}, 64<<20); err != nil {
		t.Fatal(err)
	}
	if _, err := s.add(bomb); err == nil {
		t.Error("a piece of 8 MB was unpacked")
	}
}

// The refusals name what is wrong in a sentence; a game mismatch shows both fingerprints.
func TestRefusalsSayWhatToDo(t *testing.T) {
	for _, c := range []struct {
		name   string
		server ServerConfig
		client Hello
		code   Code
	}{
		{"another game", ServerConfig{Fingerprint: 1}, Hello{Fingerprint: 2}, CodeGame},
		{"another build", ServerConfig{Build: "a"}, Hello{Build: "b"}, CodeBuild},
		{"another target", ServerConfig{Target: "amd64/v1"}, Hello{Target: "amd64/v3"}, CodeBuild},
	} {
		p := newPair(t, c.server, ClientConfig{Hello: c.client})
		p.run(3)
		var refused *Error
		if !errors.As(p.client.Err(), &refused) || refused.Code != c.code || len(refused.Error()) < 40 {
			t.Errorf("%s: client %v", c.name, p.client.Err())
		}
		if c.code == CodeGame && (refused.Ours != 2 || refused.Theirs != 1) {
			t.Errorf("fingerprints %x and %x, want 2 and 1", refused.Ours, refused.Theirs)
		}
		if !errors.Is(p.server.Err(), &Error{Code: c.code}) {
			t.Errorf("%s: server %v", c.name, p.server.Err())
		}
	}
	// Of another version nothing is understood but the version.
	p := newPair(t, ServerConfig{}, ClientConfig{})
	p.up.take()
	p.up.Send(systems.Reliable, []byte{byte(kindHello), Version + 1, 0xff, 0xff})
	p.run(3)
	if !errors.Is(p.client.Err(), &Error{Code: CodeVersion}) {
		t.Errorf("client %v, want a refusal for its version", p.client.Err())
	}
}

// Build strings differ between honest peers all the time; only floats make them matter.
func TestBuildsAreNotComparedWithoutFloats(t *testing.T) {
	p := newPair(t, ServerConfig{}, ClientConfig{Hello: Hello{Build: "mine", Target: "arm64/v8.0"}})
	p.image = imageOf(t, testWorld(t, 1))
	p.run(10)
	if !p.server.Open() {
		t.Errorf("server %v, client %v", p.server.Err(), p.client.Err())
	}
}

// Late datagrams of before a resync must not reach the strategy; the peer plays on until it has the new state.
func TestMessagesOfAnotherEpochAreDropped(t *testing.T) {
	p := newPair(t, ServerConfig{}, ClientConfig{})
	p.image = imageOf(t, testWorld(t, 10))
	p.run(10)
	p.client.SendStrategy(systems.Datagram, []byte("old"))
	late := p.up.take()
	p.client.SendStrategy(systems.Datagram, []byte("meanwhile"))
	p.server.SendImage(p.image, 8, p.now)
	p.heard = nil
	p.run(10)
	if want := []EventKind{EventStrategy, EventReady}; !slices.Equal(p.heard, want) {
		t.Fatalf("the server heard %v, want %v", p.heard, want)
	}
	p.up.letters = late
	p.heard = nil
	p.run(1)
	if slices.Contains(p.heard, EventStrategy) || p.server.Stats().Stale == 0 {
		t.Errorf("the server heard %v and counts %d stale messages, want none and some", p.heard, p.server.Stats().Stale)
	}
	p.server.SendStrategy(systems.Reliable, []byte("new"))
	p.run(1)
	if p.last.Kind != EventStrategy || string(p.last.Message) != "new" {
		t.Errorf("the client heard %v %q", p.last.Kind, p.last.Message)
	}
}

// What lets a client in is said again in datagrams: where the reliable channel takes seconds to find out that something
// was lost, the client does not wait for it, and what comes after all does no harm.
func TestAClientComesInAlthoughWhatItSaysReliablyIsLate(t *testing.T) {
	p := newPair(t, ServerConfig{}, ClientConfig{})
	p.image = imageOf(t, testWorld(t, 10))
	var late []letter
	hold := func(ticks int) {
		for range ticks {
			fresh := p.up.letters[:0]
			for _, l := range p.up.letters {
				if l.ch == systems.Reliable && l.message[0] != uint8(kindHello) {
					late = append(late, l)
				} else {
					fresh = append(fresh, l)
				}
			}
			p.up.letters = fresh
			p.step()
			if p.server.Open() {
				p.server.SendStrategy(systems.Datagram, []byte{1})
			}
		}
	}
	hold(90)
	if !p.server.Open() {
		t.Fatalf("the server was not told of a state that was loaded; it heard %v", p.heard)
	}
	before := p.client.Stats().MessagesSent
	for range 120 {
		p.client.Live()
		hold(1)
	}
	// Pings, Live once and from a second later on four times a second, and no Ready, which was answered.
	if sent := p.client.Stats().MessagesSent - before; sent < 5 || sent > 16 || !slices.Contains(p.heard, EventLive) {
		t.Errorf("%d messages in a second, the server heard %v", sent, p.heard)
	}
	p.up.letters = late
	p.step()
	if n := p.server.Stats().Malformed; n != 0 || len(late) != 2 || !p.server.Open() || p.server.Err() != nil {
		t.Errorf("%d reliable messages came late: %d malformed, open %v, %v", len(late), n, p.server.Open(), p.server.Err())
	}
	if ready := slices.Index(p.heard, EventReady); slices.Contains(p.heard[ready+1:], EventReady) {
		t.Errorf("the peer was opened twice: %v", p.heard)
	}
}

// While the reliable channel waits for what was lost, a client may have loaded another image, and have said so in a
// datagram: what it said of the first is late, and no fault.
func TestWhatWasSaidReliablyOfAnOlderImageIsNoFault(t *testing.T) {
	p := newPair(t, ServerConfig{}, ClientConfig{})
	p.image = imageOf(t, testWorld(t, 10))
	var late []letter
	hold := func(ticks int) {
		for range ticks {
			p.up.letters = slices.DeleteFunc(p.up.letters, func(l letter) bool {
				held := l.ch == systems.Reliable && l.message[0] == uint8(kindReady)
				if held {
					late = append(late, l)
				}
				return held
			})
			p.step()
			if p.server.Open() {
				p.server.SendStrategy(systems.Datagram, []byte{1})
			}
		}
	}
	hold(90)
	p.server.SendImage(p.image, 8, p.now)
	hold(90)
	p.up.letters = append(p.up.letters, late...)
	p.step()
	if n := p.server.Stats(); n.Malformed != 0 || n.Stale < 2 || len(late) != 2 || !p.server.Open() || p.server.Err() != nil {
		t.Errorf("%d reliable messages came late: %+v, open %v, %v", len(late), n, p.server.Open(), p.server.Err())
	}
}

// A client that kept its state is not sent it again.
func TestAWarmClientGoesOnWithoutAnImage(t *testing.T) {
	p := newPair(t, ServerConfig{}, ClientConfig{Hello: Hello{Have: 90}})
	p.run(3)
	p.client.Ready()
	var at ecs.Tick
	p.onReady = func(f ecs.Tick) { at = f; p.server.Opened() }
	p.run(3)
	if at != 90 || !p.server.Open() {
		t.Errorf("ready at %d, open %v: %v", at, p.server.Open(), p.server.Err())
	}
}

// Whoever sends nonsense is borne with for a while and then let go, with a word.
func TestAPeerThatSendsNonsenseIsLetGo(t *testing.T) {
	p := newPair(t, ServerConfig{}, ClientConfig{})
	p.run(2)
	for range faultsAllowed {
		p.server.Receive(systems.Reliable, []byte{200, 1, 2}, p.now)
	}
	if p.server.Err() != nil {
		t.Fatalf("let go too early: %v", p.server.Err())
	}
	p.server.Receive(systems.Reliable, nil, p.now)
	if !errors.Is(p.server.Err(), &Error{Code: CodeProtocol}) {
		t.Fatalf("server %v", p.server.Err())
	}
	p.run(1)
	if !errors.Is(p.client.Err(), &Error{Code: CodeProtocol}) {
		t.Errorf("the client was not told: %v", p.client.Err())
	}
}

// A flood costs the server a comparison a message; reliable messages cannot be dropped, so their sender goes.
func TestAFloodIsDroppedOrEndsTheSession(t *testing.T) {
	p := newPair(t, ServerConfig{}, ClientConfig{})
	p.image = imageOf(t, testWorld(t, 10))
	p.run(10)
	passed := 0
	message := appendStrategy(nil, 7, []byte("x"))
	for range 10000 {
		if p.server.Receive(systems.Datagram, message, p.now).Kind == EventStrategy {
			passed++
		}
	}
	if passed > 4*60+64 || passed < 60 || p.server.Err() != nil {
		t.Errorf("%d of 10000 datagrams at once passed, %v", passed, p.server.Err())
	}
	for range 10000 {
		p.server.Receive(systems.Reliable, message, p.now)
	}
	if !errors.Is(p.server.Err(), &Error{Code: CodeFlood}) {
		t.Errorf("server %v", p.server.Err())
	}
}

// A peer that takes nothing must not make the server keep everything for it.
func TestAQueueThatOverflowsEndsTheSession(t *testing.T) {
	p := newPair(t, ServerConfig{}, ClientConfig{})
	p.image = imageOf(t, testWorld(t, 10))
	p.run(10)
	p.down.room = 0
	for range 100 {
		p.server.SendStrategy(systems.Reliable, make([]byte, 8<<10))
	}
	if !errors.Is(p.server.Err(), &Error{Code: CodeSlow}) || cap(p.server.out.bytes) > 3*queueBytes {
		t.Errorf("server %v, queue %d", p.server.Err(), cap(p.server.out.bytes))
	}
}

// Silence ends a session, but not the silence that a suspended host made itself.
func TestSilenceEndsASessionAndASuspendedHostDoesNot(t *testing.T) {
	p := newPair(t, ServerConfig{}, ClientConfig{})
	p.image = imageOf(t, testWorld(t, 10))
	p.run(60)
	p.server.Frame(p.now+3600*systems.Second, p.tick)
	if p.server.Err() != nil {
		t.Fatalf("one long gap ended the session: %v", p.server.Err())
	}
	for i := range systems.Time(400) {
		p.server.Frame(p.now+3600*systems.Second+i*systems.Second/60, p.tick)
	}
	if !errors.Is(p.server.Err(), &Error{Code: CodeTimeout}) {
		t.Errorf("server %v", p.server.Err())
	}
}

// Whoever leaves says so on both channels, so that one lost datagram or one stuck channel does not hide it.
// A server that was started again lets a client wait for its answer for longer than either bears silence. Both know
// meanwhile that the other is there; and what the client is asked for may come when it is not wanted any more.
func TestAnAnswerToHelloMayTakeLong(t *testing.T) {
	p := newPair(t, ServerConfig{}, ClientConfig{Hello: Hello{Match: 1, Final: 120}})
	var server, client []EventKind
	pass := func(ticks int) {
		for range ticks {
			p.now += systems.Second / 60
			for _, l := range p.up.take() {
				if e := p.server.Receive(l.ch, l.message, p.now); e.Kind != EventNone {
					server = append(server, e.Kind)
				}
			}
			p.server.Frame(p.now, p.tick)
			for _, l := range p.down.take() {
				if e := p.client.Receive(l.ch, l.message, p.now); e.Kind != EventNone {
					client = append(client, e.Kind)
				}
			}
			p.client.Frame(p.now)
		}
	}
	pass(2)
	p.server.AskTail(101)
	pass(20 * 60)
	p.client.Tail([]byte{1})
	pass(2)
	p.server.AskTail(102)
	pass(2)
	p.server.Welcome(Welcome{Strategy: "s", Match: 1, Rate: 60, Seat: 1, Epoch: 3, Image: true}, 0, p.now)
	p.up.Send(systems.Reliable, []byte{byte(kindTail), 2}) // it was on its way
	pass(2)
	if p.server.Err() != nil || p.client.Err() != nil || p.server.Stats().Malformed != 0 || p.client.Stats().Malformed != 0 {
		t.Errorf("server %v, %+v; client %v, %+v", p.server.Err(), p.server.Stats(), p.client.Err(), p.client.Stats())
	}
	if want := []EventKind{EventHello, EventTail}; !slices.Equal(server, want) {
		t.Errorf("the server heard %v, want %v", server, want)
	}
	if want := []EventKind{EventTailAsk, EventTailAsk, EventWelcome}; !slices.Equal(client, want) {
		t.Errorf("the client heard %v, want %v", client, want)
	}
	p.up.Send(systems.Reliable, []byte{byte(kindTail), 3}) // nobody asked
	pass(1)
	if p.server.Stats().Malformed != 1 {
		t.Errorf("%+v", p.server.Stats())
	}
}

// A server whose match waits says the same tick again and again: a client that joins then must not think that time went
// on there, or it would begin far ahead.
func TestAServerThatStandsStillIsKnownToStandStill(t *testing.T) {
	p := newPair(t, ServerConfig{}, ClientConfig{Hello: Hello{}})
	p.image = imageOf(t, testWorld(t, 10))
	for range 5 * 60 {
		p.step()
		p.tick = 100
	}
	if now := p.client.ServerTick(p.now); now < 100 || now > 170 {
		t.Errorf("the client takes the server to be at tick %d, it stands at 100", now)
	}
}

func TestByeIsSaidOnBothChannels(t *testing.T) {
	p := newPair(t, ServerConfig{}, ClientConfig{})
	p.image = imageOf(t, testWorld(t, 10))
	p.run(10)
	p.client.End(CodeLeft, "see you")
	letters := p.up.take()
	if len(letters) != 2 || letters[0].ch == letters[1].ch {
		t.Fatalf("%d messages", len(letters))
	}
	for _, l := range letters {
		p.server.err = nil
		p.server.Receive(l.ch, l.message, p.now)
		if e := (*Error)(nil); !errors.As(p.server.Err(), &e) || e.Code != CodeLeft || e.Text != "see you" {
			t.Errorf("channel %d: %v", l.ch, p.server.Err())
		}
	}
}

// Chat reaches the owner whole, clean and not too often; four tokens come at once, then one every
// 30 s; notices come through.
func TestChatTokensAndNotices(t *testing.T) {
	minted := 0
	mint := func(systems.Time) []byte { minted++; return []byte("token") }
	p := newPair(t, ServerConfig{MintToken: mint}, ClientConfig{})
	p.image = imageOf(t, testWorld(t, 10))
	p.run(60 * 61)
	if minted != 6 || !slices.Contains(p.told, EventToken) {
		t.Errorf("%d tokens in a minute and a second, want 6", minted)
	}
	p.heard = nil
	for range 20 {
		p.client.Chat("hello\x00world")
	}
	p.run(1)
	if len(p.heard) != 5 || p.server.Stats().Dropped != 15 {
		t.Errorf("heard %d, dropped %d; want 5 and 15", len(p.heard), p.server.Stats().Dropped)
	}
	p.server.Say(Said{Seat: 3, Name: "bo", Text: "hi"})
	p.run(1)
	if p.last.Kind != EventSaid || *p.last.Said != (Said{3, "bo", "hi"}) {
		t.Errorf("told %+v", p.last.Said)
	}
	p.server.Notice(30, "maintenance")
	p.run(1)
	if p.last.Kind != EventNotice || p.last.Seconds != 30 || p.last.Text != "maintenance" {
		t.Errorf("told %+v", p.last)
	}
	if p.client.ServerTick(p.now) < p.tick-2 || p.client.ServerTick(p.now) > p.tick+2 {
		t.Errorf("server tick %d, want about %d", p.client.ServerTick(p.now), p.tick)
	}
}

// Compression runs piece by piece and the same whoever asks how often.
func TestAnImageIsTheSameHoweverItsWorkIsSpread(t *testing.T) {
	w := testWorld(t, 20000)
	a, b := imageOf(t, w), imageOf(t, w)
	a.Work(1 << 30)
	steps := 0
	for ; !b.Done(); steps++ {
		if n := b.Work(40 << 10); n > 40<<10 {
			t.Fatalf("%d bytes of work, budget %d", n, 40<<10)
		}
	}
	if !a.Done() || steps < 3 || !bytes.Equal(a.packed, b.packed) || len(a.ends) != a.pieces() {
		t.Errorf("%d and %d bytes, %d steps", len(a.packed), len(b.packed), steps)
	}
}

// Strategy traffic is every tick's; it must not allocate.
func TestStrategyMessagesDoNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	p := newPair(t, ServerConfig{}, ClientConfig{})
	p.image = imageOf(t, testWorld(t, 10))
	p.run(10)
	sink := &null{}
	p.server.transport, p.client.transport = sink, sink
	message, in := make([]byte, 200), appendStrategy(nil, 7, make([]byte, 40))
	now := p.now
	if n := testing.AllocsPerRun(300, func() {
		now += systems.Second / 60
		p.server.Receive(systems.Datagram, in, now)
		p.client.Receive(systems.Datagram, in, now)
		p.server.SendStrategy(systems.Datagram, message)
		p.client.SendStrategy(systems.Reliable, message)
		p.server.Frame(now, 1)
		p.client.Frame(now)
	}); n != 0 {
		t.Errorf("%v allocations a tick", n)
	}
	if p.server.Err() != nil || p.client.Err() != nil {
		t.Fatal(p.server.Err(), p.client.Err())
	}
}

type null struct{}

func (null) Send(systems.Channel, []byte) error { return nil }
func (null) Room() int                          { return 1 << 20 }
