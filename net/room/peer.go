package room

import (
	"errors"
	"fmt"
	"iter"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/limit"
	"tendon/net/session"
	"tendon/net/wire"
	"tendon/systems"
)

// peer is one connection, from Enter until Gone or Vanish. session is nil if the place is free.
type peer struct {
	session  *session.Server
	identity Identity
	seat     int          // or none
	open     bool         // the strategy serves it
	ended    bool         // it has left the match, and its last messages are being sent
	endedAt  systems.Time // when its session ended
	tries    int          // images sent since it was last opened
	holding  bool         // it holds State(have) and is not open yet
	have     ecs.Tick
	resyncs  limit.Limiter[systems.Time]
	desyncs  uint64 // reported to Sink.Desync
	excused  uint64 // of the refused inputs of the strategy, those that do not count: see Room.receive

	otherBuild bool // its Hello names another build
}

// Desync describes a peer whose state differs.
type Desync struct {
	Peer     systems.Peer
	Seat     int // −1: none
	Name     string
	Differed ecs.Tick // the tick of the checksum Claim that the peer sent; both are 0 if they are not known
	Claim    image.Checksum
	Strategy string     // at present
	World    *ecs.World // the present world of the server. It is valid during the call and must not be changed
}

// Expulsion describes an expelled peer: its messages broke a rule, so its session was ended. PeerInfo is of that moment.
type Expulsion struct {
	PeerInfo
	Cause Cause
	// OtherBuild reports whether the peer named another build than the server's, or another build began the match. The peer may
	// then be honest although its checksums differ.
	OtherBuild bool
}

// Cause is why a peer was expelled.
type Cause string

// The causes.
const (
	CauseLying    Cause = "lying"    // its checksums differed too often
	CauseFlooding Cause = "flooding" // it sent more reliable messages, or far more packets, than its rate limit allows
	CauseFraming  Cause = "framing"  // it sent too many malformed messages, or broke the reliable stream
)

// causeOf returns why a peer whose session has ended was expelled; "": it was not. A peer that sent the reason itself, or that
// could not keep up, was not expelled.
func causeOf(info *PeerInfo, ended error) Cause {
	var why *session.Error
	if !errors.As(ended, &why) || why.Received {
		return ""
	}
	switch {
	case why.Code == session.CodeFlood:
		return CauseFlooding
	case why.Code == session.CodeProtocol:
		return CauseFraming
	case why.Code == session.CodeDesync && info.Strategy.Expelled:
		return CauseLying
	}
	return ""
}

// AnySeat selects any free seat.
const AnySeat = -1

// Identity is the identity of a connection, from its sealed token. No message changes it.
type Identity struct {
	Seat     int // the requested seat, or AnySeat. It is ignored for a spectator
	Role     systems.Role
	ClientID uint64 // identifies the client that comes back to its seat; 0: it cannot come back
	Name     string // shown to other players; empty: the name in the client's Hello
	Bot      bool   // a program plays: other players see it
	Data     []byte // of the player's card: see image.Card. No message changes it. Optional
}

const (
	linger         = systems.Second / 2  // how long an ended session still sends its last messages
	maxTries       = 5                   // bounds the images sent to a peer that loads them too slowly to use them
	excuse         = 5 * systems.Second  // how long after a wait for a sink too early inputs do not count
	resyncBurst    = 5                   // resyncs of a peer at once
	resyncInterval = 30 * systems.Second // until one more is allowed
)

func (p *peer) live() bool { return p.session != nil && !p.ended }

func (p *peer) lingered(now systems.Time) bool { return p.ended && now-p.endedAt >= linger }

// Enter adds a connection. The Hello of the client, when it arrives, decides whether the client may play. On an error there
// is no place for the connection, and the reason was sent to the client on t.
func (r *Room) Enter(t session.Transport, id Identity, now systems.Time) (systems.Peer, error) {
	refuse := func(code session.Code, why string) (systems.Peer, error) {
		r.stats.Refused++
		_ = t.Send(systems.Reliable, session.AppendRefusal(nil, code, r.config.Game.Fingerprint(), "")) // best effort
		return 0, fmt.Errorf("%w: %s", ErrRefused, why)
	}
	if !id.Role.Valid() {
		return refuse(session.CodeInternal, "unknown role")
	}
	if r.closed != 0 {
		return refuse(r.closed, "the room is closed")
	}
	for i := range r.config.MaxPeers {
		r.peers = r.peers[:max(len(r.peers), i+1)]
		p := &r.peers[i]
		if p.session != nil {
			continue
		}
		c := r.session
		if mint := r.config.MintToken; mint != nil {
			c.MintToken = func(now systems.Time) []byte { return mint(systems.Peer(i), p.identity, p.seat, now) }
		}
		s, err := session.NewServer(c, r.transport(t), now)
		if err != nil {
			return 0, err
		}
		*p = peer{session: s, identity: id, seat: none, resyncs: limit.New(resyncInterval, resyncBurst)}
		return systems.Peer(i), nil
	}
	return refuse(session.CodeFull, "no place for another connection")
}

// Receive processes a message from a peer.
func (r *Room) Receive(id systems.Peer, ch systems.Channel, message []byte, now systems.Time) {
	if !r.entered(id) || r.peers[id].ended {
		return
	}
	p := &r.peers[id]
	image.SectionReceive.Enter(r.config.Observer)
	defer image.SectionReceive.Leave(r.config.Observer)
	r.now = max(r.now, now)
	r.boundLag()
	switch e := p.session.Receive(ch, message, now); e.Kind {
	case session.EventHello:
		r.hello(id, e.Hello)
	case session.EventTail:
		r.tail(id, e.Message)
	case session.EventReady:
		p.holding, p.have = true, e.Tick
		r.open(id)
	case session.EventLive:
		r.join(p)
	case session.EventChat:
		for _, to := range r.present() {
			to.session.SendChat(session.ChatLine{Seat: p.seat, Name: p.identity.Name, Text: e.Text})
		}
	case session.EventStrategy:
		if p.open && r.receive(id, ch, e.Message) != nil {
			p.session.Fault(now)
		}
	case session.EventPause:
		r.request(p, e.On)
	}
	r.check(id)
}

// receive passes a message to the strategy. While the match waits for a sink, clients compute further ticks, so their inputs become
// too early. These do not count as refused, until excuse after the wait.
func (r *Room) receive(id systems.Peer, ch systems.Channel, message []byte) error {
	if !r.commits.failing && r.now >= r.commits.excused {
		return r.strategy.Receive(id, ch, message, r.strategyTime(), r.out())
	}
	before := r.strategy.PeerStats(id).Refused
	err := r.strategy.Receive(id, ch, message, r.strategyTime(), r.out())
	if err == nil {
		r.peers[id].excused += r.strategy.PeerStats(id).Refused - before
	}
	return err
}

func (r *Room) hello(id systems.Peer, h *session.Hello) {
	p := &r.peers[id]
	p.otherBuild = h.Build != r.session.Build
	if p.identity.Name == "" {
		p.identity.Name = h.Name
	}
	if card := r.config.Card; card != nil {
		c := card(p.identity)
		p.identity.Name, p.identity.Data = c.Name, c.Data
	}
	if p.identity.Name = wire.Clip(p.identity.Name, image.MaxCardName); len(p.identity.Data) > image.MaxCardData {
		r.stats.Refused++
		p.session.Refuse(session.CodeInternal, fmt.Sprintf("the server's card has %d bytes of data, want at most %d", len(p.identity.Data), image.MaxCardData))
		return
	}
	if p.identity.Role == systems.RolePlayer {
		if code := r.sit(id); code != 0 {
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

func (r *Room) welcome(id systems.Peer, h *session.Hello) {
	p, tick := &r.peers[id], r.Tick()
	warm := r.continues(h) && r.strategy.Serves(h.Have)
	w := session.Welcome{Strategy: r.played.Name, Params: r.played.Params, Match: r.config.Match, Rate: r.config.Game.TickRate,
		Seat: p.seat, Role: p.identity.Role, Epoch: r.nextRun(p), Tick: tick, Image: !warm}
	r.commits.welcome = true
	p.session.Welcome(w, h.Have, r.now)
	r.commits.welcome = false
	if r.clock.on && !r.clock.unsent {
		p.session.SendPaused(r.paused())
	}
	for i := range r.seats {
		if s := &r.seats[i]; s.Held {
			p.session.SendSeat(s.seated())
		}
	}
	r.repeatRefusals(p, h)
	if warm {
		p.holding, p.have = true, h.Have
		r.open(id)
		return
	}
	p.tries = 1
	p.session.SendImage(r.image(p.seat), w.Epoch, r.now)
}

// open lets the strategy serve a peer that holds a state, or sends another image if that state is too old by now. While
// ticks are uncommitted it does nothing, because the strategy would send them.
func (r *Room) open(id systems.Peer) {
	p := &r.peers[id]
	if !p.holding || r.uncommitted() || !p.live() {
		return
	}
	p.holding = false
	if !r.strategy.Serves(p.have) {
		r.shut(id)
		if p.tries++; p.tries > maxTries {
			p.session.End(session.CodeSlow, "every image was too old when it was loaded")
			return
		}
		p.session.SendImage(r.image(p.seat), r.nextRun(p), r.now)
		return
	}
	p.session.Opened()
	p.open, p.tries = true, 0
	r.strategy.Open(id, p.seat, p.have, r.strategyTime(), r.out())
}

// resyncPeer sends an image of the present tick to a peer whose state differs: an older one might lead to the difference
// again. The peer plays on until it has loaded the image.
func (r *Room) resyncPeer(id systems.Peer) {
	p := &r.peers[id]
	if !p.live() || p.session.Loading() || p.holding { // an image is on its way
		return
	}
	r.desync(id)
	if r.strategy.PeerStats(id).Expelled || !p.resyncs.Allow(r.now) {
		text := ""
		if p.otherBuild {
			text = fmt.Sprintf("server has build %s", r.session.Build)
		}
		p.session.End(session.CodeDesync, text)
		return
	}
	r.stats.Resyncs++
	p.tries++
	p.session.SendImage(r.presentImage(p.seat), r.nextRun(p), r.now)
}

// nextRun returns the session epoch for the next state of a peer.
func (r *Room) nextRun(p *peer) uint8 {
	r.run++
	return p.unused(r.run)
}

// unused returns the first epoch ≥ epoch that the peer does not use.
func (p *peer) unused(epoch uint8) uint8 {
	for p.session.Uses(epoch) {
		epoch++
	}
	return epoch
}

func (r *Room) present() iter.Seq2[systems.Peer, *peer] {
	return func(yield func(systems.Peer, *peer) bool) {
		for i := range r.peers {
			if p := &r.peers[i]; p.live() && !yield(systems.Peer(i), p) {
				return
			}
		}
	}
}

func (r *Room) shut(id systems.Peer) {
	if p := &r.peers[id]; p.open {
		p.open, p.excused = false, 0
		r.strategy.Close(id)
	}
}

// check removes a peer from the match if its session has ended. It passes an expelled peer to the sinks.
func (r *Room) check(id systems.Peer) {
	p := &r.peers[id]
	if p.live() && p.session.Err() != nil {
		info := r.Peer(id) // the strategy counts nothing of a peer that has left
		r.leave(id)
		if cause := causeOf(&info, p.session.Err()); cause != "" {
			r.expelled(Expulsion{PeerInfo: info, Cause: cause, OtherBuild: p.otherBuild || r.config.Resume != nil && r.config.Resume.OtherBuild})
		}
		p.ended, p.endedAt = true, r.now
	}
}

// Vanish reports that the connection of a peer is lost. Its place is free at once; its seat is kept for KeepSeat.
func (r *Room) Vanish(id systems.Peer, now systems.Time) {
	if !r.entered(id) {
		return
	}
	r.now = max(r.now, now)
	if !r.peers[id].ended {
		r.leave(id)
	}
	r.remove(id)
}

// entered reports whether the place of a peer is taken.
func (r *Room) entered(id systems.Peer) bool {
	return int(id) < len(r.peers) && r.peers[id].session != nil
}

// remove frees the place of a peer.
func (r *Room) remove(id systems.Peer) {
	r.peers[id] = peer{}
	for n := len(r.peers); n > 0 && r.peers[n-1].session == nil; n-- {
		r.peers = r.peers[:n-1]
	}
}

// Kick ends the session of a peer. A player leaves the match at once.
func (r *Room) Kick(id systems.Peer, text string) {
	r.end(id, session.CodeKicked, text)
}

// Expel ends the session of a peer whose connection broke a rule: CauseFlooding, too many packets, or CauseFraming, a broken
// stream. A player leaves the match at once.
func (r *Room) Expel(id systems.Peer, cause Cause) {
	code := session.CodeProtocol
	if cause == CauseFlooding {
		code = session.CodeFlood
	}
	r.end(id, code, "")
}

func (r *Room) end(id systems.Peer, code session.Code, text string) {
	if r.entered(id) && !r.peers[id].ended {
		r.peers[id].session.End(code, text)
		r.check(id)
	}
}

// Gone calls f for each peer whose session has ended and whose last messages had time to arrive, and removes the peer.
// Close the connection in f: afterwards the number may be that of another connection.
func (r *Room) Gone(f func(p systems.Peer, why error)) {
	for i := 0; i < len(r.peers); i++ {
		if p := &r.peers[i]; p.session != nil && p.lingered(r.now) {
			why := p.session.Err()
			r.remove(systems.Peer(i))
			f(systems.Peer(i), why)
		}
	}
}
