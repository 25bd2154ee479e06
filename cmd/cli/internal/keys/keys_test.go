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

// A game that shows a control for a key that does not exist is refused, and so is one whose key is one of two.
func TestCheckNamesTheWrongControlOfATouchScreen(t *testing.T) {
	for name, ok := range map[string]bool{"space": true, "mouse1": true, "GamepadRightBottom": true, "LeftStick": true, "rightstick": true,
		"ShiftLeft": true, "Shift": false, "MiddleStick": false, "": false, "F1": false} {
		g := &ecs.Game{Screen: ecs.Screen{Controls: func(ecs.Controls) ecs.InputBytes { return ecs.InputBytes{} }, Touch: []ecs.KeyHelp{{Key: name, Meaning: "act"}}}}
		if err := Check(g); (err == nil) != ok || err != nil && !strings.Contains(err.Error(), "Screen.Touch") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// A tap that is shorter than a picture is one press in the next one. A finger that stays is one press, too.
func TestATapIsOnePress(t *testing.T) {
	var touch Touch
	touch.Hold("Space", true)
	touch.Hold("Space", false)
	touch.Hold("ShiftLeft", true)
	touch.Move(Stick("LeftStick"), 0.5, -2)
	for picture, want := range []struct{ down, pressed, shift, shiftPressed bool }{{true, true, true, true}, {false, false, true, false}} {
		touch.Next()
		if touch.Down("space") != want.down || touch.Pressed("space") != want.pressed || touch.Down("shift") != want.shift || touch.Pressed("shift") != want.shiftPressed {
			t.Errorf("picture %d: %+v", picture, touch)
		}
		if touch.Axis(0) != 0.5 || touch.Axis(1) != -1 || touch.Axis(2) != 0 {
			t.Errorf("axes %v", touch.axes)
		}
	}
}
