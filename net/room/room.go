package room

import (
	"errors"

	"tendon/ecs"
	"tendon/net/session"
	"tendon/systems"
)

// Room is one match with its peers. World().Tick() ticks are computed; tick f is due at epoch + f/TickRate. A seat is
// held by at most one peer; a peer's strategy half is open if and only if peer.open.
type Room struct {
	config   Config
	half     systems.FullServer
	epoch    systems.Time // of State(0)
	now      systems.Time
	peers    []peer
	seats    []seat
	closed   bool
	run      uint8 // the last session epoch given
	images   images
	ledger   *ledger
	stats    Stats
	owed     bool               // ticks were computed that are not durable yet, so nobody has heard of them
	resumed  ecs.Tick           // where a resumed match went on
	recovery *recovery          // until a resumed match goes on; nil: it does
	resync   func(systems.Peer) // r.resyncPeer, bound once
}

// Stats counts what a room did.
type Stats struct {
	Tick         ecs.Tick
	Peers        int          // connections now
	Players      int          // seats taken now
	Late         uint64       // ticks computed more than one tick after they were due
	MostLate     systems.Time // the most that a tick was computed after it was due
	Lateness     Lateness     // how late ticks were
	Deferred     uint64       // Frames that left due ticks to the next one
	Images       uint64       // images made
	Resyncs      uint64       // images sent because a state differed or a peer fell too far behind
	Refused      uint64       // who asked to enter and may not
	Unwritten    uint64       // Frames in which the journal could not be written, so that the match waited
	Adopted      uint64       // ticks that clients handed in after a restart
	TailsRefused uint64       // offers of such ticks that do not go on where the journal ends
	RingBytes    int          // what its snapshots take, those ready for use included
}

// Add adds what another room counted: of both together, and of the later tick.
func (s *Stats) Add(o *Stats) {
	s.Tick, s.MostLate = max(s.Tick, o.Tick), max(s.MostLate, o.MostLate)
	s.Peers, s.Players, s.RingBytes = s.Peers+o.Peers, s.Players+o.Players, s.RingBytes+o.RingBytes
	s.Late, s.Deferred, s.Images, s.Resyncs = s.Late+o.Late, s.Deferred+o.Deferred, s.Images+o.Images, s.Resyncs+o.Resyncs
	s.Refused, s.Unwritten = s.Refused+o.Refused, s.Unwritten+o.Unwritten
	s.Adopted, s.TailsRefused = s.Adopted+o.Adopted, s.TailsRefused+o.TailsRefused
	for i, n := range o.Lateness {
		s.Lateness[i] += n
	}
}

// Lateness counts ticks by how long after they were due they were computed: element i those that were i to i + 1 eighths
// of a tick late, the last one all that were later.
type Lateness [9]uint64

// Share returns the share of ticks that were computed at least so many eighths of a tick late, in [0, 1].
func (l *Lateness) Share(eighths int) float64 {
	all, late := uint64(0), uint64(0)
	for i, n := range l {
		if all += n; i >= eighths {
			late += n
		}
	}
	return float64(late) / float64(max(all, 1))
}

// ErrRefused is wrapped by Enter's errors. Whoever is refused has been told.
var ErrRefused = errors.New("room: refused")

// New returns a room whose State(0), or the state that it resumes, is now.
func New(c Config, now systems.Time) (*Room, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	from := Resume{}
	if c.Resume != nil {
		from = *c.Resume
	} else {
		world, err := ecs.NewWorld(c.Game, c.Seed)
		if err != nil {
			return nil, err
		}
		from.World = world
	}
	from.World.SetObserver(c.Observer)
	r := &Room{config: c, epoch: now - systems.TickTime(0, from.World.Tick(), c.Game.TickRate), now: now, peers: make([]peer, c.MaxPeers),
		seats: make([]seat, c.Game.MaxPlayers), ledger: newLedger(from.World, from.Chain)}
	for i := range r.seats {
		r.seats[i].peer = nobody
	}
	server, err := c.Strategy.NewServer(systems.ServerConfig{World: from.World, Peers: c.MaxPeers, Observer: c.Observer, Past: from.Past,
		Taken: r.finalTick, States: needState(c.Sinks), Decided: r.decision})
	if err != nil {
		return nil, err
	}
	r.half = systems.Full(server)
	r.resync = r.resyncPeer
	if c.Resume != nil {
		r.resume(&from)
	}
	return r, nil
}

// World returns the match's world, in the state of the last tick. It is only to be read.
func (r *Room) World() *ecs.World { return r.half.World() }

// Tick returns the last tick that is final.
func (r *Room) Tick() ecs.Tick { return r.half.Done() }

// NextTick returns when the next tick is due: an owner that sleeps between Frames sleeps until then.
func (r *Room) NextTick() systems.Time { return r.due(r.Tick() + 1) }

func (r *Room) due(f ecs.Tick) systems.Time {
	return systems.TickTime(r.epoch, f, r.config.Game.TickRate)
}

// Frame computes the ticks that are due and lets every session send what it has. It is called once per tick or more
// often, after the messages that arrived by now were given to Receive.
func (r *Room) Frame(now systems.Time) {
	ecs.SectionFrame.Enter(r.config.Observer)
	r.now = now
	if !r.closed {
		r.recover()
		r.vacate()
		if r.advance() {
			r.half.Desynced(r.resync)
			ecs.SectionEncode.Enter(r.config.Observer)
			r.half.Send(now, r.out())
			ecs.SectionEncode.Leave(r.config.Observer)
		}
		if !r.owed { // an image may be of a tick that is not written
			r.images.work(r.config.ImageWork)
		}
	}
	r.send(now)
	ecs.SectionFrame.Leave(r.config.Observer)
	if r.config.Observer != nil {
		r.config.Observer.Turn(r.Tick())
	}
}

// send lets every session send what it has.
func (r *Room) send(now systems.Time) {
	ecs.SectionSend.Enter(r.config.Observer)
	tick := r.Tick()
	for i := range r.peers {
		p := &r.peers[i]
		if p.session == nil {
			continue
		}
		r.open(systems.Peer(i))
		p.session.Frame(now, tick)
		r.check(systems.Peer(i))
	}
	ecs.SectionSend.Leave(r.config.Observer)
}

// advance computes the ticks that are due and reports whether the half is to send: there are new ticks, or it waits for
// somebody who may lack what was sent before.
func (r *Room) advance() bool {
	switch {
	case r.recovery != nil:
		return false
	case r.owed: // nothing more is computed before what was is durable
		return r.commit()
	}
	ticks, held := r.tick()
	return ticks == 0 && held || ticks > 0 && r.commit()
}

// tick computes the ticks that are due. held says that the next one has to wait.
func (r *Room) tick() (ticks int, held bool) {
	for f := r.Tick() + 1; ; f++ {
		due := r.due(f)
		if due > r.now {
			return ticks, false
		}
		if r.half.Hold(r.now) {
			r.postpone(1)
			return ticks, true
		}
		if ticks == r.config.MaxTicks {
			r.stats.Deferred++
			return ticks, false
		}
		late, length := r.now-due, systems.Second/systems.Time(r.config.Game.TickRate)
		r.stats.MostLate = max(r.stats.MostLate, late)
		r.stats.Lateness[min(int(8*late/length), len(r.stats.Lateness)-1)]++
		if late > length {
			r.stats.Late++
		}
		r.half.Tick(due)
		ticks++
	}
}

// outbox is the room as its strategy's half sees it.
type outbox Room

// Send carries a message to a peer that the half serves.
func (o *outbox) Send(to systems.Peer, ch systems.Channel, message []byte) {
	if p := &o.peers[to]; p.open {
		r := (*Room)(o)
		ecs.SectionSend.Enter(r.config.Observer)
		p.session.SendStrategy(ch, message)
		ecs.SectionSend.Leave(r.config.Observer)
	}
}

func (r *Room) out() systems.Outbox { return (*outbox)(r) }

// Stats returns what the room counted.
func (r *Room) Stats() Stats {
	s := r.stats
	s.Tick, s.RingBytes = r.Tick(), r.World().PageBytes()
	for i := range r.peers {
		if r.peers[i].live() {
			s.Peers++
		}
	}
	for i := range r.seats {
		if r.seats[i].held {
			s.Players++
		}
	}
	return s
}

// PeerInfo is one line of a live table of peers.
type PeerInfo struct {
	Peer     systems.Peer
	Identity Identity
	Seat     int    // −1: none
	State    string // "greeting", "loading", "playing", "watching" or "leaving"
	RTT      systems.Time
	Session  session.Stats
	Strategy systems.PeerStats
}

// AppendPeers appends a line per connection and returns the extended slice.
func (r *Room) AppendPeers(dst []PeerInfo) []PeerInfo {
	for i := range r.peers {
		p := &r.peers[i]
		if p.session == nil {
			continue
		}
		info := PeerInfo{Peer: systems.Peer(i), Identity: p.identity, Seat: p.seat, State: "greeting", Session: p.session.Stats()}
		info.RTT = info.Session.RTT
		switch {
		case p.session.Err() != nil:
			info.State = "leaving"
		case p.open && p.seat >= 0:
			info.State = "playing"
		case p.open:
			info.State = "watching"
		case p.session.Loading():
			info.State = "loading"
		}
		if p.open {
			info.Strategy = r.half.PeerStats(systems.Peer(i))
		}
		dst = append(dst, info)
	}
	return dst
}

// Notice tells every player something: seconds until the server stops, or 0, and a sentence.
func (r *Room) Notice(seconds int, text string) {
	for i := range r.peers {
		if p := &r.peers[i]; p.live() {
			p.session.Notice(seconds, text)
		}
	}
}

// Close ends the match: every peer is told, nobody enters any more, no tick is computed. Call Frame until Closed.
func (r *Room) Close(text string) {
	r.closed = true
	for i := range r.peers {
		if p := &r.peers[i]; p.live() {
			p.session.End(session.CodeShutdown, text)
			r.check(systems.Peer(i))
		}
	}
}

// Conclude has every match decided that has a result, with the votes that are there. Call it when the room is over: closed,
// or left by everybody. It is the last thing that is done with a room, and may take a while where the strategy has a match
// to play again; it calls Sink.Decision.
func (r *Room) Conclude() { r.half.Conclude() }

// Closed reports whether Close was called and every peer had time to hear of it.
func (r *Room) Closed() bool {
	if !r.closed {
		return false
	}
	for i := range r.peers {
		if p := &r.peers[i]; p.session != nil && !p.lingered(r.now) {
			return false
		}
	}
	return true
}
