// Package load plays a match of bots in virtual time and accounts its costs.
package load

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/client"
	"tendon/net/cost"
	"tendon/net/matchsim"
	"tendon/net/room"
	"tendon/net/simnet"
	"tendon/systems"
)

// Load is a match of bots in virtual time whose costs are accounted. The same Config gives the same match, tick by tick.
// Sealing and sockets are not in it.
type Load struct {
	match   *matchsim.Match
	server  *cost.Ledger
	clients []*cost.Ledger
}

// Config describes a load.
type Config struct {
	Game     *ecs.Game
	Strategy systems.Strategy
	Profile  simnet.Profile
	Players  int
	Seed     uint64
	Allocs   bool // count allocations, which makes times meaningless
	Bytes    bool // account the bytes of the server's messages
}

// displayRate is the number of frames per second of every client.
const displayRate = 60

// New returns a load whose bots begin to connect.
func New(c Config) (l *Load, err error) {
	l = &Load{}
	if l.server, err = cost.New(cost.Config{Game: c.Game, Name: "server", Allocs: c.Allocs, Bytes: c.Bytes}); err != nil {
		return nil, err
	}
	l.match, err = matchsim.New(matchsim.Config{Game: c.Game, Strategy: c.Strategy, Seed: c.Seed, Unchecked: true, FixedSeats: true,
		Room: func(rc *room.Config) { rc.Observer = l.server }})
	if err != nil {
		return nil, err
	}
	l.match.Start()
	for i := range c.Players {
		if err := l.join(c, i); err != nil {
			return nil, err
		}
	}
	return l, nil
}

func (l *Load) join(c Config, i int) error {
	ledger, err := cost.New(cost.Config{Game: c.Game, Name: "client", Allocs: c.Allocs})
	if err != nil {
		return err
	}
	l.clients = append(l.clients, ledger)
	random := image.NewRand(c.Seed<<8 + uint64(i))
	_, err = l.match.Add(matchsim.Plan{Profile: c.Profile, Clock: simnet.Clock{Offset: time.Duration(i+1) * time.Second}, Hz: displayRate,
		Phase: time.Second / displayRate * time.Duration(2*i+1) / time.Duration(2*c.Players), // frames of clients do not coincide
		Frame: func(p *matchsim.Client, now systems.Time) {
			if p.Live() { // the bot's own work is outside of Core.Frame, so that it is not accounted
				p.Core.SetInput(c.Game.Think(p.Core.World(), ecs.Player(i), random, p.Core.Orders()))
			}
			p.Frame(now)
			p.Core.View(now)
			p.Core.Effects(func(systems.Effect) {})
		},
		Change: func(cc *client.Config) { cc.Observer = ledger }})
	return err
}

// The timing of a load, in virtual time.
const (
	loadJoin = time.Minute     // for all bots to become live
	Settle   = 2 * time.Second // from then until costs are accounted
)

// Prepare runs until all bots are live and the match has settled, and drops the costs so far.
func (l *Load) Prepare(step func(time.Duration) error) error {
	for slices.ContainsFunc(l.match.Clients, func(c *matchsim.Client) bool { return !c.Live() }) {
		if l.match.Net.Now() >= loadJoin {
			return fmt.Errorf("not all bots came into the match within %v: choose a better --net", loadJoin)
		}
		if err := l.Play(matchsim.Slice, step); err != nil {
			return err
		}
	}
	if err := l.Play(Settle, step); err != nil {
		return err
	}
	for _, c := range l.Ledgers() {
		c.Reset()
	}
	return nil
}

// Events returns how many events a client has shown before they were confirmed, and how many of them were cancelled: the means of
// all clients since they joined.
func (l *Load) Events() (predicted, cancelled float64) {
	for _, c := range l.match.Clients {
		s, n := c.Core.Stats().Strategy, float64(len(l.match.Clients))
		predicted, cancelled = predicted+float64(s.EventsPredicted)/n, cancelled+float64(s.EventsCancelled)/n
	}
	return predicted, cancelled
}

// Play runs the match for d.
func (l *Load) Play(d time.Duration, step func(time.Duration) error) error {
	err := l.match.Play(d, step)
	if ended := (*matchsim.EndedError)(nil); errors.As(err, &ended) {
		return fmt.Errorf("bot %d ended: %w", ended.Client, ended.Err)
	}
	return err
}

// Ledgers returns all ledgers, the server's first.
func (l *Load) Ledgers() []*cost.Ledger { return append([]*cost.Ledger{l.server}, l.clients...) }

// Reports returns the costs of the server and the mean costs of a client. The ledgers cannot be used afterwards.
func (l *Load) Reports() (server, clients cost.Report) {
	for _, c := range l.clients[1:] {
		l.clients[0].Merge(c)
	}
	return l.server.Report(), l.clients[0].Report()
}
