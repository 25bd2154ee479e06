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
	// ChainAt returns the chain at an earlier tick, if the journal has it: journal.Journal.Chain. Who holds the state of a
	// tick whose chain is not known gets an image. nil: none is known.
	ChainAt func(ecs.Tick) (journal.Chain, bool)
	// Past yields ticks up to World's, for peers that hold an older state: see systems.ServerConfig. nil: none.
	Past iter.Seq[systems.FinalTick]
	// Seats are the seats that were held, index = seat; missing ones are free.
	Seats []Seat
	// Wait is how long the match waits for its players before it goes on, so that they can hand in ticks that the
	// journal lost, in nanoseconds; 0: 15 s. It goes on earlier when all are back and nothing was lost.
	Wait systems.Time
}

// ResumeOf returns the match of a journal and of the world that it leads to, which the room owns from then on.
func ResumeOf(j *journal.Journal, world *ecs.World) *Resume {
	r := &Resume{World: world, Chain: j.Last().Chain, ChainAt: j.Chain}
	r.Past = func(yield func(systems.FinalTick) bool) {
		for t := range j.Ticks(j.Start() + 1) {
			if !yield(systems.FinalTick{Tick: t.Tick, Inputs: t.Inputs, Orders: t.Orders}) {
				return
			}
		}
	}
	for _, s := range j.Seats() {
		for len(r.Seats) <= int(s.Player) {
			r.Seats = append(r.Seats, Seat{})
		}
		r.Seats[s.Player] = Seat{Held: s.Held, Client: s.Client, Name: s.Name}
	}
	return r
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
	// maxLost bounds the ticks that are taken over: clients keep no more.
	maxLost = 1024
)

// recovery is the time between a restart and the match going on: clients come back and hand in the ticks that are
// final to them and that the journal lost. No tick is computed and no order is stamped before it is over. It is over
// early if everybody is back and nobody has more than the journal; if one has, another may have more still.
type recovery struct {
	until   systems.Time
	waiting []returning
	longest tail // of those that were handed in by who is gone again
	adopted bool // the longest of all was taken over; it has yet to be written
}

// returning is a client who has said Hello and waits for the answer.
type returning struct {
	peer  systems.Peer
	hello session.Hello
	asked bool
	tail  tail
}

// tail is what a client handed in of the ticks behind the journal's last one, up to at.
type tail struct {
	offers []*journal.Offer
	at     journal.Position
}

func (t *tail) longer(than *tail) bool {
	return len(t.offers) > 0 && (len(than.offers) == 0 || t.at.Tick > than.at.Tick)
}

// resume takes over the seats and begins the recovery.
func (r *Room) resume(c *Resume) {
	joined := c.World.Players()
	for i := range r.seats {
		s := &r.seats[i]
		if s.joined = joined.Has(ecs.Player(i)); i < len(c.Seats) && c.Seats[i].Held {
			s.held, s.client, s.name, s.vanished = true, c.Seats[i].Client, c.Seats[i].Name, r.now+resumeGrace
		}
	}
	wait := c.Wait
	if wait == 0 {
		wait = recoveryWait
	}
	r.resumed, r.recovery = r.Tick(), &recovery{until: r.now + wait}
}

// await keeps a Hello until the recovery is over, and asks for what the server lacks.
func (r *Room) await(id systems.Peer, h *session.Hello) {
	w := returning{peer: id, hello: *h}
	if h.Match == r.config.Match && h.Match != 0 && h.Final > r.Tick() {
		w.asked, w.tail.at = true, r.ledger.at
		r.peers[id].session.AskTail(w.tail.at.Tick + 1)
	}
	r.recovery.waiting = append(r.recovery.waiting, w)
}

// forget takes out a client who is gone again: its number may become another's. What it handed in stays good.
func (v *recovery) forget(id systems.Peer) {
	v.waiting = slices.DeleteFunc(v.waiting, func(w returning) bool {
		if w.peer == id && w.tail.longer(&v.longest) {
			v.longest = w.tail
		}
		return w.peer == id
	})
}

// tail takes ticks from a client. Ticks that do not go on where the journal ends are worth nothing.
func (r *Room) tail(id systems.Peer, body []byte) {
	if r.recovery == nil || r.recovery.adopted {
		return
	}
	for i := range r.recovery.waiting {
		w := &r.recovery.waiting[i]
		if w.peer != id || !w.asked {
			continue
		}
		w.asked = false
		if len(body) == 0 {
			return // it has no more
		}
		offer, err := r.ledger.codec.ReadTail(slices.Clone(body), w.tail.at)
		if err != nil || offer.Last().Tick > r.Tick()+maxLost {
			r.stats.TailsRefused++ // what it handed in before stays good
			return
		}
		w.tail.offers, w.tail.at = append(w.tail.offers, offer), offer.Last()
		if w.asked = w.tail.at.Tick < w.hello.Final && len(w.tail.offers) < maxOffers; w.asked {
			r.peers[id].session.AskTail(w.tail.at.Tick + 1)
		}
		return
	}
}

// recover ends the recovery when it is time: the longest tail is adopted and written, and who waits is answered.
func (r *Room) recover() {
	v := r.recovery
	if v == nil || !v.adopted && !r.recovered() {
		return
	}
	if !v.adopted {
		v.adopted = true
		r.adopt()
	}
	if r.owed && !r.commit() {
		return
	}
	r.recovery = nil
	r.postpone(0)
	for i := range r.seats { // who left, and the tick in which it leaves was lost
		if s := &r.seats[i]; s.joined && !s.held {
			r.free(i)
		}
	}
	for i := range v.waiting {
		w := &v.waiting[i]
		if r.check(w.peer); r.peers[w.peer].live() {
			r.welcome(w.peer, &w.hello)
		}
	}
}

// adopt takes over the longest tail.
func (r *Room) adopt() {
	longest := &r.recovery.longest
	for i := range r.recovery.waiting {
		if t := &r.recovery.waiting[i].tail; t.longer(longest) {
			longest = t
		}
	}
	for _, o := range longest.offers {
		for t := range o.Ticks() {
			if r.half.Adopt(systems.FinalTick{Tick: t.Tick, Inputs: t.Inputs, Orders: t.Orders}) != nil {
				r.stats.TailsRefused++
				return // it is made up from here on
			}
			r.owed = true
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
}

// recovered reports whether nobody is worth waiting for any more.
func (r *Room) recovered() bool {
	v := r.recovery
	if r.now >= v.until {
		return true
	}
	for i := range v.waiting {
		if w := &v.waiting[i]; w.asked || len(w.tail.offers) > 0 {
			return false
		}
	}
	for i := range r.seats {
		if s := &r.seats[i]; s.held && s.peer == nobody && !s.left {
			return false
		}
	}
	return len(v.waiting) > 0 && len(v.longest.offers) == 0
}

// postpone moves the grid by whole ticks, if the next tick is due already, so that it is due in the tick's length that
// ends now, or so many ticks later: what was waited for is not made up for. Whoever calls Frame on a grid of its own
// stays in step with the room's.
func (r *Room) postpone(ticks systems.Time) {
	length := systems.Second / systems.Time(r.config.Game.TickRate)
	if due := r.NextTick(); r.now >= due {
		r.epoch += ((r.now-due)/length + ticks) * length
	}
}

// holds reports whether a client holds a state of this match: what it has may be of ticks that a restart lost, this one
// or an earlier one. Without a restart all ticks of the match are this room's.
func (r *Room) holds(h *session.Hello) bool {
	if h.Have == 0 || r.config.Match == 0 || h.Match != r.config.Match || h.Have > r.Tick() {
		return false
	}
	chain, known := r.ledger.chain(h.Have)
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

// commit makes the ticks that were computed durable and reports whether peers may hear of them.
func (r *Room) commit() bool {
	if r.commitSinks() != nil {
		if r.stats.Unwritten++; !r.owed {
			r.owed = true
			r.Notice(0, "the match waits: the server cannot write its journal")
		}
		return false
	}
	if r.owed {
		r.owed = false
		r.postpone(1)
	}
	return true
}
