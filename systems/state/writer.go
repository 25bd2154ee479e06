package state

import (
	"cmp"
	"iter"
	"slices"

	"tendon/ecs"
	"tendon/ecs/image"
)

// writer writes one delta. It is scratch memory that the senders of a room share.
type writer struct {
	encoder encoder
	sender  *Sender
	delta   *sentDelta
	limit   int      // of bytes after the header
	before  ecs.Tick // of the sender's last delta
	ticks   float32  // since then
	overdue ecs.Tick // ticks after which an acknowledgement is overdue
	// visit is collectEntity as a function value, which is made once because it allocates.
	visit func(ecs.Entity, float32) bool

	globals      []rowItem   // those that are due
	gone         []rowItem   // ascending by row
	due          []candidate // entities
	chosen       []rowItem   // entities in the delta, ascending by row
	hint         int         // slot of the item that is likely the next
	base         *trained    // of the checkpoint that the delta builds on, nil for none
	back         uint64      // its coded number
	others       int         // bytes before the entities
	ratio        float32     // see Sender.ratio; 0: too few entities to learn from
	sharing      sharing
	elements     int
	values       int
	moments      moments
	rows         []uint32 // of base
	again        bool     // their list is used
	fresh, saved *models  // saved are those before the entities
	predicted    []uint64
	courses      []course
	relies       uint64             // age in deltas of the oldest delta with values in flight
	short        bool               // an item that is due is not in the delta
	ordered      bool               // due is sorted
	byteObserver image.ByteObserver // nil unless bytes are accounted
	demand       []float32          // bits, by the number of later deltas in which they would still be in time
}

// rowItem is an item that is due.
type rowItem struct {
	source
	item int32 // its slot
	bits int32 // of an entity: expected size
}

func (w *writer) begin(s *Sender) {
	w.sender, w.overdue = s, s.overdue()
	w.globals, w.gone, w.due, w.chosen = w.globals[:0], w.gone[:0], w.due[:0], w.chosen[:0]
	w.elements, w.values, w.relies, w.short, w.ordered, w.ratio, w.hint = 0, 0, 0, false, false, 0, s.changes.schema.globals()
	s.sequence++
	s.stamp++
	w.delta = s.record(s.sequence, s.changes.tick)
	w.moments = s.moments()
	for i := range s.changes.schema.globals() {
		it := s.items.At(i)
		h := s.changes.entities.of(it.entity)
		if since, _ := h.newest(); w.dueOrRelied(it, since) {
			w.globals = append(w.globals, rowItem{source: s.source(it, h, &w.moments), item: int32(i)})
		}
	}
}

// dueOrRelied reports whether an item, which has had its values since a tick, is due: the client has not acknowledged them, and
// they are not in flight. It updates relies.
func (w *writer) dueOrRelied(it *item, since ecs.Tick) bool {
	if it.based && it.base >= since {
		return false
	}
	if it.flight != 0 && it.sentAt >= since && w.sender.changes.tick-it.sentAt < w.overdue {
		w.relies = max(w.relies, w.sender.sequence-it.flight)
		return false
	}
	return true
}

// collectEntities collects the relevant entities that are due.
func (w *writer) collectEntities(relevant iter.Seq2[ecs.Entity, float32]) {
	s := w.sender
	w.before = s.last
	w.ticks = float32(max(1, s.changes.tick-s.last))
	if s.interval == 0 {
		s.interval = w.ticks
	}
	s.interval += (w.ticks - s.interval) / 8
	s.last = s.changes.tick
	relevant(w.visit)
}

// collectEntity makes an entity relevant to the client. It always returns true.
func (w *writer) collectEntity(e ecs.Entity, priority float32) bool {
	s := w.sender
	if priority < 0 {
		return true
	}
	slot, at := w.hint, -1
	if slot < s.items.Slots() && s.items.At(slot).entity == e && s.items.At(slot).phase == wanted {
		at = int(s.items.At(slot).history)
	} else {
		slot = -1
	}
	if at = s.changes.relevant(e, at); at < 0 {
		return true
	}
	if slot < 0 {
		ok := false
		if slot, ok = s.items.Slot(e.Row); !ok {
			if s.items.Len() >= maxEntities-maxElements {
				w.short = true
				return true
			}
			slot = s.add(e)
		}
	}
	w.hint = slot + 1
	it, h := s.items.At(slot), s.changes.entities.rows.At(at)
	it.history = int32(at)
	if it.phase == leaving || it.entity != e { // the client may have removed it or not
		it.phase, it.entity = wanted, e
		it.serial++
		it.waiting = false
		it.unbase()
	}
	if it.stamp == s.stamp {
		return true // a repetition
	}
	it.stamp = s.stamp
	since := h.tick(h.count - 1)
	due := w.dueOrRelied(it, since)
	if due && since <= w.before {
		priority *= restPriority
	}
	it.urgency += max(priority, leastPriority) * w.ticks
	if !due {
		it.waiting = false
		return true
	}
	x := rowItem{source: s.source(it, h, &w.moments), item: int32(slot)}
	w.due = append(w.due, candidate{rowItem: x, own: e.Owner() == s.first || h.set&s.changes.schema.shared != 0, urgency: it.urgency, waited: w.wait(it)})
	return true
}

// estimate sets the expected sizes of the entities that are due.
func (w *writer) estimate() {
	s := w.sender
	for i := range w.due {
		x := &w.due[i].rowItem
		h := s.changes.entities.rows.At(int(s.items.At(int(x.item)).history))
		_, values := h.newest()
		base := []uint64(nil)
		if x.base >= 0 {
			base = h.in(int(x.base))
		}
		x.bits = int32(s.changes.schema.cost(h.set, values, base))
	}
}

// leastPriority replaces lower priorities.
const leastPriority = 1.0 / (1 << 16)

// restPriority multiplies the priority of an entity that rests and whose last values are not acknowledged. An error of its
// replica would last, and one update ends it.
const restPriority = 3

// collectGone collects the rows that the client is to remove.
func (w *writer) collectGone() {
	s := w.sender
	for slot, it := range s.items.All {
		if it.phase == wanted && it.stamp != s.stamp {
			if !it.known {
				s.release(slot)
				continue
			}
			it.phase, it.waiting = leaving, false
			it.serial++
			it.unbase()
		}
		if it.phase == leaving && w.dueOrRelied(it, 0) {
			w.gone = append(w.gone, rowItem{source: source{row: it.row}, item: int32(slot)})
		}
	}
	slices.SortFunc(w.gone, byRow)
}

func byRow(a, b rowItem) int { return cmp.Compare(a.row, b.row) }

// maxStuck bounds the entities without room that are tried in one delta.
const maxStuck = 8

// write appends the delta to dst.
func (w *writer) write(dst []byte, limit int) []byte {
	s, e := w.sender, &w.encoder
	h := header{sequence: uint16(s.sequence), tick: uint16(w.delta.tick)}
	start := len(dst)
	dst = h.append(dst)
	w.limit = limit - headerBytes
	if n := len(w.globals) + len(w.gone) + len(w.due); n > 0 {
		w.delta.entries = slices.Grow(w.delta.entries, min(n, maxElements))
		w.chooseBase()
		if b := w.findBody(); b != nil {
			dst, h.content = w.useBody(dst, b), true
			w.report(b.sizes)
		} else {
			e.Reset(dst)
			e.sizes.reset(e)
			w.writeStart()
			w.writeGlobals()
			w.writeGone()
			w.estimate()
			w.writeEntities()
			if h.content = len(w.delta.entries) > 0; h.content {
				dst = e.Finish()
				sizes := e.sizes.sum(len(dst) - start - headerBytes)
				w.report(sizes)
				w.keepBody(dst[start+headerBytes:], w.keep(), sizes)
			}
		}
	}
	if w.byteObserver != nil {
		w.byteObserver.Part(0, image.PartTick, headerBytes*image.ByteUnits)
	}
	h.relies = reliesOnBudget
	if !w.short && w.relies <= maxRelies {
		h.relies = uint8(w.relies)
	}
	h.append(dst[:start])
	return dst
}

// report counts the content of a delta.
func (w *writer) report(list []size) {
	for i := range list {
		w.byteObserver.Part(list[i].kind, list[i].column, list[i].amount)
	}
}

// writeStart sets the models to those of base and writes the start.
func (w *writer) writeStart() {
	from, e := w.fresh, &w.encoder
	w.rows = nil
	if w.base != nil {
		from, w.rows = w.base.models, w.base.rows
	}
	e.models.set(from)
	e.start(int(w.back), w.delta.tick, &w.moments)
}

// keep stores the state of the code if the delta is a checkpoint, and returns it, else nil.
func (w *writer) keep() *trained {
	if w.sender.sequence%checkpointEvery != 0 {
		return nil
	}
	t := w.sharing.newTrained(w.sender.changes.schema)
	t.models.set(w.encoder.models)
	for _, c := range w.chosen {
		t.rows = append(t.rows, c.row)
	}
	w.hold(t)
	return t
}

// endBytes is the room for the ends of the lists.
const endBytes = 4

// fits reports whether the code with one more element is within the limits.
func (w *writer) fits() bool {
	return w.encoder.Len()+endBytes <= w.limit && w.elements < maxElements && w.values <= maxValues
}

func (w *writer) writeGlobals() {
	s, e, c := w.sender, &w.encoder, coding{}
	spread := uint64(0)
	for i := range w.globals {
		x := &w.globals[i]
		h := s.changes.entities.of(global(int(x.row)))
		_, values := h.newest()
		mark, counted, learned, before, count := e.Mark(), e.counted(), e.models.places[listGlobals], c, w.values
		base := []uint64(nil)
		if x.base >= 0 {
			base = h.in(int(x.base))
		}
		e.element(listGlobals, &c, x.row)
		e.based(listGlobals, &c, int(x.way), w.delta.tick, x.tick, true)
		e.part(s.changes.schema.components+int(x.row), int(x.way), values, base, nil, &spread)
		e.count(0, s.changes.schema.columns[s.changes.schema.components+int(x.row)])
		if w.values += len(values); !w.fits() {
			e.Rewind(mark)
			e.uncount(counted)
			e.models.places[listGlobals], c, w.values, w.short = learned, before, count, true
			s.stats.Oversized++
			continue
		}
		w.elements++
		s.note(w.delta, x.item)
	}
	e.end(listGlobals)
}

func (w *writer) writeGone() {
	s, e, c := w.sender, &w.encoder, coding{}
	for _, g := range w.gone {
		mark, counted, learned := e.Mark(), e.counted(), e.models.places[listGone]
		e.element(listGone, &c, g.row)
		e.count(0, image.PartEntity)
		if !w.fits() {
			e.Rewind(mark)
			e.uncount(counted)
			e.models.places[listGone], w.short = learned, true
			break
		}
		w.elements++
		s.note(w.delta, g.item)
	}
	e.end(listGone)
}
