package lab

import (
	"time"

	"tendon/ecs"
	"tendon/net/simnet"
)

// presses follows what a player does until it is shown and until it is confirmed. Every input that differs from the one
// before counts as a press, and is known again by its value, in what the picture holds as the player's input, and in what
// the server took: the input of a tick is part of its state, so what follows from it is in the picture from there on.
//
// list[:shown] were shown, list[:used] were taken by the server, list[:confirmed] were confirmed. A press that was never
// seen by itself, since a later one took its place, counts with the later one.
type presses struct {
	list                       []press
	shown, used, confirmed     int
	given, lastShown, lastUsed ecs.InputBytes
	from, until                simnet.Time // presses before and after do not count
	display, confirm           []float64   // in ms
	mark                       uint64      // of what is given now; 0: nobody asks
	seen                       uint64      // the newest mark that was shown
	seenAfter                  float64     // how long the first of that mark took, in ms
}

// press is one change of input; tick is in which the server took it. mark is what the player was told to call it.
type press struct {
	at    simnet.Time
	value ecs.InputBytes
	tick  ecs.Tick
	mark  uint64
	shot  *shot // that was fired with it; nil: none
}

// mostPresses bounds those that are waited for. More are given up, oldest first: who loses that many is not playing.
const mostPresses = 4096

// give notes what the player does from now on. It reports whether that is something else than before.
func (p *presses) give(in ecs.InputBytes, now simnet.Time) (changed bool) {
	if in == p.given {
		return false
	}
	p.given = in
	if len(p.list) >= mostPresses {
		p.drop(1)
	}
	p.list = append(p.list, press{at: now, value: in, mark: p.mark})
	return true
}

// show notes which input of the player's the picture holds now.
func (p *presses) show(in ecs.InputBytes, now simnet.Time) {
	if in == p.lastShown {
		return
	}
	p.lastShown = in
	for end := p.find(p.shown, in); p.shown < end; p.shown++ {
		shown := &p.list[p.shown]
		if p.counts(shown.at) {
			p.display = append(p.display, milliseconds(now-shown.at))
		}
		if shown.mark > p.seen { // the first with that mark is the press itself
			p.seen, p.seenAfter = shown.mark, milliseconds(now-shown.at)
		}
	}
}

// use notes which input of the player's entered a tick of the server's, and returns the shot that was fired with it, nil if
// there is none.
func (p *presses) use(in ecs.InputBytes, f ecs.Tick) (fired *shot) {
	if in == p.lastUsed {
		return nil
	}
	p.lastUsed = in
	for end := p.find(p.used, in); p.used < end; p.used++ {
		p.list[p.used].tick, fired = f, p.list[p.used].shot
	}
	return fired
}

// confirmUpTo notes that the client knows now that all up to a tick is final.
func (p *presses) confirmUpTo(f ecs.Tick, now simnet.Time) {
	for ; p.confirmed < p.used && p.list[p.confirmed].tick <= f; p.confirmed++ {
		if at := p.list[p.confirmed].at; p.counts(at) {
			p.confirm = append(p.confirm, milliseconds(now-at))
		}
	}
	if done := min(p.shown, p.confirmed); done >= mostPresses/4 {
		p.drop(done)
	}
}

func (p *presses) counts(at simnet.Time) bool { return at >= p.from && at < p.until }

// find returns the place behind the first press with that value, from a place on, or that place.
func (p *presses) find(from int, in ecs.InputBytes) int {
	for i := from; i < len(p.list); i++ {
		if p.list[i].value == in {
			return i + 1
		}
	}
	return from
}

func (p *presses) drop(n int) {
	p.list = p.list[:copy(p.list, p.list[n:])]
	p.shown, p.used, p.confirmed = max(p.shown-n, 0), max(p.used-n, 0), max(p.confirmed-n, 0)
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1e3 }
