package lockstep

import (
	"tendon/ecs"
	"tendon/systems"
)

// own is what the local player does, and has done without the server having said that it was stamped. Operations are
// numbered from 1, for as long as the client lives; queue[0] has the number first.
type own struct {
	now   ecs.InputBytes // what he does
	used  bool           // now was looked at
	held  ecs.InputBytes // what the server thinks he does
	force bool           // say it all the same: nobody knows what the server thinks

	queue []op
	times []systems.Time // when each was sent first, 0: not yet
	first uint32
}

// maxQueue bounds the operations that wait for the server's word.
const maxQueue = 64

// restart forgets what waits: it belongs to a state that was replaced.
func (o *own) restart() {
	o.first += uint32(len(o.queue))
	o.first = max(o.first, 1)
	clear(o.queue)
	o.queue, o.times = o.queue[:0], o.times[:0]
}

// start begins to look at what the player does.
func (o *own) start() { o.force = true }

// set says what the player does from now on. keep says that a press which was not looked at yet must not be lost.
func (o *own) set(in ecs.InputBytes, keep bool, game *ecs.Game) {
	game.CleanInput(&in)
	if keep && !o.used {
		in = game.MergeLate(o.now, in)
	}
	o.now, o.used = in, false
}

// sample looks at what the player does, some ticks after the last time. What is as the server assumes is not said.
func (o *own) sample(ticks int, game *ecs.Game) {
	for range ticks {
		o.held = game.PredictInput(o.held)
	}
	if o.used && !o.force || o.full() {
		return
	}
	if o.used {
		o.now = game.PredictInput(o.now)
	}
	o.used = true
	if o.now != o.held || o.force {
		o.held, o.force = o.now, false
		o.add(op{in: o.now})
	}
}

func (o *own) full() bool { return len(o.queue) >= maxQueue }

func (o *own) add(p op) {
	o.queue, o.times = append(o.queue, p), append(o.times, 0)
}

// sent notes when the first n operations were sent.
func (o *own) sent(n int, now systems.Time) {
	for i := range n {
		if o.times[i] == 0 {
			o.times[i] = max(now, 1)
		}
	}
}

// fresh returns the index of the first operation that was never sent.
func (o *own) fresh() int {
	n := len(o.times)
	for n > 0 && o.times[n-1] == 0 {
		n--
	}
	return n
}

// acknowledge drops the operations up to a number. The way there and back is estimated from the time that they took, of
// which some was spent waiting for the sync.
func (o *own) acknowledge(number uint32, now systems.Time, rtt *systems.Time) {
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
