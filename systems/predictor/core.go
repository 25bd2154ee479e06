package predictor

import (
	"cmp"
	"fmt"

	"tendon/ecs"
	"tendon/systems"
	"tendon/systems/internal/code"
)

// Core is the state that the client halves of all strategies share. A half embeds it.
type Core struct {
	Config  systems.ClientConfig
	Game    *ecs.Game
	Phase   Phase
	Timer   SendTimer
	RTT     systems.Time        // estimate of the round trip
	Counted systems.ClientStats // the counters of the half
	Buffer  []byte              // scratch: the message that is written
	Now     systems.Time        // of the last frame
	Out     systems.Outbox      // valid in phase Send

	OrderKind uint8 // kind of the messages of Order

	name      string // of the strategy, in errors
	malformed error  // for a message that no system accepts
	world     *ecs.World
}

const (
	maxInputDelay     = 30 // ticks
	defaultPrediction = 30 // ticks: half a second at 60 ticks per second
)

// NewCore returns the core of a half, or the error of the configuration. name is the strategy's; malformed is its error
// for a message that does not follow the standard.
func NewCore(name string, malformed error, c systems.ClientConfig) (Core, error) {
	switch {
	case c.World == nil:
		return Core{}, fmt.Errorf("%s: ClientConfig.World is nil", name)
	case c.Seat < -1 || c.Seat >= c.World.Game().MaxPlayers:
		return Core{}, fmt.Errorf("%s: ClientConfig.Seat is %d in a game of %d players", name, c.Seat, c.World.Game().MaxPlayers)
	case c.InputDelay < 0 || c.InputDelay > maxInputDelay:
		return Core{}, fmt.Errorf("%s: ClientConfig.InputDelay is %d, want [0, %d]", name, c.InputDelay, maxInputDelay)
	}
	c.MaxPrediction = cmp.Or(c.MaxPrediction, defaultPrediction)
	game := c.World.Game()
	return Core{Config: c, Game: game, name: name, malformed: malformed, world: c.World, Timer: NewSendTimer(game.TickRate)}, nil
}

// World returns the client's copy of the match.
func (c *Core) World() *ecs.World { return c.world }

// Player returns the local player, and whether there is one. A spectator has none.
func (c *Core) Player() (p ecs.Player, ok bool) {
	return ecs.Player(max(c.Config.Seat, 0)), c.Config.Seat >= 0
}

// Spectates reports whether the client has no player.
func (c *Core) Spectates() bool { return c.Config.Seat < 0 }

// Begin starts to wait for the server after a state was loaded into World. serverTick is the server's tick by the
// session's estimate, rtt the measured round trip.
func (c *Core) Begin(now systems.Time, serverTick ecs.Tick, rtt systems.Time) {
	if c.Loaded() {
		c.Counted.Snaps++
	}
	c.Phase, c.Now, c.RTT = Waiting, now, rtt
	c.Timer.Restart(now)
	c.Counted.ServerTick, c.Counted.Stalled = max(serverTick, c.world.Tick()), systems.NotStalled
}

// Loaded reports whether a state was loaded.
func (c *Core) Loaded() bool { return c.Phase > Idle }

// Answered notes a message from the server. The first one since Begin ends phase Waiting. A spectator has no clock that
// must settle.
func (c *Core) Answered() {
	if c.Phase == Waiting {
		c.Reach(Settling)
		if c.Spectates() {
			c.Reach(CatchingUp)
		}
	}
}

// Reach raises the phase to p. It never lowers it.
func (c *Core) Reach(p Phase) { c.Phase = max(c.Phase, p) }

// Settled reports whether the clock has settled since Begin, so that the player's inputs are taken.
func (c *Core) Settled() bool { return c.Phase >= CatchingUp }

// CaughtUp ends a frame: a client that has settled is live or catches up.
func (c *Core) CaughtUp(yes bool) {
	switch {
	case !c.Settled():
	case yes:
		c.Phase = Live
	default:
		c.Phase = CatchingUp
	}
}

// Live reports whether the client has caught up with the server and its player's inputs are taken.
func (c *Core) Live() bool { return c.Phase == Live }

// Ahead returns how far ahead of the newest server tick received a client that predicts stands, in ticks, by the round trip.
// An input sent now arrives half of it later and should be a tick early. The newest message is half of it old, and the
// server's next tick has not come yet.
func (c *Core) Ahead() float64 {
	return float64(c.RTT)*float64(c.Game.TickRate)/float64(systems.Second) + 2
}

// CheckPrediction returns what is wrong with the prediction window of a half that predicts at most most ticks.
func (c *Core) CheckPrediction(most int) error {
	if n := c.Config.MaxPrediction; n < 1 || n > most {
		return fmt.Errorf("%s: ClientConfig.MaxPrediction is %d, want [1, %d]", c.name, n, most)
	}
	return nil
}

// CheckOrder returns why the local player cannot give an order, or nil.
func (c *Core) CheckOrder(payload []byte) error {
	if c.Spectates() {
		return fmt.Errorf("%s: a spectator gives no orders", c.name)
	}
	if err := c.world.Image().Schema().CheckOrder(payload); err != nil {
		return fmt.Errorf("%s: %w", c.name, err)
	}
	return nil
}

// Order requests an order of the local player, in a message of kind OrderKind on the reliable channel.
func (c *Core) Order(number uint64, target ecs.Entity, payload []byte, out systems.Outbox) error {
	if err := c.CheckOrder(payload); err != nil {
		return err
	}
	c.Buffer = code.AppendRequest(c.Buffer[:0], c.OrderKind, number, target, payload)
	out.Send(0, systems.Reliable, c.Buffer)
	return nil
}

// Sends reports whether the periodic message is to be sent: it is due and the line is not congested. It then counts as sent.
func (c *Core) Sends() bool {
	if !c.Timer.Due(c.Now) || !c.Out.Ready(0) {
		return false
	}
	c.Timer.Sent(c.Now)
	return true
}

// Stall counts ticks that were due and could not be computed, and the begin of an episode of them.
func (c *Core) Stall(why systems.StallReason, ticks int) {
	if c.Counted.Stalled == systems.NotStalled {
		c.Counted.Episodes++
	}
	c.Counted.Stalled = why
	c.Counted.Stalls += uint64(ticks)
}

// CommonStats returns Counted with the round trip, the memory of states and a nominal pace.
func (c *Core) CommonStats() systems.ClientStats {
	s := c.Counted
	s.RTT, s.RingBytes, s.Dilation = c.RTT, c.world.Image().PageBytes(), 1
	return s
}

// Phase is how far a client has come since a state was loaded.
type Phase uint8

// The phases, in order. A client that falls behind returns from Live to CatchingUp. Every loaded state starts again at
// Waiting.
const (
	Idle       Phase = iota // no state was loaded yet
	Waiting                 // no message has come since the state was loaded
	Settling                // the clock has not settled: the player's inputs are not taken
	CatchingUp              // the clock has settled, and ticks of before are still to be computed
	Live                    // the player plays, or the spectator sees the present
)

// Half runs the systems of a client half over its context C, which embeds the Half.
type Half[C any] struct {
	Core
	Showing  Showing
	schedule systems.Schedule[C]
	self     C // context of the systems
}

// Showing is the frame of the display that the systems of phase Present work on.
type Showing struct {
	View  *ecs.View
	Now   systems.Time
	Since systems.Time // since the frame before
}

// Start sets the systems and the context that they run over. The half that embeds h calls it once.
func (h *Half[C]) Start(self C, list []systems.System[C]) {
	h.self, h.schedule = self, systems.NewSchedule(h.Config.Observer, h.Game, list)
}

// Receive gives a message of the server to the system that accepts its kind. Before the first state was loaded, every
// message is malformed.
func (h *Half[C]) Receive(ch systems.Channel, message []byte, now systems.Time) error {
	if h.Phase == Idle {
		return h.malformed
	}
	known, err := h.schedule.Receive(h.self, systems.Message{Channel: ch, Body: message, Now: now})
	if !known {
		return h.malformed
	}
	return err
}

// Frame runs the systems of phase Reconcile, which compute the ticks that are due.
func (h *Half[C]) Frame(now systems.Time) {
	if h.Phase == Idle {
		return
	}
	h.Now = now
	h.schedule.Run(systems.Reconcile, h.self)
}

// Show brings a view up to date with now, by the systems of phase Present.
func (h *Half[C]) Show(v *ecs.View, now systems.Time) {
	h.Showing = Showing{View: v, Now: now, Since: max(now-h.Showing.Now, 0)}
	h.schedule.Run(systems.Present, h.self)
	v.Dress()
}

// Send runs the systems of phase Send.
func (h *Half[C]) Send(now systems.Time, out systems.Outbox) {
	if h.Phase == Idle {
		return
	}
	h.Now, h.Out = now, out
	h.schedule.Run(systems.Send, h.self)
	h.Out = nil
}
