package state

import (
	"cmp"
	"iter"
	"slices"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/systems/internal/entropy"
)

// writer writes one body: scratch that the senders of a room share.
type writer struct {
	encoder encoder
	sender  *Sender
	changes *Changes
	body    *sentBody
	limit   int      // of bytes from the header's end on
	before  ecs.Tick // of the sender's last body
	ticks   float32  // since then
	// visit is the method value of wantEntity, made once to avoid an allocation for each body.
	visit func(ecs.Entity, float32) bool

	specials []int32     // items that are due
	gone     []rowItem   // ascending by row
	due      []candidate // entities
	chosen   []rowItem   // those that the body brings, ascending by row
	elements int
	values   int
	course   []uint64
	paces    []pace
	relies   uint64    // the farthest body before this one that has something on its way
	short    bool      // something that is due is not in it
	ordered  bool      // due is
	demand   []float32 // bits, by how many bodies after this one can still bring them in time
}

// rowItem is an item with its row.
type rowItem struct {
	row  uint32
	item int32
	way  int32 // of an entity: how it is coded
	bits int32 // that it is expected to take then
}

// begin begins the next body of a sender.
func (w *writer) begin(s *Sender) {
	w.sender, w.changes = s, s.changes
	w.specials, w.gone, w.due, w.chosen = w.specials[:0], w.gone[:0], w.due[:0], w.chosen[:0]
	w.elements, w.values, w.relies, w.short, w.ordered = 0, 0, 0, false, false
	s.sequence++
	s.stamp++
	w.body = s.record(s.sequence, s.changes.tick)
	for i := range s.changes.specials {
		since, _ := s.changes.specials[i].newest()
		if w.isDue(&s.items[i], since) {
			w.specials = append(w.specials, int32(i))
		}
	}
}

// isDue reports whether an item is due, and takes note of one that is on its way.
func (w *writer) isDue(it *item, since ecs.Tick) bool {
	switch w.sender.state(it, since) {
	case isDue:
		return true
	case isOnWay:
		w.relies = max(w.relies, w.sender.sequence-it.flight)
	}
	return false
}

// want collects the entities of the interest that are due.
func (w *writer) want(interest iter.Seq2[ecs.Entity, float32]) {
	s := w.sender
	w.before = s.last
	w.ticks = float32(max(1, s.changes.tick-s.last))
	if s.interval == 0 {
		s.interval = w.ticks
	}
	s.interval += (w.ticks - s.interval) / 8
	s.last = s.changes.tick
	interest(w.visit)
}

// wantEntity records that e is relevant to the client.
func (w *writer) wantEntity(e ecs.Entity, priority float32) bool {
	s := w.sender
	t := s.changes.entities.at(e.Row)
	if t == nil || t.entity != e || priority < 0 {
		return true
	}
	i := s.index.at(e.Row)
	if i < 0 {
		if len(s.items)-len(s.free) >= heldEntities-maxElements {
			w.short = true
			return true
		}
		s.take(e)
		i = s.index.at(e.Row)
	}
	it := &s.items[i]
	if it.phase == leaving || it.entity != e { // the client may or may not have forgotten it
		it.phase, it.entity = wanted, e
		it.serial++
		it.waiting = false
		it.unbase()
	}
	if it.stamp == s.stamp {
		return true // said already
	}
	it.stamp = s.stamp
	since, values := t.newest()
	asks := w.isDue(it, since)
	if asks && since <= w.before {
		priority *= restPriority
	}
	it.claim += max(priority, leastPriority) * w.ticks
	if !asks {
		it.waiting = false
		return true
	}
	c := candidate{rowItem: rowItem{row: it.row, item: int32(i)}, own: e.Owner() == s.first, claim: it.claim, waited: w.wait(it)}
	c.way, c.bits = w.best(it, t, values)
	w.due = append(w.due, c)
	return true
}

// best returns the way that takes the fewest bits, and about how many.
func (w *writer) best(it *item, t *track, values []uint64) (way, bits int32) {
	s, schema := w.sender, w.changes.schema
	base := s.baseline(it, t)
	if base == nil {
		return asWhole, int32(schema.cost(t.set, values, nil))
	}
	way, bits = asDifference, int32(schema.cost(t.set, values, base))
	if !s.certain(it) {
		return way, bits
	}
	way = asHeld
	if course := s.course(it, t, base); course != nil {
		if n := int32(schema.cost(t.set, values, course)); n < bits {
			way, bits = asCourse, n
		}
	}
	return way, bits
}

// leastPriority counts where a priority is 0.
const leastPriority = 1.0 / (1 << 16)

// restPriority multiplies the priority of an entity that has come to rest and is not acknowledged. It is shown wrong until
// one update arrives.
const restPriority = 3

// leave collects the rows that the client is to forget.
func (w *writer) leave() {
	s := w.sender
	for i := range s.items {
		it := &s.items[i]
		if it.phase == wanted && it.stamp != s.stamp {
			if !it.known {
				s.release(i)
				continue
			}
			it.phase, it.waiting = leaving, false
			it.serial++
			it.unbase()
		}
		if it.phase == leaving && w.isDue(it, 0) {
			w.gone = append(w.gone, rowItem{row: it.row, item: int32(i)})
		}
	}
	slices.SortFunc(w.gone, byRow)
}

func byRow(a, b rowItem) int { return cmp.Compare(a.row, b.row) }

// maxStuck bounds how many entities that have no room are tried in one body.
const maxStuck = 8

// write appends the body to dst.
func (w *writer) write(dst []byte, limit int) []byte {
	s, e := w.sender, &w.encoder
	h := header{sequence: uint16(s.sequence), tick: uint16(w.body.tick)}
	start := len(dst)
	dst = h.append(dst)
	w.limit = limit - headerBytes
	if len(w.specials)+len(w.gone)+len(w.due) > 0 {
		e.models.forget()
		e.Reset(dst)
		w.writeSpecials()
		w.writeGone()
		w.writeEntities()
		if h.content = len(w.body.entries) > 0; h.content {
			dst = e.Finish()
		}
	}
	if h.relies = reliesOnBudget; !w.short && w.relies <= maxRelies {
		h.relies = uint8(w.relies)
	}
	h.append(dst[:start])
	s.stats.Bodies++
	s.stats.Bytes += uint64(len(dst) - start)
	return dst
}

// endBytes is room for the ends of the lists.
const endBytes = 3

// fits reports whether the code is within the limits with one more element.
func (w *writer) fits() bool {
	return w.encoder.Len()+endBytes <= w.limit && w.elements < maxElements && w.values <= maxValues
}

// coding returns the beginning of a list.
func (w *writer) coding() coding { return coding{held: w.sender.stats.Acked, span: w.sender.span()} }

func (w *writer) writeSpecials() {
	s, e, c := w.sender, &w.encoder, w.coding()
	for _, i := range w.specials {
		it := &s.items[i]
		t := w.changes.track(it)
		_, values := t.newest()
		mark, learned, before, count := e.Mark(), e.models.places[listSpecials], c, w.values
		base := s.baseline(it, t)
		way := asDifference
		switch {
		case base == nil:
			way = asWhole
		case s.certain(it):
			way = asHeld
		}
		e.element(listSpecials, &c, it.row)
		e.based(listSpecials, &c, way, w.body.tick, it.base)
		e.part(w.changes.schema.components+int(it.row), way, values, base, nil)
		if w.values += len(values); !w.fits() {
			e.Rewind(mark)
			e.models.places[listSpecials], c, w.values, w.short = learned, before, count, true
			s.stats.Oversized++
			continue
		}
		w.elements++
		s.note(w.body, i)
	}
	e.end(listSpecials)
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
		s.note(w.body, g.item)
		s.stats.Gone++
	}
	e.end(listGone)
}

// writeEntities writes those of the entities that are due which fit.
func (w *writer) writeEntities() {
	s, e := w.sender, &w.encoder
	mark := e.Mark()
	if s.room == 0 {
		s.room = float32(w.limit)
	}
	s.room += (float32(w.limit-e.Len()-endBytes) - s.room) / 8
	due, stuck := w.choose(w.due), 0
	for len(w.chosen) > 0 && !w.list() {
		e.Rewind(mark)
		w.forgetEntities()
		if n := len(w.chosen); n > 1 {
			w.sort(due)
			w.take(due, n-(n+7)/8)
			continue
		}
		// There is no room even for this one alone. The others are not held up by it.
		s.stats.Oversized++
		if stuck++; stuck == maxStuck {
			due = due[:1]
		}
		due = w.choose(due[1:])
	}
	e.end(listEntities)
	w.short = w.short || len(w.chosen) < len(w.due)
	whole := 0
	for _, c := range w.chosen {
		if c.way == asWhole {
			whole++
		}
		s.note(w.body, c.item)
	}
	s.stats.Updates += uint64(len(w.chosen))
	s.stats.Whole += uint64(whole)
}

// choose makes chosen as many of the entities that go first as are expected to fit; at least one, if there is one. It
// returns them all, in order if not all fit.
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

// take makes chosen the first n.
func (w *writer) take(due []candidate, n int) {
	w.chosen = w.chosen[:0]
	for i := range due[:n] {
		w.chosen = append(w.chosen, due[i].rowItem)
	}
	slices.SortFunc(w.chosen, byRow)
}

// list writes the list of the chosen entities, without its end; it reports whether they fit.
func (w *writer) list() bool {
	s, e, c := w.sender, &w.encoder, w.coding()
	before, expected, elements, count := e.Len(), 0, w.elements, w.values
	for _, x := range w.chosen {
		it := &s.items[x.item]
		t := w.changes.track(it)
		_, values := t.newest()
		var base []uint64
		if x.way != asWhole {
			base = s.baseline(it, t)
		}
		if x.way == asCourse {
			base = s.course(it, t, base)
		}
		e.element(listEntities, &c, it.row)
		e.based(listEntities, &c, int(x.way), w.body.tick, it.base)
		if x.way == asWhole {
			e.identity(&c, w.body.tick, it.entity.Born, t.set)
		}
		e.entity(t.set, int(x.way), values, base, w.paces)
		expected += int(x.bits)
		w.values += len(values)
		if !w.fits() {
			w.elements, w.values = elements, count
			s.ratio = min(s.ratio*1.02, maxRatio)
			return false
		}
		w.elements++
	}
	if len(w.chosen) >= minLearned {
		s.ratio += (float32(8*(e.Len()-before))/float32(expected) - s.ratio) / 8
	}
	return true
}

// A ratio is learned from bodies of some entities, and bounded, since a client's world may hold anything.
const (
	minLearned = 8
	maxRatio   = 8
)

// forgetEntities resets the models that only the list of entities uses.
func (w *writer) forgetEntities() {
	m := w.encoder.models
	m.places[listEntities] = fresh
	m.born, m.has = expected[kindWhole], [image.MaxSetComponents][2]entropy.Model{}
	specials := w.changes.schema.components
	for way := range ways {
		clear(m.changed[way][:specials])
	}
	m.forgetNumbers()
}
