package systems

import (
	"fmt"

	"tendon/ecs"
)

// Needs says what a strategy demands of a game. What its components lack, Strategy.Check names.
type Needs struct {
	// Motion says that a component must tell where things are and how fast, and take it: roles Motion and SetMotion.
	Motion bool
	// Between says that a component must be such that it can be shown between two states: by Lerp, or by Motion and
	// SetMotion.
	Between bool
	// Exact says that every peer must have the same result: floats need the same build everywhere.
	Exact bool
}

// NeedError says that a strategy refuses a game, no component of which has a role that it needs.
type NeedError struct {
	Strategy, Game string
	Role           string // of ecs.Roles: "Motion", "SetMotion" or "Lerp"
}

// Error says what is missing and what to do.
func (e *NeedError) Error() string {
	do := "give one to the component that says where things are, with Roles.Motion and SetMotion"
	switch e.Role {
	case "SetMotion":
		do = "give one to the component that has a Motion role"
	case "Lerp":
		do = "give one to the component that says where things are, or Motion and SetMotion"
	}
	return fmt.Sprintf("%s: no component of the game %q has a %s role: %s, or choose another strategy", e.Strategy, e.Game, e.Role, do)
}

// Check returns a *NeedError if the game, which is complete, lacks what the strategy needs of its components.
func (s Strategy) Check(g *ecs.Game) error {
	role := ""
	switch {
	case s.Needs.Motion && !g.HasMotion():
		role = "Motion"
	case s.Needs.Motion && !g.HasSetMotion():
		role = "SetMotion"
	case s.Needs.Between && !g.HasLerp() && !g.HasSetMotion():
		role = "Lerp"
	default:
		return nil
	}
	return &NeedError{Strategy: s.Name, Game: g.Name, Role: role}
}
