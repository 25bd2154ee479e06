package room

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/session"
	"tendon/systems"
)

// ErrSwitch is wrapped by the errors of Switch.
var ErrSwitch = errors.New("room: the sync strategy cannot change")

// change is a change of the strategy whose order was stamped and whose tick is not committed yet.
type change struct {
	to       systems.Strategy
	executed bool // its order is in the last tick that was computed
}

// withStrategies checks the strategies and puts Strategy in front of them, if it is not among them.
func (c Config) withStrategies() (Config, error) {
	if !slices.ContainsFunc(c.Strategies, func(s systems.Strategy) bool { return s.Name == c.Strategy.Name }) {
		c.Strategies = append([]systems.Strategy{c.Strategy}, c.Strategies...)
	}
	for i, s := range c.Strategies {
		switch {
		case s.NewServer == nil:
			return c, fmt.Errorf("%w: Strategy %q has no NewServer", ErrConfig, s.Name)
		case len(s.Name) > session.MaxStrategy:
			return c, fmt.Errorf("%w: Strategy.Name has %d bytes, want at most %d", ErrConfig, len(s.Name), session.MaxStrategy)
		case len(s.Params) > session.MaxParams:
			return c, fmt.Errorf("%w: Strategy.Params has %d bytes, want at most %d", ErrConfig, len(s.Params), session.MaxParams)
		case slices.ContainsFunc(c.Strategies[:i], func(o systems.Strategy) bool { return o.Name == s.Name }):
			return c, fmt.Errorf("%w: Strategies has two of the name %q", ErrConfig, s.Name)
		}
	}
	if c.Resume != nil {
		if _, ok := c.offered(c.Resume.Strategy); !ok {
			return c, fmt.Errorf("%w: the match in Resume continued with %q: add that strategy to Strategies", ErrConfig, c.Resume.Strategy)
		}
	}
	return c, nil
}

// offered returns the strategy with a name, Config.Strategy for "". ok is false if there is none.
func (c *Config) offered(name string) (s systems.Strategy, ok bool) {
	if name == "" || name == c.Strategy.Name {
		return c.Strategy, true
	}
	for _, s := range c.Strategies {
		if s.Name == name {
			return s, true
		}
	}
	return systems.Strategy{}, false
}

// exact reports whether clients may have final ticks under one of the strategies.
func (c *Config) exact() bool {
	return !c.Game.Schema().HasPrivate() && slices.ContainsFunc(c.Strategies, func(s systems.Strategy) bool { return s.Needs.Exact })
}

// Strategy returns the sync strategy of the match at present.
func (r *Room) Strategy() systems.Strategy { return r.played }

// Switch continues the match with another strategy of Config.Strategies, after the tick into which it stamps an order of kind
// image.OrderSwitch. Peers keep their connections and seats, and receive an image of that tick. Orders that were stamped for
// later ticks are stamped again. Recordings and journals contain the order.
//
// The error wraps ErrSwitch and contains the reason, and whether to try again.
func (r *Room) Switch(name string) error {
	s, ok := r.config.offered(name)
	switch {
	case name == "" || !ok:
		var names []string
		for _, s := range r.config.Strategies {
			names = append(names, s.Name)
		}
		return fmt.Errorf("%w: %q is not offered here: choose one of %s", ErrSwitch, name, strings.Join(names, ", "))
	case r.closed != 0:
		return fmt.Errorf("%w: the match has ended", ErrSwitch)
	case r.recovery != nil:
		return fmt.Errorf("%w: the match waits for its players after a restart: try again when it continues", ErrSwitch)
	case r.commits.failing:
		return fmt.Errorf("%w: %s", ErrSwitch, waitsForJournal)
	case r.change != nil:
		return fmt.Errorf("%w: a change to %s is under way: try again in a second", ErrSwitch, r.change.to.Name)
	case name == r.played.Name:
		return fmt.Errorf("%w: the match uses %s already", ErrSwitch, name)
	case r.Tick() == r.began:
		return fmt.Errorf("%w: %s has not computed a tick yet: try again in a second", ErrSwitch, r.played.Name)
	case r.World().Tick() != r.Tick():
		return fmt.Errorf("%w: the server does not compute the match under these settings of %s: have it compute every tick", ErrSwitch, r.played.Name)
	}
	if err := s.Check(r.config.Game); err != nil {
		return fmt.Errorf("%w: %w", ErrSwitch, err)
	}
	if _, err := r.halfAt(s, r.World(), nil); err != nil { // settings that do not suit the game
		return fmt.Errorf("%w: %w", ErrSwitch, err)
	}
	r.change = &change{to: s}
	r.strategy.Stamp(image.Order{Kind: image.OrderSwitch, Payload: image.AppendSwitch(nil, s.Name, s.Params)}, r.out())
	return nil
}

// newHalf returns the server half of a strategy. The half owns from.World. o is optional.
func (r *Room) newHalf(s systems.Strategy, from *Resume, o image.Observer) (systems.FullServer, error) {
	from.World.Image().SetObserver(o)
	half, err := s.NewServer(systems.ServerConfig{World: from.World, Peers: r.config.MaxPeers, Backlog: r.config.Backlog, Observer: o, Past: from.past(),
		Taken: r.finalTick, States: slices.ContainsFunc(r.config.Sinks, func(s Sink) bool { return s.NeedState }), Decided: r.decision, Refused: r.refused})
	if err != nil {
		return systems.FullServer{}, err
	}
	return systems.Full(half), nil
}

// halfAt returns the server half of a strategy for a copy of a world: a half keeps states of its world, and may have set its
// past.
func (r *Room) halfAt(s systems.Strategy, w *ecs.World, o image.Observer) (systems.FullServer, error) {
	world, err := ecs.NewWorld(r.config.Game, 0)
	if err != nil {
		return systems.FullServer{}, err
	}
	var state image.Snapshot
	w.Image().Save(&state)
	defer state.Release()
	if err := world.Image().LoadOwned(state.AppendImage(nil)); err != nil {
		return systems.FullServer{}, err
	}
	return r.newHalf(s, &Resume{World: world}, o)
}

// noteSwitch records that the order of a change is in a final tick. After a restart it may be one of another process, whose
// strategy is not offered any more. The match then keeps the present one.
func (r *Room) noteSwitch(o *image.Order) {
	name, _ := o.Strategy()
	if s, ok := r.config.offered(name); ok && name != "" {
		r.change = &change{to: s, executed: true}
	}
}

// swap continues the match with the strategy of a change whose tick is computed and committed. It sends an image of that tick
// to every peer that has a Welcome.
func (r *Room) swap() {
	if r.change == nil || !r.change.executed {
		return
	}
	to, old := r.change.to, r.strategy
	r.change = nil
	if old.World().Tick() != old.Done() {
		return // the order is of another process, whose server computed every tick
	}
	half, err := r.halfAt(to, old.World(), r.config.Observer)
	if err != nil {
		return // Switch has made one; the match keeps the present strategy
	}
	old.Conclude()
	orders := old.Unexecuted(nil)
	for id := range r.peers {
		r.shut(systems.Peer(id))
	}
	r.strategy, r.played, r.began = half, to, half.Done()
	clear(r.images.latest)
	for _, o := range orders {
		half.Stamp(o, r.out())
	}
	r.run++
	for _, p := range r.present() {
		if p.session.Welcomed() {
			p.holding, p.tries, p.desyncs = false, 1, 0
			p.session.SendImage(r.presentImage(p.seat), p.unused(r.run), r.now)
		}
	}
}
