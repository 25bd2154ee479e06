package session

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/ecs/race"
	"tendon/net/wire"
	"tendon/systems"
)

type packet struct {
	ch      systems.Channel
	message []byte
}

// memory is a transport that keeps the sent messages.
type memory struct {
	room    int
	packets []packet
}

func (m *memory) Send(ch systems.Channel, message []byte) error {
	if ch == systems.Reliable {
		if len(message) > m.room {
			return errors.New("full")
		}
		m.room -= len(message)
	}
	m.packets = append(m.packets, packet{ch, slices.Clone(message)})
	return nil
}

func (m *memory) Room() int { return m.room }

func (m *memory) Ready() bool      { return true }
func (m *memory) PacketLimit() int { return wire.PacketLimit }
func (m *memory) LimitPackets(int) {}

func (m *memory) take() []packet {
	list := m.packets
	m.packets = nil
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

// pair is both ends of a session without a network between them.
type pair struct {
	t      testing.TB
	server *Server
	client *Client
	down   memory // sent by the server
	up     memory
	now    systems.Time
	tick   ecs.Tick

	atServer, atClient []EventKind
	last               Event // the last one of the client, with a copy of its message
	image              *Image
	epoch              uint8
	onReady            func(tick ecs.Tick)
}

func newPair(t testing.TB, sc ServerConfig, hello Hello) *pair {
	p := &pair{t: t, down: memory{room: 416 << 10}, up: memory{room: 416 << 10}, epoch: 7, tick: 100}
	sc.TickRate = 60
	var err error
	if p.server, err = NewServer(sc, &p.down, 0); err != nil {
		t.Fatal(err)
	}
	p.client = NewClient(hello, 0, &p.up, 0)
	p.onReady = func(ecs.Tick) { p.server.Opened() }
	return p
}

// step delivers all messages and plays one tick.
func (p *pair) step() {
	p.now += systems.Second / 60
	for _, l := range p.up.take() {
		e := p.server.Receive(l.ch, l.message, p.now)
		if e.Kind == EventNone {
			continue
		}
		p.atServer = append(p.atServer, e.Kind)
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
		p.atClient, p.last = append(p.atClient, e.Kind), e
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
	var s image.Snapshot
	w.Image().Save(&s)
	return NewImage(&s, 0, "relay", nil)
}

// A client joins with Hello, Welcome, image, Ready and Live. The image is the state.
func TestAClientIsWelcomedLoadsTheImageAndGoesLive(t *testing.T) {
	w := testWorld(t, 20000)
	p := newPair(t, ServerConfig{}, Hello{Name: "ada"})
	p.image = imageOf(t, w)
	for i := 0; i < 600 && !p.server.Open(); i++ {
		p.step()
	}
	if !p.server.Open() {
		t.Fatalf("not open; server %v, client %v, progress %v", p.server.Err(), p.client.Err(), p.client.Progress())
	}
	if got, want := len(p.last.Message), p.image.head.size; p.last.Kind != EventImage || got != want {
		t.Fatalf("last event %d with %d bytes, want an image of %d", p.last.Kind, got, want)
	}
	other := testWorld(t, 0)
	if err := other.Image().Load(p.last.Message); err != nil {
		t.Fatal(err)
	}
	var a, b image.Snapshot
	w.Image().Save(&a)
	other.Image().Save(&b)
	if a.Checksum() != b.Checksum() {
		t.Error("the loaded state differs")
	}
	p.client.Live()
	p.run(2)
	if want := []EventKind{EventHello, EventReady, EventLive}; !slices.Equal(p.atServer, want) {
		t.Errorf("the server received %v, want %v", p.atServer, want)
	}
	if rtt, ok := p.client.RTT(); !ok || rtt > systems.Second/10 {
		t.Errorf("round trip %v, %v", rtt, ok)
	}
}

// Sending an image respects its budget, and leaves room for orders in the transport.
func TestAnImageKeepsToItsBudget(t *testing.T) {
	p := newPair(t, ServerConfig{ImageRate: 64 << 10}, Hello{})
	p.image = imageOf(t, testWorld(t, 60000))
	p.run(10)
	start, from := p.server.Stats().BytesSent, p.now
	p.run(60)
	if p.server.Open() {
		t.Fatal("the image was too small for the test")
	}
	sent, seconds := p.server.Stats().BytesSent-start, float64(p.now-from)/1e9
	if limit := 64<<10*seconds + 3*imagePackedMax; float64(sent) > limit || sent < 32<<10 {
		t.Errorf("%d bytes in %.2f s, want at most %.0f and at least half of that", sent, seconds, limit)
	}
	// With no more room than the reserve, no piece is sent.
	p.down.room = imageReserve
	start = p.server.Stats().BytesSent
	for range 30 {
		p.server.Frame(p.now, 1)
	}
	if sent := p.server.Stats().BytesSent - start; sent > 100 {
		t.Errorf("%d bytes of an image were sent although only the reserve was free", sent)
	}
}

// An image that differs from its checksum ends the session and is not passed to the owner.
func TestADamagedImageEndsTheSession(t *testing.T) {
	im := imageOf(t, testWorld(t, 3000))
	im.Work(1 << 30)
	im.head.sum ^= 1
	p := newPair(t, ServerConfig{}, Hello{})
	p.image = im
	p.run(60)
	if !errors.Is(p.client.Err(), &Error{Code: CodeProtocol}) || slices.Contains(p.atClient, EventImage) {
		t.Errorf("client %v, events %v", p.client.Err(), p.atClient)
	}
}

// Memory for an image is allocated as pieces arrive, whatever size its head announces, and never above maxImage.
func TestAnAnnouncedImageTakesNoMemoryBeforeItArrives(t *testing.T) {
	s := imageSink{}
	if err := s.open(imageHead{size: maxImage}); err != nil {
		t.Fatal(err)
	}
	if got := cap(s.raw) + cap(s.scratch); got > 2*imagePiece {
		t.Errorf("%d bytes were allocated for an image before a piece has arrived", got)
	}
	if err := s.open(imageHead{size: maxImage + 1}); err == nil {
		t.Error("an image above the limit was accepted")
	}
	// The decoder refuses a piece that decompresses to more than a piece before it allocates for it.
	coder, err := zstd.NewWriter(nil, zstd.WithWindowSize(imagePiece))
	if err != nil {
		t.Fatal(err)
	}
	bomb := coder.EncodeAll(make([]byte, 8<<20), nil)
	if err := s.open(imageHead{size: 16 << 20}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.add(bomb); err == nil {
		t.Error("a piece of 8 MB was decompressed")
	}
}

// A refusal is a sentence with the cause and the remedy. A game mismatch shows both fingerprints.
func TestRefusalsNameTheRemedy(t *testing.T) {
	for _, c := range []struct {
		name   string
		server ServerConfig
		client Hello
		code   Code
	}{
		{"another game", ServerConfig{Fingerprint: 1}, Hello{Fingerprint: 2}, CodeGame},
		{"another build", ServerConfig{Build: "a", SameBuild: true}, Hello{Build: "b"}, CodeBuild},
		{"another target", ServerConfig{SameBuild: true, Target: "amd64/v1"}, Hello{Target: "amd64/v3"}, CodeBuild},
	} {
		p := newPair(t, c.server, c.client)
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
	// Of a Hello of another version only the version is decoded.
	p := newPair(t, ServerConfig{}, Hello{})
	p.up.packets = p.up.packets[1:] // without the first Hello
	p.up.Send(systems.Reliable, []byte{byte(kindHello), Version + 1, 0xff, 0xff})
	p.run(3)
	if !errors.Is(p.client.Err(), &Error{Code: CodeVersion}) {
		t.Errorf("client %v, want a refusal for its version", p.client.Err())
	}
}

// Builds are compared only for games with floats.
func TestBuildsAreNotComparedWithoutFloats(t *testing.T) {
	p := newPair(t, ServerConfig{Build: "yours"}, Hello{Build: "mine", Target: "arm64/v8.0"})
	p.image = imageOf(t, testWorld(t, 1))
	p.run(10)
	if !p.server.Open() {
		t.Errorf("server %v, client %v", p.server.Err(), p.client.Err())
	}
}

// Late datagrams from before a resync do not reach the strategy. Until the peer has the new state, its messages pass.
func TestMessagesOfAnotherEpochAreDropped(t *testing.T) {
	p := newPair(t, ServerConfig{}, Hello{})
	p.image = imageOf(t, testWorld(t, 10))
	p.run(10)
	p.client.SendStrategy(systems.Datagram, []byte("old"))
	late := p.up.take()
	p.client.SendStrategy(systems.Datagram, []byte("meanwhile"))
	p.server.SendImage(p.image, 8, p.now)
	p.atServer = nil
	p.run(10)
	if want := []EventKind{EventStrategy, EventReady}; !slices.Equal(p.atServer, want) {
		t.Fatalf("the server received %v, want %v", p.atServer, want)
	}
	p.up.packets = late
	p.atServer = nil
	p.run(1)
	if slices.Contains(p.atServer, EventStrategy) || p.server.Stats().Stale == 0 {
		t.Errorf("the server received %v and counts %d stale messages, want none and some", p.atServer, p.server.Stats().Stale)
	}
	p.server.SendStrategy(systems.Reliable, []byte("new"))
	p.run(1)
	if p.last.Kind != EventStrategy || string(p.last.Message) != "new" {
		t.Errorf("the client received %v %q", p.last.Kind, p.last.Message)
	}
}

// A proof arrives with its tick. One that was under way during a resync may be of another past, so it is dropped.
func TestAProofOfAnotherEpochIsDropped(t *testing.T) {
	p := newPair(t, ServerConfig{}, Hello{})
	p.image = imageOf(t, testWorld(t, 10))
	proof := []byte("0123456789abcdef")
	p.server.SendProof(6, proof) // not open yet
	p.run(10)
	if p.client.Stats().Malformed != 0 || p.client.Stats().Stale != 0 || p.last.Kind == EventProof {
		t.Errorf("%+v, %v", p.client.Stats(), p.last.Kind)
	}
	p.server.SendProof(66, proof)
	late := p.down.take()
	p.down.packets = late
	p.run(1)
	if p.last.Kind != EventProof || p.last.Tick != 66 || string(p.last.Message) != string(proof) {
		t.Errorf("the client received %v of tick %d: %q", p.last.Kind, p.last.Tick, p.last.Message)
	}
	p.server.SendImage(p.image, 8, p.now)
	p.run(10)
	p.last = Event{}
	stale := p.client.Stats().Stale
	p.down.packets = late
	p.run(1)
	if p.last.Kind == EventProof || p.client.Stats().Stale != stale+1 || p.client.Stats().Malformed != 0 {
		t.Errorf("the client received %v, %+v", p.last.Kind, p.client.Stats())
	}
}

// Ready and Live are repeated as datagrams, so a client need not wait until the reliable channel finds a loss. The reliable
// ones that arrive later have no effect.
func TestAClientJoinsAlthoughItsReliableMessagesAreLate(t *testing.T) {
	p := newPair(t, ServerConfig{}, Hello{})
	p.image = imageOf(t, testWorld(t, 10))
	var late []packet
	hold := func(ticks int) {
		for range ticks {
			fresh := p.up.packets[:0]
			for _, l := range p.up.packets {
				if l.ch == systems.Reliable && l.message[0] != uint8(kindHello) {
					late = append(late, l)
				} else {
					fresh = append(fresh, l)
				}
			}
			p.up.packets = fresh
			p.step()
			if p.server.Open() {
				p.server.SendStrategy(systems.Datagram, []byte{1})
			}
		}
	}
	hold(90)
	if !p.server.Open() {
		t.Fatalf("the server received no Ready, only %v", p.atServer)
	}
	before := p.client.Stats().MessagesSent
	for range 120 {
		p.client.Live()
		hold(1)
	}
	// Pings, Live at once and four times a second after a second, and no Ready, which was answered.
	if sent := p.client.Stats().MessagesSent - before; sent < 5 || sent > 16 || !slices.Contains(p.atServer, EventLive) {
		t.Errorf("%d messages in a second, the server received %v", sent, p.atServer)
	}
	p.up.packets = late
	p.step()
	if n := p.server.Stats().Malformed; n != 0 || len(late) != 2 || !p.server.Open() || p.server.Err() != nil {
		t.Errorf("%d reliable messages came late: %d malformed, open %v, %v", len(late), n, p.server.Open(), p.server.Err())
	}
	if ready := slices.Index(p.atServer, EventReady); slices.Contains(p.atServer[ready+1:], EventReady) {
		t.Errorf("the peer was opened twice: %v", p.atServer)
	}
}

// A client may load another image and send Ready as a datagram while the reliable Ready for the first image is late. The
// late one is stale, not malformed.
func TestALateReadyForAnOlderImageIsStale(t *testing.T) {
	p := newPair(t, ServerConfig{}, Hello{})
	p.image = imageOf(t, testWorld(t, 10))
	var late []packet
	hold := func(ticks int) {
		for range ticks {
			p.up.packets = slices.DeleteFunc(p.up.packets, func(l packet) bool {
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
	p.up.packets = append(p.up.packets, late...)
	p.step()
	if n := p.server.Stats(); n.Malformed != 0 || n.Stale < 2 || len(late) != 2 || !p.server.Open() || p.server.Err() != nil {
		t.Errorf("%d reliable messages came late: %+v, open %v, %v", len(late), n, p.server.Open(), p.server.Err())
	}
}

// A Ready for an image that was not sent completely is malformed. The session is as before, and the image is sent on.
func TestAReadyBeforeItsImageWasSentIsMalformed(t *testing.T) {
	p := newPair(t, ServerConfig{ImageRate: 64 << 10}, Hello{})
	p.image = imageOf(t, testWorld(t, 20000))
	early := func(when string, epoch uint8, open bool) {
		t.Helper()
		ready := encoded(message{kind: kindReady, epoch: epoch, tick: p.image.Tick()})
		for _, ch := range []systems.Channel{systems.Datagram, systems.Reliable} {
			malformed := p.server.Stats().Malformed
			if e := p.server.Receive(ch, ready, p.now); e.Kind != EventNone || p.server.Stats().Malformed != malformed+1 {
				t.Errorf("%s, on channel %d: event %d, %d messages malformed", when, ch, e.Kind, p.server.Stats().Malformed)
			}
			if !p.server.Loading() || p.server.Open() != open {
				t.Fatalf("%s, on channel %d: loading %v, open %v", when, ch, p.server.Loading(), p.server.Open())
			}
		}
	}
	loaded := func() {
		t.Helper()
		for i := 0; i < 600 && p.server.Loading(); i++ {
			p.step()
		}
		if !p.server.Open() || p.server.Err() != nil {
			t.Fatalf("open %v, server %v, client %v", p.server.Open(), p.server.Err(), p.client.Err())
		}
	}
	p.run(1) // the Welcome is sent, and the image begins
	early("at the start", p.epoch, false)
	p.run(20)
	if sent, all := p.server.piece, p.image.count(); sent < 1 || sent >= all {
		t.Fatalf("%d of %d pieces were sent", sent, all)
	}
	early("with the first pieces", p.epoch, false)
	loaded()
	p.server.SendImage(p.image, 8, p.now)
	early("at the start of a resync", 8, true)
	loaded()
	if p.server.epoch != 8 {
		t.Errorf("epoch %d, want 8", p.server.epoch)
	}
}

// A client that kept its state continues without an image. The strategy serves it from the Welcome on, and its Ready has no effect.
func TestAWarmClientGoesOnWithoutAnImage(t *testing.T) {
	p := newPair(t, ServerConfig{}, Hello{Have: 90})
	p.run(3)
	if p.server.Loading() {
		t.Error("the server waits for Ready")
	}
	p.server.Opened()
	p.client.Ready()
	p.onReady = func(f ecs.Tick) { t.Errorf("ready at %d", f) }
	p.run(3)
	if !p.server.Open() || p.server.Err() != nil {
		t.Errorf("open %v: %v", p.server.Open(), p.server.Err())
	}
}

// Too many malformed messages end the session, with a reason for the peer.
func TestTooManyMalformedMessagesEndTheSession(t *testing.T) {
	p := newPair(t, ServerConfig{}, Hello{})
	p.run(2)
	for range faultsAllowed {
		p.server.Receive(systems.Reliable, []byte{200, 1, 2}, p.now)
	}
	if p.server.Err() != nil {
		t.Fatalf("ended too early: %v", p.server.Err())
	}
	p.server.Receive(systems.Reliable, nil, p.now)
	if !errors.Is(p.server.Err(), &Error{Code: CodeProtocol}) {
		t.Fatalf("server %v", p.server.Err())
	}
	p.run(1)
	if !errors.Is(p.client.Err(), &Error{Code: CodeProtocol}) {
		t.Errorf("the client did not receive the reason: %v", p.client.Err())
	}
}

// Datagrams above the rate are dropped. Reliable messages above the rate end the session.
func TestAFloodIsDroppedOrEndsTheSession(t *testing.T) {
	p := newPair(t, ServerConfig{}, Hello{})
	p.image = imageOf(t, testWorld(t, 10))
	p.run(10)
	passed := 0
	flood := encoded(message{kind: kindStrategy, epoch: 7, data: []byte("x")})
	for range 10000 {
		if p.server.Receive(systems.Datagram, flood, p.now).Kind == EventStrategy {
			passed++
		}
	}
	if passed > 4*60+64 || passed < 60 || p.server.Err() != nil {
		t.Errorf("%d of 10000 datagrams at once passed, %v", passed, p.server.Err())
	}
	for range 10000 {
		p.server.Receive(systems.Reliable, flood, p.now)
	}
	if !errors.Is(p.server.Err(), &Error{Code: CodeFlood}) {
		t.Errorf("server %v", p.server.Err())
	}
}

// A full queue of the transport ends the session.
func TestAFullTransportEndsTheSession(t *testing.T) {
	p := newPair(t, ServerConfig{}, Hello{})
	p.image = imageOf(t, testWorld(t, 10))
	p.run(10)
	p.down.room = 64 << 10
	for range 100 {
		p.server.SendStrategy(systems.Reliable, make([]byte, 8<<10))
	}
	if !errors.Is(p.server.Err(), &Error{Code: CodeSlow}) || p.down.room < 0 {
		t.Errorf("server %v, room %d", p.server.Err(), p.down.room)
	}
}

// The timeout ends a session, but a pause of the own host does not.
func TestTheTimeoutEndsASessionAndASuspendedHostDoesNot(t *testing.T) {
	p := newPair(t, ServerConfig{}, Hello{})
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

// After a restart the server may answer a Hello later than the timeouts of both ends. Keep-alives keep the session open
// meanwhile. A Tail that arrives after the answer is not malformed.
func TestAnAnswerToHelloMayTakeLong(t *testing.T) {
	p := newPair(t, ServerConfig{}, Hello{Match: 1, Final: 120})
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
	p.up.Send(systems.Reliable, []byte{byte(kindTail), 2}) // it was under way
	pass(2)
	if p.server.Err() != nil || p.client.Err() != nil || p.server.Stats().Malformed != 0 || p.client.Stats().Malformed != 0 {
		t.Errorf("server %v, %+v; client %v, %+v", p.server.Err(), p.server.Stats(), p.client.Err(), p.client.Stats())
	}
	if want := []EventKind{EventHello, EventTail}; !slices.Equal(server, want) {
		t.Errorf("the server received %v, want %v", server, want)
	}
	if want := []EventKind{EventTailAsk, EventTailAsk, EventWelcome}; !slices.Equal(client, want) {
		t.Errorf("the client received %v, want %v", client, want)
	}
	p.up.Send(systems.Reliable, []byte{byte(kindTail), 3}) // it was not asked for
	pass(1)
	if p.server.Stats().Malformed != 1 {
		t.Errorf("%+v", p.server.Stats())
	}
}

// A server whose match waits sends the same tick again and again. A client that joins then must not extrapolate it, or it
// would begin far ahead.
func TestAServerThatStandsStillIsKnownToStandStill(t *testing.T) {
	p := newPair(t, ServerConfig{}, Hello{})
	p.image = imageOf(t, testWorld(t, 10))
	for range 5 * 60 {
		p.step()
		p.tick = 100
	}
	if now := p.client.ServerTick(p.now); now < 100 || now > 170 {
		t.Errorf("the client takes the server to be at tick %d, it stands at 100", now)
	}
}

// A pong of another epoch is stale. It moves neither the estimate of the server's tick nor the round trip.
func TestAPongOfAnotherEpochDoesNotMoveTheServersTick(t *testing.T) {
	p := newPair(t, ServerConfig{}, Hello{})
	p.image = imageOf(t, testWorld(t, 10))
	p.run(60)
	tick, before := p.client.ServerTick(p.now), p.client.Stats()
	pong := func(epoch uint8) {
		m := message{kind: kindPong, epoch: epoch, stamp: stampOf(p.now - systems.Second), tick: tick + 1000}
		p.client.asked = append(p.client.asked, asked{stamp: m.stamp})
		if e := p.client.Receive(systems.Datagram, encoded(m), p.now); e.Kind != EventNone {
			t.Errorf("event %d", e.Kind)
		}
	}
	pong(p.epoch + 1)
	pong(p.epoch - 1)
	st := p.client.Stats()
	if now := p.client.ServerTick(p.now); now != tick || st.RTT != before.RTT || st.Stale != before.Stale+2 || st.Malformed != 0 {
		t.Errorf("the server's tick %d became %d, %+v became %+v", tick, now, before, st)
	}
	pong(p.epoch)
	if now := p.client.ServerTick(p.now); now != tick+1000 || p.client.Stats().RTT <= before.RTT {
		t.Errorf("a pong of the current epoch: the server's tick %d became %d, %+v", tick, now, p.client.Stats())
	}
}

// A client cannot make its ping smaller: the server accepts one pong for each ping, after it was sent.
func TestAPongAnswersOnePing(t *testing.T) {
	p := newPair(t, ServerConfig{}, Hello{})
	p.image = imageOf(t, testWorld(t, 10))
	p.run(60)
	before := p.server.Stats()
	if before.RTT == 0 {
		t.Fatal("the server has measured nothing")
	}
	for _, stamp := range []uint32{stampOf(p.now), stampOf(p.now) + 1000, stampOf(p.now - systems.Second/4)} {
		p.server.Receive(systems.Datagram, encoded(message{kind: kindPong, epoch: p.epoch, stamp: stamp}), p.now)
	}
	if st := p.server.Stats(); st.RTT != before.RTT || st.Malformed != before.Malformed+3 {
		t.Errorf("%+v became %+v", before, st)
	}
	for range 100 * 60 { // pings without an answer
		p.server.frame(p.now, pingInterval)
		p.now += systems.Second / 60
		p.server.stats.Silence = 0
	}
	stamp := p.server.asked[len(p.server.asked)-1].stamp
	pong := encoded(message{kind: kindPong, epoch: p.epoch, stamp: stamp})
	p.server.Receive(systems.Datagram, pong, p.now)
	before = p.server.Stats()
	p.server.Receive(systems.Datagram, pong, p.now+systems.Second) // a duplicate counts once, and is no fault
	if st := p.server.Stats(); st.RTT != before.RTT || st.Malformed != before.Malformed || st.Stale != before.Stale+1 {
		t.Errorf("after a duplicate %+v became %+v", before, st)
	}
	if n := len(p.server.asked); n != maxAsked {
		t.Errorf("%d pings wait for an answer, want %d", n, maxAsked)
	}
}

// The end of a session is sent on both channels, so one lost datagram or one blocked channel does not hide it.
func TestTheEndIsSentOnBothChannels(t *testing.T) {
	p := newPair(t, ServerConfig{}, Hello{})
	p.image = imageOf(t, testWorld(t, 10))
	p.run(10)
	p.client.End(CodeLeft, "see you")
	packets := p.up.take()
	if len(packets) != 2 || packets[0].ch == packets[1].ch {
		t.Fatalf("%d messages", len(packets))
	}
	for _, l := range packets {
		p.server.err = nil
		p.server.Receive(l.ch, l.message, p.now)
		if e := (*Error)(nil); !errors.As(p.server.Err(), &e) || e.Code != CodeLeft || e.Text != "see you" {
			t.Errorf("channel %d: %v", l.ch, p.server.Err())
		}
	}
}

// Chat reaches the owner without control characters and at a bounded rate. Four tokens come at once, then one every 30 s.
// Notices arrive.
func TestChatTokensAndNotices(t *testing.T) {
	minted := 0
	mint := func(systems.Time) []byte { minted++; return []byte("token") }
	p := newPair(t, ServerConfig{MintToken: mint}, Hello{})
	p.image = imageOf(t, testWorld(t, 10))
	p.run(60 * 61)
	if minted != 6 || !slices.Contains(p.atClient, EventToken) {
		t.Errorf("%d tokens in a minute and a second, want 6", minted)
	}
	p.atServer = nil
	for range 20 {
		p.client.Chat("hello\x00world")
	}
	p.run(1)
	if len(p.atServer) != 5 || p.server.Stats().Dropped != 15 {
		t.Errorf("received %d, dropped %d; want 5 and 15", len(p.atServer), p.server.Stats().Dropped)
	}
	p.server.SendChat(ChatLine{Seat: 3, Name: "bo", Text: "hi"})
	p.run(1)
	if p.last.Kind != EventChatLine || *p.last.Line != (ChatLine{3, "bo", "hi"}) {
		t.Errorf("received %+v", p.last.Line)
	}
	p.server.Notice(30, "maintenance")
	p.run(1)
	if p.last.Kind != EventNotice || p.last.Seconds != 30 || p.last.Text != "maintenance" {
		t.Errorf("received %+v", p.last)
	}
	if p.client.ServerTick(p.now) < p.tick-2 || p.client.ServerTick(p.now) > p.tick+2 {
		t.Errorf("server tick %d, want about %d", p.client.ServerTick(p.now), p.tick)
	}
}

// The compressed pieces do not depend on the steps of the work.
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
	if !a.Done() || steps < 3 || !slices.EqualFunc(a.pieces, b.pieces, bytes.Equal) || len(a.pieces) != a.count() {
		t.Errorf("%d and %d pieces, %d steps", len(a.pieces), len(b.pieces), steps)
	}
}

// Messages of the strategy are sent every tick and do not allocate.
func TestStrategyMessagesDoNotAllocate(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	p := newPair(t, ServerConfig{}, Hello{})
	p.image = imageOf(t, testWorld(t, 10))
	p.run(10)
	sink := &null{}
	p.server.transport, p.client.transport = sink, sink
	in := encoded(message{kind: kindStrategy, epoch: 7, data: make([]byte, 40)})
	message := make([]byte, 200)
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
func (null) Ready() bool                        { return true }
func (null) PacketLimit() int                   { return wire.PacketLimit }
func (null) LimitPackets(int)                   {}
