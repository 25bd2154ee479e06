package state

import (
	"cmp"
	"iter"
	"slices"

	"tendon/ecs"
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

	globals      []int32     // slots of those that are due
	gone         []rowItem   // ascending by row
	due          []candidate // entities
	chosen       []rowItem   // entities in the delta, ascending by row
	elements     int
	values       int
	moments      moments
	rows         []uint32 // of the checkpoint
	again        bool     // their list is used
	fresh, saved *models  // saved are those before the entities
	predicted    []uint64
	courses      []course
	relies       uint64    // age in deltas of the oldest delta with values in flight
	short        bool      // an item that is due is not in the delta
	ordered      bool      // due is sorted
	demand       []float32 // bits, by the number of later deltas in which they would still be in time
}

// rowItem is the slot of an item with its row.
type rowItem struct {
	row  uint32
	item int32
	way  int32 // of an entity: how it is coded
	bits int32 // expected size
}

func (w *writer) begin(s *Sender) {
	w.sender, w.overdue = s, s.overdue()
	w.globals, w.gone, w.due, w.chosen = w.globals[:0], w.gone[:0], w.due[:0], w.chosen[:0]
	w.elements, w.values, w.relies, w.short, w.ordered = 0, 0, 0, false, false
	s.sequence++
	s.stamp++
	w.delta = s.record(s.sequence, s.changes.tick)
	w.moments = s.moments()
	for i := range s.changes.schema.globals() {
		it := s.items.At(i)
		since, _ := s.changes.entities.of(it.entity).newest()
		if w.dueOrRelied(it, since) {
			w.globals = append(w.globals, int32(i))
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
	h := s.changes.relevant(e)
	if h == nil {
		return true
	}
	slot, ok := s.items.Slot(e.Row)
	if !ok {
		if s.items.Len() >= maxEntities-maxElements {
			w.short = true
			return true
		}
		slot = s.add(e)
	}
	it := s.items.At(slot)
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
	since, values := h.newest()
	due := w.dueOrRelied(it, since)
	if due && since <= w.before {
		priority *= restPriority
	}
	it.urgency += max(priority, leastPriority) * w.ticks
	if !due {
		it.waiting = false
		return true
	}
	c := candidate{rowItem: rowItem{row: it.row, item: int32(slot)}, own: e.Owner() == s.first, urgency: it.urgency, waited: w.wait(it)}
	base := s.baseline(it, h)
	c.way, c.bits = w.way(it, base), int32(s.changes.schema.cost(h.set, values, base))
	w.due = append(w.due, c)
	return true
}

// way returns the way of coding an item with a baseline, which is nil for none.
func (w *writer) way(it *item, base []uint64) int32 {
	switch {
	case base == nil:
		return asWhole
	case w.moments.count > 0 && w.sender.certain(it):
		return asPrediction
	}
	return asDifference
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
			w.gone = append(w.gone, rowItem{row: it.row, item: int32(slot)})
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
	if len(w.globals)+len(w.gone)+len(w.due) > 0 {
		e.Reset(dst)
		w.writeStart()
		w.writeGlobals()
		w.writeGone()
		w.writeEntities()
		if h.content = len(w.delta.entries) > 0; h.content {
			dst = e.Finish()
			w.keep()
		}
	}
	h.relies = reliesOnBudget
	if !w.short && w.relies <= maxRelies {
		h.relies = uint8(w.relies)
	}
	h.append(dst[:start])
	return dst
}

// writeStart sets the models to those of the newest checkpoint that the client is known to have, and writes the start.
func (w *writer) writeStart() {
	s, e := w.sender, &w.encoder
	from, back := w.fresh, uint64(0)
	w.rows = w.rows[:0]
	if newest := newestBefore(s.sequence); s.learned > s.refused && newest-s.learned < checkpointEvery*checkpointsKept {
		p := s.checkpoints.at(s.learned)
		from, back = p.models, (newest-s.learned)/checkpointEvery+1
		w.rows = append(w.rows, p.rows...)
	}
	e.models.set(from)
	e.start(int(back), w.delta.tick, &w.moments)
}

// keep stores the delta with its rows if it is a checkpoint.
func (w *writer) keep() {
	s := w.sender
	if p := s.checkpoints.keep(s.sequence, s.changes.schema, w.encoder.models); p != nil {
		for _, c := range w.chosen {
			p.rows = append(p.rows, c.row)
		}
	}
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
	for _, i := range w.globals {
		it := s.items.At(int(i))
		h := s.changes.entities.of(it.entity)
		_, values := h.newest()
		mark, learned, before, count := e.Mark(), e.models.places[listGlobals], c, w.values
		base := s.baseline(it, h)
		way := int(w.way(it, base))
		e.element(listGlobals, &c, it.row)
		e.based(listGlobals, &c, way, w.delta.tick, it.base, true)
		e.part(s.changes.schema.components+int(it.row), way, values, base, nil, &spread)
		if w.values += len(values); !w.fits() {
			e.Rewind(mark)
			e.models.places[listGlobals], c, w.values, w.short = learned, before, count, true
			s.stats.Oversized++
			continue
		}
		w.elements++
		s.note(w.delta, i)
	}
	e.end(listGlobals)
}

func (w *writer) writeGone() {
	s, e, c := w.sender, &w.encoder, coding{}
	for _, g := range w.gone {
		mark, learned := e.Mark(), e.models.places[listGone]
		e.element(listGone, &c, g.row)
		if !w.fits() {
			e.Rewind(mark)
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
	mark := e.Mark()
	w.saved.set(e.models)
	if s.room == 0 {
		s.room = float32(w.limit)
	}
	s.room += (float32(w.limit-e.Len()-endBytes) - s.room) / 8
	due, stuck := w.choose(w.due), 0
	for !w.writeChosen() {
		e.Rewind(mark)
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
		s.ratio += (float32(8*(e.Len()-before))/float32(expected) - s.ratio) / 8
	}
	return true
}

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
	it := s.items.At(int(x.item))
	h := s.changes.entities.of(it.entity)
	_, values := h.newest()
	var base []uint64
	var courses []course
	if x.way != asWhole {
		base = s.baseline(it, h)
	}
	if x.way == asPrediction {
		if from := s.before(it, h, base, &w.moments); from != nil {
			w.predicted, w.courses = s.changes.schema.predict(w.predicted[:0], w.courses[:0], h.set, from, base, w.moments.factor)
			if int32(s.changes.schema.cost(h.set, values, w.predicted)) <= x.bits+predictionBits {
				base, courses = w.predicted, w.courses
			}
		}
	}
	e.based(list, c, int(x.way), w.delta.tick, it.base, courses != nil || w.moments.count < maxMoments)
	if x.way == asWhole {
		e.identity(c, w.delta.tick, it.entity.Born, h.set)
	}
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
