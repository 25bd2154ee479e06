package swarm

import (
	"fmt"
	"strings"
	"time"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/net/simnet"
	"tendon/systems"
	"tendon/systems/interp"
	"tendon/systems/lockstep"
	"tendon/systems/predict"
	"tendon/systems/reckon"
	"tendon/systems/relay"
	"tendon/systems/verify"
)

// options describes a match. It follows from the seed alone.
type options struct {
	seed      uint64
	game      string
	sync      systems.Strategy
	setting   string   // of the strategy, for people
	partial   bool     // clients do not receive every entity
	pause     ecs.Tick // between two states that a client receives
	clients   []plan
	incidents []incident
	faultTime time.Duration // how long incidents occur
}

// healing is how long a match goes on after the last fault, over good links.
const healing = 10 * time.Second

// plan is how one client plays.
type plan struct {
	spectator     bool
	profile       string
	at            time.Duration // when it joins
	hz            int
	inputDelay    int // ticks
	maxPrediction int // ticks
	clock         simnet.Clock
}

// kind is the kind of an incident.
type kind uint8

const (
	partition kind = iota // nothing gets through, either way
	cut                   // nothing gets through, one way
	drop                  // some messages of one direction are lost
	duplicate             // some arrive twice
	delay                 // some arrive late
	suspend               // the client's process stands still
	blackout              // nothing gets through for longer than a session waits
	crash                 // the client's process ends, and another one comes back in its place
	reconnect             // the client's connection breaks
	clockStep             // the client's clock jumps
	network               // the client's link becomes another one
	away                  // the player leaves, and comes back
	leave                 // the player leaves for good
	hitch                 // the server's process stands still
	kill                  // the server's process ends, and another one goes on with the match
	powerCut              // so it does, and the journal has lost its end
	fault                 // one bit of the client's state is wrong, or its baselines are lost, or it receives an image
	kinds
)

func (k kind) String() string {
	return [...]string{"partition", "cut", "drop", "duplicate", "delay", "suspend", "blackout", "crash", "reconnect", "clock step",
		"network", "away", "leave", "hitch", "kill", "power cut", "fault"}[k]
}

// incident is one fault during a match.
type incident struct {
	kind    kind
	client  int // −1: the server's
	at      time.Duration
	length  time.Duration // duration; for a clock step, its size
	up      bool          // for one direction: from the client to the server
	count   int           // messages
	profile string
}

// profiles are drawn evenly from this list: P7 and P9 are rare, since on them little is left of a match. All clients on P11
// share a line.
var profiles = []string{"P0", "P1", "P1", "P2", "P2", "P2", "P3", "P3", "P3", "P3", "P4", "P4", "P5", "P5", "P5", "P6", "P6", "P8", "P8",
	"P0", "P1", "P2", "P3", "P4", "P5", "P6", "P8", "P3", "P7", "P9", "P10", "P11", "P12"}

// roundTrip is what a profile's packets need there and back at least, without those whose way wanders.
var roundTrip = map[string]time.Duration{"P3": 100 * time.Millisecond, "P4": 250 * time.Millisecond, "P5": 250 * time.Millisecond,
	"P6": 220 * time.Millisecond, "P8": 150 * time.Millisecond, "P12": 100 * time.Millisecond}

// draw returns the options of a seed. most bounds the whole match.
func draw(seed uint64, most time.Duration) options {
	r := image.NewRand(seed)
	o := options{seed: seed, game: "dots", faultTime: min(20*time.Second+upTo(r, 20*time.Second), most-healing)}
	if r.Chance(1, 4) {
		o.game = "arena"
	}
	players := 2 + r.IntN(7)
	for i := range players + r.IntN(3) {
		o.clients = append(o.clients, drawPlan(r, o.faultTime, i, i >= players))
	}
	for range 3 + r.IntN(3*players) {
		o.incidents = append(o.incidents, drawIncident(r, &o))
	}
	o.drawSync(image.NewRand(^seed))
	if r.Chance(1, 3) && o.sync.Name != "verify" { // whose clients compute nothing
		o.plant(r, players)
	}
	return o
}

// syncs are the strategies that are played.
var syncs = [...]string{"relay", "lockstep", "verify", "predict", "reckon"}

// drawSync chooses a strategy: of nine matches two are rollback, two lockstep, one verify, two prediction, two dead
// reckoning. It has a source of its own, so that a strategy more does not change all other choices.
func (o *options) drawSync(r *ecs.Rand) {
	switch r.IntN(9) {
	case 0, 1:
		o.sync = relay.Strategy
	case 2, 3:
		c := lockstep.Config{Interval: [...]int{0, 1, 2, 5, 10}[r.IntN(5)], Eager: r.Chance(1, 3), AdaptInterval: r.Chance(1, 3), RelayAtOnce: r.Chance(1, 3)}
		if r.Chance(1, 3) {
			c.Margin = 1 + r.IntN(8)
		}
		o.sync, o.setting = lockstep.New(c), fmt.Sprintf(" %+v", c)
	case 4:
		o.sync = verify.Strategy
	case 5, 6:
		rate := [...]int{20, 20, 10, 30, 60}[r.IntN(5)]
		c := predict.Config{SnapshotRate: rate,
			MaxView: [...]systems.Time{0, 0, -1, systems.Second}[r.IntN(4)], Unconditional: r.Chance(1, 6), Smoothing: interp.Smoothing(r.IntN(4))}
		if r.Chance(1, 4) {
			c.Interest, o.partial = fixed.FromInt(2+r.IntN(20)), true
		}
		o.sync, o.setting, o.pause = predict.New(c), fmt.Sprintf(" %+v", c), ecs.Tick(60/rate)
	default:
		rate := [...]int{5, 5, 2, 10, 30}[r.IntN(5)]
		c := reckon.Config{StateRate: rate}
		if r.Chance(1, 4) {
			c.Assumed = 100 * systems.Second / 1000
		}
		if r.Chance(1, 4) {
			c.Interest, o.partial = fixed.FromInt(2+r.IntN(20)), true
		}
		o.sync, o.pause = reckon.New(c), ecs.Tick(60/rate)
		o.setting = fmt.Sprintf(" states %d, assumed %d, interest %v", c.StateRate, c.Assumed, c.Interest)
	}
}

// replicates reports whether clients receive states and predict beside them.
func (o *options) replicates() bool { return o.sync.Name == "predict" || o.sync.Name == "reckon" }

func upTo(r *ecs.Rand, d time.Duration) time.Duration {
	return time.Duration(r.IntN(int(d/time.Millisecond)+1)) * time.Millisecond
}

func drawPlan(r *ecs.Rand, faultTime time.Duration, number int, spectator bool) plan {
	p := plan{spectator: spectator, profile: profiles[r.IntN(len(profiles))], hz: 60, maxPrediction: 30}
	if number > 1 || spectator { // two play from the start
		p.at = upTo(r, faultTime*3/4)
	}
	if r.Chance(2, 3) {
		p.hz = 30 + r.IntN(115)
	}
	if r.Chance(1, 3) {
		p.inputDelay = 1 + r.IntN(8)
	}
	if r.Chance(1, 3) {
		p.maxPrediction = 8 + r.IntN(53)
	}
	if r.Chance(2, 3) {
		p.clock = simnet.Clock{Offset: upTo(r, time.Hour), DriftPPM: int64(r.IntN(1001) - 500)}
	}
	return p
}

// drawIncident returns an incident that ends within the fault time.
func drawIncident(r *ecs.Rand, o *options) incident {
	f := incident{kind: kind(r.IntN(int(fault))), client: r.IntN(len(o.clients)), up: r.Chance(1, 2), count: 1 + r.IntN(30)}
	most := 3 * time.Second
	switch f.kind {
	case leave:
		if r.Chance(2, 3) { // or soon no player is left
			f.kind = away
		}
	case blackout:
		if r.Chance(2, 3) { // there is no time for many of them
			f.kind = partition
		}
	case hitch:
		f.client, most = -1, 700*time.Millisecond
	case kill, powerCut:
		f.client = -1
	case network:
		f.profile = profiles[r.IntN(len(profiles))]
	}
	f.length = 30*time.Millisecond + upTo(r, most)
	switch f.kind {
	case blackout:
		f.length = 10500*time.Millisecond + upTo(r, 2*time.Second)
	case delay:
		f.length /= 4
	case away:
		f.length += time.Second // for the last messages
	case clockStep:
		if r.Chance(1, 2) {
			f.length = -f.length
		}
	}
	takes := max(f.length, -f.length)
	switch f.kind {
	case kill:
		takes += clientTimeout
	case powerCut:
		takes += serverWaits
	}
	f.at = time.Second + upTo(r, max(0, o.faultTime-2*time.Second-takes))
	return f
}

// The longest durations of a server's restart. Clients time out after ten seconds and reconnect. A server that has lost
// ticks waits fifteen seconds for them.
const (
	clientTimeout = 12 * time.Second
	serverWaits   = 15 * time.Second
)

// serverFault reports whether a kind of incident is the server's.
func (k kind) serverFault() bool { return k == hitch || k == kill || k == powerCut }

// restarts reports whether the server was started again.
func (o *options) restarts() bool {
	for _, f := range o.incidents {
		if f.kind == kill || f.kind == powerCut {
			return true
		}
	}
	return false
}

// reaches reports whether no incident prevents a client from sending the ticks that a power cut has lost.
func (o *options) reaches(client int, cut incident) bool {
	if p := o.clients[client].profile; p == "P7" || p == "P9" {
		return false
	}
	for _, f := range o.incidents {
		before := max(f.length, -f.length) + clientTimeout
		switch {
		case f.client != client || f.at > cut.at+cut.length+serverWaits:
		case f.kind == network || f.kind == leave: // for good
			return false
		case f.at+before > cut.at:
			return false
		}
	}
	return true
}

// plant adds a fault on one player's machine, which has no other incident. See run.plant.
func (o *options) plant(r *ecs.Rand, players int) {
	victim := r.IntN(players)
	p := &o.clients[victim]
	if p.profile == "P7" || p.profile == "P9" {
		p.profile = "P3"
	}
	if victim > 1 {
		p.at = min(p.at, o.faultTime/4)
	}
	kept := o.incidents[:0]
	for _, f := range o.incidents {
		if f.client != victim && !f.kind.serverFault() {
			kept = append(kept, f)
		}
	}
	o.incidents = append(kept, incident{kind: fault, client: victim, at: o.faultTime / 2, up: r.Chance(1, 2)})
}

// steady reports whether a client plays all the time on its own link, nothing but packets being lost.
func (o *options) steady(client int) bool {
	for _, f := range o.incidents {
		switch f.kind {
		case drop, duplicate, delay, hitch, kill, powerCut, cut, partition:
		default:
			if f.client == client {
				return false
			}
		}
	}
	return !o.clients[client].spectator && o.clients[client].at+10*time.Second < o.faultTime
}

// leaves reports whether a client leaves, or is silent for so long that the server drops it.
func (o *options) leaves(client int) bool {
	for _, f := range o.incidents {
		if f.client == client && (f.kind == away || f.kind == leave || f.kind == blackout) {
			return true
		}
	}
	return false
}

// undisturbed reports whether no incident may end the client's connection. The sum of its silences is shorter than the
// server's timeout.
func (o *options) undisturbed(client int) bool {
	quiet := time.Duration(0)
	for _, f := range o.incidents {
		switch {
		case f.kind == hitch || f.client == client && (f.kind == partition || f.kind == cut || f.kind == suspend):
			quiet += f.length
		case f.kind == kill || f.kind == powerCut:
			return false
		case f.client == client && (f.kind == blackout || f.kind == crash || f.kind == reconnect || f.kind == away || f.kind == leave):
			return false
		}
	}
	return !o.worst(client) && quiet < serverTimeout
}

// serverTimeout is less than the timeout after which a server drops a silent client.
const serverTimeout = 4 * time.Second

// worst reports whether a client was ever on a link with up to two seconds of round trip.
func (o *options) worst(client int) bool {
	for _, f := range o.incidents {
		if f.client == client && f.kind == network && (f.profile == "P7" || f.profile == "P9") {
			return true
		}
	}
	return o.clients[client].profile == "P7" || o.clients[client].profile == "P9"
}

// mustRewind returns the players that cannot play the match without a rollback. Remote inputs arrive later than the ticks
// they show, and another player is in the match.
func (o *options) mustRewind() (clients []int) {
	if o.restarts() || o.sync.Name != "relay" {
		return nil // most of the time there may be no match
	}
	playing := 0
	for i := range o.clients {
		if o.steady(i) {
			playing++
		}
	}
	for i, p := range o.clients {
		ahead := int(roundTrip[p.profile]*60/time.Second) - p.inputDelay
		if playing >= 2 && o.steady(i) && ahead > 2 {
			clients = append(clients, i)
		}
	}
	return clients
}

func (o options) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: %s by %s%s, %v of faults, %v of healing\n", o.seed, o.game, o.sync.Name, o.setting, o.faultTime, healing)
	for i, p := range o.clients {
		role := "player"
		if p.spectator {
			role = "spectator"
		}
		fmt.Fprintf(&b, "  client %d: %s on %s from %v, %d Hz, input delay %d, prediction %d, clock %v %+d ppm\n", i, role, p.profile, p.at, p.hz,
			p.inputDelay, p.maxPrediction, p.clock.Offset, p.clock.DriftPPM)
	}
	for _, f := range o.incidents {
		fmt.Fprintf(&b, "  %v: %v", f.at, f.kind)
		if f.client >= 0 {
			fmt.Fprintf(&b, " of client %d", f.client)
		}
		switch f.kind {
		case cut, drop, duplicate, delay:
			fmt.Fprintf(&b, ", %s", map[bool]string{true: "up", false: "down"}[f.up])
		case network:
			fmt.Fprintf(&b, " to %s", f.profile)
		}
		switch f.kind {
		case drop, duplicate, delay:
			fmt.Fprintf(&b, ", %d messages", f.count)
		case powerCut:
			fmt.Fprintf(&b, ", %d writes lost", f.count)
		}
		switch f.kind {
		case drop, duplicate, reconnect, network, leave, fault:
		default:
			fmt.Fprintf(&b, ", %v", f.length)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
