package simnet

// event is one entry of a queue: when it is due, its place among those due at the same time, and what it is about.
type event struct {
	at  Time
	key uint64 // the smaller the earlier
	ref uint32 // slot in a table of the queue's owner
	gen uint32 // distinguishes the valid event from an older one
}

func (a event) before(b event) bool {
	return a.at < b.at || a.at == b.at && a.key < b.key
}

// queue is a binary heap of events. Parents are never after their children: for i in [1, len),
// !q[i].before(q[(i−1)/2]). It is written out because container/heap takes its elements as interfaces, which allocates.
type queue []event

func (q *queue) push(e event) {
	h := append(*q, e)
	i := len(h) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !e.before(h[parent]) {
			break
		}
		h[i] = h[parent]
		i = parent
	}
	h[i] = e
	*q = h
}

// pop takes the earliest event. The queue must not be empty.
func (q *queue) pop() event {
	h := *q
	top, last := h[0], h[len(h)-1]
	h = h[:len(h)-1]
	*q = h
	i := 0
	for {
		child := 2*i + 1
		if child >= len(h) {
			break
		}
		if child+1 < len(h) && h[child+1].before(h[child]) {
			child++
		}
		if !h[child].before(last) {
			break
		}
		h[i] = h[child]
		i = child
	}
	if i < len(h) {
		h[i] = last
	}
	return top
}

// slots is a table whose entries are taken and given back by number. An entry keeps what it holds when it is given
// back, so its buffers are used again.
type slots[T any] struct {
	table []T
	free  []uint32
}

func (s *slots[T]) take() uint32 {
	if n := len(s.free); n > 0 {
		ref := s.free[n-1]
		s.free = s.free[:n-1]
		return ref
	}
	var zero T
	s.table = append(s.table, zero)
	return uint32(len(s.table) - 1)
}

func (s *slots[T]) give(ref uint32) { s.free = append(s.free, ref) }
