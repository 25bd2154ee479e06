// Package keys has the names of the keys, buttons and axes of ecs.Controls.
package keys

import (
	"fmt"
	"slices"
	"strings"

	"tendon/ecs"
)

// Axes are the names of the axes of a gamepad, in the order of the standard layout.
var Axes = [...]string{"LeftStickHorizontal", "LeftStickVertical", "RightStickHorizontal", "RightStickVertical"}

// Buttons are the names of the buttons of a gamepad, in the order of the standard layout.
var Buttons = [...]string{
	"gamepadrightbottom", "gamepadrightright", "gamepadrightleft", "gamepadrighttop",
	"gamepadfronttopleft", "gamepadfronttopright", "gamepadfrontbottomleft", "gamepadfrontbottomright",
	"gamepadcenterleft", "gamepadcenterright", "gamepadleftstick", "gamepadrightstick",
	"gamepadlefttop", "gamepadleftbottom", "gamepadleftleft", "gamepadleftright", "gamepadcentercenter",
}

// Mouse are the names of the mouse buttons: left, right, middle.
var Mouse = [...]string{"mouse1", "mouse2", "mouse3"}

// DeadZone is the largest position of a stick near its middle that counts as its middle.
const DeadZone = 0.15

// words are the names of the keys that are neither a letter, a digit nor a function key.
var words = strings.Fields(`
	altleft altright arrowdown arrowleft arrowright arrowup backquote backslash backspace bracketleft bracketright
	capslock comma contextmenu controlleft controlright delete end enter equal escape home insert intlbackslash metaleft
	metaright minus numlock numpadadd numpaddecimal numpaddivide numpadenter numpadequal numpadmultiply numpadsubtract pagedown
	pageup pause period printscreen quote scrolllock semicolon shiftleft shiftright slash space tab
	alt control meta shift`)

// aliases are further names.
var aliases = map[string]string{
	"left": "arrowleft", "right": "arrowright", "up": "arrowup", "down": "arrowdown", "apostrophe": "quote",
	"graveaccent": "backquote", "leftbracket": "bracketleft", "rightbracket": "bracketright", "menu": "contextmenu",
}

// known are all names, each with the one name of its key.
var known = table()

func table() map[string]string {
	all := map[string]string{}
	for _, list := range [][]string{words, Buttons[:], Mouse[:]} {
		for _, name := range list {
			all[name] = name
		}
	}
	for c := 'a'; c <= 'z'; c++ {
		all[string(c)] = string(c)
	}
	for c := '0'; c <= '9'; c++ {
		digit := "digit" + string(c)
		all[string(c)], all[digit] = digit, digit
		all["numpad"+string(c)], all["kp"+string(c)] = "numpad"+string(c), "numpad"+string(c)
	}
	for i := range 24 {
		f := fmt.Sprint("f", i+1)
		all[f] = f
	}
	for _, name := range words {
		if rest, ok := strings.CutPrefix(name, "numpad"); ok {
			all["kp"+rest] = name
		}
	}
	for from, to := range aliases {
		all[from] = to
	}
	return all
}

// either are the names that mean one of two keys.
var either = map[string][2]string{
	"alt": {"altleft", "altright"}, "control": {"controlleft", "controlright"}, "meta": {"metaleft", "metaright"},
	"shift": {"shiftleft", "shiftright"},
}

// reserved are the keys of a window.
var reserved = map[string]string{"f1": "help", "f2": "the network", "f3": "the net graph", "f11": "the full screen", "tab": "the players",
	"escape": "the menu"}

// Reader finds keys by their names, for a game. Err is the first error about a name.
type Reader struct {
	Chat bool // Enter is a key of the window
	Err  error

	found map[string]string // names that the game has used
}

// Find returns the one name of a key, in lower case, or "" if the game may not use the name.
func (r *Reader) Find(name string) string {
	key, ok := r.found[name]
	if ok {
		return key
	}
	key, err := lookup(name, r.Chat)
	if err != nil {
		r.fail(err)
	}
	if r.found == nil {
		r.found = map[string]string{}
	}
	r.found[name] = key
	return key
}

// fail keeps the first error.
func (r *Reader) fail(err error) {
	if r.Err == nil {
		r.Err = err
	}
}

// Axis returns the index of an axis in Axes, or −1 for a name that does not exist.
func (r *Reader) Axis(name string) int {
	for i, axis := range Axes {
		if strings.EqualFold(axis, name) {
			return i
		}
	}
	r.fail(fmt.Errorf("Screen.Controls asks for the axis %q, which does not exist: use one of %s", name, strings.Join(Axes[:], ", ")))
	return -1
}

func lookup(name string, chat bool) (string, error) {
	key := known[strings.ToLower(name)]
	switch use := reserved[key]; {
	case key == "":
		return "", fmt.Errorf("Screen.Controls asks for the key %q, which does not exist: use a name of Ebitengine, for example ArrowLeft, A, Space or ShiftLeft; see ecs.Controls", name)
	case use != "":
		return "", fmt.Errorf("Screen.Controls asks for the key %q, which shows %s in a window: use another key", name, use)
	case chat && key == "enter":
		return "", fmt.Errorf("Screen.Controls asks for the key %q, which opens the chat: use another key, or leave Screen.Chat out", name)
	}
	return key, nil
}

// Valid reports whether a name is the one name of a key, as Find returns it.
func Valid(name string) bool { return name != "" && known[name] == name }

// Holds reports whether a key is among those that are held. Both have names that Find returns.
func Holds(held func(key string) bool, key string) bool {
	if two, ok := either[key]; ok {
		return held(two[0]) || held(two[1])
	}
	return held(key)
}

// Check calls the Controls of a game once, with nothing held. It returns an error if Controls or Screen.Touch names a key or an axis
// that does not exist.
func Check(g *ecs.Game) error {
	p := probe{Reader: Reader{Chat: g.Screen.Chat}, orders: ecs.NewOrderQueue(g)}
	g.Screen.Controls(&p)
	for _, t := range g.Screen.Touch {
		key, err := lookup(t.Key, g.Screen.Chat)
		switch two := either[key]; {
		case Stick(t.Key) >= 0:
		case err != nil:
			p.fail(fmt.Errorf("Screen.Touch: %w", err))
		case two[0] != "":
			p.fail(fmt.Errorf("Screen.Touch has the key %q, which stands for two keys: want %s or %s", t.Key, two[0], two[1]))
		}
	}
	return p.Err
}

// Stick returns the index in Axes of the horizontal axis of LeftStick or RightStick, or −1 for another name.
func Stick(name string) int {
	return slices.IndexFunc(Axes[:], func(axis string) bool { return strings.EqualFold(axis, name+"Horizontal") })
}

// Touch is the state of the controls of a touch screen. The zero value is one without fingers.
type Touch struct {
	held map[string]bool // by the one name of a key
	taps map[string]int  // presses since the last picture
	axes [len(Axes)]float64

	pressed map[string]bool // in this picture
}

// Hold sets whether a finger is on the button of a key.
func (t *Touch) Hold(name string, down bool) {
	key := known[strings.ToLower(name)]
	if t.held == nil {
		t.held, t.taps, t.pressed = map[string]bool{}, map[string]int{}, map[string]bool{}
	}
	if down && !t.held[key] {
		t.taps[key]++
	}
	t.held[key] = down
}

// Move sets the position of a stick, in [−1, 1].
func (t *Touch) Move(stick int, x, y float64) {
	t.axes[stick], t.axes[stick+1] = min(max(x, -1), 1), min(max(y, -1), 1)
}

// Next begins a picture.
func (t *Touch) Next() {
	clear(t.pressed)
	for key := range t.taps {
		t.pressed[key] = true
	}
	clear(t.taps)
}

// Down reports whether a key is held, or was since the last picture: a short tap counts.
func (t *Touch) Down(key string) bool {
	return Holds(func(key string) bool { return t.held[key] || t.pressed[key] }, key)
}

// Pressed reports whether a key went down since the last picture.
func (t *Touch) Pressed(key string) bool {
	return Holds(func(key string) bool { return t.pressed[key] }, key)
}

// Axis returns the position of an axis.
func (t *Touch) Axis(axis int) float64 {
	if x := t.axes[axis]; max(x, -x) > DeadZone {
		return x
	}
	return 0
}

// probe is a Controls without devices.
type probe struct {
	Reader
	orders *ecs.OrderQueue
}

var _ ecs.Controls = (*probe)(nil)

func (p *probe) Down(key string) bool      { p.Find(key); return false }
func (p *probe) Pressed(key string) bool   { p.Find(key); return false }
func (p *probe) Axis(name string) float64  { p.Reader.Axis(name); return 0 }
func (p *probe) Pointer() (x, y float64)   { return 0, 0 }
func (p *probe) Wheel() (x, y float64)     { return 0, 0 }
func (p *probe) Touches() []ecs.Touch      { return nil }
func (p *probe) Size() (width, height int) { return 1, 1 }
func (p *probe) Orders() *ecs.OrderQueue   { return p.orders }
