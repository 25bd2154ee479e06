package lab

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"tendon/ecs"
	"tendon/net/cost/traffic"
	"tendon/net/matchsim"
	"tendon/net/simnet"
	"tendon/systems"
)

// Live is a lab in which a person watches and plays: the same match with several strategies at once. The networks have the
// same seed, and so the same losses and delays. All matches are at the same virtual time between two calls.
//
// Player 0 is the viewer and has the same input in every match. The others are the game's bots. They decide by the state
// of their match's server and by the same random numbers, so that their inputs are the same while the matches are. With a
// script they would soon run into walls, since deaths differ between two matches.
//
// A Live belongs to one goroutine.
type Live struct {
	matches []*liveMatch
	probe   *probe
	pace    float64       // recent share of the caller's time that the matches kept up with, in [0, 1]
	due     time.Duration // when the next reading is; 0: the matches are not shown yet
	count   uint64        // of readings
	input   ecs.InputBytes
	mark    uint64
	bot     bool
	spike   time.Duration // when the last lag spike ends
	cut     time.Duration // when the last cut ends
}

// Own are the settings of player 0's client. They can be changed while the match goes on.
type Own struct {
	// Strategy is the client's, if its settings differ from the server's. It has the same name. The zero Strategy is the
	// server's.
	Strategy systems.Strategy
	// InputDelay and MaxPrediction are as in client.Config.
	InputDelay, MaxPrediction int
}

const (
	liveAhead   = 0.6                     // how long a frame waits to be judged, in seconds: readings follow the network as fast
	readEvery   = 250 * time.Millisecond  // virtual time from one reading to the next
	liveJoining = 15 * time.Second        // for clients to join before the matches are shown
	liveSettle  = 1500 * time.Millisecond // for the matches to go on before that, once all clients are live
	// catchUp is the most virtual time that one Advance runs. Time beyond it is lost: the matches then run slower than the
	// caller's clock.
	catchUp = 100 * time.Millisecond
)

// NewLive returns running matches of a game with a Bot, one for each strategy, which is the server's and the bots', with the
// settings of player 0's client. Their clients have joined, except those that the network kept out. Of c, NewLive uses Game,
// Strategies, Players, Seed and Clock; the only profile is the network at the start.
func NewLive(c Config, own []Own) (*Live, error) {
	if len(own) != len(c.Strategies) {
		return nil, fmt.Errorf("%w: there are %d strategies and settings of %d clients", ErrConfig, len(c.Strategies), len(own))
	}
	c.Bots = true
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	l := &Live{pace: 1, bot: true}
	for _, s := range c.Strategies {
		w, err := newLiveMatch(l, &c, s)
		if err != nil {
			return nil, err
		}
		l.matches = append(l.matches, w)
	}
	if l.probe, err = newProbe(c.Seed, c.Profiles[0]); err != nil {
		return nil, err
	}
	l.waitForJoins()
	if err := l.SetProfile(c.Profiles[0]); err != nil {
		return nil, err
	}
	for i, o := range own { // a new client measures the new network
		if err := l.SetOwn(i, o); err != nil {
			return nil, err
		}
	}
	l.waitForJoins()
	l.runTo(l.Now() + liveSettle)
	for _, w := range l.matches {
		w.begin()
		w.reset()
	}
	l.due, l.count = l.Now()+readEvery, 0
	l.ownLinks(l.delayDuringSpikes)
	return l, nil
}

// waitForJoins runs until all clients have joined, or their time is up.
func (l *Live) waitForJoins() {
	absent := func(w *liveMatch) bool { return w.absent() != nil }
	for until := l.Now() + liveJoining; slices.ContainsFunc(l.matches, absent) && l.Now() < until; {
		l.runTo(l.Now() + matchsim.Slice)
	}
}

// runTo brings all networks to one moment.
func (l *Live) runTo(now time.Duration) {
	for _, w := range l.matches {
		w.Net.RunUntil(now)
	}
	l.probe.net.RunUntil(now)
}

// Advance runs the matches after some time of the caller's clock has passed. An error names a match that failed, and the
// Live cannot be used any more.
func (l *Live) Advance(passed time.Duration) error {
	if passed > 0 {
		share := min(float64(catchUp)/float64(passed), 1)
		l.pace += (share - l.pace) * min(passed.Seconds(), 1)
	}
	for until := l.Now() + min(passed, catchUp); l.Now() < until; {
		l.runTo(min(until, l.due))
		if l.Now() == l.due {
			for _, w := range l.matches {
				w.read()
			}
			l.count++
			l.due += readEvery
		}
	}
	for i, w := range l.matches {
		if err := w.Ended(); err != nil {
			return fmt.Errorf("lab: match %d, %s: %w", i+1, w.strategy.Name, err)
		}
	}
	return nil
}

// Input sets the input of player 0 from now on, with a mark that Reading.Seen returns when it is shown. The mark grows
// with every input that is to be followed.
func (l *Live) Input(in ecs.InputBytes, mark uint64) {
	l.input, l.mark, l.bot = in, mark, false
}

// Order gives an order of player 0 in every match. It passes what ecs.OrderQueue.Drain yields.
func (l *Live) Order(target ecs.Entity, payload []byte) {
	for _, w := range l.matches {
		_, _ = w.own.Core.Order(target, payload) // a match that is not live takes none
	}
}

// Autoplay lets the game's bot play for player 0, until the next Input.
func (l *Live) Autoplay() { l.bot = true }

// SetProfile changes the network of every player in every match. Readings that keep their last value are then unknown until
// they are measured again.
func (l *Live) SetProfile(p simnet.Profile) error {
	if err := p.Validate(); err != nil {
		return err
	}
	for _, w := range l.matches {
		for _, player := range w.players {
			if err := w.Net.SetProfile(player.Node, w.Server, p); err != nil {
				return err
			}
		}
		w.forget()
	}
	l.count++
	return l.probe.net.SetProfile(l.probe.near, l.probe.far, p)
}

// ownLinks calls f for the link of player 0 in each match and for that of the probe.
func (l *Live) ownLinks(f func(n *simnet.Network, near, far simnet.NodeID)) {
	for _, w := range l.matches {
		f(w.Net, w.own.Node, w.Server)
	}
	f(l.probe.net, l.probe.near, l.probe.far)
}

// delayDuringSpikes delays the messages of a link while a spike lasts.
func (l *Live) delayDuringSpikes(n *simnet.Network, near, far simnet.NodeID) {
	rule := simnet.Rule{Match: func(systems.Channel, []byte) bool { return n.Now() < l.spike }, Count: math.MaxInt, Delay: spikeDelay}
	n.Script(near, far, rule)
	n.Script(far, near, rule)
}

const (
	spikeTime  = time.Second
	spikeDelay = 200 * time.Millisecond // each way
	cutTime    = 2 * time.Second
)

// Spike delays every message from and to player 0 by 200 ms more each way, for one second from now.
func (l *Live) Spike() { l.spike = l.Now() + spikeTime }

// Unplug drops every message from and to player 0, for two seconds from now. A call during that time has no effect.
func (l *Live) Unplug() {
	if l.Now() < l.cut {
		return
	}
	l.cut = l.Now() + cutTime
	l.ownLinks(func(n *simnet.Network, near, far simnet.NodeID) { n.Partition(near, far, l.Now(), l.cut) })
}

// SetOwn changes the settings of player 0 in match i: a new client takes the seat while the match goes on. It fails on
// invalid settings, and the present client then goes on.
func (l *Live) SetOwn(i int, o Own) error {
	if name := l.matches[i].strategy.Name; o.Strategy.NewClient != nil && o.Strategy.Name != name {
		return fmt.Errorf("%w: Own of match %d: Strategy is %s, want %s", ErrConfig, i, o.Strategy.Name, name)
	}
	if err := l.matches[i].replace(o); err != nil {
		return fmt.Errorf("%w: Own of match %d: %w", ErrConfig, i, err)
	}
	return nil
}

// ErrBusy is wrapped by the error of Swap while player 0 is not live in a match.
var ErrBusy = errors.New("lab: the match is not live: try again in a second")

// Swap continues every match with the strategy of the next one, and the last match with that of the first. No player
// reconnects. A strategy has its default settings on player 0's client until SetOwn. The error wraps ErrBusy while the last
// Swap is not done.
func (l *Live) Swap() error {
	for i, w := range l.matches {
		if w.next != "" && w.next != w.strategy.Name || !w.own.Live() {
			return fmt.Errorf("%w: match %d", ErrBusy, i+1)
		}
	}
	for i, w := range l.matches {
		w.next = l.matches[(i+1)%len(l.matches)].strategy.Name
		if err := w.Room.Switch(w.next); err != nil {
			w.next = ""
			return err
		}
	}
	return nil
}

// Strategy returns the strategy of match i at present.
func (l *Live) Strategy(i int) systems.Strategy { return l.matches[i].strategy }

// Len returns the number of matches.
func (l *Live) Len() int { return len(l.matches) }

// Now returns the virtual time.
func (l *Live) Now() time.Duration { return l.probe.net.Now() }

// Pace returns the recent share of the caller's time that the matches kept up with, in [0, 1].
func (l *Live) Pace() float64 { return l.pace }

// Link returns recent measurements of the network.
func (l *Live) Link() Link { return l.probe.read() }

// Readings returns the newest reading of match i and its number.
func (l *Live) Readings(i int) (Reading, uint64) {
	w := l.matches[i]
	r := w.reading
	r.Strategy, r.Seen, r.SeenAfter, r.Desync = w.strategy.Name, w.own.inputs.seen, w.own.inputs.seenAfter, w.desync.Desync
	return r, l.count
}

// Bytes returns the bytes of the server's messages to all clients of match i by component, in descending order. The count begins
// with the match, or when player 0's client is replaced.
func (l *Live) Bytes(i int) (b traffic.Bytes) {
	l.matches[i].bytes.Report(&b)
	b.Rows = b.Largest()
	return b
}

// View returns player 0's view of match i, which is valid until the next call; nil while the client has no state.
func (l *Live) View(i int) *ecs.View { return l.matches[i].view }

// ServerView returns the server's state of match i as player 0 would see it without a network; nil before the first tick. It
// is interpolated from the tick before to the last one.
func (l *Live) ServerView(i int) *ecs.View {
	w := l.matches[i]
	now, ok := w.states.At(w.history.tick)
	if !ok {
		return nil
	}
	before, _ := w.states.At(w.history.tick - 1)
	w.ideal.Update(before, now, now, w.history.now(l.Now())-float64(w.history.tick))
	return w.ideal
}

// OtherView returns the view of player 1 in match i, without effects, or nil without one. It is valid until the next call.
func (l *Live) OtherView(i int) *ecs.View {
	w := l.matches[i]
	if len(w.players) < 2 || !w.players[1].Live() {
		return nil
	}
	return w.players[1].Core.View(w.players[1].Now())
}

// Desync causes a desync in every match: it moves the avatar of player 0 on that player's client alone, as a bug in a
// game would. Reading.Desync reports its outcome.
func (l *Live) Desync() {
	for _, w := range l.matches {
		w.causeDesync()
	}
}
