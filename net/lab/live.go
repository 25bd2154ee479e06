package lab

import (
	"fmt"
	"time"

	"tendon/ecs"
	"tendon/net/simnet"
	"tendon/systems"
)

// Live is a lab that somebody watches and plays in: the same match by several strategies at once, in networks of the same
// seed, so that all meet the same weather. Virtual time is at the same moment in all of them between two calls.
//
// Player 0 is the one who watches, and does the same in every match. All others are the game's bots, which decide by the
// state of their match's server and by the same dice in every match: what they do is the same for as long as what
// happened is. By one script they would soon run into walls, since nobody dies in the same tick in two matches.
//
// A Live belongs to one goroutine.
type Live struct {
	config  LiveConfig
	matches []*watched
	gauge   *gauge
	now     time.Duration // virtual, since the networks were made
	clock   time.Duration // of the caller, when now was reached; meaningless before the first Advance
	started bool
	slow    float64       // share of the caller's time that was kept up with lately, in [0, 1]
	due     time.Duration // when the next reading is; 0: the matches are not shown yet
	count   uint64        // of readings
	input   ecs.InputBytes
	mark    uint64
	bot     bool
}

// LiveConfig describes a Live. Zero values stand for defaults where a field names one.
type LiveConfig struct {
	// Game is what is played. Required, with a Bot.
	Game *ecs.Game
	// Entries are the matches, 1 to MaxEntries. Required.
	Entries []Entry
	// Profile is the network to begin with.
	Profile simnet.Profile
	// Players is how many play, in [1, Game.MaxPlayers]; 0: 4, or as many as the game takes.
	Players int
	// Seed starts the networks, the worlds and the bots.
	Seed uint64
	// Clock tells real time since any moment, for the costs; nil: none are measured.
	Clock func() time.Duration
}

// Entry is one match of a Live.
type Entry struct {
	// Strategy is the server's, and that of the bots' clients. Required.
	Strategy systems.Strategy
	// Own is how the client of player 0 plays.
	Own Own
}

// Own is how the client of player 0 plays. It can be changed while the match goes on.
type Own struct {
	// Strategy is the client's, if it is set up otherwise than the server's; it has the same name. The zero Strategy: the
	// server's.
	Strategy systems.Strategy
	// InputDelay is in ticks, in [0, 30].
	InputDelay int
	// MaxPrediction is the most ticks to predict; 0: the strategy's default.
	MaxPrediction int
}

// MaxEntries is how many matches a Live has at most.
const MaxEntries = 5

const (
	// liveAhead is for how long a frame waits to be judged, in seconds: numbers follow a change of the network as fast.
	liveAhead = 0.6
	// readEvery is the virtual time from one reading to the next.
	readEvery = 250 * time.Millisecond
	// liveJoining is how long clients have to come into the matches before they are shown.
	liveJoining = 15 * time.Second
	// liveSettle is how long the matches go on before that, once all clients are in.
	liveSettle = 1500 * time.Millisecond
	// catchUp is how much virtual time one Advance makes up for at most. What is beyond is never made up for: the matches
	// run slower than the caller's clock then.
	catchUp = 100 * time.Millisecond
)

// NewLive returns matches that go on: their clients are in them, but for those that the network kept out.
func NewLive(c LiveConfig) (*Live, error) {
	shared, err := c.config()
	if err != nil {
		return nil, err
	}
	c.Players = shared.Players
	l := &Live{config: c, slow: 1, bot: true}
	wanted := c.Profile
	l.config.Profile = simnet.Profile{} // on a perfect network all come in at once and in the same order, in every match
	for _, e := range c.Entries {
		w, err := newWatched(l, &shared, e)
		if err != nil {
			return nil, err
		}
		l.matches = append(l.matches, w)
	}
	if l.gauge, err = newGauge(c.Seed, wanted); err != nil {
		return nil, err
	}
	l.gather()
	if err := l.SetProfile(wanted); err != nil {
		return nil, err
	}
	for _, w := range l.matches { // which makes player 0 measure the network that there is
		if err := w.replace(w.how); err != nil {
			return nil, err
		}
	}
	l.gather()
	l.runTo(l.now + liveSettle)
	for _, w := range l.matches {
		w.begin()
	}
	l.due = l.now + readEvery
	return l, nil
}

// gather lets time go by until all clients are in the matches, or have had their time for it.
func (l *Live) gather() {
	for until := l.now + liveJoining; !l.joined() && l.now < until; {
		l.runTo(l.now + slice)
	}
}

// config returns what the matches are made of.
func (c *LiveConfig) config() (Config, error) {
	shared := Config{Game: c.Game, Players: c.Players, Seed: c.Seed, Clock: c.Clock, Bots: true, Profiles: []simnet.Profile{c.Profile}}
	if n := len(c.Entries); n < 1 || n > MaxEntries {
		return shared, fmt.Errorf("%w: Entries has %d matches, want 1 to %d", ErrConfig, n, MaxEntries)
	}
	for i := range c.Entries {
		e := &c.Entries[i]
		shared.Strategies = append(shared.Strategies, e.Strategy)
		if err := e.Own.check(&e.Strategy); err != nil {
			return shared, fmt.Errorf("%w: Entries[%d].%w", ErrConfig, i, err)
		}
	}
	return shared.withDefaults()
}

func (o *Own) check(server *systems.Strategy) error {
	switch {
	case o.Strategy.NewClient != nil && o.Strategy.Name != server.Name:
		return fmt.Errorf("Own.Strategy is %s, want the server's, %s", o.Strategy.Name, server.Name)
	case o.InputDelay < 0 || o.InputDelay > 30:
		return fmt.Errorf("Own.InputDelay is %d ticks, want 0 to 30", o.InputDelay)
	case o.MaxPrediction < 0 || o.MaxPrediction > 60:
		return fmt.Errorf("Own.MaxPrediction is %d ticks, want 0 to 60", o.MaxPrediction)
	}
	return nil
}

func (l *Live) joined() bool {
	for _, w := range l.matches {
		if !w.live() {
			return false
		}
	}
	return true
}

// runTo brings all networks to one moment.
func (l *Live) runTo(now time.Duration) {
	for _, w := range l.matches {
		w.net.RunUntil(now)
	}
	l.gauge.net.RunUntil(now)
	l.now = now
}

// Advance lets the matches follow the caller's clock, which tells time since any moment. An error says that a match broke
// off, and why: the Live is of no use any more.
func (l *Live) Advance(clock time.Duration) error {
	if !l.started {
		l.started, l.clock = true, clock
	}
	passed := max(clock-l.clock, 0)
	l.clock = clock
	if passed > 0 {
		share := min(float64(catchUp)/float64(passed), 1)
		l.slow += (share - l.slow) * min(passed.Seconds(), 1)
	}
	until := l.now + min(passed, catchUp)
	for l.now < until {
		l.runTo(min(until, l.due))
		if l.now == l.due {
			l.read()
		}
	}
	for i, w := range l.matches {
		if err := w.broken(); err != nil {
			return fmt.Errorf("lab: match %d, %s: %w", i+1, w.strategy.Name, err)
		}
	}
	return nil
}

// Input is what the player does from now on, under a number by which Reading.Seen tells when it is shown. The number grows
// with every press that is to be followed.
func (l *Live) Input(in ecs.InputBytes, mark uint64) {
	l.input, l.mark, l.bot = in, mark, false
}

// Autoplay lets the game's bot play for the player, until the next Input.
func (l *Live) Autoplay() { l.bot = true }

// SetProfile changes the network of every player in every match, from now on.
func (l *Live) SetProfile(p simnet.Profile) error {
	if err := p.Validate(); err != nil {
		return err
	}
	l.config.Profile = p
	for _, w := range l.matches {
		w.profile = p
		for _, player := range w.players {
			if err := w.net.SetProfile(player.node, w.server, p); err != nil {
				return err
			}
		}
	}
	return l.gauge.net.SetProfile(l.gauge.near, l.gauge.far, p)
}

// SetOwn changes how player 0 plays match i: a new client takes the seat over, while the match goes on.
func (l *Live) SetOwn(i int, o Own) error {
	w := l.matches[i]
	if err := o.check(&w.strategy); err != nil {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return w.replace(o)
}

// Len returns how many matches there are.
func (l *Live) Len() int { return len(l.matches) }

// Now returns the virtual time, since the networks were made.
func (l *Live) Now() time.Duration { return l.now }

// Pace returns how much of the caller's time was kept up with lately, in [0, 1].
func (l *Live) Pace() float64 { return l.slow }

// Draw paints what player 0 sees in match i; it reports false, and paints nothing, while the client holds no state.
func (l *Live) Draw(i int, c ecs.Canvas) bool { return l.matches[i].draw(c) }

// DrawTruth paints the server's state of this moment as player 0 would see it without any network.
func (l *Live) DrawTruth(i int, c ecs.Canvas) { l.matches[i].drawTruth(c) }

// Avatar returns where player 0 sees the own avatar in match i; ok is false if there is nothing of the kind.
func (l *Live) Avatar(i int) (x, y float64, ok bool) { return l.matches[i].avatar() }

// Desync moves the avatar of player 0 on that player's client alone, in every match, as a mistake in a game would. What
// becomes of it is told by Reading.Desync.
func (l *Live) Desync() {
	for _, w := range l.matches {
		w.spring()
	}
}
