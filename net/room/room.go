package room

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/session"
	"tendon/systems"
)

// Config describes a room. Zero values select the defaults where a field names one.
type Config struct {
	Game      *ecs.Game        // the game. Required
	Seed      uint64           // starts the random source of the world
	Strategy  systems.Strategy // the sync strategy. Required
	Match     uint64           // identifies the match among all matches. 0: a client that reconnects cannot continue from its state
	MaxPeers  int              // maximum number of connections, players and spectators; 0: Game.MaxPlayers + 16
	KeepSeat  systems.Time     // how long the seat of a lost connection is kept before its player leaves the match; 0: 5 s
	ImageRate int              // the budget of each peer for images, in bytes per second; 0: the default of net/session
	Timeout   systems.Time     // ends the session of a peer that sends nothing; 0: the default of net/session
	// HistoryKey is the key, of 16 bytes or more, that proves to the next process which final ticks are true. That process
	// needs the same key. Optional: without it a restarted room uses no ticks of clients, as is right if none can be lost.
	HistoryKey []byte
	// MintToken returns a sealed reconnect token for a peer. Optional.
	MintToken func(p systems.Peer, id Identity, seat int, now systems.Time) []byte
	Sinks     []Sink         // receive what happens in the room, in this order
	Resume    *Resume        // a match to continue, whose process has ended. Match should be its number. Optional
	Observer  image.Observer // receives the start and end of the phases and systems. Optional
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
	switch {
	case c.Strategy.NewServer == nil:
		return c, fmt.Errorf("%w: Strategy has no NewServer", ErrConfig)
	case len(c.Strategy.Params) > session.MaxParams:
		return c, fmt.Errorf("%w: Strategy.Params has %d bytes, want at most %d", ErrConfig, len(c.Strategy.Params), session.MaxParams)
	case c.MaxPeers < 1 || c.MaxPeers > 1<<15:
		return c, fmt.Errorf("%w: MaxPeers is %d, want 1 to %d", ErrConfig, c.MaxPeers, 1<<15)
	case len(c.HistoryKey) > 0 && len(c.HistoryKey) < minKeyBytes:
		return c, fmt.Errorf("%w: HistoryKey has %d bytes, want %d or more", ErrConfig, len(c.HistoryKey), minKeyBytes)
	case c.KeepSeat < 0:
		return c, fmt.Errorf("%w: KeepSeat is %v, want more than 0", ErrConfig, c.KeepSeat)
	case c.Resume != nil && (c.Resume.World == nil || c.Resume.World.Game() != c.Game):
		return c, fmt.Errorf("%w: Resume.World is nil or of another game than Game", ErrConfig)
	}
	if err := (session.ServerConfig{ImageRate: c.ImageRate, Timeout: c.Timeout}).Check(); err != nil {
		return c, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	if err := c.Strategy.Check(c.Game); err != nil {
		return c, fmt.Errorf("%w: Strategy: %w", ErrConfig, err)
	}
	return c, nil
}

// Room is one match with its peers. Tick f is due at epoch + f/TickRate. The strategy serves a peer if peer.open is set.
type Room struct {
	config      Config
	session     session.ServerConfig // of every peer, but for MintToken
	strategy    systems.FullServer
	epoch       systems.Time // of State(0)
	now         systems.Time
	peers       []peer
	seats       []seat
	closed      bool
	run         uint8 // the last session epoch that was used
	images      images
	chains      *chainHistory
	stats       Stats
	uncommitted bool               // ticks were computed that are not committed yet, so nothing about them was sent
	resumed     ecs.Tick           // where a resumed match went on
	recovery    *recovery          // nil after a resumed match goes on, and in a new match
	resync      func(systems.Peer) // r.resyncPeer, bound once
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
	from.World.Image().SetObserver(c.Observer)
	r := &Room{config: c, epoch: now - systems.TickTime(0, from.World.Tick(), c.Game.TickRate), now: now, peers: make([]peer, c.MaxPeers),
		seats: make([]seat, c.Game.MaxPlayers), chains: newChainHistory(&c, from),
		session: session.ServerConfig{Fingerprint: c.Game.Fingerprint(), TickRate: c.Game.TickRate, ImageRate: c.ImageRate, Timeout: c.Timeout}}
	r.session.Build, r.session.Target = session.BuildOf(c.Game)
	for i := range r.seats {
		r.seats[i] = freeSeat(i)
	}
	server, err := c.Strategy.NewServer(systems.ServerConfig{World: from.World, Peers: c.MaxPeers, Observer: c.Observer, Past: from.Past,
		Taken: r.finalTick, States: slices.ContainsFunc(c.Sinks, func(s Sink) bool { return s.NeedState }), Decided: r.decision})
	if err != nil {
		return nil, err
	}
	r.strategy, r.resync = systems.Full(server), r.resyncPeer
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
	return systems.TickTime(r.epoch, f, r.config.Game.TickRate)
}

// Frame computes the ticks that are due, commits them, and then sends what every peer needs. Call it once per tick or
// more often, after Receive was called for the messages that arrived by now.
func (r *Room) Frame(now systems.Time) {
	image.SectionFrame.Enter(r.config.Observer)
	r.now = now
	if !r.closed {
		r.recover()
		r.vacate()
		if r.advance() {
			r.strategy.Desynced(r.resync)
			image.SectionEncode.Enter(r.config.Observer)
			r.strategy.Send(now, r.out())
			image.SectionEncode.Leave(r.config.Observer)
			r.prove()
		}
		if !r.uncommitted { // an image may be of an uncommitted tick
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
	image.SectionSend.Leave(r.config.Observer)
	image.SectionFrame.Leave(r.config.Observer)
	if r.config.Observer != nil {
		r.config.Observer.Turn(r.Tick())
	}
}

// advance computes the ticks that are due. It reports whether the strategy is to send: if there are new ticks, or if the
// strategy waits for a peer that may lack an earlier message.
func (r *Room) advance() bool {
	if r.recovery != nil {
		return false
	}
	if r.uncommitted {
		return r.commit()
	}
	ticks, held := r.tick()
	return ticks == 0 && held || ticks > 0 && r.commit()
}

// tick computes the ticks that are due. held reports that the strategy holds the next one.
func (r *Room) tick() (ticks int, held bool) {
	for due := r.due(r.Tick() + 1); due <= r.now; due = r.due(r.Tick() + 1) {
		if r.strategy.Hold(r.now) {
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

// commit commits the ticks that were computed and reports whether messages about them may be sent.
func (r *Room) commit() bool {
	if r.commitSinks() != nil {
		r.stats.Unwritten++
		if !r.uncommitted {
			r.uncommitted = true
			r.Notice(0, "the match waits: the server cannot write its journal")
		}
		return false
	}
	if r.uncommitted {
		r.uncommitted = false
		r.postpone(1)
	}
	return true
}

// prove sends every peer the newest proof that it was not sent.
func (r *Room) prove() {
	if h := r.chains; len(h.proof) > 0 {
		for _, p := range r.present() {
			p.session.SendProof(h.proven, h.proof)
		}
		h.proof = nil
	}
}

// postpone moves the epoch by whole ticks if the next tick is overdue. The next tick is then due within the tick length
// that ends now, or the given number of ticks later.
func (r *Room) postpone(ticks systems.Time) {
	length := systems.Second / systems.Time(r.config.Game.TickRate)
	if due := r.due(r.Tick() + 1); r.now >= due {
		r.epoch += ((r.now-due)/length + ticks) * length
	}
}

type outbox Room

// Send sends a message to a peer that the strategy serves.
func (o *outbox) Send(to systems.Peer, ch systems.Channel, message []byte) {
	if p := &o.peers[to]; p.open {
		r := (*Room)(o)
		image.SectionSend.Enter(r.config.Observer)
		p.session.SendStrategy(ch, message)
		image.SectionSend.Leave(r.config.Observer)
	}
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
func (r *Room) Close(text string) {
	r.closed = true
	for id, p := range r.present() {
		p.session.End(session.CodeShutdown, text)
		r.check(id)
	}
}

// Conclude decides every match that has a result and is not decided yet. Call it last, when the room is closed or empty. It
// calls Sink.Decision, and may take long if the strategy has to replay the match.
func (r *Room) Conclude() { r.strategy.Conclude() }

// Closed reports whether Close was called and the last messages of every session had time to arrive.
func (r *Room) Closed() bool {
	return r.closed && !slices.ContainsFunc(r.peers, func(p peer) bool { return p.session != nil && !p.lingered(r.now) })
}
