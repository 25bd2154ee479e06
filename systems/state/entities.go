package state

import (
	"slices"

	"tendon/ecs/image"
)

// writeEntities writes as many of the entities that are due as fit.
func (w *writer) writeEntities() {
	s, e := w.sender, &w.encoder
	mark, counted := e.Mark(), e.counted()
	w.saved.set(e.models)
	w.others = e.Len()
	w.learnRoom(w.others)
	due, stuck := w.choose(w.due), 0
	for !w.writeChosen() {
		e.Rewind(mark)
		e.uncount(counted)
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
	e.count(h.set, image.PartEntity)
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
