package swarm

import (
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/systems"
)

// monitor observes the calls between a client's half and the client. It keeps a third of a second between two presses of
// the player, so that presses can be counted. Each half has its own monitor.
type monitor struct {
	*run
	client  int
	effects *effectCheck // of its client's process
	half    systems.Client

	newest  ecs.Tick
	pressed time.Duration // when its player last pressed something
	banked  bool          // its half's counters were added
	spawned []ecs.Entity  // scratch: own entities that are predicted
}

// watch returns the strategy of a client's new process, whose half has a monitor.
func (r *run) watch(client int) systems.Strategy {
	r.state[client].effects = &effectCheck{run: r, client: client}
	s := r.sync
	s.NewClient = func(c systems.ClientConfig) (systems.Client, error) {
		half, err := r.sync.NewClient(c)
		if err != nil {
			return nil, err
		}
		r.state[client].monitor = &monitor{run: r, client: client, effects: r.state[client].effects}
		return with(r.state[client].monitor, half), nil
	}
	return s
}

// serverStrategy returns the strategy of a server with a desyncReporter.
func (r *run) serverStrategy() systems.Strategy {
	s := r.sync
	s.NewServer = func(c systems.ServerConfig) (systems.Server, error) {
		half, err := r.sync.NewServer(c)
		return &desyncReporter{systems.Full(half), r}, err
	}
	return s
}

// input returns the player's input. Presses are at least a third and at most about half a second apart.
func (w *monitor) input(in ecs.InputBytes) ecs.InputBytes {
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

// replica receives the newest state that the half holds, each time the client reads it.
func (w *monitor) replica(s *image.Snapshot, complete bool) (*image.Snapshot, bool) {
	if complete && s.Tick() > w.newest {
		w.newest = s.Tick()
		w.state[w.client].whole++
	}
	return s, complete && !w.partial
}

// before and after a message of the server. An entity that was spawned here ahead of the server and no longer exists in
// the same tick was withdrawn.
func (w *monitor) before() (present ecs.Tick) {
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

func (w *monitor) after(present ecs.Tick) {
	w.counts.Replication.Spawned += len(w.spawned)
	if _, now, _, _ := w.half.View(0); len(w.spawned) > 0 && now.Tick() == present {
		for _, e := range w.spawned {
			if !image.ExistsAt(now, e) {
				w.counts.Replication.Withdrawn++
			}
		}
	}
}

// bankReplication adds the counters of client i's half before its process ends.
func (r *run) bankReplication(i int) {
	w, t := r.state[i].monitor, &r.counts.Replication
	if w == nil || w.banked || !r.replicates() {
		return
	}
	w.banked = true
	st := w.half.Stats()
	t.Corrections += st.Corrections
	t.Substituted += st.Substituted
	t.Resyncs += r.Clients[i].Core.Stats().Resyncs
}

// judgeReplication fails unless client i reported every event, received complete states, and each press of its player
// counted once.
func (r *run) judgeReplication(i int) {
	s := &r.state[i]
	s.effects.finish()
	if !r.replicates() {
		return
	}
	r.counts.Replication.Whole += s.whole
	r.counts.Replication.Given += s.given
	r.counts.Replication.Used += s.used
	if n := s.whole - s.calm.whole; n < int(watched*60/time.Second)/int(r.pause)/2 && !r.partial {
		r.fail("client %d received the complete state %d times in the last %v", i, n, watched)
	}
	if s.used > s.given {
		r.fail("client %d pressed something %d times, %d of them counted", i, s.given, s.used)
	}
	if r.worst(i) {
		return // a press may take longer than a hush
	}
	if given, used := s.given-s.calm.given, s.used-s.calm.used; given != used || given < 2 && !r.clients[i].spectator {
		r.fail("client %d pressed something %d times in the last %v, %d of them counted", i, given, watched, used)
	}
}
