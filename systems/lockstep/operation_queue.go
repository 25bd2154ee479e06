package lockstep

import (
	"slices"

	"tendon/systems"
)

// operationQueue holds the local player's operations that the server has not stamped yet. Operations are numbered from 1,
// for as long as the client exists; list[0] has the number first.
type operationQueue struct {
	list  []op
	first uint32
}

// maxQueue is the most operations that wait to be stamped.
const maxQueue = 64

// restart drops the operations that wait: they belong to a state that was replaced.
func (q *operationQueue) restart() {
	q.first = max(q.first+uint32(len(q.list)), 1)
	q.list = slices.Delete(q.list, 0, len(q.list))
}

func (q *operationQueue) full() bool { return len(q.list) >= maxQueue }

func (q *operationQueue) add(o op) { q.list = append(q.list, o) }

// sentThrough notes when the first n operations were sent.
func (q *operationQueue) sentThrough(n int, now systems.Time) {
	for i := range q.list[:n] {
		if o := &q.list[i]; o.sent == 0 {
			o.sent = max(now, 1)
		}
	}
}

// fresh returns the index of the first operation that was never sent.
func (q *operationQueue) fresh() int {
	n := len(q.list)
	for n > 0 && q.list[n-1].sent == 0 {
		n--
	}
	return n
}

// acknowledge drops the operations up to a number. The time that they took updates the estimate of the round trip; some
// of it was the wait for the sync.
func (q *operationQueue) acknowledge(number uint32, now systems.Time, rtt *systems.Time) {
	done := int(int32(number-q.first)) + 1
	if done <= 0 || done > len(q.list) {
		return
	}
	if sent := q.list[done-1].sent; sent > 0 {
		*rtt += (now - sent - *rtt) / 10
	}
	q.list = slices.Delete(q.list, 0, done)
	q.first += uint32(done)
}
