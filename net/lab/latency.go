package lab

import (
	"slices"
	"time"

	"tendon/ecs"
)

// latency follows each change of a player's input until a picture shows it and until it is confirmed. A change is found by
// its value, in the inputs of the picture and of the server: the input of a tick is part of its state.
//
// list[:shown] are shown, list[:used] were used by the server, list[:confirmed] are confirmed. A change that was never
// seen by itself, since a later one replaced it, counts with the later one.
type latency struct {
	*samples
	list                       []change
	shown, used, confirmed     int
	given, lastShown, lastUsed ecs.InputBytes
	mark                       uint64  // of the input now; 0: none
	seen                       uint64  // the newest mark that was shown
	seenAfter                  float64 // the display latency of its first change, in ms
}

// change is one change of input.
type change struct {
	at       time.Duration
	value    ecs.InputBytes
	measured bool
	tick     ecs.Tick // in which the server used it
	mark     uint64
	shot     *shot // fired with it, or nil
}

// maxChanges bounds the changes that are followed. Beyond it the oldest are dropped.
const maxChanges = 4096

// give sets the input from now on, and reports whether it changed. Latencies count if it is measured.
func (l *latency) give(in ecs.InputBytes, now time.Duration, measured bool) (changed bool) {
	if in == l.given {
		return false
	}
	l.given = in
	if len(l.list) >= maxChanges {
		l.drop(1)
	}
	l.list = append(l.list, change{at: now, value: in, measured: measured, mark: l.mark})
	return true
}

// show sets the player's input in the picture.
func (l *latency) show(in ecs.InputBytes, now time.Duration) {
	if in == l.lastShown {
		return
	}
	l.lastShown = in
	for end := l.find(l.shown, in); l.shown < end; l.shown++ {
		c := &l.list[l.shown]
		after := milliseconds(now - c.at)
		if c.measured {
			l.display = append(l.display, after)
		}
		if c.mark > l.seen { // later changes may have the same mark
			l.seen, l.seenAfter = c.mark, after
		}
	}
}

// use sets the player's input in tick f of the server. It returns the shot that was fired with it, nil if there is none.
func (l *latency) use(in ecs.InputBytes, f ecs.Tick) (fired *shot) {
	if in == l.lastUsed {
		return nil
	}
	l.lastUsed = in
	for end := l.find(l.used, in); l.used < end; l.used++ {
		l.list[l.used].tick, fired = f, l.list[l.used].shot
	}
	return fired
}

// confirmUpTo sets the newest tick that the client knows to be final.
func (l *latency) confirmUpTo(f ecs.Tick, now time.Duration) {
	for ; l.confirmed < l.used && l.list[l.confirmed].tick <= f; l.confirmed++ {
		if c := &l.list[l.confirmed]; c.measured {
			l.confirm = append(l.confirm, milliseconds(now-c.at))
		}
	}
	if done := min(l.shown, l.confirmed); done >= maxChanges/4 {
		l.drop(done)
	}
}

// find returns the index after the first change to that value, from an index on, or that index.
func (l *latency) find(from int, in ecs.InputBytes) int {
	return from + 1 + slices.IndexFunc(l.list[from:], func(c change) bool { return c.value == in })
}

func (l *latency) drop(n int) {
	l.list = slices.Delete(l.list, 0, n)
	l.shown, l.used, l.confirmed = max(l.shown-n, 0), max(l.used-n, 0), max(l.confirmed-n, 0)
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1e3 }
