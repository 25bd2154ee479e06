package lockstep

import (
	"tendon/ecs"
	"tendon/systems"
)

// operationQueue holds the local player's input, and the operations that the server has not stamped yet. Operations are
// numbered from 1, for as long as the client exists; queue[0] has the number first.
type operationQueue struct {
	now   ecs.InputBytes // the player's input
	used  bool           // now was sampled
	held  ecs.InputBytes // the input that the server has of the player
	force bool           // send the input in any case: held is unknown

	queue []op
	times []systems.Time // when each was sent first, 0: not yet
	first uint32
}

// maxQueue is the most operations that wait to be stamped.
const maxQueue = 64

// restart drops the operations that wait: they belong to a state that was replaced.
func (o *operationQueue) restart() {
	o.first += uint32(len(o.queue))
	o.first = max(o.first, 1)
	clear(o.queue)
	o.queue, o.times = o.queue[:0], o.times[:0]
}

// start begins to sample the input.
func (o *operationQueue) start() { o.force = true }

// set sets the input from now on. keep says that a press which was not sampled yet must not be lost.
func (o *operationQueue) set(in ecs.InputBytes, keep bool, game *ecs.Game) {
	in = game.Input.Clean(in)
	if keep && !o.used {
		in = game.Input.MergeLate(o.now, in)
	}
	o.now, o.used = in, false
}

// sample makes an operation of the input, ticks after the last call. The input that the server predicts needs none.
func (o *operationQueue) sample(ticks int, game *ecs.Game) {
	for range ticks {
		o.held = game.Input.Predict(o.held)
	}
	if o.used && !o.force || o.full() {
		return
	}
	if o.used {
		o.now = game.Input.Predict(o.now)
	}
	o.used = true
	if o.now != o.held || o.force {
		o.held, o.force = o.now, false
		o.add(op{in: o.now})
	}
}

func (o *operationQueue) full() bool { return len(o.queue) >= maxQueue }

func (o *operationQueue) add(p op) {
	o.queue, o.times = append(o.queue, p), append(o.times, 0)
}

// sent notes when the first n operations were sent.
func (o *operationQueue) sent(n int, now systems.Time) {
	for i := range n {
		if o.times[i] == 0 {
			o.times[i] = max(now, 1)
		}
	}
}

// fresh returns the index of the first operation that was never sent.
func (o *operationQueue) fresh() int {
	n := len(o.times)
	for n > 0 && o.times[n-1] == 0 {
		n--
	}
	return n
}

// acknowledge drops the operations up to a number. The time that they took updates the estimate of the round trip; some
// of it was the wait for the sync.
func (o *operationQueue) acknowledge(number uint32, now systems.Time, rtt *systems.Time) {
	done := int(int32(number-o.first)) + 1
	if done <= 0 || done > len(o.queue) {
		return
	}
	if sent := o.times[done-1]; sent > 0 {
		*rtt += (now - sent - *rtt) / 10
	}
	n := copy(o.queue, o.queue[done:])
	clear(o.queue[n:])
	o.queue = o.queue[:n]
	o.times = o.times[:copy(o.times, o.times[done:])]
	o.first += uint32(done)
}
