package lab

import (
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/client"
	"tendon/net/simnet"
	"tendon/rollback"
	"tendon/systems"
)

// liveMatch is a match of a Live. Only the picture of player 0 is measured; the others are bots.
type liveMatch struct {
	*match
	lab      *Live
	settings Own
	own      *player
	view     *ecs.View           // of own; nil before there is one
	ideal    *ecs.View           // the server's state, as own would see it
	states   *rollback.Snapshots // the server's
	bots     []decision          // by seat
	desync   plantedDesync

	reading Reading
	stalls  uint64        // of own at the last reading
	busy    time.Duration // of the server by then
	tick    ecs.Tick      // of the server by then
	deepest int           // most ticks that a frame has resimulated since
}

// statesKept is the number of the server's states that are kept, to compare the client's with.
const statesKept = 128

// decision is a bot's input in the newest tick.
type decision struct {
	tick  ecs.Tick
	input ecs.InputBytes
}

// newLiveMatch returns a match whose clients begin to connect.
func newLiveMatch(l *Live, c *Config, e Entry) (w *liveMatch, err error) {
	w = &liveMatch{lab: l, settings: e.Own, states: rollback.NewSnapshots(statesKept), bots: make([]decision, c.Players)}
	// On an ideal network all clients join at once and in the same order.
	if w.match, err = newMatch(c, e.Strategy, simnet.Profile{}); err != nil {
		return nil, err
	}
	if w.ideal, err = ecs.NewView(c.Game); err != nil {
		return nil, err
	}
	w.ideal.Seat = 0
	w.match.input, w.match.configure, w.match.taken, w.match.frame = w.input, w.configure, w.keep, w.frame
	return w, w.joinAll()
}

// configure sets up the clients. Player 0's has the settings of the page.
func (w *liveMatch) configure(p *player, c *client.Config) {
	if p.measured = p.seat == 0; !p.measured {
		return
	}
	w.own, p.display.ahead = p, liveAhead
	c.InputDelay, c.MaxPrediction = w.settings.InputDelay, w.settings.MaxPrediction
	if s := w.settings.Strategy; s.NewClient != nil {
		c.Strategies = []systems.Strategy{s}
	}
}

// replace gives the seat of player 0 to a new client.
func (w *liveMatch) replace(o Own) error {
	p := w.own
	w.settings, w.view, w.desync = o, nil, plantedDesync{}
	p.display.frames, p.display.before = p.display.frames[:0], frame{}
	if err := p.Restart(); err != nil {
		return err
	}
	p.joined, p.checked = false, 0
	p.inputs = latency{samples: &w.samples, mark: p.inputs.mark, seen: p.inputs.seen}
	p.begin()
	w.reset()
	return nil
}

// input returns a player's input.
func (w *liveMatch) input(p *player) ecs.InputBytes {
	if w.lab.due == 0 { // until all clients have joined, so that all matches begin alike
		return ecs.InputBytes{}
	}
	if p == w.own {
		p.inputs.mark = 0
		if !w.lab.bot {
			p.inputs.mark = w.lab.mark
			return w.lab.input
		}
	}
	world, d := w.Room.World(), &w.bots[p.seat]
	if f := world.Tick(); f != d.tick { // the same tick of every match has the same random numbers
		d.tick = f
		in := w.config.Game.Bot(world, p.seat, image.NewRand(w.config.Seed<<8^uint64(f)<<16^uint64(p.seat)))
		if in != world.Image().Input(p.seat) { // the server may not have the newest input yet
			d.input = in
		}
	}
	return d.input
}

// keep keeps the server's state.
func (w *liveMatch) keep(f systems.FinalTick) {
	if f.World != nil && f.World.Tick() == f.Tick {
		w.states.Save(f.World)
	}
}

// frame follows each frame of a client.
func (w *liveMatch) frame(p *player, now time.Duration) {
	if p != w.own {
		p.Core.Effects(func(systems.Effect) {})
		return
	}
	if !p.joined {
		return
	}
	resimulated, corrections := p.last.Strategy.Resimulated, len(w.sizes)
	p.measure(now)
	w.desync.corrected = w.desync.corrected || w.desync.applied && len(w.sizes) > corrections
	w.deepest = max(w.deepest, int(p.last.Strategy.Resimulated-resimulated))
	w.view = p.Core.View(now)
	effect := w.config.Game.Screen.Effect
	p.Core.Effects(func(e systems.Effect) {
		if effect != nil {
			effect(w.view, e)
		}
	})
	w.followDesync()
}

// read takes a reading.
func (w *liveMatch) read() {
	p, k, r, seconds := w.own, &w.samples, &w.reading, readEvery.Seconds()
	s := p.Core.Stats()
	r.Strategy, r.Joined, r.RTT = w.strategy.Name, p.joined, milliseconds(s.RTT)
	if len(k.display) > 0 {
		r.Display, r.Pressed = spreadOf(k.display).P50, true
	}
	r.Remote, r.Aged = p.display.ms(p.display.ages.median), p.display.ages.n > 0
	r.Error, r.Own = mean(k.absolute), mean(k.ownState)
	if len(k.paces) >= minSteps {
		still := 0
		for _, pace := range k.paces {
			if pace < stillBelow {
				still++
			}
		}
		r.Still, k.paces = percent(still, len(k.paces)), nil
	}
	if k.hits.all.rays >= minRays {
		r.Hits, k.hits.all = k.hits.all.percent(), agreement{}
	}
	r.ReadingWork = ReadingWork{Corrections: len(k.sizes), Size: spreadOf(k.sizes).Max, Depth: w.deepest,
		Window: mean(k.window), Delay: s.Strategy.InputDelay,
		Stalled: float64(s.Strategy.Stalls-w.stalls) / float64(w.config.Game.TickRate) * 1e3,
		Up:      float64(p.up.wire) * kilobits / seconds, Down: float64(p.down.wire) * kilobits / seconds,
		ServerTick: float64(w.Busy-w.overhead-w.busy) / 1e3 / float64(max(w.Room.Tick()-w.tick, 1)), ClientFrame: mean(k.costs) / 1e3}
	w.reset()
}

// minRays is the number of rays below which Hits keeps its last value, minSteps that of steps for Still.
const (
	minRays  = 40
	minSteps = 8
)

// reset drops the measurements of the last reading, so that a Live holds no more the longer it runs.
func (w *liveMatch) reset() {
	p, k := w.own, &w.samples
	*k = samples{paces: k.paces, hits: hits{all: k.hits.all}, clientCounts: clientCounts{reasons: k.reasons}}
	p.up.begin()
	p.down.begin()
	p.display.begun = w.history.now(w.Net.Now())
	w.stalls, w.busy, w.tick, w.deepest = p.Core.Stats().Strategy.Stalls, w.Busy-w.overhead, w.Room.Tick(), 0
}

// Reading is recent measurements of one match of a Live: of the last readEvery, unless a field says otherwise. Times are in
// ms of virtual time, lengths in world units. Values that Result has too are defined in the package comment. They are
// measured in player 0's picture alone, and are late by liveAhead.
type Reading struct {
	Strategy string `json:"strategy"`
	Joined   bool   `json:"joined"`
	// RTT is the client's smoothed measurement of the round trip; 0: none yet.
	RTT float64 `json:"rtt_ms"`
	// Seen is the newest mark of Live.Input that was shown, SeenAfter its latency.
	Seen      uint64  `json:"seen"`
	SeenAfter float64 `json:"seen_after_ms"`
	// Display is the median input to display. Pressed is set once any was measured.
	Display float64 `json:"display_ms"`
	Pressed bool    `json:"pressed"`
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
	ReadingWork
	// Desync is the last desync that was caused on purpose.
	Desync Desync `json:"desync"`
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
