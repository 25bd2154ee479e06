package lab

import (
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/client"
	"tendon/net/cost/traffic"
	"tendon/net/simnet"
	"tendon/rollback"
	"tendon/systems"
)

// liveMatch is a match of a Live. Only the picture of player 0 is measured; the others are bots.
type liveMatch struct {
	*match
	lab      *Live
	settings Own
	next     string // the strategy of the last Live.Swap, "" for none
	own      *player
	view     *ecs.View  // of own; nil before there is one
	ideal    *ecs.View  // the server's state, as own would see it
	bots     []decision // by seat
	bytes    *traffic.Meter
	desync   plantedDesync

	reading Reading
	deepest int // most ticks that a frame has resimulated since the last reading
}

const statesKept = 128 // server's states that are kept, to compare the client's with

// decision is a bot's input in the newest tick.
type decision struct {
	tick  ecs.Tick
	input ecs.InputBytes
}

// newLiveMatch returns a match whose clients begin to connect. Player 0's has default settings until replace.
func newLiveMatch(l *Live, c *Config, s systems.Strategy) (w *liveMatch, err error) {
	w = &liveMatch{lab: l, bots: make([]decision, c.Players), bytes: traffic.NewMeter(c.Game)}
	if w.ideal, err = ecs.NewView(c.Game); err != nil {
		return nil, err
	}
	w.ideal.Seat = 0
	// On an ideal network all clients join at once and in the same order.
	if w.match, err = newMatch(c, s, simnet.Profile{}, 1, w.bytes); err != nil {
		return nil, err
	}
	w.live, w.states, w.own = w, rollback.NewSnapshots(statesKept), w.players[0]
	w.own.display.ahead = liveAhead
	return w, nil
}

func (w *liveMatch) configure(c *client.Config) {
	c.InputDelay, c.MaxPrediction = w.settings.InputDelay, w.settings.MaxPrediction
	if s := w.settings.Strategy; s.NewClient != nil {
		c.Strategies = append([]systems.Strategy{s}, c.Strategies...) // the first of a name counts
	}
}

// replace gives the seat of player 0 to a new client. After an error the present client goes on.
func (w *liveMatch) replace(o Own) error {
	p, present := w.own, w.settings
	w.settings = o
	if err := p.Restart(); err != nil {
		w.settings = present
		return err
	}
	p.FirstLive, w.view = 0, nil
	w.restart()
	return nil
}

// restart restarts the measurements of player 0, whose client or strategy is another.
func (w *liveMatch) restart() {
	p := w.own
	w.bytes.Reset()
	w.desync, w.reading, p.display.frames, p.checked = plantedDesync{}, Reading{}, make([]frame, 1), 0
	p.inputs = latency{samples: &w.samples, mark: p.inputs.mark, seen: p.inputs.seen}
	p.begin()
	w.reset()
}

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
		in := w.config.Game.Think(world, p.seat, image.NewRand(w.config.Seed<<8^uint64(f)<<16^uint64(p.seat)), p.Core.Orders())
		if in != world.Image().Input(p.seat) { // the server may not have the newest input yet
			d.input = in
		}
	}
	return d.input
}

// measure follows a frame of player 0.
func (w *liveMatch) measure(now time.Duration) {
	p := w.own
	if s := w.Room.Strategy(); s.Name != w.strategy.Name && p.Core.Playing() == s.Name {
		w.strategy = s
		w.restart()
	}
	resimulated, corrections := p.last.Strategy.Resimulated, len(w.sizes)
	p.measure(now)
	if len(w.sizes) > corrections && w.desync.applied && p.last.Strategy.Confirmed >= w.desync.from {
		w.desync.corrected = true // by a state of the server for a tick after the fault
	}
	w.deepest = max(w.deepest, int(p.last.Strategy.Resimulated-resimulated))
	w.view = p.Core.View(now)
	if effect := w.config.Game.Screen.Effect; effect != nil {
		p.Core.Effects(func(e systems.Effect) { effect(w.view, e) })
	}
	w.followDesync()
}

// forget makes the values unknown that a reading keeps until they are measured again, and drops what is not shown yet.
func (w *liveMatch) forget() {
	w.reading.Display, w.reading.Pressed, w.reading.Hits = 0, false, 0
	w.rays, w.agreed, w.display = 0, 0, nil
	for i := range w.own.inputs.list {
		w.own.inputs.list[i].measured = false
	}
}

// read takes a reading.
func (w *liveMatch) read() {
	p, k, r, s := w.own, &w.samples, &w.reading, w.own.Core.Stats()
	p.count()
	r.Joined, r.RTT, r.Delay = p.joined(), milliseconds(s.RTT), s.Strategy.InputDelay
	r.Error, r.Own = mean(k.absolute), mean(k.ownState)
	r.Remote, r.Aged = p.display.ms(p.display.ages.median), p.display.ages.n > 0
	if len(k.paces) >= minSteps {
		still := 0
		for _, pace := range k.paces {
			if pace < stillBelow {
				still++
			}
		}
		r.Still, k.paces = percent(still, len(k.paces)), nil
	}
	if k.rays >= minRays {
		r.Hits, k.rays, k.agreed = percent(k.agreed, k.rays), 0, 0
	}
	var now Result
	w.report(&now, readEvery)
	if now.Display.N > 0 {
		r.Display, r.Pressed = now.Display.P50, true
	}
	r.Corrections, r.Size, r.Depth, r.Window = now.Corrections.Size.N, now.Corrections.Size.Max, w.deepest, now.Window.Mean
	// A jump of the clock makes many ticks due at once. The picture stands still no longer than the time of the reading.
	r.Stalled = min(float64(k.stalled)/float64(w.config.Game.TickRate)*1e3, milliseconds(readEvery))
	r.Up, r.Down, r.ServerTick, r.ClientFrame = now.Up.Wire, now.Down.Wire, now.ServerTick/1e3, now.ClientFrame/1e3
	w.reset()
}

// minRays is the number of rays below which Hits keeps its last value, minSteps that of steps for Still.
const (
	minRays  = 40
	minSteps = 8
)

// reset drops the measurements of the last reading, so that a Live holds no more the longer it runs.
func (w *liveMatch) reset() {
	k := &w.samples
	*k = samples{paces: k.paces, counts: counts{shotCounts: shotCounts{rays: k.rays, agreed: k.agreed}, reasons: map[string]uint64{}}}
	w.Busy, w.overhead, w.deepest = 0, 0, 0
	w.own.restart()
}

// Reading is recent measurements of one match of a Live: of the last readEvery, unless a field says otherwise. Times are in
// ms of virtual time, lengths in world units. Values that Result has too are defined in the package comment. They are
// measured in player 0's picture alone, and are late by liveAhead.
type Reading struct {
	Strategy  string  `json:"strategy"`
	Joined    bool    `json:"joined"`
	RTT       float64 `json:"rtt_ms"`        // as the client measures and smooths it; 0: not yet
	Seen      uint64  `json:"seen"`          // the newest mark of Live.Input that was shown
	SeenAfter float64 `json:"seen_after_ms"` // its latency
	Display   float64 `json:"display_ms"`    // median input to display
	Pressed   bool    `json:"pressed"`       // Display is known
	Remote    float64 `json:"remote_ms"`     // usual remote age; negative: predicted ahead of the server
	Aged      bool    `json:"aged"`          // Remote is known
	Error     float64 `json:"error"`         // mean distance of remote entities from where they are
	Own       float64 `json:"own_error"`     // and of own entities from where the server had them in the same tick
	// Still is the share of remote entities' steps that stand still in the picture while the true motion is straight and
	// even, in percent.
	Still float64 `json:"still_percent"`
	Hits  float64 `json:"hits_percent"` // Shots.Agree; 0: unknown. Shots are fired only while the input changes
	ReadingWork
	Desync Desync `json:"desync"` // the last that was caused on purpose
}

// ReadingWork is what client and server compute and send.
type ReadingWork struct {
	Corrections int     `json:"corrections"`     // resimulations that changed the present
	Size        float64 `json:"correction_size"` // of the largest of them
	Depth       int     `json:"depth"`           // the most ticks that one frame resimulated
	Stalled     float64 `json:"stalled_ms"`      // time of the ticks that were due and could not be computed, at most readEvery
	Up          float64 `json:"up_kbps"`         // on the wire
	Down        float64 `json:"down_kbps"`
	ServerTick  float64 `json:"server_us"` // in real time
	ClientFrame float64 `json:"client_us"`
	Window      float64 `json:"window"` // ticks predicted
	Delay       int     `json:"delay"`  // of inputs, in ticks
}
