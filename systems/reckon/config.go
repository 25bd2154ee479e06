package reckon

import (
	"cmp"
	"errors"
	"fmt"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/net/wire"
	"tendon/systems"
	"tendon/systems/authority"
	"tendon/systems/motion"
)

// Config is the settings of the strategy. The handshake carries those of the server that a client needs: of Records and
// Remotes Reading, Turn, Near and Deadline. Where all of these have their defaults, a client uses its own. Each program sets
// the functions and the other fields of Records and Remotes for itself.
type Config struct {
	// StateRate is the number of bodies of state per second for a client, in [1, 60]; 0: 5. Spawned and removed entities and
	// irreversible events are sent at once.
	StateRate int
	// Interest is the radius in world units within which a client receives the entities of others, in [0, 2^29]; 0: all of
	// them. Entities without a position go to all clients. A client receives the events about entities that it receives,
	// those about no entity, and irreversible ones.
	Interest fixed.Num
	// PairList finds near entities by a pair list instead of a grid: see interest.Config.
	PairList bool
	// Trusting makes the server accept every record of a client's avatars, as the article has it.
	Trusting bool
	// MaxSpeed is both the sustained and the highest speed of an avatar, in world units per second, in [0, 32768]. 0:
	// Game.Physics.MoveLimit and BurstLimit. If these are 0 too, the speed is not limited.
	MaxSpeed fixed.Num
	// Assumed replaces the clock exchange: every record counts as this old when it arrives, in [0, 3 s]. Extrapolation is
	// then wrong by the speed times the difference to the real delay. 0: clocks are exchanged.
	Assumed systems.Time
	// History is the number of ticks of states that the server keeps, in [2, 4096], rounded up to a power of two; 0: 128. A
	// client that reconnects with an older state needs an image. The state of an image that is being sent is kept longer. Each
	// tick costs the pages that changed in it, and can be forked: see authority.Server.Fork.
	History int
	// Records is when records are sent, of clients' avatars and of all that the server moves.
	Records motion.SendConfig
	// Terrain extrapolates by the gravity, the floor and the obstacles of the game. A correction across an obstacle jumps.
	Terrain bool
	// Remotes is how remote entities are shown.
	Remotes motion.RemoteConfig

	// burst is the highest speed of an avatar, at least MaxSpeed.
	burst fixed.Num
	// jump is the largest distance that systems move an avatar in one tick without a correction of its client. It is half a
	// second at the highest speed, at least 2 world units: a respawn is farther, a push out of a wall nearer. A client whose own
	// systems make such a jump waits for the server's.
	jump fixed.Num
}

// Strategy is dead reckoning with the defaults.
var Strategy = New(Config{})

// New returns dead reckoning with other settings. An invalid Config is an error of NewServer and NewClient.
func New(c Config) systems.Strategy {
	s := systems.Strategy{Name: "reckon", Hides: true, Needs: systems.Needs{Motion: true},
		NewServer: func(sc systems.ServerConfig) (systems.Server, error) { return newServer(sc, c) },
		NewClient: func(cc systems.ClientConfig) (systems.Client, error) { return newClient(cc, c) },
	}
	if full, err := c.withDefaults(nil); err == nil {
		s.Params = full.params()
	}
	return s
}

// The bounds of a Config.
const (
	maxStateRate = 60
	maxInterest  = fixed.One << 29
	leastJump    = 2 * fixed.One
	maxAssumed   = 3 * systems.Second
	maxHistory   = 4096
)

// withDefaults fills in the defaults, those that depend on the game only if there is one.
func (c Config) withDefaults(g *ecs.Game) (Config, error) {
	c.StateRate, c.History = cmp.Or(c.StateRate, 5), cmp.Or(c.History, authority.DefaultHistory)
	c.burst = c.MaxSpeed
	if g != nil {
		if c.MaxSpeed == 0 {
			c.MaxSpeed, c.burst = g.Physics.MoveLimit, max(g.Physics.MoveLimit, g.Physics.BurstLimit)
		}
		c.Remotes.Rules.Path = g.Physics.Path
		if c.Terrain {
			c.Remotes.Rules.Gravity, c.Remotes.Rules.Floor, c.Remotes.Blocked = g.Physics.Gravity, g.Physics.Floor, g.Physics.Blocked
		}
	}
	c.jump = max(leastJump, min(c.burst, motion.MaxVelocity)/2)
	switch {
	case c.StateRate < 1 || c.StateRate > maxStateRate:
		return c, fmt.Errorf("reckon: Config.StateRate is %d, want [1, %d]", c.StateRate, maxStateRate)
	case c.History < 2 || c.History > maxHistory:
		return c, fmt.Errorf("reckon: Config.History is %d, want [2, %d]", c.History, maxHistory)
	case c.Interest < 0 || c.Interest > maxInterest:
		return c, fmt.Errorf("reckon: Config.Interest is %v, want [0, %v]", c.Interest, maxInterest)
	case c.MaxSpeed < 0 || c.burst > motion.MaxVelocity:
		return c, fmt.Errorf("reckon: Config.MaxSpeed is %v, and the highest speed of an avatar %v, want [0, 32768]", c.MaxSpeed, c.burst)
	case c.Assumed < 0 || c.Assumed > maxAssumed:
		return c, fmt.Errorf("reckon: Config.Assumed is %d ns, want [0, 3 s]", c.Assumed)
	}
	err := errors.Join(c.Remotes.Validate(), c.Records.Validate())
	return c, err
}

// record sets r to the record of an entity that moves so at a time: on its carrier, along its path, or by itself.
func (c *Config) record(r *motion.Record, w *ecs.World, e ecs.Entity, m ecs.Motion, at systems.Time) {
	*r = c.Remotes.Rules.Record(e, m, at)
	if path, along, speed, ok := track(w, e); ok {
		r.Mode, r.Path, r.Along, r.Speed = motion.Scripted, path, along, speed
	} else if parent := carrier(w, e); !parent.IsZero() && parent != e {
		if on, ok := w.Image().Motion(parent); ok {
			r.Mode, r.Parent, r.Pos, r.Vel = motion.Attached, parent, m.Pos.Sub(on.Pos), m.Vel.Sub(on.Vel)
		}
	}
}

func track(w *ecs.World, e ecs.Entity) (path uint32, along, speed fixed.Num, ok bool) {
	if f := w.Game().Physics.Track; f != nil {
		return f(w, e)
	}
	return 0, 0, 0, false
}

func carrier(w *ecs.World, e ecs.Entity) (on ecs.Entity) {
	if f := w.Game().Physics.Carrier; f != nil {
		on = f(w, e)
	}
	return on
}

func (c *Config) guard() motion.GuardConfig {
	g := motion.GuardConfig{MaxSpeed: c.burst, Sustained: c.MaxSpeed, Period: c.Records.Period, Trusting: c.Trusting}
	if c.MaxSpeed == 0 {
		g.MaxSpeed, g.Trusting = motion.MaxVelocity, true
	}
	return g
}

// age returns the age of a record with a stamp, at now on the sender's clock. Where clocks are not exchanged, it is
// Assumed: a prediction is then wrong by the speed times the difference to the real delay.
func (c *Config) age(s motion.Stamp, now systems.Time) systems.Time {
	if c.Assumed > 0 {
		return c.Assumed
	}
	return now - s.Time()
}

// speedSteps returns a speed as the params carry it, in 1/256 of a world unit per second.
func speedSteps(v fixed.Num) int64 { return (int64(v) + 1<<23) >> 24 }

func (c *Config) params() []byte {
	w := wire.NewWriter(nil, 32)
	w.Uvarint(uint64(c.StateRate))
	w.Uvarint(uint64(c.Assumed / motion.StampUnit))
	w.Bool(c.Trusting)
	w.Uvarint(uint64(speedSteps(c.MaxSpeed)))
	options := uint8(c.Records.Reading) | uint8(c.Remotes.Deadline)<<1
	if c.Terrain {
		options |= 4
	}
	if options != 0 || c.Records.Turn > 0 || c.Records.Near > 0 {
		w.U8(options)
		w.Uvarint(uint64(c.Records.Turn))
		w.Uvarint(uint64(c.Records.Near))
	}
	return w.Bytes()
}

func (c *Config) takeParams(params []byte) error {
	r := wire.NewReader(params)
	rate, assumed, trusting, speed := r.Uvarint(), r.Uvarint(), r.Bool(), r.Uvarint()
	var options uint8
	var turn, near uint64
	given := r.Len() > 0
	if given {
		options, turn, near = r.U8(), r.Uvarint(), r.Uvarint()
	}
	records := motion.SendConfig{Reading: motion.Reading(options & 1), Turn: fixed.Num(turn), Near: fixed.Num(near)}
	if r.Close() != nil || rate < 1 || rate > maxStateRate || assumed > uint64(maxAssumed/motion.StampUnit) ||
		speed > uint64(speedSteps(motion.MaxVelocity)) || options > 7 || given && options == 0 && turn == 0 && near == 0 || records.Validate() != nil {
		return fmt.Errorf("reckon: ClientConfig.Params %x are not of this strategy", params)
	}
	c.StateRate, c.Assumed, c.Trusting = int(rate), systems.Time(assumed)*motion.StampUnit, trusting
	if speed > 0 {
		c.MaxSpeed = fixed.Num(speed << 24)
	}
	if given {
		c.Records.Reading, c.Records.Turn, c.Records.Near = records.Reading, records.Turn, records.Near
		c.Remotes.Deadline, c.Terrain = motion.Deadline(options>>1&1), options&4 != 0
	}
	return nil
}

// doubts reports whether records of clients have limits.
func (c *Config) doubts() bool { return !c.Trusting && c.MaxSpeed > 0 }

// seats returns the component that names the player of an avatar.
func seats(g *ecs.Game) (*ecs.Component[ecs.Seat], error) {
	for _, c := range g.Components {
		if seat, ok := c.(*ecs.Component[ecs.Seat]); ok {
			return seat, nil
		}
	}
	return nil, fmt.Errorf("reckon: game %q has no component of type ecs.Seat, which marks the avatars of a player: declare one and add it to avatars", g.Name)
}
