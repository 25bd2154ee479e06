package swarm

import (
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/systems"
)

// witness sees what passes between a client's half and the client, whose players press nothing twice within a third of
// a second, so that presses can be counted. A half that another one takes the place of, in a new process or on another
// seat, has a witness of its own.
type witness struct {
	*run
	client int
	ear    *ear // of its client's process
	half   systems.Client
	// refused returns how many messages of the server's built on what the half does not hold; nil for one that is told no
	// states.
	refused func() uint64

	newest  ecs.Tick
	pressed time.Duration // when its player last pressed something
	banked  bool          // its half's counts were taken
	spawned []ecs.Entity  // scratch: own entities that are predicted
}

// watch returns the strategy of a client's new process, whose half has a witness.
func (r *run) watch(client int) systems.Strategy {
	r.state[client].ear = &ear{run: r, client: client}
	s := r.sync
	s.NewClient = func(c systems.ClientConfig) (systems.Client, error) {
		half, err := r.sync.NewClient(c)
		if err != nil {
			return nil, err
		}
		r.state[client].witness = &witness{run: r, client: client, ear: r.state[client].ear}
		return with(r.state[client].witness, half), nil
	}
	return s
}

// accuse returns the strategy of a server whose half can accuse clients.
func (r *run) accuse() systems.Strategy {
	s := r.sync
	s.NewServer = func(c systems.ServerConfig) (systems.Server, error) {
		half, err := r.sync.NewServer(c)
		return &accuser{systems.Full(half), r}, err
	}
	return s
}

// forgets reports whether the half is to forget now what it was told before its newest state.
func (w *witness) forgets() (now bool) {
	s := &w.state[w.client]
	now, s.forgets = s.forgets, false
	return now
}

// input is what the player gives: what he presses comes long after the last time, and not too seldom.
func (w *witness) input(in ecs.InputBytes) ecs.InputBytes {
	idle := w.rules.Input.Predict(in)
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
func (w *witness) replica(s *image.Snapshot, complete bool) (*image.Snapshot, bool) {
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
			if !image.ExistsAt(now, e) {
				w.tally.Told.Withdrawn++
			}
		}
	}
}

// bankTold keeps what client i's half counted before its process ends.
func (r *run) bankTold(i int) {
	w, t := r.state[i].witness, &r.tally.Told
	if w == nil || w.banked || !r.told() {
		return
	}
	w.banked = true
	st := w.half.Stats()
	t.Corrections += st.Corrections
	t.Substituted += st.Substituted
	t.Resyncs += r.Clients[i].Core.Stats().Resyncs
	t.Refused += w.refused()
}

// judgeTold demands of a client that is told states that it has them whole, that each press of its player's counted once,
// and that it heard of everything.
func (r *run) judgeTold(i int) {
	s := &r.state[i]
	s.ear.finish()
	if !r.told() {
		return
	}
	r.tally.Told.Whole += s.whole
	r.tally.Told.Given += s.given
	r.tally.Told.Used += s.used
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
