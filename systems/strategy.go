package systems

import (
	"fmt"

	"tendon/ecs"
)

// Effect is the effect of an event on a view: see ecs.Effect.
type Effect = ecs.Effect

// Strategy is a sync strategy: it makes the two halves.
type Strategy struct {
	// Name is the strategy's name on the command line and in the handshake.
	Name string
	// Params are the settings of the server's half that a client's half needs, at most 256 bytes. The Welcome carries them
	// to every client. Optional.
	Params []byte
	// Predicts reports that clients run ahead of the last final tick. If they compute the whole state (Needs.Exact), a match
	// without any misprediction proves nothing.
	Predicts bool
	// Hides reports that clients receive nothing that their player must not know: see ecs.Game.See. Other strategies refuse games
	// with private data.
	Hides bool
	// Needs is what the strategy requires of a game: see Check.
	Needs Needs
	// NewServer returns the server half for a world in State(0).
	NewServer func(ServerConfig) (Server, error)
	// NewClient returns a client half for a world whose state will be loaded.
	NewClient func(ClientConfig) (Client, error)
}

// Needs is what a strategy requires of a game.
type Needs struct {
	// Motion requires a component with the roles Motion and SetMotion.
	Motion bool
	// Between requires a component that can be shown between two states: with the role Lerp, or with Motion and SetMotion.
	Between bool
	// Exact requires that every peer computes the same result. Floats then need the same build everywhere.
	Exact bool
}

// HidesIn reports whether the strategy hides the private data of a game, or the game has none.
func (s Strategy) HidesIn(g *ecs.Game) bool { return s.Hides || !g.Schema().HasPrivate() }

// Check returns an error if the strategy does not suit the game, which is complete. It names a missing role and the component to
// add it to, or the strategies that hide private data.
func (s Strategy) Check(g *ecs.Game) error {
	if !s.HidesIn(g) {
		return fmt.Errorf("%s: the game %q has private data, and with this strategy each client computes the whole match: choose verify, predict or reckon", s.Name, g.Name)
	}
	role, do := "", ""
	motion, setMotion, lerp := g.Schema().HasRoles()
	switch {
	case s.Needs.Motion && !motion:
		role, do = "Motion", "give one to the component that holds positions, with Roles.Motion and SetMotion"
	case s.Needs.Motion && !setMotion:
		role, do = "SetMotion", "give one to the component that has a Motion role"
	case s.Needs.Between && !lerp && !setMotion:
		role, do = "Lerp", "give one to the component that holds positions, or Motion and SetMotion"
	default:
		return nil
	}
	return fmt.Errorf("%s: no component of the game %q has a %s role: %s, or choose another strategy", s.Name, g.Name, role, do)
}
