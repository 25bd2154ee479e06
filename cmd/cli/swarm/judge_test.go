package swarm

import (
	"fmt"
	"strings"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/client"
	"tendon/net/simnet"
	"tendon/systems"
)

// judge collects what clients confirmed, and what is wrong. It forgets nothing when the server restarts.
type judge struct {
	world *world
	facts map[fact]image.Checksum
	seats map[*player]int
	last  map[*player]ecs.Tick // the newest tick that was observed
	done  map[*player]ecs.Tick // the newest tick that a live client had confirmed
	wrong []string

	changes map[int]bool // rooms whose match may be replaced by another one
	shared  bool         // two rooms had one worker
	given   systems.Time // the time that the matches of the last process gave up

	by     Kind                      // of the last end of a process
	stalls bool                      // the disk stalled at that moment
	joins  map[*player]uint64        // reconnects of the clients at that moment
	lossy  map[*player]uint64        // the same, of clients of matches that lost ticks, until they return
	moved  map[*player]time.Duration // when a client last confirmed a tick
	strike *strike                   // the fault of the disk; nil without one

	observed, agreed int // states of clients; those that another client or process had confirmed before
}

// fact is the place of a confirmed state.
type fact struct {
	room  int
	match int // 0: the first one of the room
	tick  ecs.Tick
}

func (j *judge) fail(format string, args ...any) {
	if len(j.wrong) < 20 {
		j.wrong = append(j.wrong, fmt.Sprintf("at %v: ", time.Since(j.world.began).Round(time.Millisecond))+fmt.Sprintf(format, args...))
	}
}

// stopped reports a client that has ended by itself. It is called once per frame.
func (j *judge) stopped(p *player, err error) {
	if p.Err() != nil && j.seats[p] != gone {
		j.seats[p] = gone
		j.fail("client %s ended: %v", p.host, err)
	}
}

// gone is the seat of a client that ended.
const gone = -2

// noticed receives the notices of the server to a client. Only a room whose journal was damaged may begin another match.
func (j *judge) noticed(p *player, text string) {
	if !strings.Contains(text, "this is another one") {
		return
	}
	if p.match++; !j.changes[p.plan.Room] {
		j.fail("client %s is in another match", p.host)
	}
	p.past += j.done[p]
	j.last[p], j.done[p] = 0, 0
}

// observe compares the newest confirmed state of a client with the facts.
func (j *judge) observe(p *player) {
	if p.State() != client.Live || !j.returned(p) {
		return
	}
	if seat, ok := j.seats[p]; !ok {
		j.seats[p] = p.Seat()
	} else if seat != p.Seat() {
		j.seats[p] = p.Seat()
		j.fail("client %s had seat %d and has seat %d", p.host, seat, p.Seat())
	}
	if now := p.Stats().Strategy.Confirmed; now > j.done[p] {
		j.done[p], j.moved[p] = now, time.Since(j.world.began)
	}
	if n := len(p.Desyncs()); n > 0 {
		j.fail("client %s: %d differences", p.host, n)
	}
	if !j.world.strategy.Needs.Exact { // each client has its own part of the state
		j.last[p] = max(j.last[p], p.Stats().Strategy.Confirmed)
		j.observed++
		return
	}
	_, _, s, _ := p.Snapshots(time.Since(j.world.began))
	if s.Empty() || s.Tick() <= j.last[p] {
		return
	}
	j.last[p] = s.Tick()
	j.observed++
	at, sum := fact{p.plan.Room, p.match, s.Tick()}, s.Checksum()
	old, known := j.facts[at]
	switch {
	case !known:
		j.facts[at] = sum
	case old == sum:
		j.agreed++
	default:
		j.fail("client %s confirms %016x at tick %d of room %d, which was %016x", p.host, sum, at.tick, at.room, old)
	}
}

// bound returns how long after the last fault a client may take to be back: 3 s, and ten round trips of its link. On a slow line, a
// packet each way also waits behind a full queue. A recovered match waits for the slowest of its players.
func (j *judge) bound(p *player) (longest time.Duration) {
	for _, other := range j.world.clients {
		if other == p || j.by != "" && other.plan.Room == p.plan.Room {
			profile, _ := simnet.ByName(other.plan.Profile)
			longest = max(longest, 3*time.Second+10*(profile.Up.Delay+profile.Down.Delay)+queue(&profile.Up)+queue(&profile.Down))
		}
	}
	return longest
}

// queue returns how long a packet waits behind a full queue.
func queue(path *simnet.Path) time.Duration {
	return time.Duration(path.QueueBytes) * time.Second / time.Duration(max(path.Bandwidth, 1))
}

// plays returns how many ticks a client must confirm in two seconds. Cross traffic may fill the queue of its line meanwhile, or the
// line may fade. Both delay the ticks. With the delay that playing allows, at most one of 200 fades of a profile lasts longer.
func (j *judge) plays(p *player) ecs.Tick {
	profile, _ := simnet.ByName(p.plan.Profile)
	path := &profile.Down
	delay := 4 * path.Burst.Stay
	if path.Cross.Bandwidth > 0 {
		delay += queue(path)
	}
	return playing - min(playing, ecs.Tick(delay*time.Duration(j.world.app.Game.TickRate)/time.Second))
}

const (
	moving  = 20  // ticks that a client must confirm to be back
	playing = 100 // ticks that it must confirm in two seconds, of 120
	// settles is the time before these two seconds. The input delay follows the needs of the last second, so it still rises after
	// a fault.
	settles = time.Second
)

// progress returns how many ticks a client has confirmed while it was live, in all matches.
func (j *judge) progress(p *player) ecs.Tick { return p.past + j.done[p] }

// check plays on after the last fault, and fails if a client is not back within its bound, or if its match does not continue.
func (j *judge) check() {
	w := j.world
	over := w.schedule.end()
	back, before := map[*player]time.Duration{}, map[*player]ecs.Tick{}
	for _, p := range w.clients {
		before[p] = j.progress(p)
	}
	for d := time.Duration(0); d <= 60*time.Second && len(back) < len(w.clients); d += 50 * time.Millisecond {
		w.run(over + d)
		for _, p := range w.clients {
			if _, ok := back[p]; !ok && p.State() == client.Live && j.progress(p) > before[p]+moving {
				back[p] = d
			}
		}
	}
	for i, p := range w.clients {
		took, ok := back[p]
		switch {
		case !ok:
			j.fail("client %d of room %d on %s is not back: %v, %v", i, p.plan.Room, p.plan.Profile, p.State(), p.Err())
		case took > j.bound(p):
			j.fail("client %d of room %d on %s was back after %v, want %v", i, p.plan.Room, p.plan.Profile, took, j.bound(p))
		}
	}
	w.run(time.Since(w.began) + settles)
	for _, p := range w.clients {
		before[p] = j.progress(p)
	}
	w.run(time.Since(w.began) + 2*time.Second)
	workers := map[int]int{}
	st := w.process.Stats()
	total := st.Total()
	j.given = total.GivenUp
	for _, r := range st.Table {
		workers[r.Worker]++
		j.shared = j.shared || workers[r.Worker] > 1
	}
	for i, p := range w.clients {
		if n := j.progress(p) - before[p]; p.State() == client.Live && n < j.plays(p) {
			j.fail("client %d of room %d confirmed %d ticks in two seconds", i, p.plan.Room, n)
		}
	}
	if j.observed == 0 {
		j.fail("no state was observed")
	}
}
