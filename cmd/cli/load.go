package cli

import (
	"errors"
	"fmt"
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

// load is a match of bots in virtual time whose costs are accounted. The same loadConfig gives the same match, tick by
// tick. Sealing and sockets are not in it.
type load struct {
	config  loadConfig
	match   *matchsim.Match
	server  *cost.Ledger
	clients []*cost.Ledger
}

// loadConfig describes a load.
type loadConfig struct {
	game     *ecs.Game
	strategy systems.Strategy
	profile  simnet.Profile
	players  int
	seed     uint64
	allocs   bool // count allocations, which makes times meaningless
}

// displayRate is the number of frames per second of every client.
const displayRate = 60

func newLoad(c loadConfig) (*load, error) {
	l := &load{config: c}
	var err error
	if l.server, err = cost.New(cost.Config{Game: c.game, Name: "server", Allocs: c.allocs}); err != nil {
		return nil, err
	}
	l.match, err = matchsim.New(matchsim.Config{Game: c.game, Strategy: c.strategy, Seed: c.seed, Unchecked: true, FixedSeats: true,
		Room: func(rc *room.Config) { rc.Observer = l.server }})
	if err != nil {
		return nil, err
	}
	l.match.Start()
	for i := range c.players {
		if err := l.join(i); err != nil {
			return nil, err
		}
	}
	return l, nil
}

func (l *load) join(i int) error {
	c := &l.config
	ledger, err := cost.New(cost.Config{Game: c.game, Name: "client", Allocs: c.allocs})
	if err != nil {
		return err
	}
	l.clients = append(l.clients, ledger)
	phase := time.Second / displayRate * time.Duration(2*i+1) / time.Duration(2*c.players) // frames of clients do not coincide
	random := image.NewRand(c.seed<<8 + uint64(i))
	_, err = l.match.Add(matchsim.Plan{Profile: c.profile, Clock: simnet.Clock{Offset: time.Duration(i+1) * time.Second}, Hz: displayRate, Phase: phase,
		Frame:  func(p *matchsim.Client, now systems.Time) { l.frame(p, random, now) },
		Change: func(cc *client.Config) { cc.Name, cc.Observer = fmt.Sprintf("bot %d", i+1), ledger }})
	return err
}

// frame is one frame of a client. The bot's own work is outside of Core.Frame, so that it is not accounted.
func (l *load) frame(p *matchsim.Client, random *ecs.Rand, now systems.Time) {
	if p.Live() {
		p.Core.SetInput(l.config.game.Bot(p.Core.World(), ecs.Player(p.Number()), random))
	}
	p.Frame(now)
	p.Core.View(now)
	p.Core.Effects(func(systems.Effect) {})
}

// The timing of a load, in virtual time.
const (
	loadJoin   = time.Minute     // for all bots to become live
	loadSettle = 2 * time.Second // from then until costs are accounted
)

// prepare runs until all bots are live and the match has settled, and drops the costs so far.
func (l *load) prepare(step func(time.Duration) error) error {
	for !l.live() {
		if l.match.Net.Now() >= loadJoin {
			return fmt.Errorf("not all bots came into the match within %v: choose a better --net", loadJoin)
		}
		if err := l.play(matchsim.Slice, step); err != nil {
			return err
		}
	}
	if err := l.play(loadSettle, step); err != nil {
		return err
	}
	for _, c := range l.ledgers() {
		c.Reset()
	}
	return nil
}

// play runs the match for d.
func (l *load) play(d time.Duration, step func(time.Duration) error) error {
	err := l.match.Play(d, step)
	if ended := (*matchsim.EndedError)(nil); errors.As(err, &ended) {
		return fmt.Errorf("bot %d ended: %w", ended.Client+1, ended.Err)
	}
	return err
}

func (l *load) live() bool {
	for _, c := range l.match.Clients {
		if !c.Live() {
			return false
		}
	}
	return true
}

// ledgers returns all ledgers, the server's first.
func (l *load) ledgers() []*cost.Ledger { return append([]*cost.Ledger{l.server}, l.clients...) }

// reports returns the costs of the server and the mean costs of a client. The ledgers cannot be used afterwards.
func (l *load) reports() (server, clients cost.Report) {
	for _, c := range l.clients[1:] {
		l.clients[0].Merge(c)
	}
	return l.server.Report(), l.clients[0].Report()
}
