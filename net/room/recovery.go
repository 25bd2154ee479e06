package room

import (
	"cmp"
	"iter"
	"slices"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/session"
	"tendon/rollback/record"
	"tendon/systems"
)

// Resume is a match that was begun by another process, read from its record.
type Resume struct {
	World *ecs.World   // the match in the state of the last tick in the record. Required; the room owns it
	Chain record.Chain // the hash chain of the journal at the tick of World
	// ChainAt returns the hash chain at an earlier tick, if the journal has it. Otherwise a client with the state of that
	// tick loads an image. Optional.
	ChainAt func(ecs.Tick) (record.Chain, bool)
	// Past yields ticks up to that of World, for peers that hold an older state. Optional.
	Past iter.Seq[systems.FinalTick]
	// Digest returns the digest of all ticks up to that of World. If it is nil or the digest is not known, clients cannot return lost
	// ticks.
	Digest func() (d record.Digest, known bool)
	Seats  []record.Seat // the seats that were held. The others are free
	// Strategy is the name of the strategy with which the match continues; "": Config.Strategy. It began after tick Since,
	// 0 if the match never had another.
	Strategy string
	Since    ecs.Tick
	// OtherBuild is set if another build began the match. A peer whose checksums differ may then be of that build, and is not
	// banned.
	OtherBuild bool
	// Rules is the payload of an order of kind image.OrderRules, which is stamped into one of the next two ticks: this build
	// computes the match by other rules. Optional.
	Rules []byte
	// Wait is how long the match waits at most; 0: ResumeWait. It continues earlier when the players of all seats are back and
	// have sent their ticks. The seats are those that were held, and those that were taken in the lost ticks.
	// Clients that wait receive a notice if Wait is at least a second.
	Wait systems.Time
}

// ResumeOf returns the match of a journal with the world at its end, which the room owns afterwards.
func ResumeOf(j *record.Record, world *ecs.World) *Resume {
	r := &Resume{World: world, Chain: j.Last().Chain, ChainAt: j.Chain, Digest: j.Digest, Seats: j.Seats()}
	r.Strategy, r.Since = j.StrategyAt(world.Tick())
	r.Past = func(yield func(systems.FinalTick) bool) {
		for t := range j.Ticks(j.Start()+1, world.Tick()) {
			if !yield(systems.FinalTick{FinalTick: *t}) {
				return
			}
		}
	}
	return r
}

// past returns the ticks of Past that the present strategy made, and the two before them. Those of another strategy may hold
// orders that its clients do not accept.
func (c *Resume) past() iter.Seq[systems.FinalTick] {
	if c.Past == nil || c.Since == 0 {
		return c.Past
	}
	return func(yield func(systems.FinalTick) bool) {
		for t := range c.Past {
			if t.Tick+1 >= c.Since && !yield(t) {
				return
			}
		}
	}
}

// ResumeWait is the default of Resume.Wait: clients time out and reconnect.
const ResumeWait = 15 * systems.Second

const (
	resumeGrace = 30 * systems.Second // how much longer than KeepSeat a seat is kept for a player after a restart
	maxOffers   = 16                  // accepted from one client, of at most record.MaxTailBytes each
	maxLost     = 1024                // ticks that are adopted; clients keep no more
)

// recovery is the state of a room between a restart and the tick at which the match goes on. Meanwhile no tick is computed
// and no order is stamped.
type recovery struct {
	until   systems.Time
	waiting []returning
	longest tail // of the clients that have left again
	adopted bool // the longest tail of all was executed; it may be uncommitted
}

type returning struct {
	peer  systems.Peer
	hello session.Hello
	asked bool
	tail  tail
}

// tail is the run of ticks after the end of the journal that a client has sent and the server's own proofs prove, up to end.
type tail struct {
	offers []*record.Offer
	joined image.PlayerSet // the players who joined in these ticks and did not leave in them
	end    record.Position
	prover *record.Prover // at end
}

func (t *tail) longer(than *tail) bool {
	return len(t.offers) > 0 && (len(than.offers) == 0 || t.end.Tick > than.end.Tick)
}

func (t *tail) add(o *record.Offer) {
	t.offers, t.end = append(t.offers, o), o.Last()
	for tick := range o.Ticks() {
		for _, order := range tick.Orders {
			switch order.Kind {
			case image.OrderJoin:
				t.joined = t.joined.With(order.Player)
			case image.OrderLeave:
				t.joined = t.joined.Without(order.Player)
			}
		}
	}
}

// best returns the longest tail of all clients. It has no offers if no client has sent any.
func (v *recovery) best() *tail {
	best := &v.longest
	for i := range v.waiting {
		if t := &v.waiting[i].tail; t.longer(best) {
			best = t
		}
	}
	return best
}

func (r *Room) resume(c *Resume) {
	joined := c.World.Players()
	for i := range r.seats {
		r.seats[i].joined = joined.Has(ecs.Player(i))
	}
	for _, s := range c.Seats {
		if s.Held && int(s.Player) < len(r.seats) {
			r.seats[s.Player].Seat, r.seats[s.Player].lost = s, r.now+resumeGrace
		}
	}
	if c.Past != nil {
		for t := range c.Past {
			r.pauseOrders(t.Orders, true)
		}
	}
	r.resumed, r.recovery = r.Tick(), &recovery{until: r.now + cmp.Or(c.Wait, ResumeWait)}
}

// await keeps a Hello until the recovery is over. It requests from the client the final ticks that the journal lost.
func (r *Room) await(id systems.Peer, h *session.Hello) {
	w := returning{peer: id, hello: *h}
	if c := r.chains; c.prover != nil && h.Match == r.config.Match && h.Match != 0 && h.Final > r.Tick() {
		w.asked, w.tail.end, w.tail.prover = true, c.last, c.prover.Clone()
		r.peers[id].session.AskTail(w.tail.end.Tick + 1)
	}
	r.recovery.waiting = append(r.recovery.waiting, w)
	if c := r.config.Resume; r.absent() && cmp.Or(c.Wait, ResumeWait) >= noticedWait {
		r.peers[id].session.Notice(0, waitsForPlayers)
	}
}

// noticedWait is the shortest Resume.Wait with a notice to waiting clients. A match that another server released waits for less.
const noticedWait = systems.Second

const waitsForPlayers = "the server restarted and waits for the other players of the match"

// forget removes a client that has left again, and keeps its tail if that is the longest.
func (v *recovery) forget(id systems.Peer) {
	v.waiting = slices.DeleteFunc(v.waiting, func(w returning) bool {
		if w.peer == id && w.tail.longer(&v.longest) {
			v.longest = w.tail
		}
		return w.peer == id
	})
}

// tail receives ticks from a client. Ticks that no proof proves are refused.
func (r *Room) tail(id systems.Peer, body []byte) {
	if r.recovery == nil || r.recovery.adopted {
		return
	}
	i := slices.IndexFunc(r.recovery.waiting, func(w returning) bool { return w.peer == id && w.asked })
	if i < 0 {
		return
	}
	w := &r.recovery.waiting[i]
	w.asked = false
	if len(body) == 0 {
		return // it has no more ticks
	}
	offer, err := r.chains.codec.ReadTail(slices.Clone(body), w.tail.end, w.tail.prover)
	if err != nil || offer.Last().Tick > r.Tick()+maxLost {
		r.stats.TailsRefused++ // its earlier offers remain valid
		return
	}
	w.tail.add(offer)
	if w.asked = w.tail.end.Tick < w.hello.Final && len(w.tail.offers) < maxOffers; w.asked {
		r.peers[id].session.AskTail(w.tail.end.Tick + 1)
	}
}

// recover ends the recovery if recovered returns true. It executes and commits the longest tail, and then welcomes the waiting clients. It
// reports whether the recovery has ended.
func (r *Room) recover() bool {
	v := r.recovery
	if v == nil || !v.adopted && !r.recovered() {
		return false
	}
	if !v.adopted {
		v.adopted = true
		r.adopt()
	}
	if r.commits.fresh && !r.commit() || r.commits.pending {
		return false
	}
	r.recovery = nil
	if rules := r.config.Resume.Rules; rules != nil {
		r.strategy.Stamp(image.Order{Kind: image.OrderRules, Payload: rules}, r.out())
	}
	r.resumes()
	r.realign(0)
	for i := range r.seats { // the player left, and the tick of its OrderLeave was lost
		if s := &r.seats[i]; s.joined && !s.Held {
			r.free(i)
		}
	}
	for i := range v.waiting {
		w := &v.waiting[i]
		if r.check(w.peer); r.peers[w.peer].live() {
			r.welcome(w.peer, &w.hello)
		}
	}
	return true
}

func (r *Room) adopt() {
	for _, o := range r.recovery.best().offers {
		for t := range o.Ticks() {
			if r.strategy.Adopt(systems.FinalTick{FinalTick: *t}) != nil {
				r.stats.TailsRefused++
				return // the strategy cannot have computed this tick
			}
			r.commits.fresh = true
			r.stats.Adopted++
			for _, order := range t.Orders {
				if order.Kind == image.OrderJoin || order.Kind == image.OrderLeave {
					r.seats[order.Player].joined = order.Kind == image.OrderJoin
				}
			}
			r.swap()
		}
	}
}

// recovered reports whether the recovery is over. A client that sends fewer ticks than it has does not shorten the wait for the
// holders of the other seats.
func (r *Room) recovered() bool {
	v := r.recovery
	if r.now >= v.until {
		return true
	}
	if len(v.waiting) == 0 || slices.ContainsFunc(v.waiting, func(w returning) bool { return w.asked }) {
		return false
	}
	return !r.absent()
}

// absent reports whether a player of the match is not back. That includes the players who joined in the lost ticks.
func (r *Room) absent() bool {
	joined := r.recovery.best().joined
	return slices.ContainsFunc(r.seats, func(s seat) bool {
		return s.Held && s.peer == none && !s.left || !s.Held && joined.Has(s.Player)
	})
}

// continues reports whether the state that a client holds is of this match. It may be of ticks that were lost in a
// restart; then its hash chain differs. In a game with private data, clients always load an image: their state may be that
// of another seat. They have no hash chain, because it would reveal inputs of other players.
func (r *Room) continues(h *session.Hello) bool {
	if r.private || h.Have == 0 || r.config.Match == 0 || h.Match != r.config.Match || h.Have > r.Tick() {
		return false
	}
	chain, known := r.chains.at(h.Have)
	if resume := r.config.Resume; !known && resume != nil {
		if h.Have > r.resumed || resume.ChainAt == nil {
			return false
		}
		if chain, known = resume.ChainAt(h.Have); !known {
			return false
		}
	}
	return !known || uint64(chain) == h.Chain
}
