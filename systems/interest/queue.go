package interest

import (
	"fmt"
	"slices"

	"tendon/ecs/fixed"
)

// Queue says which of the entities that one client hears of are sent next, when not all fit.
//
// Each entity has a claim. In every Fill its claim grows by its priority; the highest claims are packed, and only those
// that were packed are reset, so that what is left out comes first sooner or later. Beside that every entity has a
// deadline, Rate Fills after its last update: Fill packs the most urgent first, but only as many bytes of them as must
// go now if all are to be in time. As long as all entities together need no more than Rate times what the budget is
// beyond one update, each is updated within Rate Fills, whatever the priorities; where they need more than the budget,
// half of it follows the deadlines and half the claims. What an update needs is taken to be what the last one did.
//
// Ties go to the lowest id. Equal calls give equal results.
type Queue struct {
	rate    int32
	guess   int32 // bytes of an entity's first update, in eighths: the mean of the last ones
	rest    fixed.Num
	entries []entry // ascending by marker
	heap    []int32 // scratch: indices of entries
	due     []int   // scratch: bytes by Fills left, 1 to rate
	counts  QueueCounts
}

// entry is what is known of one entity.
type entry struct {
	claim  fixed.Num
	rested uint64 // the first Fill that can carry its state at rest; 0: it moves, or that is acknowledged
	marker uint32
	size   int32 // bytes of its last update
	known  bool  // it was updated before; else size does not count yet
	waited int32 // Fills since its last update, the running one included
	asleep bool  // its priority is negative
	tried  bool  // in the running Fill
}

// QueueConfig says how a Queue is filled.
type QueueConfig struct {
	// Rate is the number of Fills per second, in [1, MaxRate]: the deadline of every entity is one second. There is no
	// default.
	Rate int
	// Bytes is what an entity's first update is thought to take, until some were packed. Zero: 32.
	Bytes int
	// Rest is added to the priority of what has come to rest until that is acknowledged. Zero: 2.
	Rest fixed.Num
}

// QueueCounts are totals since NewQueue, but for Waiting.
type QueueCounts struct {
	Fills   uint64
	Updates uint64 // packed
	Bytes   uint64 // packed
	Refused uint64 // did not fit
	Forced  uint64 // packed for their deadline
	Late    uint64 // packed after it
	// Longest is the longest that an entity waited for an update, in Fills; those that still wait count. Divided by
	// Rate it is the starvation in seconds.
	Longest int
	// Waiting is the longest that an entity had waited when the last Fill was over.
	Waiting int
}

// Refused is what a pack function returns for an entity that does not fit.
const Refused = -1

// maxRefused bounds how many entities in a row are tried for the last bytes of a budget.
const maxRefused = 8

// NewQueue returns an empty queue, or a *ConfigError.
func NewQueue(c QueueConfig) (*Queue, error) {
	if c.Bytes == 0 {
		c.Bytes = 32
	}
	if c.Rest == 0 {
		c.Rest = fixed.FromInt(2)
	}
	switch {
	case c.Rate < 1 || c.Rate > MaxRate:
		return nil, &ConfigError{"Rate", fmt.Sprintf("is %d, must be in [1, %d]", c.Rate, MaxRate)}
	case c.Bytes < 0 || c.Bytes > maxSize:
		return nil, &ConfigError{"Bytes", fmt.Sprintf("is %d, must be in [0, %d]", c.Bytes, maxSize)}
	case c.Rest < 0:
		return nil, &ConfigError{"Rest", fmt.Sprintf("is %v, must not be negative", c.Rest)}
	}
	return &Queue{rate: int32(c.Rate), guess: int32(c.Bytes) * 8, rest: c.Rest, due: make([]int, c.Rate+1)}, nil
}

// maxSize bounds an update, in bytes, so that sums of them stay far from any limit.
const maxSize = 1 << 16

// Add takes an entity in that entered the client's set. It has waited for nothing yet; what the client knows nothing of
// deserves a high priority until it was packed.
func (q *Queue) Add(marker int) {
	checkID(marker)
	if i, ok := q.search(marker); !ok {
		q.entries = slices.Insert(q.entries, i, entry{marker: uint32(marker)})
	}
}

// Drop forgets an entity that left the set, or is gone.
func (q *Queue) Drop(marker int) {
	if i, ok := q.search(marker); ok {
		q.entries = slices.Delete(q.entries, i, i+1)
	}
}

// Clear forgets all entities, for another client.
func (q *Queue) Clear() { q.entries = q.entries[:0] }

// Len returns how many entities the queue has.
func (q *Queue) Len() int { return len(q.entries) }

// Rested says that an entity has come to rest: from now on its priority is raised, so that its last state does not stay
// wrong for long, until a Fill from the next on is acknowledged that carried it.
func (q *Queue) Rested(marker int) {
	if i, ok := q.search(marker); ok {
		q.entries[i].rested = q.counts.Fills + 1
	}
}

// Stirred says that an entity moves again.
func (q *Queue) Stirred(marker int) {
	if i, ok := q.search(marker); ok {
		q.entries[i].rested = 0
	}
}

// Acked says that the client has what the Fill of that number carried of an entity.
func (q *Queue) Acked(marker int, fill uint64) {
	if i, ok := q.search(marker); ok && fill >= q.entries[i].rested {
		q.entries[i].rested = 0
	}
}

// Fill spends a budget of bytes and returns what it spent. The number of a Fill is Counts().Fills, in pack and after it.
//
// priority is asked once for every entity, ascending. A negative one means never: the entity is not sent, claims
// nothing and misses no deadline. That is the answer for what has nothing new to tell.
//
// pack writes an update of the entity into what room there is and returns its bytes: in [0, room], or Refused. An
// update of 0 bytes is an update.
func (q *Queue) Fill(budget int, priority func(marker int) fixed.Num, pack func(marker, room int) int) int {
	q.counts.Fills++
	q.raise(priority)
	spent := 0
	if forced := q.forced(budget); forced > 0 {
		before := q.counts.Updates
		spent = q.pack(budget, forced, q.sooner, pack)
		q.counts.Forced += q.counts.Updates - before
	}
	spent += q.pack(budget-spent, budget-spent, q.higher, pack)

	q.counts.Bytes += uint64(spent)
	q.counts.Waiting = 0
	for i := range q.entries {
		q.counts.Waiting = max(q.counts.Waiting, int(q.entries[i].waited))
	}
	return spent
}

// Counts returns what was done so far.
func (q *Queue) Counts() QueueCounts { return q.counts }

// raise lets all claims grow.
func (q *Queue) raise(priority func(int) fixed.Num) {
	for i := range q.entries {
		e := &q.entries[i]
		p := priority(int(e.marker))
		e.tried = false
		if e.asleep = p < 0; e.asleep {
			e.claim, e.waited = 0, 0
			continue
		}
		e.claim = grown(e.claim, p)
		if e.rested != 0 {
			e.claim = grown(e.claim, q.rest)
		}
		e.waited++
		q.counts.Longest = max(q.counts.Longest, int(e.waited))
	}
}

// grown returns a+b, which are not negative, saturated.
func grown(a, b fixed.Num) fixed.Num {
	if a > fixed.Max-b {
		return fixed.Max
	}
	return a + b
}

// forced returns how many bytes of the most urgent entities must be packed now.
//
// What is due within k Fills, the running one included, must fit into k budgets; what exceeds the k−1 that follow must
// go now. A Fill may leave almost an update of its budget unused, so that only the rest of each is counted on, or half
// where the budget is less than two updates. If the demands fit for every k, they fit again after a Fill that packs as
// much: what was packed is due in Rate Fills, and there only the sum of all counts.
func (q *Queue) forced(budget int) int {
	clear(q.due)
	total, largest := 0, int32(0)
	for i := range q.entries {
		if e := &q.entries[i]; !e.asleep {
			size := e.size
			if !e.known {
				size = q.guess / 8
			}
			q.due[max(q.rate-e.waited+1, 1)] += int(size)
			total += int(size)
			largest = max(largest, size)
		}
	}
	each := max(budget-int(largest)+1, budget/2)
	forced, demand := 0, 0
	for k := 1; k < len(q.due); k++ {
		demand += q.due[k]
		forced = max(forced, demand-each*(k-1))
	}
	if total > budget*int(q.rate) {
		return min(forced, budget/2)
	}
	return min(forced, budget)
}

// pack packs entities in an order until it spent enough, and returns what it spent. No more than room is left.
func (q *Queue) pack(room, enough int, before func(a, b *entry) bool, pack func(marker, room int) int) int {
	if room <= 0 {
		return 0
	}
	q.heap = q.heap[:0]
	for i := range q.entries {
		if e := &q.entries[i]; !e.asleep && !e.tried {
			q.heap = append(q.heap, int32(i))
		}
	}
	for i := len(q.heap)/2 - 1; i >= 0; i-- {
		q.sink(i, before)
	}
	spent := 0
	for refused := 0; len(q.heap) > 0 && spent < enough && spent < room && refused < maxRefused; {
		e := &q.entries[q.heap[0]]
		last := len(q.heap) - 1
		q.heap[0] = q.heap[last]
		q.heap = q.heap[:last]
		q.sink(0, before)

		e.tried = true
		n := pack(int(e.marker), room-spent)
		if n == Refused {
			q.counts.Refused++
			refused++
			continue
		}
		if n < 0 || n > room-spent || n > maxSize {
			panic(fmt.Sprintf("interest: pack returned %d bytes for a room of %d; return Refused for what does not fit", n, room-spent))
		}
		refused = 0
		spent += n
		q.sent(e, n)
	}
	return spent
}

// sent resets an entity whose update was packed.
func (q *Queue) sent(e *entry, bytes int) {
	q.counts.Updates++
	if e.waited > q.rate {
		q.counts.Late++
	}
	e.claim, e.waited = 0, 0
	e.size = int32(bytes)
	if !e.known {
		e.known = true
		q.guess += e.size - q.guess/8
	}
}

// sooner orders by deadline, those that were missed included, and then by claim.
func (q *Queue) sooner(a, b *entry) bool {
	if a.waited != b.waited {
		return a.waited > b.waited
	}
	return q.higher(a, b)
}

// higher orders by claim.
func (*Queue) higher(a, b *entry) bool {
	if a.claim != b.claim {
		return a.claim > b.claim
	}
	return a.marker < b.marker
}

// sink restores the heap below i.
func (q *Queue) sink(i int, before func(a, b *entry) bool) {
	for {
		child := 2*i + 1
		if child >= len(q.heap) {
			return
		}
		if r := child + 1; r < len(q.heap) && before(&q.entries[q.heap[r]], &q.entries[q.heap[child]]) {
			child = r
		}
		if !before(&q.entries[q.heap[child]], &q.entries[q.heap[i]]) {
			return
		}
		q.heap[i], q.heap[child] = q.heap[child], q.heap[i]
		i = child
	}
}

// search returns where a marker stands, or would.
func (q *Queue) search(marker int) (int, bool) {
	return slices.BinarySearchFunc(q.entries, marker, func(e entry, m int) int { return int(e.marker) - m })
}
