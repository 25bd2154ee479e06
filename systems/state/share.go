package state

import (
	"slices"

	"tendon/ecs"
)

// sharing holds the code of the last deltas of a tick. A delta with the same elements from the same checkpoint has the same
// code, so a sender whose client has the same baselines copies it. Only deltas with everything that is due are shared.
type sharing struct {
	tick    ecs.Tick
	bodies  []body // of the tick, at most maxBodies; those beyond used are of earlier ticks
	used    int
	ids     uint64
	free    []*trained
	rejoins []rejoin
	strange ecs.Tick // in which the last deltas differed whose clients have no common checkpoint, 0: none
	renewed ecs.Tick // in which deltas last began with fresh models, 0: none
}

// maxBodies bounds the deltas of a tick that are stored.
const maxBodies = 16

// body is the content of a delta, with the parts from which it was made.
type body struct {
	base    uint64 // id of the checkpoint that it builds on, 0 for none
	back    uint64
	moments moments
	globals []source
	gone    []uint32
	due     []source

	code    []byte
	others  int
	ratio   float32
	trained *trained // nil unless it is a checkpoint
	known   []uint64 // ids of checkpoints that the first client has
	sizes   []size
}

// Lost deltas make the checkpoints of clients with the same baselines differ, and each delta that builds on a different checkpoint
// differs. To share again, checkpoints of these clients build on an older one that all have. If there is none, they begin with
// fresh models, once in renewEvery deltas, where many deltas of a tick differ.
const (
	rejoinFor  = checkpointEvery * checkpointsKept // deltas
	renewLeast = 4                                 // deltas of a tick that differ: fewer are not worth the bytes
	renewEvery = 256                               // deltas
	renewFor   = alignedTo                         // deltas
	alignedTo  = 16                                // see Align
	maxRejoins = 16
)

// rejoin is a checkpoint of clients whose later ones differ.
type rejoin struct {
	id   uint64
	tick ecs.Tick // in which they differed
}

// chooseBase sets base to the newest checkpoint that the client is known to have, or to an older one to share deltas again.
func (w *writer) chooseBase() {
	s, newest := w.sender, newestBefore(w.sender.sequence)
	from := s.learned
	if s.sequence%checkpointEvery == 0 {
		if from < s.sequence-s.sequence%alignedTo && w.renews() {
			from = 0
		} else {
			from = w.rejoins(from)
		}
	}
	w.base, w.back = nil, 0
	if from > s.refused && newest-from < checkpointEvery*checkpointsKept {
		w.base, w.back = s.checkpoints.at(from).trained, (newest-from)/checkpointEvery+1
	}
}

// rejoins returns the number of the oldest checkpoint to share deltas from again, else newest.
func (w *writer) rejoins(newest uint64) uint64 {
	p := &w.sharing
	p.rejoins = slices.DeleteFunc(p.rejoins, func(r rejoin) bool { return w.since(r.tick) > rejoinFor })
	for _, r := range p.rejoins {
		for number, id := range w.checkpoints {
			if id == r.id && r.tick < w.delta.tick {
				newest = min(newest, number)
			}
		}
	}
	return newest
}

// renews reports whether deltas begin with fresh models.
func (w *writer) renews() bool {
	p := &w.sharing
	if p.strange > p.renewed && (p.renewed == 0 || w.since(p.renewed) >= renewEvery) {
		p.renewed = w.delta.tick
	}
	return p.renewed > 0 && w.since(p.renewed) < renewFor
}

// since returns the number of deltas since a tick.
func (w *writer) since(tick ecs.Tick) float32 { return float32(w.delta.tick-tick) / w.sender.interval }

// checkpoints yields the checkpoints that the client is known to have, by number.
func (w *writer) checkpoints(yield func(number, id uint64) bool) {
	s, newest := w.sender, newestBefore(w.sender.sequence)
	for i := range s.checkpoints {
		c := &s.checkpoints[i]
		d, ok := s.sent.At(ecs.Tick(c.sequence))
		if ok && d.arrived && c.sequence > max(s.opened, s.refused) && newest-c.sequence < checkpointEvery*checkpointsKept && !yield(c.sequence, c.id) {
			return
		}
	}
}

// split records that the delta differs from a body by its checkpoint alone.
func (w *writer) split(b *body) {
	p, common, best := &w.sharing, uint64(0), uint64(0)
	for number, id := range w.checkpoints {
		if slices.Contains(b.known, id) {
			if slices.ContainsFunc(p.rejoins, func(r rejoin) bool { return r.id == id }) {
				return
			}
			if number > best {
				common, best = id, number
			}
		}
	}
	if common == 0 {
		if p.used >= renewLeast {
			p.strange = p.tick
		}
	} else if len(p.rejoins) < maxRejoins {
		p.rejoins = append(p.rejoins, rejoin{common, p.tick})
	}
}

func (w *writer) baseID() uint64 {
	if w.base == nil {
		return 0
	}
	return w.base.id
}

// findBody returns the code of an equal delta, nil for none.
func (w *writer) findBody() *body {
	p := &w.sharing
	if p.tick != w.delta.tick {
		p.tick, p.used = w.delta.tick, 0
	}
	for i := range p.used {
		b := &p.bodies[i]
		if len(b.code) > w.limit || !w.sameElements(b) {
			continue
		}
		if b.base == w.baseID() && b.back == w.back && (b.trained != nil) == (w.sender.sequence%checkpointEvery == 0) {
			return b
		}
		w.split(b)
	}
	return nil
}

// sameElements reports whether a body has the elements that are due, from the same moments.
func (w *writer) sameElements(b *body) bool {
	if b.moments.ticks != w.moments.ticks || b.moments.count != w.moments.count ||
		len(b.globals) != len(w.globals) || len(b.gone) != len(w.gone) || len(b.due) != len(w.due) {
		return false
	}
	for i := range b.due {
		if b.due[i] != w.due[i].source {
			return false
		}
	}
	for i := range b.globals {
		if b.globals[i] != w.globals[i].source {
			return false
		}
	}
	for i := range b.gone {
		if b.gone[i] != w.gone[i].row {
			return false
		}
	}
	return true
}

// useBody appends the code of an equal delta.
func (w *writer) useBody(dst []byte, b *body) []byte {
	s := w.sender
	for _, list := range [...][]rowItem{w.globals, w.gone} {
		for i := range list {
			s.note(w.delta, list[i].item)
		}
	}
	for i := range w.due {
		s.note(w.delta, w.due[i].item)
	}
	s.stats.Updates += uint64(len(w.due))
	w.learnRoom(b.others)
	if b.ratio > 0 {
		w.learnRatio(b.ratio)
	}
	if b.trained != nil {
		w.hold(b.trained)
	}
	return append(dst, b.code...)
}

// keepBody stores the code of the delta for other senders if it has everything that is due.
func (w *writer) keepBody(code []byte, t *trained, sizes []size) {
	p := &w.sharing
	if len(w.delta.entries) < len(w.globals)+len(w.gone)+len(w.due) || p.used == maxBodies {
		return
	}
	if p.used == len(p.bodies) {
		p.bodies = append(p.bodies, body{})
	}
	b := &p.bodies[p.used]
	p.used++
	b.base, b.back, b.moments, b.others, b.ratio, b.trained = w.baseID(), w.back, w.moments, w.others, w.ratio, t
	b.code, b.sizes = append(b.code[:0], code...), append(b.sizes[:0], sizes...)
	b.known = b.known[:0]
	for _, id := range w.checkpoints {
		b.known = append(b.known, id)
	}
	b.globals, b.gone, b.due = b.globals[:0], b.gone[:0], b.due[:0]
	for i := range w.globals {
		b.globals = append(b.globals, w.globals[i].source)
	}
	for i := range w.gone {
		b.gone = append(b.gone, w.gone[i].row)
	}
	for i := range w.due {
		b.due = append(b.due, w.due[i].source)
	}
}

// newTrained returns a state of the code that no checkpoint holds.
func (p *sharing) newTrained(s *schema) (t *trained) {
	if n := len(p.free); n > 0 {
		t, p.free = p.free[n-1], p.free[:n-1]
	} else {
		t = &trained{models: newModels(s)}
	}
	p.ids++
	t.id, t.rows = p.ids, t.rows[:0]
	return t
}

// hold stores the delta as a checkpoint of the sender, with a state that other senders may hold too.
func (w *writer) hold(t *trained) {
	s := w.sender
	p := s.checkpoints.at(s.sequence)
	t.holders++
	if old := p.trained; old != nil {
		if old.holders--; old.holders == 0 {
			w.sharing.free = append(w.sharing.free, old)
		}
	}
	p.sequence, p.trained = s.sequence, t
}
