package state

import (
	"iter"
	"math"
	"math/bits"

	"tendon/ecs"
	"tendon/ecs/image"
)

// Sender is the server's half for one client: the acknowledged values and the bodies in flight.
//
// Every resource and every relevant entity has an item. Its baseline is the newest tick whose acknowledged body brought it.
// Only an item that differs from its baseline is sent, against its baseline. An item whose value is in flight is sent again
// only when the acknowledgement is overdue.
type Sender struct {
	changes  *Changes
	first    image.Owner // entities of this owner go before all others
	items    []item      // the first are the specials
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
	// waiting is true if the item was due in the last body and was not in it. waits is the tick of the last body before it was
	// due.
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
	wanted          // a relevant entity
	leaving         // one that it is to forget
)

func (it *item) special() bool { return it.phase == isSpecial }

// NewSender returns the sender for one client. Call Open before Append.
func NewSender(c *Changes) *Sender { return &Sender{changes: c, ratio: 1} }

// Open starts again with a client that has loaded the state s, which Changes must have observed. seat is the client's player,
// whose entities go first, −1 for none. Values that have not changed since s count as held, for any age of s. If s is too
// old for a baseline, everything is sent whole.
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

// Append appends a body of at most limit bytes with updates to the last observed state, and returns the extended slice.
// interest yields the relevant entities, each with a priority. The client drops entities that are not yielded, and those
// with a negative priority.
//
// If not all fits, players and resources go first. The player's own entities follow, in up to half of the remaining room, and
// then those with the highest claim. An entity's claim grows by its priority in every tick until it is sent. It grows by
// three times that while the entity rests and the client lacks its last state.
//
// While bodies have room for one update a second of everything that changes, every entity is sent within a second after it
// became due. Otherwise half of each body is for those that have waited longest; see SenderStats.Longest.
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

// overdue returns after how many ticks the acknowledgement of a body is overdue: 5/4 of the usual delay.
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

// certain reports whether the baseline of an item is the client's last value in the last acknowledged tick. Then the body
// need not name it. It is false after a long loss of acknowledgements: the client may have accepted a body unacknowledged,
// or may have dropped the tick.
func (s *Sender) certain(it *item) bool {
	return s.sequence-s.known < heldStates && it.based && (it.by > s.unsure || it.by == 0 && s.unsure == s.opened)
}

// span returns the least number of ticks between the start of an item's course and its baseline. It is half the age of the
// newest possible baseline, so that the course is both recent and exact.
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
