package swarm

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"tendon/cmd/cli/journals"
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/client"
	"tendon/net/server"
)

// mayLose returns how many confirmed ticks the last end of a process may have lost. With --fsync always it is 0. Otherwise:
//
//   - A match continues without a disk that stalls, for at most three seconds, and confirms at most twice as many ticks.
//   - With an interval, a power cut loses the ticks of the interval, and those of the sync.
//   - With never, a power cut loses all ticks.
func (j *judge) mayLose() ecs.Tick {
	second := ecs.Tick(j.world.app.Game.TickRate)
	switch fsync := j.world.schedule.Fsync; {
	case fsync == "always":
		return 0
	case j.by == power && fsync == "never":
		return math.MaxInt32
	case j.stalls:
		return 6 * second
	case j.by == power:
		return second / 5
	}
	return 0
}

// ends is called before a process ends.
func (j *judge) ends(by Kind) {
	j.by, j.stalls = by, j.strike != nil && j.strike.fault.Kind == stall
	for _, p := range j.world.clients {
		if _, lossy := j.lossy[p]; !lossy {
			j.joins[p] = p.Stats().Reconnects
		}
	}
	j.struck()
}

// recovered compares the matches of the next process with the ticks that clients have confirmed.
func (j *judge) recovered(found []journals.Match) {
	if j.by == power && j.world.schedule.Fsync == "never" { // a journal without a tick is no match
		for i := range j.world.schedule.Rooms {
			j.changes[i] = true
		}
	}
	for _, m := range found {
		var clients []*player
		for _, p := range j.world.clients {
			if m.Journal.Header().Room == fmt.Sprintf("room%d", p.plan.Room) {
				clients = append(clients, p)
			}
		}
		last, newest := m.Journal.Last().Tick, ecs.Tick(0)
		for _, p := range clients {
			if _, lossy := j.lossy[p]; !lossy {
				newest = max(newest, j.done[p])
			}
		}
		if newest <= last {
			continue
		}
		if lost := newest - last; lost > j.mayLose() {
			j.fail("room %d lost %d confirmed ticks by a %s", clients[0].plan.Room, lost, j.by)
		}
		for _, p := range clients {
			j.lossy[p] = j.joins[p]
		}
		maps.DeleteFunc(j.facts, func(f fact, _ image.Checksum) bool {
			return f.room == clients[0].plan.Room && f.match == clients[0].match && f.tick > last
		})
	}
}

// returned reports whether a live client has returned to the match if that has lost ticks. They may be played again, with other
// players in the seats.
func (j *judge) returned(p *player) bool {
	reconnects, lossy := j.lossy[p]
	switch {
	case !lossy:
		return true
	case p.Stats().Reconnects == reconnects:
		return false
	}
	delete(j.lossy, p)
	delete(j.seats, p)
	if now := p.Stats().Strategy.Confirmed; now < j.done[p] {
		p.past += j.done[p] - now
		j.done[p], j.last[p] = now, min(j.last[p], now)
	}
	return true
}

// strike is a fault of the disk, and the server at its beginning.
type strike struct {
	fault  *Fault
	at     time.Duration
	hits   int
	before map[string]server.RoomStats // of rooms in which clients play
}

// strikes is called when a fault of the disk begins.
func (j *judge) strikes(f *Fault) {
	s := &strike{fault: f, at: time.Since(j.world.began), hits: j.world.disk.hits(f.Kind), before: map[string]server.RoomStats{}}
	for _, r := range j.world.process.Stats().Table {
		if slices.ContainsFunc(j.world.clients, func(p *player) bool {
			return r.Name == fmt.Sprintf("room%d", p.plan.Room) && p.State() == client.Live && j.moved[p] > s.at-time.Second/2
		}) {
			s.before[r.Name] = r
		}
	}
	j.strike = s
}

// struck is called when a fault of the disk ends. The figures of a server are up to a second old.
func (j *judge) struck() {
	s, w := j.strike, j.world
	j.strike = nil
	if s == nil || time.Since(w.began) < s.at+4*time.Second {
		return
	}
	d := time.Since(w.began) - s.at
	ticks := ecs.Tick((d - 2*time.Second) * time.Duration(w.app.Game.TickRate) / time.Second)
	for _, r := range w.process.Stats().Table {
		before, played := s.before[r.Name]
		switch {
		case !played:
		case !strings.HasPrefix(r.Name+"-", w.journalsOf(s.fault)):
			if got := r.Tick - before.Tick; got < ticks || r.Late > before.Late || r.GivenUp > before.GivenUp {
				j.fail("the %s of another journal stops %s: %d of %d ticks, %d late", s.fault.Kind, r.Name, got, ticks, r.Late-before.Late)
			}
		case w.disk.hits(s.fault.Kind) <= s.hits,
			s.fault.Kind == stall && w.schedule.Fsync != "always" && !strings.Contains(w.log.String(), "the disk is slow"),
			s.fault.Kind != stall && ecs.Tick(r.Unwritten-before.Unwritten) < ticks/2:
			j.fail("%s does not notice the %s of the disk: %d frames waited in %v", r.Name, s.fault.Kind, r.Unwritten-before.Unwritten, d)
		}
	}
}
