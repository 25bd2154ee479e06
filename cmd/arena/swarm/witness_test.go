package swarm

import (
	"time"

	"tendon/ecs"
	"tendon/systems"
	"tendon/systems/predict"
	"tendon/systems/reckon"
)

// witness sees what passes between a client's half and the client, whose players press nothing twice within a third of
// a second, so that presses can be counted. A half that another one takes the place of, in a new process or on another
// seat, has a witness of its own.
type witness struct {
	*run
	client int
	half   interface {
		systems.Client
		systems.Replicated
	}
	partial bool // it is not to know all of the state

	next    place // the next fact that it is to be told
	power   int   // power cuts, when it last loaded a state
	heard   int   // facts that it was told
	wrongs  int   // of those, how many were not the next
	newest  ecs.Tick
	pressed time.Duration // when its player last pressed something
	banked  bool          // its half's counts were taken
	spawned []ecs.Entity  // scratch: own entities that are predicted
}

// fact is an irreversible event of the server's.
type fact struct {
	key   ecs.EventKey
	value string
}

// place is a fact's: its tick, and how many the tick has before it.
type place struct {
	tick  ecs.Tick
	index int
}

func (p place) before(q place) bool {
	return p.tick < q.tick || p.tick == q.tick && p.index < q.index
}

// following returns the first fact that is not before p; ok is false if there is none yet.
func (r *run) following(p place) (at place, f fact, ok bool) {
	for ; p.tick < ecs.Tick(len(r.facts)); p = (place{p.tick + 1, 0}) {
		if p.index < len(r.facts[p.tick]) {
			return p, r.facts[p.tick][p.index], true
		}
	}
	return p, f, false
}

// take notes what a final tick had that clients must hear of, and the presses that went into it. A tick that is taken
// again takes the place of the one before it, and of all after that.
func (r *run) take(f systems.FinalTick) {
	if f.World.Tick() != f.Tick {
		return
	}
	for ecs.Tick(len(r.facts)) < f.Tick {
		r.facts = append(r.facts, nil)
	}
	var now []fact
	for _, e := range f.World.Events() {
		if e.Irreversible {
			now = append(now, fact{e.Key, string(e.Value)})
		}
	}
	r.facts = append(r.facts[:f.Tick], now)
	if r.Harness == nil || r.dead {
		return
	}
	for p := range f.Inputs {
		if in := f.Inputs[p]; in != r.rules.PredictInput(in) {
			if s := r.Room.SeatAt(p); s.Client > 0 && s.Client <= uint64(len(r.state)) {
				r.state[s.Client-1].used++
			}
		}
	}
}

// watch returns the strategy of a client whose half has a witness.
func (r *run) watch(client int) systems.Strategy {
	s := r.sync
	s.NewClient = func(c systems.ClientConfig) (systems.Client, error) {
		half, err := r.sync.NewClient(c)
		if err != nil {
			return nil, err
		}
		w := &witness{run: r, client: client, partial: r.partial}
		r.state[client].witness = w
		switch h := half.(type) {
		case *predict.Client:
			w.half = h
			return &predicting{h, w}, nil
		case *reckon.Client:
			w.half = h
			return &reckoning{h, w}, nil
		}
		r.state[client].witness = nil
		return half, nil
	}
	return s
}

// loads is told that the half goes on from a state of tick f.
func (w *witness) loads(f ecs.Tick) {
	if after := (place{f + 1, 0}); w.next.before(after) || w.power != w.cuts {
		w.next = after
	}
	w.power = w.cuts
}

// hears is told of news of an event.
func (w *witness) hears(e systems.Effect) {
	if e.Status == ecs.EffectCancelled {
		w.tally.Told.Cancelled++
	}
	if !e.Event.Irreversible {
		return
	}
	if e.Status != ecs.EffectConfirmed {
		w.fail("client %d was told of an irreversible event as %v: %v", w.client, e.Status, e.Event.Key)
		return
	}
	w.heard++
	w.tally.Told.Facts++
	at, next, ok := w.following(w.next)
	got := fact{e.Event.Key, string(e.Event.Value)}
	if ok && got == next {
		w.next = place{at.tick, at.index + 1}
		return
	}
	if w.wrongs++; w.wrongs > 1 {
		return
	}
	w.fail("client %d at %v was told of %v %x, and the next is %v %x (%v)", w.client, w.Net.Now(), got.key, got.value, next.key, next.value, ok)
}

// input is what the player gives: what he presses comes long after the last time, and not too seldom.
func (w *witness) input(in ecs.InputBytes) ecs.InputBytes {
	idle := w.rules.PredictInput(in)
	if w.quiet || !w.half.Live() || w.clients[w.client].spectator {
		return idle
	}
	switch since := w.Net.Now() - w.pressed; {
	case w.pressed > 0 && since < time.Second/3:
		return idle
	case since > time.Second/2:
		in = w.rules.press(in)
	case in == idle:
		return in
	}
	w.pressed = w.Net.Now()
	w.state[w.client].given++
	return in
}

// replica is told the newest state that the half holds, each time somebody asks for it.
func (w *witness) replica(s *ecs.Snapshot, complete bool) (*ecs.Snapshot, bool) {
	if complete && s.Tick() > w.newest {
		w.newest = s.Tick()
		w.state[w.client].whole++
	}
	return s, complete && !w.partial
}

// before and after a message of the server's: what was spawned here ahead of the server and is not there any more in the
// same tick was withdrawn.
func (w *witness) before() (present ecs.Tick) {
	st := w.half.Stats()
	w.spawned = w.spawned[:0]
	_, now, _, _ := w.half.View(0)
	if now == nil || now.Empty() || now.Tick() != st.Present || st.Present <= st.Confirmed {
		return 0
	}
	for e := range now.Entities {
		if e.Born > st.Confirmed {
			w.spawned = append(w.spawned, e)
		}
	}
	return st.Present
}

func (w *witness) after(present ecs.Tick) {
	w.tally.Told.Spawned += len(w.spawned)
	if _, now, _, _ := w.half.View(0); len(w.spawned) > 0 && now.Tick() == present {
		for _, e := range w.spawned {
			if !ecs.ExistsAt(now, e) {
				w.tally.Told.Withdrawn++
			}
		}
	}
}

// finish demands that the half has been told of all that happened long enough ago.
func (w *witness) finish() {
	until := w.half.Stats().Confirmed
	if at, f, ok := w.following(w.next); ok && at.tick+behind < until {
		w.fail("client %d has confirmed tick %d and was not told of %v %x", w.client, until, f.key, f.value)
	}
}

// predicting is a half of predict with its witness.
type predicting struct {
	*predict.Client
	w *witness
}

func (h *predicting) Load(now systems.Time, serverTick ecs.Tick, rtt systems.Time) {
	h.w.loads(h.World().Tick())
	h.Client.Load(now, serverTick, rtt)
}

func (h *predicting) SetInput(in ecs.InputBytes) { h.Client.SetInput(h.w.input(in)) }

func (h *predicting) Effects(f func(systems.Effect)) {
	h.Client.Effects(func(e systems.Effect) { h.w.hears(e); f(e) })
}

func (h *predicting) Replica() (*ecs.Snapshot, bool) { return h.w.replica(h.Client.Replica()) }

func (h *predicting) Receive(ch systems.Channel, message []byte, now systems.Time) error {
	present := h.w.before()
	err := h.Client.Receive(ch, message, now)
	h.w.after(present)
	return err
}

// reckoning is a half of reckon with its witness.
type reckoning struct {
	*reckon.Client
	w *witness
}

func (h *reckoning) Load(now systems.Time, serverTick ecs.Tick, rtt systems.Time) {
	h.w.loads(h.World().Tick())
	h.Client.Load(now, serverTick, rtt)
}

func (h *reckoning) SetInput(in ecs.InputBytes) { h.Client.SetInput(h.w.input(in)) }

func (h *reckoning) Effects(f func(systems.Effect)) {
	h.Client.Effects(func(e systems.Effect) { h.w.hears(e); f(e) })
}

func (h *reckoning) Replica() (*ecs.Snapshot, bool) { return h.w.replica(h.Client.Replica()) }

// bankTold keeps what client i's half counted before its process ends.
func (r *run) bankTold(i int) {
	w, t := r.state[i].witness, &r.tally.Told
	if w == nil || w.banked {
		return
	}
	w.banked = true
	st := w.half.Stats()
	t.Corrections += st.Corrections
	t.Substituted += st.Substituted
	t.Resyncs += r.Clients[i].Core.Stats().Resyncs
	switch h := r.Clients[i].Core.Strategy().(type) {
	case *predicting:
		t.Refused += h.Counts().Refused
		t.Overtaken += h.Counts().Overtaken
	case *reckoning:
		t.Refused += h.Counts().Refused
	}
}

// judgeTold demands of a client that is told states that it has them whole, that each press of its player's counted once,
// and that it heard of everything.
func (r *run) judgeTold(i int) {
	s := &r.state[i]
	if s.witness == nil {
		return
	}
	r.tally.Told.Whole += s.whole
	r.tally.Told.Given += s.given
	r.tally.Told.Used += s.used
	s.witness.finish()
	if n := s.whole - s.calm.whole; n < int(watched*60/time.Second)/int(r.pause)/2 && !r.partial {
		r.fail("client %d was told all of the state %d times in the last %v", i, n, watched)
	}
	if s.used > s.given {
		r.fail("client %d pressed something %d times, %d of them counted", i, s.given, s.used)
	}
	if given, used := s.given-s.calm.given, s.used-s.calm.used; given != used || given < 2 && !r.clients[i].spectator {
		r.fail("client %d pressed something %d times in the last %v, %d of them counted", i, given, watched, used)
	}
}
