package state

import (
	"iter"
	"math"
	"math/bits"

	"tendon/ecs"
	"tendon/ecs/image"
)

// Sender is the server's half for one client: what the client is known to hold, and what is on its way.
//
// Every thing that the client is to know, be it a resource or an entity, has an item, whose baseline is the newest tick
// of which an acknowledged body brought it. Only an item that differs from its baseline is sent, against its baseline;
// one that is on its way already as it is now, only when the acknowledgement is overdue.
type Sender struct {
	changes  *Changes
	first    ecs.Owner // entities of this owner go before all others
	items    []item    // the first are the specials
	free     []int32
	index    index
	sequence uint64 // of the last body
	opened   uint64 // the last body before Open
	refused  uint64 // the newest body that the client could not use
	known    uint64 // the newest body that was acknowledged; opened, if none was
	unsure   uint64 // up to this body, some may have been taken of which no acknowledgement has spoken
	sent     [sentBodies]sentBody
	last     ecs.Tick // of the last body
	stamp    uint32   // of the running Append
	rtt      float32  // ticks from a body to its acknowledgement, smoothed; 0: not known
	ratio    float32  // bits that entities took to bits that were expected, smoothed
	interval float32  // ticks between two bodies, smoothed; 0: not known
	room     float32  // bytes that a body has for entities, smoothed; 0: not known
	stats    SenderStats
}

// SenderStats counts what was sent since NewSender.
type SenderStats struct {
	Bodies    uint64
	Bytes     uint64
	Updates   uint64   // entities that were sent
	Whole     uint64   // of them, without a baseline
	Gone      uint64   // rows that were said to be gone
	Lost      uint64   // bodies that will never be acknowledged
	Oversized uint64   // times that something did not fit a body of its own
	Acked     ecs.Tick // newest tick that was acknowledged
	// Longest is the longest that an entity waited, in ticks from the last body before which it was not due; those that
	// still wait count. Late is how many of Updates had waited for more than a second: none, if the bodies have room.
	Late    uint64
	Longest ecs.Tick
}

// sentBodies is how many bodies a sender waits for; older ones count as lost. At 60 a second that is more than 4 s, more
// than a connection that is worth playing on takes.
const sentBodies = 256

// sentBody is a body whose acknowledgement counts, if it is open.
type sentBody struct {
	sequence uint64
	tick     ecs.Tick
	open     bool
	entries  []entry
}

// entry is an item in a body.
type entry struct {
	item   int32
	serial uint32 // of the item then; if it is another now, the entry means nothing
	sends  uint32 // of the item then, this one included
}

// item is one thing that the client is to know, or that it is to forget.
type item struct {
	row    uint32 // of an entity; or the number of a special
	entity ecs.Entity
	phase  phase
	known  bool // the client may hold something in the row
	based  bool // base counts
	base   ecs.Tick
	by     uint64   // the body that brought base, 0: the state that was loaded
	older  uint32   // bit i: the body i+1 before that brought the item, too, and was taken
	flight uint64   // the body that brings the item as it is now, 0: none is on its way
	sentAt ecs.Tick // of that body
	serial uint32   // grows when entries of before mean nothing any more
	sends  uint32   // updates that were sent
	atBase uint32   // sends when that of base was sent
	stamp  uint32   // the last Append for which it was wanted
	claim  float32  // grows by its priority until it is sent
	// waiting says that it was due in the last body and was not in it; waits is the tick of the last body before which it
	// was not due.
	waiting bool
	waits   ecs.Tick
}

// unbase forgets what the client is known to hold.
func (it *item) unbase() {
	it.based, it.by, it.older, it.flight = false, 0, 0, 0
}

// phase is what an item is for.
type phase uint8

const (
	unused    phase = iota
	isSpecial       // players and resources: always wanted
	wanted          // an entity that the client hears of
	leaving         // one that it is to forget
)

func (it *item) special() bool { return it.phase == isSpecial }

// NewSender returns the sender for one client. Call Open before Append.
func NewSender(c *Changes) *Sender { return &Sender{changes: c, ratio: 1} }

// Open begins anew with a client that has loaded the state s, which Changes must have observed; seat is the client's
// player, whose entities go first, −1 for none. An image may have taken long: what is now as it was then counts as held,
// however old the state is. If s is too old to build on, everything is sent whole.
func (s *Sender) Open(seat int, state *image.Snapshot) {
	if state.Empty() {
		panic("state: Open with an empty snapshot: pass the state whose image the client was sent")
	}
	s.first = math.MaxUint8
	if seat >= 0 {
		s.first = ecs.OwnedBy(ecs.Player(seat))
	}
	s.index.clear()
	s.items, s.free = s.items[:0], s.free[:0]
	s.opened, s.last = s.sequence, max(state.Tick(), s.changes.tick)
	s.interval, s.room = 0, 0
	s.known, s.unsure = s.opened, s.opened
	s.stats.Acked = state.Tick()
	for i := range s.sent {
		s.sent[i].open = false
	}
	based := s.changes.saw(state.Tick())
	for i := range s.changes.specials {
		held := based || s.changes.hadSpecial(state, i)
		s.items = append(s.items, item{row: uint32(i), phase: isSpecial, known: true, based: held, base: state.Tick()})
	}
	state.Entities(func(e ecs.Entity) bool {
		it, held := s.take(e), s.changes.had(state, e, based)
		it.known, it.based, it.base = true, held, state.Tick()
		return true
	})
}

// take returns a new item for an entity.
func (s *Sender) take(e ecs.Entity) *item {
	i := len(s.items)
	if n := len(s.free); n > 0 {
		i, s.free = int(s.free[n-1]), s.free[:n-1]
		s.items[i] = item{serial: s.items[i].serial + 1}
	} else {
		s.items = append(s.items, item{})
	}
	s.index.put(e.Row, i)
	it := &s.items[i]
	it.row, it.entity, it.phase = e.Row, e, wanted
	return it
}

// release gives an item back.
func (s *Sender) release(i int) {
	it := &s.items[i]
	s.index.put(it.row, -1)
	it.phase = unused
	it.serial++
	s.free = append(s.free, int32(i))
}

// Append appends a body of at most limit bytes that brings the client nearer to the state that was last observed, and
// returns the extended slice. interest yields the entities that the client is to hear of, each with a priority; what it
// knows of others, and of those of a negative one, it forgets.
//
// Where not all fits, players and resources go first, then the player's own entities, in up to half of what is left, then
// those with the highest claim: an entity's claim grows by its priority in every tick until it is sent, and by thrice
// that while it rests and the client does not have it so. But as long as bodies have room for one update a second of
// everything that changes, beside the player's own, every entity is sent within a second of the last body before which it
// was not due. Where they have not, half of each body goes to those that have waited longest; see SenderStats.Longest.
func (s *Sender) Append(dst []byte, limit int, interest iter.Seq2[ecs.Entity, float32]) []byte {
	if limit < minBody || len(s.items) == 0 || len(s.changes.observed) == 0 || s.changes.tick < s.last {
		panic("state: Append before Open, without a tick observed since, or with a limit below 64 bytes: observe, open, and give a body room")
	}
	w := &s.changes.writer
	w.begin(s)
	w.want(interest)
	w.leave()
	return w.write(dst, limit)
}

// minBody is the least limit of a body, in bytes.
const minBody = 64

// Stats returns what was counted.
func (s *Sender) Stats() SenderStats { return s.stats }

// need is what has to be done about an item.
type need uint8

const (
	isHeld  need = iota // the client holds it
	isOnWay             // it will
	isDue
)

// state returns what has to be done about an item that has had its values since a tick.
func (s *Sender) state(it *item, since ecs.Tick) need {
	switch {
	case it.based && it.base >= since:
		return isHeld
	case it.flight != 0 && it.sentAt >= since && s.changes.tick-it.sentAt < s.overdue():
		return isOnWay
	}
	return isDue
}

// overdue is how many ticks after its body an acknowledgement is overdue: 5/4 of what they have taken.
func (s *Sender) overdue() ecs.Tick {
	rtt := s.rtt
	if rtt == 0 {
		rtt = float32(s.changes.schema.game.TickRate) / 4
	}
	return ecs.Tick(rtt*1.25) + 2
}

// baseline returns the values that an item is coded against, nil if it has to be whole.
func (s *Sender) baseline(it *item, t *track) []uint64 {
	if !it.based || it.sends-it.atBase >= heldValues {
		return nil
	}
	values, ok := t.during(it.base)
	if !ok {
		return nil
	}
	return values
}

// certain reports whether the baseline of an item is what the client held last of it in the tick that was acknowledged
// last, for sure: then it needs not be named. It is not where acknowledgements were lost for so long that the client may
// have taken a body without a word of it, or may not remember the tick.
func (s *Sender) certain(it *item) bool {
	return s.sequence-s.known < heldStates && it.based && (it.by > s.unsure || it.by == 0 && s.unsure == s.opened)
}

// span returns how many ticks before its baseline the course of an item begins, at least: half as many as it goes on after
// one that is as new as can be, so that it is both of late and exact.
func (s *Sender) span() ecs.Tick { return max(1, (s.changes.tick-s.stats.Acked)/2) }

// second returns where the course of an item begins: the last tick of which the client was sent it and holds it, for sure,
// that is early enough.
func (s *Sender) second(it *item) (f ecs.Tick, ok bool) {
	span := s.span()
	for m := it.older; m != 0; m &= m - 1 {
		sequence := it.by - 1 - uint64(bits.TrailingZeros32(m))
		if s.sequence-sequence >= heldValues || sequence <= s.unsure {
			break
		}
		if f = s.sent[sequence%sentBodies].tick; f+span <= it.base {
			return f, true
		}
	}
	return 0, false
}

// course returns the values that follow for now from two that the client holds, nil if there are none.
func (s *Sender) course(it *item, t *track, base []uint64) []uint64 {
	second, ok := s.second(it)
	if !ok {
		return nil
	}
	from, ok := t.during(second)
	if !ok {
		return nil
	}
	w := &s.changes.writer
	w.course, w.paces = s.changes.schema.courseOf(w.course[:0], w.paces[:0], t.set, from, base, second, it.base, s.changes.tick)
	return w.course
}
