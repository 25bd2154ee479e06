package keys

import (
	"strings"
	"testing"

	"tendon/ecs"
)

// A game that asks for a key that does not exist is refused, by the name that it used.
func TestCheckNamesTheWrongKey(t *testing.T) {
	for name, ask := range map[string]func(c ecs.Controls){
		"": func(c ecs.Controls) {
			c.Down("left")
			c.Pressed("NumpadEnter")
			c.Down("GamepadRightBottom")
			c.Axis("RightStickVertical")
		},
		`"spce"`:           func(c ecs.Controls) { c.Down("spce") },
		`"Escape"`:         func(c ecs.Controls) { c.Pressed("Escape") },
		`"enter"`:          func(c ecs.Controls) { c.Pressed("enter") },
		`"LeftHorizontal"`: func(c ecs.Controls) { c.Axis("LeftHorizontal") },
	} {
		g := &ecs.Game{Screen: ecs.Screen{Chat: true, Controls: func(c ecs.Controls) ecs.InputBytes { ask(c); return ecs.InputBytes{} }}}
		if err := Check(g); (err == nil) != (name == "") || err != nil && !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
