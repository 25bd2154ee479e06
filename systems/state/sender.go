package state

import (
	"iter"
	"math"
	"math/bits"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback"
	"tendon/systems/internal/table"
)

// Sender is the server's half for one client. It stores what the client is known to have and what is in flight to it.
//
// Each global, and each entity that is relevant to the client, has an item. The baseline of an item is the newest tick
// whose acknowledged delta contained it. An item is sent if it differs from its baseline, as a difference from it. While
// its present values are in flight, it is sent again only when their acknowledgement is overdue.
type Sender struct {
	changes  *Changes
	first    image.Owner              // entities of this owner are sent before all others
	items    table.Table[item]        // the first slots are those of globals
	sequence uint64                   // of the last delta
	opened   uint64                   // the last delta before Open
	refused  uint64                   // the newest delta that the client refused
	known    uint64                   // the newest delta that was acknowledged; opened, if none was
	unsure   uint64                   // up to this delta, the client may have accepted some whose acknowledgements were lost
	sent     rollback.Ring[sentDelta] // by sequence
	// checkpoints are the last ones that were sent. learned is the number of the newest acknowledged one, 0 for none.
	checkpoints checkpoints
	learned     uint64
	last        ecs.Tick // of the last delta
	stamp       uint32   // of the running Append
	rtt         float32  // ticks from a delta to its acknowledgement, smoothed; 0: unknown
	ratio       float32  // bits that entities took / bits that were expected, smoothed
	interval    float32  // ticks between two deltas, smoothed; 0: unknown
	room        float32  // bytes of a delta for entities, smoothed; 0: unknown
	stats       SenderStats
}

// SenderStats counts events since NewSender.
type SenderStats struct {
	Updates   uint64   // entities that were sent
	Oversized uint64   // times that an item did not fit into a delta of its own
	Acked     ecs.Tick // newest acknowledged tick
	// Longest is the longest wait of an entity, in ticks since the last delta before which it was not due. Entities that
	// still wait count. Late is the number of Updates after a wait of more than a second: 0 if the deltas have room.
	Late    uint64
	Longest ecs.Tick
}

// sentDeltas is the number of deltas whose acknowledgements a sender awaits; older ones count as lost. At 60 per second
// that is more than 4 s.
const sentDeltas = 256

// sentDelta is a delta that was sent. It is open while its acknowledgement is awaited.
type sentDelta struct {
	sequence uint64
	tick     ecs.Tick
	open     bool
	arrived  bool
	entries  []entry
}

type entry struct {
	item   int32  // its slot
	serial uint32 // of the item when it was sent; if it has another now, the entry is void
	sends  uint32 // of the item then, with this one
}

// item is a global or an entity that the client has or is to receive, or an entity that it is to remove.
type item struct {
	row     uint32 // of an entity; the number of a global
	history int32  // of an entity: its slot in Changes.entities when it was last relevant
	entity  ecs.Entity
	phase   phase
	known   bool // the client may have an entity in the row
	based   bool // base is set
	base    ecs.Tick
	by      uint64   // the delta that contained base, 0: the state that was loaded
	older   uint32   // bit i: the delta with the number by − 1 − i contained the item, too, and was accepted
	flight  uint64   // the delta that contains the present values, 0: none is in flight
	sentAt  ecs.Tick // of that delta
	serial  uint32   // grows when earlier entries become void
	sends   uint32   // updates that were sent
	atBase  uint32   // sends when the values of base were sent
	stamp   uint32   // the last Append in which it was relevant
	urgency float32  // grows by its priority until it is sent
	// waiting says that it was due in the last delta and not in it; waits is the tick of the last delta before which it was
	// not due.
	waiting bool
	waits   ecs.Tick
}

func (it *item) unbase() {
	it.based, it.by, it.older, it.flight = false, 0, 0, 0
}

// phase is the purpose of an item.
type phase uint8

const (
	unused   phase = iota
	isGlobal       // players and resources: always relevant
	wanted         // a relevant entity
	leaving        // an entity that the client is to remove
)

// NewSender returns the sender for one client. Call Open before Append.
func NewSender(c *Changes) *Sender {
	return &Sender{changes: c, ratio: 1, sent: rollback.NewRing[sentDelta](sentDeltas)}
}

// Open starts anew with a client that has loaded state, which Changes must have observed. seat is the client's player,
// whose entities are sent first, −1 for none. Loading may take long: values that Changes has stored of the state's tick count
// as acknowledged, and others are sent whole. Open panics on an empty snapshot.
func (s *Sender) Open(seat int, state *image.Snapshot) {
	if state.Empty() {
		panic("state: Open with an empty snapshot: pass the state whose image the client was sent")
	}
	s.first = math.MaxUint8
	if seat >= 0 {
		s.first = ecs.OwnedBy(ecs.Player(seat))
	}
	s.opened, s.last = s.sequence, max(state.Tick(), s.changes.tick)
	s.interval, s.room = 0, 0
	s.known, s.unsure = s.opened, s.opened
	s.stats.Acked = state.Tick()
	s.sent.Clear()
	s.checkpoints.clear()
	s.learned = 0
	for slot := range s.items.Slots() {
		s.items.At(slot).phase = unused
	}
	s.items.Clear()
	c := s.changes
	for i := range c.schema.globals() {
		c.values = appendGlobal(c.values[:0], state, i)
		s.hold(global(i), isGlobal, 0, state.Tick())
	}
	for e := range state.Entities {
		_, set, values := state.AppendScalars(c.values[:0], e.Row)
		c.values = values
		s.hold(e, wanted, set, state.Tick())
	}
}

// hold makes an item for an entity that the client has with the values of a tick, which are in Changes.values.
func (s *Sender) hold(e ecs.Entity, p phase, set image.ComponentSet, tick ecs.Tick) {
	it, h := s.items.At(s.add(e)), s.changes.entities.of(e)
	it.phase, it.known, it.based, it.base = p, true, h != nil && h.agrees(tick, set, s.changes.values), tick
}

// add makes an item for an entity and returns its slot.
func (s *Sender) add(e ecs.Entity) (slot int) {
	slot = s.items.Add(e.Row)
	it := s.items.At(slot)
	*it = item{row: e.Row &^ globalRow, history: -1, entity: e, phase: wanted, serial: it.serial + 1}
	return slot
}

func (s *Sender) release(slot int) {
	it := s.items.At(slot)
	it.phase = unused
	it.serial++
	s.items.Remove(slot)
}

// Append appends a delta of at most limit bytes that brings the client nearer to the last observed state, and returns the
// extended slice. relevant yields the entities of the client's relevance set, each with a priority. The client removes
// other entities, and those of a negative priority.
//
// If not all items fit, globals come first, then the player's own entities in up to half of the rest, then those of the
// highest urgency. The urgency of an entity grows by its priority in every tick until it is sent. It grows three times as
// fast while the entity rests and the client does not have its last values.
//
// If deltas have room for one update per second of everything that changes, no entity that is due waits for more than a
// second. If not, half of each delta is for those that have waited longest; see SenderStats.Longest.
//
// Append panics before Open, without a tick observed since, and with a limit below 64 bytes.
func (s *Sender) Append(dst []byte, limit int, relevant iter.Seq2[ecs.Entity, float32]) []byte {
	if limit < minDelta || s.items.Len() == 0 || !s.changes.observed || s.changes.tick < s.last {
		panic("state: Append before Open, without a tick observed since, or with a limit below 64 bytes: observe, open, and give a delta room")
	}
	w := &s.changes.writer
	w.begin(s)
	w.collectEntities(relevant)
	w.collectGone()
	return w.write(dst, limit)
}

// Align sets the number of the next delta: the least after the last delta's that equals n modulo 16. In a tick, senders whose
// numbers are so aligned share the code of equal deltas.
func (s *Sender) Align(n uint64) { s.sequence += (n - s.sequence - 1) % alignedTo }

// minDelta is the least limit of a delta, in bytes.
const minDelta = 64

// Stats returns the counters.
func (s *Sender) Stats() SenderStats { return s.stats }

// overdue returns the number of ticks after which an acknowledgement is overdue: 5/4 of the usual time.
func (s *Sender) overdue() ecs.Tick {
	rtt := s.rtt
	if rtt == 0 {
		rtt = float32(s.changes.schema.game.TickRate) / 4
	}
	return ecs.Tick(rtt*1.25) + 2
}

// source is how an item is coded. Slots are those of its history, −1 for none.
type source struct {
	row  uint32 // of an entity; the number of a global
	way  int8
	base int8     // slot of the values that it is coded against
	from int8     // slot of its values at the second moment
	tick ecs.Tick // asDifference: the tick of the base
}

// source returns how an item is coded.
func (s *Sender) source(it *item, h *history, m *moments) source {
	x := source{row: it.row, way: asWhole, base: -1, from: -1}
	if !it.based || it.sends-it.atBase >= storedValues {
		return x
	}
	if x.base = h.slotOf(it.base); x.base < 0 {
		return x
	}
	if m.count == 0 || !s.certain(it) {
		x.way, x.tick = asDifference, it.base
		return x
	}
	x.way = asPrediction
	if it.phase != isGlobal {
		x.from = s.before(it, h, x.base, m)
	}
	return x
}

// certain reports whether the baseline of an item must be the client's last value of it in the newest acknowledged tick.
// Then the tick of the baseline need not be coded. It may not be after acknowledgements were lost for so long that the
// client may have accepted a delta unnoticed, or may no longer store the tick.
func (s *Sender) certain(it *item) bool {
	return s.sequence-s.known < keptTicks && it.based && (it.by > s.unsure || it.by == 0 && s.unsure == s.opened)
}

// moments returns the ticks that predictions of a delta are made from. There are none after the acknowledgements of many deltas
// were lost, and none after a refused delta.
func (s *Sender) moments() (m moments) {
	if s.sequence-s.known >= keptTicks || s.refused > s.known {
		return m
	}
	m.ticks[0], m.count = s.stats.Acked, 1
	// The ticks between the moments are at least half of those to predict. A longer span is more exact, a shorter one more recent.
	span := max(1, (s.changes.tick-s.stats.Acked)/2)
	for q := s.known; q > max(s.unsure, s.opened)+1 && s.sequence-q < storedValues-1; {
		q--
		if d, ok := s.sent.At(ecs.Tick(q)); ok && d.arrived && d.tick+span <= s.stats.Acked {
			m.ticks[1], m.sequence, m.count = d.tick, q, 2
			break
		}
	}
	m.prepare(s.changes.tick)
	return m
}

// before returns the slot of an item's values at the second moment, −1 if the client may store others. base is that of the
// item's baseline.
func (s *Sender) before(it *item, h *history, base int8, m *moments) int8 {
	if m.count < maxMoments {
		return -1
	}
	if it.by <= m.sequence {
		return base
	}
	tick, ok := s.olderUpTo(it, m.sequence)
	if !ok {
		return -1
	}
	return h.slotOf(tick)
}

// olderUpTo returns the tick of the last delta up to a number from which the client is known to store values of an item.
func (s *Sender) olderUpTo(it *item, sequence uint64) (tick ecs.Tick, ok bool) {
	m := uint64(it.older) >> (it.by - 1 - sequence)
	if m == 0 {
		return 0, false
	}
	sequence -= uint64(bits.TrailingZeros64(m))
	if s.sequence-sequence >= storedValues || sequence <= s.unsure {
		return 0, false
	}
	d, ok := s.sent.At(ecs.Tick(sequence))
	if !ok {
		return 0, false
	}
	return d.tick, true
}
