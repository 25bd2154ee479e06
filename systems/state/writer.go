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
	spender      image.ByteObserver // nil unless bytes are accounted
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
	for slot := range s.items.Slots() { // of which those in phase unused are free
		it := s.items.At(slot)
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
			w.spend(b.spent)
		} else {
			e.Reset(dst)
			e.bill.reset(e)
			w.writeStart()
			w.writeGlobals()
			w.writeGone()
			w.estimate()
			w.writeEntities()
			if h.content = len(w.delta.entries) > 0; h.content {
				dst = e.Finish()
				spent := e.bill.settle(len(dst) - start - headerBytes)
				w.spend(spent)
				w.keepBody(dst[start+headerBytes:], w.keep(), spent)
			}
		}
	}
	if w.spender != nil {
		w.spender.Spent(0, image.SpentTick, headerBytes*image.SpentByte)
	}
	h.relies = reliesOnBudget
	if !w.short && w.relies <= maxRelies {
		h.relies = uint8(w.relies)
	}
	h.append(dst[:start])
	return dst
}

// spend accounts the content of a delta.
func (w *writer) spend(list []spent) {
	for i := range list {
		w.spender.Spent(list[i].kind, list[i].column, list[i].amount)
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
		mark, charges, learned, before, count := e.Mark(), e.charges(), e.models.places[listGlobals], c, w.values
		base := []uint64(nil)
		if x.base >= 0 {
			base = h.in(int(x.base))
		}
		e.element(listGlobals, &c, x.row)
		e.based(listGlobals, &c, int(x.way), w.delta.tick, x.tick, true)
		e.part(s.changes.schema.components+int(x.row), int(x.way), values, base, nil, &spread)
		e.charge(0, s.changes.schema.columns[s.changes.schema.components+int(x.row)])
		if w.values += len(values); !w.fits() {
			e.Rewind(mark)
			e.refund(charges)
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
		mark, charges, learned := e.Mark(), e.charges(), e.models.places[listGone]
		e.element(listGone, &c, g.row)
		e.charge(0, image.SpentEntity)
		if !w.fits() {
			e.Rewind(mark)
			e.refund(charges)
			e.models.places[listGone], w.short = learned, true
			break
		}
		w.elements++
		s.note(w.delta, g.item)
	}
	e.end(listGone)
}

// writeEntities writes as many of the entities that are due as fit.
func (w *writer) writeEntities() {
	s, e := w.sender, &w.encoder
	mark, charges := e.Mark(), e.charges()
	w.saved.set(e.models)
	w.others = e.Len()
	w.learnRoom(w.others)
	due, stuck := w.choose(w.due), 0
	for !w.writeChosen() {
		e.Rewind(mark)
		e.refund(charges)
		e.models.set(w.saved)
		if n := len(w.chosen); n > 1 {
			w.sort(due)
			w.take(due, n*7/8) // an eighth fewer
			continue
		}
		// There is no room even for this one alone: try the next.
		s.stats.Oversized++
		if stuck++; stuck == maxStuck {
			due = due[:1]
		}
		due = w.choose(due[1:])
	}
	e.end(listEntities)
	w.short = w.short || len(w.chosen) < len(w.due)
	for _, c := range w.chosen {
		s.note(w.delta, c.item)
	}
	s.stats.Updates += uint64(len(w.chosen))
}

// choose sets chosen to as many of the first entities as are expected to fit, at least one if there is one. It returns due,
// which is sorted if not all fit.
func (w *writer) choose(due []candidate) []candidate {
	room := w.room()
	expected := float32(0)
	for i := range due {
		expected += float32(due[i].bits)
	}
	n := len(due)
	if expected > room || n > maxElements-w.elements {
		w.sort(due)
		n, expected = 0, 0
		for n < len(due) && n < maxElements-w.elements && (n == 0 || expected+float32(due[n].bits) <= room) {
			expected += float32(due[n].bits)
			n++
		}
	}
	w.take(due, n)
	return due
}

// take sets chosen to the first n.
func (w *writer) take(due []candidate, n int) {
	w.chosen = w.chosen[:0]
	for i := range due[:n] {
		w.chosen = append(w.chosen, due[i].rowItem)
	}
	slices.SortFunc(w.chosen, byRow)
}

// writeChosen writes the lists of the chosen entities without the last end, and reports whether they fit.
func (w *writer) writeChosen() bool {
	s, e := w.sender, &w.encoder
	before, elements, values := e.Len(), w.elements, w.values
	if !w.writeAgain() || !w.writeOthers() {
		w.elements, w.values = elements, values
		s.ratio = min(s.ratio*1.02, maxRatio)
		return false
	}
	if len(w.chosen) >= minLearned {
		expected := 0
		for _, x := range w.chosen {
			expected += int(x.bits)
		}
		w.ratio = float32(8*(e.Len()-before)) / float32(expected)
		w.learnRatio(w.ratio)
	}
	return true
}

// learnRoom updates the sender's room after so many bytes of other lists.
func (w *writer) learnRoom(others int) {
	s, room := w.sender, float32(w.limit-others-endBytes)
	if s.room == 0 {
		s.room = float32(w.limit)
	}
	s.room += (room - s.room) / 8
}

func (w *writer) learnRatio(ratio float32) { w.sender.ratio += (ratio - w.sender.ratio) / 8 }

// leastAgain is the share of the checkpoint's rows below which their list is not used.
const leastAgain = 1.0 / 8

// usesAgain reports whether the list of the checkpoint's rows is used. It is not for a single entity, which may not fit because
// of the other rows.
func (w *writer) usesAgain() bool {
	if len(w.chosen) <= 1 {
		return false
	}
	n, at, found := 0, 0, false
	for _, row := range w.rows {
		if at, found = w.skip(at, row); found {
			n++
		}
	}
	return float32(n) > leastAgain*float32(len(w.rows))
}

// writeAgain writes the list of the checkpoint's rows, and reports whether it fits.
func (w *writer) writeAgain() bool {
	e, m := &w.encoder, &w.encoder.models.places[listAgain]
	w.again = w.usesAgain()
	if len(w.rows) > 0 {
		e.Bit(&m.again, w.again)
	}
	if !w.again {
		return true
	}
	c, last, at, found := coding{}, 0, 0, false
	for _, row := range w.rows {
		at, found = w.skip(at, row)
		if e.Bit(&m.more[last], found); !found {
			last = 0
			continue
		}
		last = 1
		if !w.writeEntity(listAgain, &c, &w.chosen[at]) {
			return false
		}
	}
	return w.fits()
}

// skip returns the first place from at on whose row in chosen is not below row, and whether it has that row.
func (w *writer) skip(at int, row uint32) (next int, found bool) {
	for at < len(w.chosen) && w.chosen[at].row < row {
		at++
	}
	return at, at < len(w.chosen) && w.chosen[at].row == row
}

// writeOthers writes the list of the chosen entities that are not in the checkpoint's rows, and reports whether it fits.
func (w *writer) writeOthers() bool {
	c, rows := coding{}, w.rows
	for i := range w.chosen {
		x := &w.chosen[i]
		for len(rows) > 0 && rows[0] < x.row {
			rows = rows[1:]
		}
		if w.again && len(rows) > 0 && rows[0] == x.row {
			continue
		}
		w.encoder.element(listEntities, &c, x.row)
		if !w.writeEntity(listEntities, &c, x) {
			return false
		}
	}
	return true
}

// predictionBits is the number of bits by which the cost of a prediction may exceed that of the difference from the reference. Its
// size selects models, so it may still take fewer bits. If it exceeds by more, the motion has changed.
const predictionBits = 12

// writeEntity writes an entity, and reports whether it fits.
func (w *writer) writeEntity(list int, c *coding, x *rowItem) bool {
	s, e := w.sender, &w.encoder
	h := s.changes.entities.rows.At(int(s.items.At(int(x.item)).history))
	_, values := h.newest()
	var base []uint64
	var courses []course
	if x.base >= 0 {
		base = h.in(int(x.base))
	}
	if x.from >= 0 {
		w.predicted, w.courses = s.changes.schema.predict(w.predicted[:0], w.courses[:0], h.set, h.in(int(x.from)), base, w.moments.factor)
		if int32(s.changes.schema.cost(h.set, values, w.predicted)) <= x.bits+predictionBits {
			base, courses = w.predicted, w.courses
		}
	}
	e.based(list, c, int(x.way), w.delta.tick, x.tick, courses != nil || w.moments.count < maxMoments)
	if x.way == asWhole {
		e.identity(c, w.delta.tick, h.entity.Born, h.set)
	}
	e.charge(h.set, image.SpentEntity)
	e.entity(h.set, int(x.way), values, base, courses)
	w.values += len(values)
	if !w.fits() {
		return false
	}
	w.elements++
	return true
}

// A ratio is learned only from deltas of some entities, and bounded.
const (
	minLearned = 8
	maxRatio   = 8
)
