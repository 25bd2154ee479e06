package lab

import (
	"slices"
	"time"

	"tendon/ecs"
	"tendon/net/client"
)

// Reading is what was measured of one match of a Live lately: within the last readEvery, unless it says otherwise. Times are
// in ms of virtual time, lengths in world units. The package's page defines what it shares with Result; it is found in
// player 0's picture alone, and as late as liveAhead.
type Reading struct {
	Strategy string `json:"strategy"`
	State    string `json:"state"`
	Joined   bool   `json:"joined"`
	// RTT is the round trip as the client measured it, smoothed; 0: not yet.
	RTT float64 `json:"rtt_ms"`
	// Seen is the newest number of Live.Input whose press was shown, SeenAfter how long that took.
	Seen      uint64  `json:"seen"`
	SeenAfter float64 `json:"seen_after_ms"`
	// Display is the median of input to display of the presses shown; Shown is how many there were. Pressed says that it is
	// known: that any ever was shown.
	Display float64 `json:"display_ms"`
	Shown   int     `json:"shown"`
	Pressed bool    `json:"pressed"`
	// Remote is the usual age of the others in the picture; below zero they are ahead of the server. Aged says that it is
	// known.
	Remote float64 `json:"remote_ms"`
	Aged   bool    `json:"aged"`
	// Error is how far the others are shown from where they are, Own how far the own avatar is from where the server had it
	// in the same tick; both means.
	Error float64 `json:"error"`
	Own   float64 `json:"own_error"`
	// Still is the share of steps in which somebody of the others stands still in the picture who goes straight and evenly in
	// truth, in percent.
	Still float64 `json:"still_percent"`
	// Hits is the share of lines of sight that meet the same on the screen and on the server, in percent; 0: not known yet.
	// Nobody aims at anything while nobody presses or points anew.
	Hits float64 `json:"hits_percent"`
	// Corrections counts replays that changed the present, Size is the largest.
	Corrections int     `json:"corrections"`
	Size        float64 `json:"correction_size"`
	// Depth is the most ticks computed again in one frame, Again all that were.
	Depth int `json:"depth"`
	Again int `json:"again"`
	// Stalled is the time of ticks that were due and could not be computed.
	Stalled float64 `json:"stalled_ms"`
	// Up and Down are in kbit/s on the wire, estimated.
	Up   float64 `json:"up_kbps"`
	Down float64 `json:"down_kbps"`
	// ServerTick and ClientFrame are real time, in µs.
	ServerTick  float64 `json:"server_us"`
	ClientFrame float64 `json:"client_us"`
	// Window is how many ticks are predicted, Delay the input delay in ticks.
	Window float64 `json:"window"`
	Delay  int     `json:"delay"`
	// Desyncs counts confirmed states that differ from the server's, where they must not, since the client began.
	Desyncs uint64 `json:"desyncs"`
	// Fate is what became of the last desync that was caused on purpose.
	Fate Desync `json:"fate"`
}

// counted are the counters at the last reading.
type counted struct {
	stats    client.Stats
	up, down Traffic
	busy     time.Duration
	tick     ecs.Tick
	deepest  int
}

func (w *watched) count() counted {
	return counted{stats: w.own.core.Stats(), up: w.own.up.traffic, down: w.own.down.traffic, busy: w.busy - w.noting, tick: w.room.Tick()}
}

// Readings returns what was measured of match i lately, and the number of the reading, which grows.
func (l *Live) Readings(i int) (Reading, uint64) {
	r := l.matches[i].reading
	r.Seen, r.SeenAfter = l.matches[i].own.presses.seen, l.matches[i].own.presses.seenAfter
	r.Fate = l.matches[i].fate
	return r, l.count
}

// read takes a reading of every match.
func (l *Live) read() {
	for _, w := range l.matches {
		w.read()
	}
	l.count++
	l.due += readEvery
}

func (w *watched) read() {
	p, was, now := w.own, w.before, w.count()
	s, seconds := now.stats, readEvery.Seconds()
	const kilobits = 8.0 / 1000
	r := Reading{Strategy: w.strategy.Name, State: s.State.String(), Joined: p.joined, RTT: float64(s.RTT) / 1e6, Desyncs: p.desyncs,
		Corrections: len(p.fixes.sizes), Shown: len(p.presses.display), Window: mean(p.window), Delay: s.Strategy.InputDelay,
		Again: int(s.Strategy.Resimulated - was.stats.Strategy.Resimulated), Depth: w.before.deepest,
		Stalled: float64(s.Strategy.Stalls-was.stats.Strategy.Stalls) / float64(w.config.Game.TickRate) * 1e3,
		Up:      float64(now.up.Wire-was.up.Wire) * kilobits / seconds, Down: float64(now.down.Wire-was.down.Wire) * kilobits / seconds,
		ServerTick: float64(now.busy-was.busy) / 1e3 / float64(max(now.tick-was.tick, 1)), ClientFrame: mean(p.costs) / 1e3,
		Error: mean(p.display.marks.errors), Own: mean(p.display.marks.owns)}
	for _, size := range p.fixes.sizes {
		r.Size = max(r.Size, size)
	}
	if r.Shown > 0 {
		slices.Sort(p.presses.display)
		r.Display, r.Pressed = p.presses.display[r.Shown/2], true
	} else {
		r.Display, r.Pressed = w.reading.Display, w.reading.Pressed // nobody did anything: what was true before still is
	}
	if r.Hits = w.reading.Hits; p.display.marks.hits.all.lines >= fewLines {
		r.Hits = percent(p.display.marks.hits.all.agree, p.display.marks.hits.all.lines)
		p.display.marks.hits.all = tally{}
	}
	if r.Still = w.reading.Still; len(p.display.marks.paces) >= fewSteps {
		r.Still = percent(standing(p.display.marks.paces), len(p.display.marks.paces))
		p.display.marks.paces = p.display.marks.paces[:0]
	}
	if age, ok := p.display.ages.usual(); ok {
		r.Remote, r.Aged = p.display.ms(age), true
	}
	w.reading, w.before = r, now
	p.forget(w.net.Now())
}

// forget drops what was measured, of which nothing is added up: a Live may go on for days.
func (p *player) forget(now time.Duration) {
	k := &p.display.marks
	*k = marks{errors: k.errors[:0], shapes: k.shapes[:0], owns: k.owns[:0], own: k.own[:0], remote: k.remote[:0], jumps: k.jumps[:0], paces: k.paces,
		seconds: k.seconds[:0], hits: hits{all: k.hits.all}, frames: k.frames % fitEvery}
	p.display.begun = p.match.truth.now(now)
	p.fixes.sizes, p.presses.display, p.presses.confirm = p.fixes.sizes[:0], p.presses.display[:0], p.presses.confirm[:0]
	p.costs, p.window = p.costs[:0], p.window[:0]
	for _, other := range p.match.players {
		if other != p {
			other.costs = other.costs[:0]
		}
	}
}

// fewLines is of how many lines of sight nothing is said; they are kept until there are more.
const fewLines = 40

// fewSteps is of how many steps nothing is said; they are kept until there are more.
const fewSteps = 8

// standing returns how many of the steps are none.
func standing(paces []float64) (n int) {
	for _, p := range paces {
		if p < stillBelow {
			n++
		}
	}
	return n
}

func mean(of []float64) float64 {
	sum := 0.0
	for _, v := range of {
		sum += v
	}
	return sum / float64(max(len(of), 1))
}
