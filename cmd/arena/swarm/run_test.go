package swarm

import (
	"fmt"
	"reflect"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/client"
	"tendon/net/matchsim"
	"tendon/net/room"
	"tendon/net/simnet"
	"tendon/systems"
)

// server is the node of a harness's room.
const server simnet.NodeID = 0

// Limits after the links are good again.
const (
	// behind is the largest distance in ticks between the confirmed tick and the server's: latency, a lost message or
	// two, and the client's frame.
	behind = 20
	// watched is the time at the end of a run in which confirmations must advance.
	watched = 2 * time.Second
)

// shown is the rate per second at which a client that receives states draws a view.
const shown = 7

// badLinkWait is the additional time for clients that were on a link with two seconds of round trip and packet loss. There
// the reliable channel waits eight seconds before it sends again, and half as long again each further time.
const badLinkWait = 40 * time.Second

// foundWithin is the longest life of a wrong bit. Checksums are compared once a second, and then the state must arrive.
const foundWithin = 6 * time.Second

// run is one match.
type run struct {
	options
	*matchsim.Match
	probe  *probe
	state  []clientState // by client
	counts counts
	wrong  []string
	dead   bool // the server's process has ended, and no other has begun

	rules    played
	events   [][]event // by tick
	cuts     int       // power cuts that took ticks away
	quiet    bool      // no player presses anything
	desynced uint64    // the client that the server's half reports as desynced; 0: none
}

// clientState is a run's record of a client.
type clientState struct {
	gone, away, down bool
	missed           bool          // it could not send the ticks that a power cut has lost
	unseated         time.Duration // until then its seat may change, since its seat was lost with the journal's end
	before           counts        // of the processes before this one
	planted          ecs.Tick      // the tick where its state was made wrong; 0: none
	mismatches       uint64        // when the wrong bit must have been found
	confirmed        ecs.Tick      // when watching began
	seat             int           // 1 + its seat, once it has one

	effects     *effectCheck // of its newest process
	monitor     *monitor     // of its newest half
	whole       int          // complete states that it received
	given, used int          // presses: of the player's, and in ticks of the server's
	calm        calm         // when watching began
}

// calm holds a client's counters when the links were good again.
type calm struct{ whole, given, used int }

// counts are the counters of a run.
type counts struct {
	Checked, Rollbacks, Resimulated, Corrections, Stalls, Snaps, Substituted uint64
	TakenBack, ArenaTakenBack, Arenas                                        int // structural changes that were rolled back, those of them in the arena, matches of the arena
	Lost, Cut, Scripted, Duplicated, Late, Overrun, Discarded                uint64
	Planted                                                                  int // wrong bits
	Reconnects, Resyncs, Desyncs                                             uint64
	Adopted                                                                  uint64 // lost ticks that clients sent
	Rewritten                                                                int    // lost ticks that no client sent
	Sums                                                                     int    // different checksums of the server
	Ticks                                                                    ecs.Tick
	Kinds                                                                    [kinds]int // incidents that occurred
	Syncs                                                                    [len(syncs)]int
	Replication                                                              replicationCounts
}

// replicationCounts are the counters of clients that receive states.
type replicationCounts struct {
	Whole, Events, Cancelled int // complete states, irreversible events that were reported, predicted events that were cancelled
	Given, Used              int // presses of players, and those of them in a tick of the server
	Spawned, Withdrawn       int // predicted entities when a message arrived, and those of them that did not exist after it
	Corrections, Substituted uint64
	Images, Resyncs          uint64 // images, those of them for clients in the match
}

// add adds all counters of o.
func (t *counts) add(o counts) { addAll(reflect.ValueOf(t).Elem(), reflect.ValueOf(o)) }

func addAll(to, v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			addAll(to.Field(i), v.Field(i))
		}
	case reflect.Array:
		for i := range v.Len() {
			addAll(to.Index(i), v.Index(i))
		}
	case reflect.Int:
		to.SetInt(to.Int() + v.Int())
	default:
		to.SetUint(to.Uint() + v.Uint())
	}
}

// outcome is the result of a match.
type outcome struct {
	counts
	wrong []string // failed checks
	trace uint64
	sum   image.Checksum // the server's last
}

// begin returns the match of the options, without its incidents. change changes the room; optional.
func begin(o options, change func(*room.Config)) (*run, error) {
	r := &run{options: o, state: make([]clientState, len(o.clients))}
	r.rules, r.probe = game(o.game)
	h, err := matchsim.New(matchsim.Config{Game: r.rules.Game, Strategy: r.serverStrategy(), Seed: o.seed, Journal: true, Links: true, Room: func(c *room.Config) {
		c.MaxPeers, c.Sinks = 32, []room.Sink{{Tick: r.take}}
		if change != nil {
			change(c)
		}
	}})
	if err != nil {
		return nil, err
	}
	r.Match = h
	for i := range o.clients {
		r.join(i)
	}
	return r, nil
}

// play plays the match of a seed.
func play(o options) (outcome, error) {
	r, err := begin(o, nil)
	if err != nil {
		return outcome{}, err
	}
	h := r.Match
	for _, f := range o.incidents {
		h.Net.At(f.at, func() { r.strike(f) })
	}
	h.Net.At(o.faultTime, r.heal)
	h.RunUntil(o.faultTime + healing - watched)
	r.wait()
	r.hush()
	for i, c := range h.Clients {
		s := &r.state[i]
		s.confirmed, s.calm = confirmed(c), calm{s.whole, s.given, s.used}
	}
	h.Run(watched)
	r.wait() // for one more lost message that is sent again at the bad link's rate
	r.hush()
	r.judge()
	last, _ := h.Checksum(h.Room.Tick())
	return outcome{counts: r.counts, wrong: r.wrong, trace: h.Net.TraceHash(), sum: last}, nil
}

// hush runs a second without presses, so that earlier ones arrive.
func (r *run) hush() {
	if r.replicates() {
		r.quiet = true
		r.Run(time.Second)
		r.quiet = false
	}
}

func (r *run) fail(format string, args ...any) {
	r.wrong = append(r.wrong, fmt.Sprintf(format, args...))
}

// join adds client i, which sends an order every three seconds.
func (r *run) join(i int) {
	p := r.clients[i]
	profile, ok := simnet.ByName(p.profile)
	if !ok {
		panic("swarm: no profile " + p.profile)
	}
	c := r.Match.Join(matchsim.Plan{Profile: profile, Clock: p.clock, At: p.at, Spectator: p.spectator, Hz: p.hz,
		Effects: func(n systems.Effect) { r.state[i].effects.effect(n) },
		Change: func(c *client.Config) {
			c.InputDelay, c.MaxPrediction = p.inputDelay, p.maxPrediction
			c.Strategies = []systems.Strategy{r.watch(i)}
		}})
	if r.replicates() {
		r.Net.Every(c.Node, r.Net.LocalNow(c.Node), shown, func(_ int64, now simnet.Time) {
			if c.Core != nil {
				c.Core.View(systems.Time(now))
			}
		})
	}
	r.Net.OnRestart(c.Node, func(bool, simnet.Time) {
		r.state[i].down = false
		r.restart(i)
	})
	if !p.spectator {
		r.Net.Every(c.Node, r.Net.LocalNow(c.Node), 1, func(k int64, _ simnet.Time) {
			if !c.Live() {
				return
			}
			r.sit(i)
			if k%3 == 0 {
				if _, err := c.Core.Order(ecs.Entity{}, r.rules.order); err != nil && r.sync.Predicts { // other strategies may be catching up
					r.fail("client %d: Order while live: %v", i, err)
				}
			}
		})
	}
}

// sit fails if client i has lost its seat, unless it was away for longer than a seat is kept.
func (r *run) sit(i int) {
	s := &r.state[i]
	if r.Net.Now() < s.unseated {
		return
	}
	if now := r.Clients[i].Seat() + 1; s.seat == 0 || r.leaves(i) {
		s.seat = now
	} else if s.seat != now {
		r.fail("client %d sat on seat %d and now sits on %d", i, s.seat-1, now-1)
	}
}

// restart starts a new process of client i.
func (r *run) restart(i int) {
	r.bank(i)
	r.Clients[i].Restart()
}

// bank adds the counters of client i's process before it ends.
func (r *run) bank(i int) {
	c, s := r.Clients[i], &r.state[i]
	if c.Core == nil {
		return
	}
	st := c.Core.Stats()
	s.before.add(counts{Rollbacks: st.Strategy.Rollbacks, Resimulated: st.Strategy.Resimulated, Corrections: st.Strategy.Corrections,
		Stalls: st.Strategy.Stalls, Snaps: st.Strategy.Snaps, Substituted: st.Strategy.Substituted,
		Reconnects: st.Reconnects, Resyncs: st.Resyncs, Desyncs: uint64(len(c.Core.Desyncs()))})
	r.bankReplication(i)
	if st.Session.Malformed > 0 {
		r.fail("client %d could not read %d messages of the server", i, st.Session.Malformed)
	}
	for _, d := range c.Core.Desyncs() {
		if s.planted == 0 {
			r.fail("client %d reported a desync without a fault: %v", i, d)
		}
	}
}

// strike applies an incident now, unless the client's state excludes it.
func (r *run) strike(f incident) {
	now := r.Net.Now()
	if f.kind == hitch {
		r.counts.Kinds[hitch]++
		r.Net.Pause(server, now, now+f.length)
		return
	}
	if f.kind == kill || f.kind == powerCut {
		r.restartServer(f)
		return
	}
	c, s := r.Clients[f.client], &r.state[f.client]
	if c.Core == nil || s.gone || s.away || s.down {
		return
	}
	r.counts.Kinds[f.kind]++
	from, to := server, c.Node
	if f.up {
		from, to = to, from
	}
	switch f.kind {
	case partition, blackout:
		r.Net.Partition(c.Node, server, now, now+f.length)
	case cut:
		r.Net.Cut(from, to, now, now+f.length)
	case drop:
		r.Net.Script(from, to, simnet.Rule{Count: f.count, Drop: true})
	case duplicate:
		r.Net.Script(from, to, simnet.Rule{Count: f.count, Duplicate: true})
	case delay:
		r.Net.Script(from, to, simnet.Rule{Count: f.count, Delay: f.length})
	case suspend:
		r.Net.Pause(c.Node, now, now+f.length)
	case crash:
		s.down = true
		r.Net.Crash(c.Node)
		r.Net.At(now+f.length, func() { r.Net.Restart(c.Node, false) })
	case reconnect:
		c.Reconnect()
	case clockStep:
		r.Net.StepClock(c.Node, f.length)
	case network:
		p, _ := simnet.ByName(f.profile)
		if err := r.Net.SetProfile(c.Node, server, p); err != nil {
			r.fail("%v", err)
		}
	case away:
		s.away = true
		c.Leave()
		r.Net.At(now+f.length, func() {
			s.away = false
			r.restart(f.client)
		})
	case leave:
		s.gone = true
		c.Leave()
	case fault:
		r.plant(f)
	}
}

// restartServer ends the server's process and starts another one later.
func (r *run) restartServer(f incident) {
	if r.dead {
		return
	}
	now, writes := r.Net.Now(), 0
	if f.kind == powerCut {
		writes = f.count
		for i, c := range r.Clients {
			s := &r.state[i]
			// A client that has just joined may have a seat and a state that no other peer has.
			fresh := c.FirstLive == 0 || c.FirstLive+time.Second > now
			if fresh {
				s.seat, s.unseated = 0, now+f.length+serverWaits+clientTimeout
			}
			s.missed = s.missed || fresh || s.down || s.away || s.gone || !c.Live() || !r.reaches(i, f)
		}
	}
	r.counts.Kinds[f.kind]++
	r.counts.Adopted += r.Room.Stats().Adopted
	r.counts.Replication.Images += r.Room.Stats().Images
	tick := r.Room.Tick()
	r.dead = true
	r.Crash(writes)
	r.Net.At(now+f.length, func() {
		if err := r.Recover(); err != nil {
			r.fail("the match did not come back: %v", err)
		}
		r.dead = false
		if r.resumed(); r.Room.Tick() < tick {
			r.cuts++
		}
	})
}

// resumed fails unless the room continues from the state of the earlier one.
func (r *run) resumed() {
	var now image.Snapshot
	r.Room.World().Image().Save(&now)
	if want, ok := r.Checksum(now.Tick()); ok && now.Checksum() != want {
		r.fail("a room that goes on at tick %d has another state than the one before it", now.Tick())
	}
	now.Release()
}

// plant makes the client's state wrong in a tick that it has not simulated yet. A client that receives states receives an
// image instead.
func (r *run) plant(f incident) {
	c, s := r.Clients[f.client], &r.state[f.client]
	switch {
	case !c.Live():
		r.counts.Kinds[fault]--
	case r.replicates():
		r.desynced = uint64(f.client) + 1
	default:
		s.planted = r.Room.Tick() + 90
		c.Fault(s.planted, r.rules.flip)
		r.Net.At(r.Net.Now()+90*time.Second/60+foundWithin, func() { s.mismatches = c.Mismatches })
	}
}

// heal makes all links good for the rest of the match.
func (r *run) heal() {
	good, _ := simnet.ByName("P2")
	for _, c := range r.Clients {
		if err := r.Net.SetProfile(c.Node, server, good); err != nil {
			r.fail("%v", err)
		}
	}
}

// wait runs the match on while a client needs more time.
func (r *run) wait() {
	for end := r.Net.Now() + badLinkWait; r.waits() && r.Net.Now() < end; {
		r.Run(time.Second)
	}
}

// waits reports whether a client is not in the match yet, or not up to date, because its reliable channel still waits
// after a bad link.
func (r *run) waits() bool {
	for i, c := range r.Clients {
		late := r.worst(i) && c.Live() && r.Room.Tick() > confirmed(c)+behind+r.pause+ecs.Tick(c.Core.Stats().Strategy.InputDelay)
		if (r.worst(i) || r.restarts()) && !r.state[i].gone && !c.Live() || late && !r.state[i].gone {
			return true
		}
	}
	return false
}

func confirmed(c *matchsim.Client) ecs.Tick {
	if c.Core == nil {
		return 0
	}
	return c.Core.Stats().Strategy.Confirmed
}

// judge checks the match and adds its counters.
func (r *run) judge() {
	r.counts.Ticks = r.Room.Tick()
	for k, name := range syncs {
		if r.sync.Name == name {
			r.counts.Syncs[k]++
		}
	}
	r.counts.Adopted += r.Room.Stats().Adopted
	r.counts.Replication.Images += r.Room.Stats().Images
	if r.Rewritten > 0 && r.cuts == 0 {
		r.fail("%d ticks were computed otherwise by a room that has lost nothing", r.Rewritten)
	}
	r.counts.Rewritten = r.Rewritten
	for i := range r.Clients {
		r.judgeClient(i)
	}
	for _, p := range r.Room.AppendPeers(nil) {
		if p.Session.Malformed > 0 {
			r.fail("the server could not read %d messages of %s", p.Session.Malformed, p.Identity.Name)
		}
	}
	if s := r.Room.Stats(); s.Refused > 0 {
		r.fail("the room refused %d clients", s.Refused)
	}
	r.judgeCoverage()
}

// judgeClient checks client i.
func (r *run) judgeClient(i int) {
	c, s := r.Clients[i], &r.state[i]
	r.bank(i)
	r.counts.add(s.before)
	r.counts.Checked += c.Checked
	for _, n := range []simnet.Counters{r.Net.Counters(c.Node, server), r.Net.Counters(server, c.Node)} {
		r.counts.add(counts{Lost: n.Lost, Cut: n.Cut, Scripted: n.Scripted, Duplicated: n.Duplicated, Late: n.Reordered, Overrun: n.Overrun, Discarded: n.Discarded})
	}
	if c.Rewritten > 0 && !s.missed && r.sync.Needs.Exact { // other strategies hold states and no ticks to send
		r.fail("client %d had confirmed and could prove %d ticks that a restart of the server changed", i, c.Rewritten)
	}
	if s.planted == 0 {
		if c.Mismatches > 0 {
			r.fail("client %d differed from the server at %d of %d confirmed ticks, first at tick %d", i, c.Mismatches, c.Checked, c.FirstMismatch)
		}
	} else {
		r.counts.Planted++
		r.judgeFault(i)
	}
	if s.gone {
		return
	}
	st := c.Core.Stats()
	if err := c.Core.Err(); err != nil {
		r.fail("client %d ended: %v", i, err)
	} else if !c.Live() {
		r.fail("client %d is %v at the end: %+v", i, c.Core.State(), st)
	}
	// An input delay or a margin that a bad link made necessary shrinks slowly and delays the present.
	if lag := int(r.Room.Tick() - st.Strategy.Confirmed); lag < 0 || lag > behind+st.Strategy.InputDelay+int(r.margin()) {
		r.fail("client %d has confirmed tick %d, the server is at %d", i, st.Strategy.Confirmed, r.Room.Tick())
	}
	r.judgeReplication(i)
	if r.undisturbed(i) && st.Reconnects > 0 {
		r.fail("client %d lost its connection %d times, and nothing had happened to it", i, st.Reconnects)
	}
	if n := st.Strategy.Confirmed - s.confirmed; n+behind+r.pause < ecs.Tick(watched*60/time.Second) {
		r.fail("client %d has confirmed %d ticks in the last %v", i, n, watched)
	}
	if !r.clients[i].spectator && st.Strategy.Present < st.Strategy.Confirmed {
		r.fail("client %d shows tick %d and has confirmed %d", i, st.Strategy.Present, st.Strategy.Confirmed)
	}
}

// margin is the number of ticks that a client may keep in reserve, or wait for the next state.
func (r *run) margin() ecs.Tick {
	if r.sync.Name == "lockstep" {
		return 30
	}
	return r.pause
}

// unseen is the number of states between two that are compared: those of one frame.
func (r *run) unseen() ecs.Tick {
	if r.sync.Predicts {
		return 0
	}
	return 10
}

// judgeFault fails unless a client's wrong bit was found, reported and corrected.
func (r *run) judgeFault(i int) {
	c, s := r.Clients[i], &r.state[i]
	switch {
	case c.Mismatches == 0:
		r.fail("client %d simulated tick %d wrongly and never differed", i, s.planted)
	case c.FirstMismatch < s.planted || c.FirstMismatch > s.planted+r.unseen():
		r.fail("client %d first differed at tick %d, its state was made wrong at %d", i, c.FirstMismatch, s.planted)
	case c.Mismatches != s.mismatches:
		r.fail("client %d differed at %d ticks, %d of them after it should have been healed", i, c.Mismatches, c.Mismatches-s.mismatches)
	}
	if s.before.Resyncs == 0 {
		r.fail("client %d was never sent the right state", i)
	}
	if s.before.Desyncs == 0 {
		r.fail("client %d reported no desync", i)
	}
}

// judgeCoverage fails if the run had no rollbacks, structural changes or checksums where it must have them.
func (r *run) judgeCoverage() {
	sums := map[image.Checksum]bool{}
	for f := ecs.Tick(1); f <= r.Room.Tick(); f++ {
		if s, ok := r.Checksum(f); ok {
			sums[s] = true
		}
	}
	r.counts.Sums, r.counts.TakenBack = len(sums), r.probe.takenBack
	if r.game == "arena" {
		r.counts.ArenaTakenBack, r.counts.Arenas = r.probe.takenBack, 1
	}
	if ecs.Tick(len(sums)) < r.Room.Tick() {
		r.fail("%d ticks had %d different checksums", r.Room.Tick(), len(sums))
	}
	late := int(r.Room.Tick()) - int((r.Net.Now()-r.Room.Stats().GivenUp)*60/time.Second)
	if !r.restarts() && (late < -1 || late > 1) {
		r.fail("the room has computed %d ticks in %v", r.Room.Tick(), r.Net.Now())
	}
	for _, i := range r.mustRewind() {
		if n := r.state[i].before.Rollbacks; n < 10 {
			r.fail("client %d rewound %d times: the run proves nothing", i, n)
		}
		if r.probe.takenBack == 0 && r.game == "dots" {
			r.fail("no change of structure was taken back: the run proves nothing")
		}
	}
}
