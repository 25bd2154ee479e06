package room

import (
	"iter"
	"slices"

	"tendon/ecs"
	"tendon/net/session"
	"tendon/rollback/journal"
	"tendon/systems"
)

// Resume is a match that was begun by another process, as its journal left it.
type Resume struct {
	// World is the match in the state of the last tick that the journal holds. Required; the room owns it.
	World *ecs.World
	// Chain is that of the journal at World's tick.
	Chain journal.Chain
	// Past yields ticks up to World's, for peers that hold an older state: see systems.ServerConfig. nil: none.
	Past iter.Seq[systems.FinalTick]
	// Seats are the seats that were held, index = seat; missing ones are free.
	Seats []Seat
	// Wait is how long the match waits for its players before it goes on, so that they can hand in ticks that the
	// journal lost, in nanoseconds; 0: 15 s. It goes on earlier when all are back.
	Wait systems.Time
}

// Seat is who holds a seat.
type Seat struct {
	Held   bool
	Client uint64 // Identity.ClientID
	Name   string
}

const (
	// recoveryWait is the default of Resume.Wait: what a client takes to notice that a server is gone and to come back.
	recoveryWait = 15 * systems.Second
	// resumeGrace is how much longer than usual a seat is kept for a player who has to come back after a restart.
	resumeGrace = 30 * systems.Second
	// maxOffers bounds what is taken from one client: so many offers of at most journal.MaxTailBytes.
	maxOffers = 16
)

// recovery is the time between a restart and the match going on: clients come back and hand in the ticks that are
// final to them and that the journal lost. No tick is computed before it is over.
type recovery struct {
	until   systems.Time
	waiting []returning
}

// returning is a client who has said Hello and waits for the answer. offers are what it handed in of the ticks behind
// the journal's last one, up to at.
type returning struct {
	peer   systems.Peer
	hello  session.Hello
	asked  bool
	offers []*journal.Offer
	at     journal.Position
}

// resume takes over the seats and begins the recovery.
func (r *Room) resume(c *Resume) {
	joined := r.half.World().Players()
	anybody := false
	for i := range min(len(c.Seats), len(r.seats)) {
		if s := c.Seats[i]; s.Held {
			r.seats[i] = seat{held: true, peer: nobody, client: s.Client, name: s.Name, joined: joined.Has(ecs.Player(i)), vanished: r.now + resumeGrace}
			anybody = true
		}
	}
	wait := c.Wait
	if wait == 0 {
		wait = recoveryWait
	}
	if anybody {
		r.recovery = &recovery{until: r.now + wait}
	}
}

// await keeps a Hello until the recovery is over, and asks for what the server lacks.
func (r *Room) await(id systems.Peer, h *session.Hello) {
	w := returning{peer: id, hello: *h}
	if h.Match == r.config.Match && h.Match != 0 && h.Final > r.Tick() {
		w.asked, w.at = true, r.ledger.at
		r.peers[id].session.AskTail(w.at.Tick + 1)
	}
	r.recovery.waiting = append(r.recovery.waiting, w)
}

// tail takes ticks from a client. Ticks that do not go on where the journal ends are worth nothing.
func (r *Room) tail(id systems.Peer, body []byte) {
	if r.recovery == nil {
		return
	}
	for i := range r.recovery.waiting {
		w := &r.recovery.waiting[i]
		if w.peer != id || !w.asked {
			continue
		}
		offer, err := r.ledger.codec.ReadTail(slices.Clone(body), w.at)
		if err != nil {
			w.asked = false // what it handed in before stays good
			r.stats.TailsRefused++
			return
		}
		w.offers, w.at = append(w.offers, offer), offer.Last()
		if w.asked = w.at.Tick < w.hello.Final && len(w.offers) < maxOffers; w.asked {
			r.peers[id].session.AskTail(w.at.Tick + 1)
		}
		return
	}
}

// recover ends the recovery when it is time: the longest tail is adopted, and who waits is answered.
func (r *Room) recover() {
	if r.recovery == nil || !r.recovered() {
		return
	}
	var longest *returning
	for i := range r.recovery.waiting {
		if w := &r.recovery.waiting[i]; len(w.offers) > 0 && (longest == nil || w.at.Tick > longest.at.Tick) {
			longest = w
		}
	}
	if longest != nil {
		r.adopt(longest.offers)
	}
	waiting := r.recovery.waiting
	r.recovery, r.resumed = nil, r.Tick()
	r.startAgain()
	for i := range waiting {
		if p := &r.peers[waiting[i].peer]; p.live() {
			r.welcome(waiting[i].peer, &waiting[i].hello)
		}
	}
}

// adopt takes over the ticks that a client handed in.
func (r *Room) adopt(offers []*journal.Offer) {
	for _, o := range offers {
		for t := range o.Ticks() {
			r.half.Adopt(systems.FinalTick{Tick: t.Tick, Inputs: t.Inputs, Orders: t.Orders})
			r.stats.Adopted++
			for _, order := range t.Orders {
				switch order.Kind {
				case ecs.OrderJoin:
					r.seats[order.Player].joined = true
				case ecs.OrderLeave:
					r.seats[order.Player].joined = false
				}
			}
		}
	}
	r.owed = true
}

// recovered reports whether nobody is worth waiting for any more.
func (r *Room) recovered() bool {
	if r.now >= r.recovery.until {
		return true
	}
	for i := range r.recovery.waiting {
		if w := &r.recovery.waiting[i]; w.asked && r.peers[w.peer].live() {
			return false
		}
	}
	for i := range r.seats {
		if s := &r.seats[i]; s.held && s.peer == nobody {
			return false
		}
	}
	return true
}

// startAgain moves the grid so that the next tick is due now: what was waited for is not made up for.
func (r *Room) startAgain() {
	if due := r.NextTick(); r.now > due {
		r.epoch += r.now - due
	}
}

// holds reports whether a client holds a state of this match: what it has may be of ticks that a restart lost.
func (r *Room) holds(h *session.Hello) bool {
	if h.Have == 0 || r.config.Match == 0 || h.Match != r.config.Match || h.Have > r.Tick() {
		return false
	}
	chain, known := r.ledger.chain(h.Have)
	if known {
		return uint64(chain) == h.Chain
	}
	return r.config.Resume == nil || h.Have <= r.resumed
}

// commit makes the ticks that were computed durable and reports whether peers may hear of them.
func (r *Room) commit() bool {
	if r.config.Commit == nil {
		r.owed = false
		return true
	}
	if r.config.Commit() != nil {
		if r.stats.Unwritten++; !r.owed {
			r.owed = true
			r.Notice(0, "the match waits: the server cannot write its journal")
		}
		return false
	}
	if r.owed {
		r.owed = false
		r.startAgain()
	}
	return true
}
