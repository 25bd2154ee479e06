package room

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/session"
	"tendon/systems"
)

// Config describes a room. Zero values select the defaults where a field names one.
type Config struct {
	Game      *ecs.Game        // the game. Required
	Seed      uint64           // starts the random source of the world
	Strategy  systems.Strategy // the sync strategy in which the match begins. Required
	Match     uint64           // identifies the match: another number for each. 0: a client that reconnects cannot continue from its state
	MaxPeers  int              // maximum number of connections, players and spectators; 0: Game.MaxPlayers + 16
	KeepSeat  systems.Time     // how long the seat of a lost connection is kept before its player leaves the match; 0: 5 s
	ImageRate int              // the budget of each peer for images, in bytes per second; 0: the default of net/session
	// Backlog bounds the ticks or states that are kept for peers whose images are being sent, in bytes; 0: 4 MiB of ticks, or
	// 64 MiB of states. A peer whose image takes longer than these ticks is sent another one, at most five in total. Images of
	// different ticks are sent in parallel while their states fit half of Backlog. Further peers are sent the latest image.
	Backlog int
	Timeout systems.Time // ends the session of a peer that sends nothing; 0: the default of net/session
	// Strategies are those that Switch may choose, besides Strategy. Optional.
	Strategies []systems.Strategy
	// HistoryKey is the key, of 16 bytes or more, that proves to the next process which final ticks are true. That process
	// needs the same key. Optional: without it a restarted room uses no ticks of clients, as is right if none can be lost.
	HistoryKey []byte
	// MintToken returns a sealed reconnect token for a peer. Optional.
	MintToken func(p systems.Peer, id Identity, seat int, now systems.Time) []byte
	// Card returns the name and the card of a client that enters, for example from a lobby in this process. The name of the
	// argument is then that of the client's Hello, unless its Identity has one. Card must not block. Optional: the client has
	// the card of its Identity.
	Card  func(Identity) ecs.Card
	Pause PauseRule // who may pause the match
	Sinks []Sink    // receive what happens in the room, in this order
	// Wake is called by a sink when a commit for which it returned ErrPending has ended. It must arrange a call of Settle on the
	// room's goroutine, and must not block. Any goroutine may call it. Optional: without it, the next Frame continues the commit.
	Wake     func()
	Resume   *Resume        // a match to continue, whose process has ended. Match should be its number. Optional
	Observer image.Observer // receives the start and end of the phases and systems. Optional
}

// ErrConfig is wrapped by every error about a Config.
var ErrConfig = errors.New("room: bad Config")

func (c Config) withDefaults() (Config, error) {
	if c.Game == nil {
		return c, fmt.Errorf("%w: Game is nil", ErrConfig)
	}
	if err := c.Game.Check(); err != nil {
		return c, fmt.Errorf("%w: Game: %w", ErrConfig, err)
	}
	c.MaxPeers = cmp.Or(c.MaxPeers, c.Game.MaxPlayers+16)
	c.KeepSeat = cmp.Or(c.KeepSeat, 5*systems.Second)
	c.Pause.Longest, c.Pause.PerSeat = cmp.Or(c.Pause.Longest, 60*systems.Second), cmp.Or(c.Pause.PerSeat, 3)
	switch {
	case c.MaxPeers < 1 || c.MaxPeers > 1<<15:
		return c, fmt.Errorf("%w: MaxPeers is %d, want 1 to %d", ErrConfig, c.MaxPeers, 1<<15)
	case len(c.HistoryKey) > 0 && len(c.HistoryKey) < minKeyBytes:
		return c, fmt.Errorf("%w: HistoryKey has %d bytes, want %d or more", ErrConfig, len(c.HistoryKey), minKeyBytes)
	case c.Backlog < 0:
		return c, fmt.Errorf("%w: Backlog is %d bytes, want 0 or more", ErrConfig, c.Backlog)
	case c.KeepSeat < 0:
		return c, fmt.Errorf("%w: KeepSeat is %v, want more than 0", ErrConfig, c.KeepSeat)
	case c.Pause.By >= pauseBys || c.Pause.Longest < systems.Second || c.Pause.PerSeat < 1:
		return c, fmt.Errorf("%w: Pause is %v for %v, %d per seat, want a known By, 1 s or more, 1 or more", ErrConfig, c.Pause.By, c.Pause.Longest, c.Pause.PerSeat)
	case c.Resume != nil && (c.Resume.World == nil || c.Resume.World.Game() != c.Game):
		return c, fmt.Errorf("%w: Resume.World is nil or of another game than Game", ErrConfig)
	}
	if err := (session.ServerConfig{ImageRate: c.ImageRate, Timeout: c.Timeout}).Check(); err != nil {
		return c, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	if err := c.Strategy.Check(c.Game); err != nil {
		return c, fmt.Errorf("%w: Strategy: %w", ErrConfig, err)
	}
	return c.withStrategies()
}

// Room is one match with its peers. Tick f is due at clock.epoch + f/TickRate. The strategy serves a peer if peer.open is set.
type Room struct {
	config       Config
	byteObserver image.ByteObserver   // accounts messages of the strategy; nil unless bytes are accounted
	private      bool                 // the game has private data
	session      session.ServerConfig // of every peer, but for MintToken
	strategy     systems.FullServer
	played       systems.Strategy // of that half
	began        ecs.Tick         // of the state with which the half began
	change       *change          // of the strategy; nil if none is under way
	now          systems.Time
	peers        []peer // up to the last place that is taken
	seats        []seat
	closed       session.Code // sent by Close or Suspend; 0 while the room is open
	run          uint8        // the last session epoch that was used
	images       images
	clock        matchClock
	verdicts     []systems.Decision // not sent yet
	chains       *chainHistory
	stats        Stats
	commits      commits
	pings        session.Pings      // that were sent last
	pingsAt      systems.Time       // when they are sent again
	resumed      ecs.Tick           // the tick after which a resumed match continued
	recovery     *recovery          // nil when a resumed match has continued, and in a new match
	resync       func(systems.Peer) // r.resyncPeer, bound once
}

const (
	maxTicks    = 8        // the maximum number of ticks that one Frame computes
	minKeyBytes = 16       // of Config.HistoryKey
	imageWork   = 64 << 10 // how many bytes of images one Frame compresses: about a quarter of a millisecond
)

// ErrRefused is wrapped by the errors of Enter. The client was sent the reason.
var ErrRefused = errors.New("room: refused")

// New returns a room whose State(0), or the state that it resumes, is at time now.
func New(c Config, now systems.Time) (*Room, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	from := c.Resume
	if from == nil {
		from = &Resume{}
		if from.World, err = ecs.NewWorld(c.Game, c.Seed); err != nil {
			return nil, err
		}
	}
	r := &Room{config: c, private: c.Game.Schema().HasPrivate(), now: now, peers: make([]peer, 0, c.MaxPeers),
		seats: make([]seat, c.Game.MaxPlayers), chains: newChainHistory(&c, from),
		session: session.ServerConfig{Fingerprint: c.Game.Fingerprint(), Game: strings.TrimSpace(c.Game.Name + " " + c.Game.Version), TickRate: c.Game.TickRate, ImageRate: c.ImageRate, Timeout: c.Timeout}}
	r.clock = matchClock{epoch: now - systems.TickTime(0, from.World.Tick(), c.Game.TickRate), by: Admin, used: make([]int, c.Game.MaxPlayers)}
	r.images.latest = make([]*session.Image, 1)
	if r.private {
		r.images.latest = make([]*session.Image, c.Game.MaxPlayers+1)
	}
	r.session.Build, r.session.Target = session.ThisBuild()
	r.session.SameBuild = c.Game.Schema().HasFloats()
	r.played, _ = c.offered(from.Strategy)
	r.began = from.World.Tick()
	for i := range r.seats {
		r.seats[i] = freeSeat(i)
	}
	r.byteObserver = image.ByteObserverOf(c.Observer)
	if r.strategy, err = r.newHalf(r.played, from, c.Observer); err != nil {
		return nil, err
	}
	r.resync = r.resyncPeer
	if c.Resume != nil {
		r.resume(from)
	}
	return r, nil
}

// World returns the world of the match, in the state of the last tick. It must not be changed.
func (r *Room) World() *ecs.World { return r.strategy.World() }

// Tick returns the last tick that is final.
func (r *Room) Tick() ecs.Tick { return r.strategy.Done() }

func (r *Room) due(f ecs.Tick) systems.Time {
	return systems.TickTime(r.clock.epoch, f, r.config.Game.TickRate)
}

// Frame computes the ticks that are due, commits them, and then sends what every peer needs. Call it once per tick or
// more often, after Receive was called for the messages that arrived by now.
func (r *Room) Frame(now systems.Time) {
	image.SectionFrame.Enter(r.config.Observer)
	r.now = now
	r.Settle()
	if r.closed == 0 {
		r.keepStates()
		if r.recover() { // the clients may lack the last ticks
			r.strategy.Send(r.strategyTime(), r.out())
		}
		r.boundLag()
		r.vacate()
		if r.advance() {
			r.strategy.Desynced(r.resync)
			image.SectionEncode.Enter(r.config.Observer)
			r.strategy.Send(r.strategyTime(), r.out())
			image.SectionEncode.Leave(r.config.Observer)
			r.prove()
		}
		r.framePause()
		r.noticeLag()
		r.sendVerdicts()
		r.sendPings()
		if !r.uncommitted() { // an image may be of an uncommitted tick
			r.swap()
			r.images.compress(imageWork)
		}
	}
	image.SectionSend.Enter(r.config.Observer)
	for i := range r.peers {
		if p := &r.peers[i]; p.session != nil {
			r.open(systems.Peer(i))
			p.session.Frame(now, r.Tick())
			r.check(systems.Peer(i))
		}
	}
	r.commits.holding = false
	image.SectionSend.Leave(r.config.Observer)
	image.SectionFrame.Leave(r.config.Observer)
	if r.config.Observer != nil {
		r.config.Observer.Turn(r.Tick())
	}
}

// advance computes the ticks that are due, and begins to commit them unless a commit is under way. It returns true if the strategy
// is to send: a commit has begun, or the strategy waits for a peer that may lack an earlier message.
func (r *Room) advance() bool {
	c, ticks, waits := &r.commits, 0, false
	if r.recovery != nil {
		return false
	}
	if !c.failing {
		r.easeOverload()
		ticks, waits = r.tick()
		r.clock.caughtUp = ticks
		c.fresh = c.fresh || ticks > 0
	}
	if c.fresh && !c.pending {
		return r.commit()
	}
	return waits && !c.fresh && !c.pending
}

// tick computes the ticks that are due. held reports that the strategy holds the next one.
func (r *Room) tick() (ticks int, held bool) {
	for due := r.due(r.Tick() + 1); due <= r.strategyTime() && !r.clock.on; due = r.due(r.Tick() + 1) {
		if r.change != nil && r.change.executed {
			break // the next tick is the next strategy's
		}
		if r.strategy.Hold(r.strategyTime()) {
			r.postpone(1)
			return ticks, true
		}
		if ticks == maxTicks {
			r.stats.Deferred++
			break
		}
		r.noteLateness(due)
		r.strategy.Tick(due)
		ticks++
	}
	return ticks, false
}

// prove sends every peer the newest proof that it was not sent.
func (r *Room) prove() {
	if h := r.chains; len(h.proof) > 0 {
		for _, p := range r.present() {
			if r.played.Needs.Exact { // other clients have no final ticks
				p.session.SendProof(h.proven, h.proof)
			}
		}
		h.proof = nil
	}
}

// postpone moves the epoch if the next tick is overdue: see realign.
func (r *Room) postpone(ticks systems.Time) {
	if r.strategyTime() >= r.due(r.Tick()+1) {
		r.realign(ticks)
	}
}

// realign moves the epoch by whole ticks. The next tick is then due at most one tick length before now, plus the given number of ticks.
func (r *Room) realign(ticks systems.Time) {
	length := systems.Second / systems.Time(r.config.Game.TickRate)
	late := r.strategyTime() - r.due(r.Tick()+1)
	if late%length < 0 {
		ticks--
	}
	r.clock.epoch += (late/length + ticks) * length
}

type outbox Room

// Send sends a message to a peer that the strategy serves.
func (o *outbox) Send(to systems.Peer, ch systems.Channel, message []byte) {
	if p := &o.peers[to]; p.open {
		r := (*Room)(o)
		image.SectionSend.Enter(r.config.Observer)
		p.session.SendStrategy(ch, message)
		image.SectionSend.Leave(r.config.Observer)
		if r.byteObserver != nil {
			r.byteObserver.Sent(len(message))
		}
	}
}

// Ready reports whether the strategy may send a peer its periodic messages now.
func (o *outbox) Ready(to systems.Peer) bool {
	p := &o.peers[to]
	return !p.open || p.session.TransportReady()
}

// Room returns how many bytes of reliable messages to a peer can be queued now.
func (o *outbox) Room(to systems.Peer) int {
	p := &o.peers[to]
	if !p.open {
		return 0
	}
	return p.session.TransportRoom()
}

func (r *Room) out() systems.Outbox { return (*outbox)(r) }

// Notice sends a text to every player, with the seconds until the server stops, or 0.
func (r *Room) Notice(seconds int, text string) {
	for _, p := range r.present() {
		p.session.Notice(seconds, text)
	}
}

// Close ends the match and all sessions. Afterwards Enter refuses connections and Frame computes no ticks. Call Frame
// until Closed returns true.
func (r *Room) Close(text string) { r.close(session.CodeShutdown, text) }

// Suspend stops the match after its last tick and ends all sessions with session.CodeRestarting. The players keep their seats,
// so another process can resume the match from its journal. As after Close, call Frame until Closed returns true.
func (r *Room) Suspend() {
	r.close(session.CodeRestarting, "")
	_ = r.commitSinks() // of seats that were taken since the last tick; without them a client loads the state again
}

// Suspended reports whether Suspend was called.
func (r *Room) Suspended() bool { return r.closed == session.CodeRestarting }

func (r *Room) close(code session.Code, text string) {
	r.closed = code
	r.endCommits()
	for id, p := range r.present() {
		if r.Suspended() {
			p.session.Suspend()
		} else {
			p.session.End(code, text)
		}
		r.check(id)
	}
}

// Abort ends all sessions after another method has panicked. Afterwards no method may be called.
func (r *Room) Abort(text string) {
	r.commits.drop()
	r.commits = commits{}
	for _, p := range r.present() {
		p.session.End(session.CodeInternal, text)
	}
}

// Conclude decides every match that has a result and is not decided yet. Call it last, when the room is closed or empty. It
// calls Sink.Decision, and may take long if the strategy has to replay the match.
func (r *Room) Conclude() { r.strategy.Conclude() }

// Closed reports whether Close or Suspend was called and the last messages of every session had time to arrive.
func (r *Room) Closed() bool {
	return r.closed != 0 && !slices.ContainsFunc(r.peers, func(p peer) bool { return p.session != nil && !p.lingered(r.now) })
}
