package lab

import (
	"slices"
	"time"

	"tendon/ecs"
)

// Reading is recent measurements of one match of a Live: of the last readEvery, unless a field says otherwise. Times are in
// ms of virtual time, lengths in world units. Values that Result has too are defined in the package comment. They are
// measured in player 0's picture alone, and are late by liveAhead.
type Reading struct {
	Strategy string `json:"strategy"`
	Joined   bool   `json:"joined"`
	// RTT is the client's smoothed measurement of the round trip; 0: none yet.
	RTT float64 `json:"rtt_ms"`
	ReadingInput
	ReadingPicture
	ReadingWork
	// Desync is the last desync that was caused on purpose.
	Desync Desync `json:"desync"`
}

// ReadingInput is how late player 0's inputs are shown.
type ReadingInput struct {
	// Seen is the newest mark of Live.Input that was shown, SeenAfter its latency.
	Seen      uint64  `json:"seen"`
	SeenAfter float64 `json:"seen_after_ms"`
	// Display is the median input to display. Pressed is set once any was measured.
	Display float64 `json:"display_ms"`
	Pressed bool    `json:"pressed"`
}

// ReadingPicture is how well entities are shown.
type ReadingPicture struct {
	// Remote is the usual remote age; negative: the remote entities are predicted ahead of the server. Aged is set if it is
	// known.
	Remote float64 `json:"remote_ms"`
	Aged   bool    `json:"aged"`
	// Error is the mean distance of remote entities from where they are. Own is that of own entities from where the server
	// had them in the same tick.
	Error float64 `json:"error"`
	Own   float64 `json:"own_error"`
	// Still is the share of remote entities' steps that stand still in the picture while the true motion is straight and
	// even, in percent.
	Still float64 `json:"still_percent"`
	// Hits is Shots.Agree; 0: unknown. Shots are fired only while the input changes.
	Hits float64 `json:"hits_percent"`
}

// ReadingWork is what client and server compute and send.
type ReadingWork struct {
	// Corrections counts the resimulations that changed the present, Size is the largest of them.
	Corrections int     `json:"corrections"`
	Size        float64 `json:"correction_size"`
	// Depth is the most ticks that one frame resimulated.
	Depth int `json:"depth"`
	// Stalled is the time of the ticks that were due and could not be computed.
	Stalled float64 `json:"stalled_ms"`
	// Up and Down are in kbit/s on the wire, estimated.
	Up   float64 `json:"up_kbps"`
	Down float64 `json:"down_kbps"`
	// ServerTick and ClientFrame are real time, in µs.
	ServerTick  float64 `json:"server_us"`
	ClientFrame float64 `json:"client_us"`
	// Window is the number of ticks that are predicted, Delay the input delay in ticks.
	Window float64 `json:"window"`
	Delay  int     `json:"delay"`
}

// liveCounters are the counters at a reading.
type liveCounters struct {
	counters
	busy    time.Duration
	tick    ecs.Tick
	deepest int
}

func (w *liveMatch) count() liveCounters {
	return liveCounters{counters: w.own.counters(), busy: w.Busy - w.overhead, tick: w.Room.Tick()}
}

// Readings returns the newest reading of match i and its number.
func (l *Live) Readings(i int) (Reading, uint64) {
	w := l.matches[i]
	r := w.reading
	r.Seen, r.SeenAfter = w.own.inputs.seen, w.own.inputs.seenAfter
	r.Desync = w.desync.report
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

func (w *liveMatch) read() {
	p, was, now := w.own, w.before, w.count()
	r := Reading{Strategy: w.strategy.Name, Joined: p.joined, RTT: milliseconds(now.stats.RTT), ReadingWork: w.work(&was, &now)}
	k := &p.display.marks
	r.ReadingPicture = w.reading.ReadingPicture
	r.Error, r.Own = mean(k.absolute), mean(k.ownState)
	r.Remote, r.Aged = 0, false
	if age, ok := p.display.ages.usual(); ok {
		r.Remote, r.Aged = p.display.ms(age), true
	}
	if k.hits.all.rays >= minRays {
		r.Hits = k.hits.all.percent()
		k.hits.all = agreement{}
	}
	if len(k.paces) >= minSteps {
		r.Still = percent(standing(k.paces), len(k.paces))
		k.paces = k.paces[:0]
	}
	r.Display, r.Pressed = w.reading.Display, w.reading.Pressed
	if n := len(p.inputs.display); n > 0 {
		slices.Sort(p.inputs.display)
		r.Display, r.Pressed = p.inputs.display[n/2], true
	}
	w.reading, w.before = r, now
	p.reset(w.Net.Now())
}

func (w *liveMatch) work(was, now *liveCounters) ReadingWork {
	p, seconds := w.own, readEvery.Seconds()
	r := ReadingWork{Corrections: len(p.corrections.sizes), Depth: w.before.deepest, Window: mean(p.window), Delay: now.stats.Strategy.InputDelay,
		Stalled: float64(now.stats.Strategy.Stalls-was.stats.Strategy.Stalls) / float64(w.config.Game.TickRate) * 1e3,
		Up:      float64(now.up.wire-was.up.wire) * kilobits / seconds, Down: float64(now.down.wire-was.down.wire) * kilobits / seconds,
		ServerTick: float64(now.busy-was.busy) / 1e3 / float64(max(now.tick-was.tick, 1)), ClientFrame: mean(p.cost.frames) / 1e3}
	for _, size := range p.corrections.sizes {
		r.Size = max(r.Size, size)
	}
	return r
}

// reset drops the measurements of the last reading, so that a Live holds no more the longer it runs.
func (p *player) reset(now time.Duration) {
	k := &p.display.marks
	*k = marks{own: k.own[:0], remote: k.remote[:0], seconds: k.seconds[:0], hits: hits{all: k.hits.all}, freezes: freezes{frames: k.frames % fitEvery},
		offsets: offsets{absolute: k.absolute[:0], shape: k.shape[:0], ownState: k.ownState[:0]}, motion: motion{jumps: k.jumps[:0], paces: k.paces}}
	p.display.begun = p.match.history.now(now)
	p.corrections.sizes, p.inputs.display, p.inputs.confirm = p.corrections.sizes[:0], p.inputs.display[:0], p.inputs.confirm[:0]
	p.window = p.window[:0]
	for _, any := range p.match.players {
		any.cost.frames = any.cost.frames[:0]
	}
}

// minRays is the number of rays below which Hits keeps its last value.
const minRays = 40

// minSteps is the number of steps below which Still keeps its last value.
const minSteps = 8

// standing counts the steps that stand still.
func standing(paces []float64) (n int) {
	for _, p := range paces {
		if p < stillBelow {
			n++
		}
	}
	return n
}
