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
	// Predicts says that clients run ahead of what is final. If they compute all of it (Needs.Exact), a match without any
	// misprediction proves nothing.
	Predicts bool
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

// NeedError is the error of a strategy that refuses a game because no component has a role that it needs.
type NeedError struct {
	Strategy, Game string
	Role           string // of ecs.Roles: "Motion", "SetMotion" or "Lerp"
}

// Error names the missing role and where to add it.
func (e *NeedError) Error() string {
	do := "give one to the component that holds positions, with Roles.Motion and SetMotion"
	switch e.Role {
	case "SetMotion":
		do = "give one to the component that has a Motion role"
	case "Lerp":
		do = "give one to the component that holds positions, or Motion and SetMotion"
	}
	return fmt.Sprintf("%s: no component of the game %q has a %s role: %s, or choose another strategy", e.Strategy, e.Game, e.Role, do)
}

// Check returns a *NeedError if the game, which is complete, lacks a role that the strategy needs.
func (s Strategy) Check(g *ecs.Game) error {
	role := ""
	switch {
	case s.Needs.Motion && !g.Schema().HasMotion():
		role = "Motion"
	case s.Needs.Motion && !g.Schema().HasSetMotion():
		role = "SetMotion"
	case s.Needs.Between && !g.Schema().HasLerp() && !g.Schema().HasSetMotion():
		role = "Lerp"
	default:
		return nil
	}
	return &NeedError{Strategy: s.Name, Game: g.Name, Role: role}
}
