package room

import (
	"fmt"

	"tendon/ecs"
	"tendon/net/session"
	"tendon/systems"
)

// peer is one connection, from Enter until Gone or Vanish. session is nil for a free place.
type peer struct {
	session  *session.Server
	identity Identity
	seat     int          // −1: none
	open     bool         // the strategy's half serves it
	over     systems.Time // when its session ended
	ended    bool         // over means something: the peer is out of the match and lingers for its last words
	tries    int          // images sent since it was last opened
	holding  bool         // it holds State(have) and waits to be served
	have     ecs.Tick
	strikes  limit
	desyncs  uint64 // reported to Sink.Desync
}

// Desync is what a room knows of a peer whose state differs.
type Desync struct {
	Peer systems.Peer
	Seat int // −1: none
	Name string
	// Differed is the tick of the checksum Claim that the peer told; both 0 where they are not known.
	Differed ecs.Tick
	Claim    ecs.Checksum
	// World is the match as the server has it now. It is valid during the call, and only to be read or saved.
	World *ecs.World
}

// AnySeat asks for any free seat.
const AnySeat = -1

// Identity is who a connection is, as its sealed token says. Nothing in a message changes it.
type Identity struct {
	// Seat is the seat asked for, or AnySeat. It means nothing for a spectator.
	Seat int
	Role systems.Role
	// ClientID tells a client that comes back from another one; 0: it cannot come back to its seat.
	ClientID uint64
	// Name is shown to others; empty: the client's own choice.
	Name string
}

const (
	// linger is how long an ended session goes on sending its last words.
	linger = systems.Second / 2
	// maxTries bounds the images sent to a peer that is too slow to load one while it can be used.
	maxTries = 5
	// A peer may be resynced strikesAllowed times, and once more every strikeInterval.
	strikesAllowed = 5
	strikeInterval = 30 * systems.Second
)

// limit allows so many strikes at once and one more per interval.
type limit struct{ free systems.Time }

func (l *limit) take(now systems.Time) bool {
	l.free = max(l.free, now) + strikeInterval
	return l.free-now <= strikesAllowed*strikeInterval
}

func (p *peer) live() bool { return p.session != nil && !p.ended }

func (p *peer) lingered(now systems.Time) bool { return p.ended && now-p.over >= linger }

// Enter lets a connection in. Whether it may play is decided when it has said Hello. An error says that there is no
// place for a connection; the client was told so on t.
func (r *Room) Enter(t session.Transport, id Identity, now systems.Time) (systems.Peer, error) {
	refuse := func(code session.Code, why string) (systems.Peer, error) {
		r.stats.Refused++
		_ = t.Send(systems.Reliable, session.AppendRefusal(nil, code, r.config.Game.Fingerprint(), "")) // best effort
		return 0, fmt.Errorf("%w: %s", ErrRefused, why)
	}
	if !id.Role.Valid() {
		return refuse(session.CodeInternal, "unknown role")
	}
	if r.closed {
		return refuse(session.CodeShutdown, "the room is closed")
	}
	for i := range r.peers {
		p := &r.peers[i]
		if p.session != nil {
			continue
		}
		c := session.ServerConfig{Fingerprint: r.config.Game.Fingerprint(), Build: r.config.Build, Target: r.config.Target,
			TickRate: r.config.Game.TickRate, ImageRate: r.config.ImageRate, Timeout: r.config.Timeout}
		if mint := r.config.MintToken; mint != nil {
			c.MintToken = func(now systems.Time) []byte { return mint(systems.Peer(i), p.identity, p.seat, now) }
		}
		s, err := session.NewServer(c, t, now)
		if err != nil {
			return 0, err
		}
		*p = peer{session: s, identity: id, seat: nobody}
		return systems.Peer(i), nil
	}
	return refuse(session.CodeFull, "no place for another connection")
}

// Receive takes a message from a peer.
func (r *Room) Receive(id systems.Peer, ch systems.Channel, message []byte, now systems.Time) {
	p := &r.peers[id]
	if !p.live() {
		return
	}
	ecs.SectionReceive.Enter(r.config.Observer)
	r.receive(id, ch, message, now)
	ecs.SectionReceive.Leave(r.config.Observer)
}

func (r *Room) receive(id systems.Peer, ch systems.Channel, message []byte, now systems.Time) {
	p := &r.peers[id]
	r.now = max(r.now, now)
	switch e := p.session.Receive(ch, message, now); e.Kind {
	case session.EventHello:
		r.hello(id, e.Hello)
	case session.EventTail:
		r.tail(id, e.Message)
	case session.EventReady:
		p.holding, p.have = true, e.Tick
		r.open(id)
	case session.EventLive:
		r.join(p.seat)
	case session.EventChat:
		r.say(session.Said{Seat: p.seat, Name: p.identity.Name, Text: e.Text})
	case session.EventStrategy:
		if p.open && r.half.Receive(id, ch, e.Message, now, r.out()) != nil {
			p.session.Fault(now)
		}
	}
	r.check(id)
}

// hello seats a client and sends it on its way, or refuses it.
func (r *Room) hello(id systems.Peer, h *session.Hello) {
	p := &r.peers[id]
	if p.identity.Name == "" {
		p.identity.Name = h.Name
	}
	if p.identity.Role == systems.RolePlayer {
		code := r.sit(id)
		if code != 0 {
			r.stats.Refused++
			p.session.Refuse(code, "")
			return
		}
	}
	if r.recovery != nil {
		r.await(id, h)
		return
	}
	r.welcome(id, h)
}

// welcome answers the Hello of a client that may play.
func (r *Room) welcome(id systems.Peer, h *session.Hello) {
	p, tick := &r.peers[id], r.Tick()
	warm := r.holds(h) && h.Have >= r.half.OldestServable()
	w := session.Welcome{Strategy: r.config.Strategy.Name, Params: r.config.Strategy.Params, Match: r.config.Match, Rate: r.config.Game.TickRate,
		Seat: p.seat, Role: p.identity.Role, Epoch: r.nextRun(), Tick: tick, Delay: r.config.InputDelay, Image: !warm}
	p.session.Welcome(w, h.Have, r.now)
	if !warm {
		p.tries = 1
		p.session.SendImage(r.image(), w.Epoch, r.now)
	}
}

// open lets the strategy's half serve a peer that holds a state, unless that is too old by now. While ticks are not
// durable it waits: the half might tell of them.
func (r *Room) open(id systems.Peer) {
	p := &r.peers[id]
	if !p.holding || r.owed || !p.live() {
		return
	}
	p.holding = false
	if p.have < r.half.OldestServable() {
		r.shut(id)
		if p.tries++; p.tries > maxTries {
			p.session.End(session.CodeSlow, "every image was too old when it was loaded")
			return
		}
		p.session.SendImage(r.image(), r.nextRun(), r.now)
		return
	}
	p.session.Opened()
	p.open, p.tries = true, 0
	r.half.Open(id, p.seat, p.have, r.now, r.out())
}

// resyncPeer sends a peer whose state differs the right one: a fresh one, since one of before they differed might only
// lead there again, and would not tell what differs. The peer plays on until it has loaded it.
func (r *Room) resyncPeer(id systems.Peer) {
	p := &r.peers[id]
	if !p.live() || p.session.Loading() || p.holding { // the right state is on its way, or there
		return
	}
	r.desync(id)
	if r.half.PeerStats(id).Expelled || !p.strikes.take(r.now) {
		p.session.End(session.CodeDesync, "")
		return
	}
	r.stats.Resyncs++
	p.tries++
	p.session.SendImage(r.freshImage(), r.nextRun(), r.now)
}

// nextRun returns a session epoch that no peer uses any more.
func (r *Room) nextRun() uint8 {
	r.run++
	return r.run
}

func (r *Room) say(m session.Said) {
	for i := range r.peers {
		if p := &r.peers[i]; p.live() {
			p.session.Say(m)
		}
	}
}

// shut closes the strategy's half for a peer.
func (r *Room) shut(id systems.Peer) {
	if p := &r.peers[id]; p.open {
		p.open = false
		r.half.Close(id)
	}
}

// check takes a peer out of the match if its session has ended.
func (r *Room) check(id systems.Peer) {
	p := &r.peers[id]
	if p.live() && p.session.Err() != nil {
		r.leave(id)
		p.ended, p.over = true, r.now
	}
}

// Vanish says that a peer's connection is gone. Its place is free at once; its seat is kept for a while.
func (r *Room) Vanish(id systems.Peer, now systems.Time) {
	p := &r.peers[id]
	if p.session == nil {
		return
	}
	r.now = max(r.now, now)
	if !p.ended {
		r.leave(id)
	}
	*p = peer{}
}

// Kick ends a peer's session; a player leaves the match at once.
func (r *Room) Kick(id systems.Peer, text string) {
	if p := &r.peers[id]; p.live() {
		p.session.End(session.CodeKicked, text)
		r.check(id)
	}
}

// Gone calls f for each peer whose session has ended and had time for its last words, and forgets it: its number may
// be given to another connection afterwards. Close the connection in f.
func (r *Room) Gone(f func(p systems.Peer, why error)) {
	for i := range r.peers {
		if p := &r.peers[i]; p.session != nil && p.lingered(r.now) {
			why := p.session.Err()
			*p = peer{}
			f(systems.Peer(i), why)
		}
	}
}
