package rules

import (
	"fmt"
	"testing"

	"tendon/ecs"
)

// sketch is a canvas that remembers what was painted, by colour and by text.
type sketch struct {
	shapes map[ecs.Color]int
	texts  map[string]int
}

func newSketch() *sketch { return &sketch{shapes: map[ecs.Color]int{}, texts: map[string]int{}} }

func (s *sketch) Camera(x, y, height float64)                           {}
func (s *sketch) Rectangle(x, y, width, height float64, c ecs.Color)    { s.shapes[c]++ }
func (s *sketch) Circle(x, y, radius float64, c ecs.Color)              { s.shapes[c]++ }
func (s *sketch) Line(x0, y0, x1, y1, width float64, c ecs.Color)       { s.shapes[c]++ }
func (s *sketch) Polygon(points []ecs.Point, c ecs.Color)               { s.shapes[c]++ }
func (s *sketch) Text(_, _, _ float64, _ int, text string, _ ecs.Color) { s.texts[text]++ }
func (s *sketch) Image(string, float64, float64, float64, float64)      {}
func (s *sketch) Hud() ecs.Canvas                                       { return s }
func (s *sketch) Aspect() float64                                       { return 1.6 }

// A view is a picture of the world, and taking it leaves the world as it was.
func TestThePictureShowsEverybodyAndChangesNothing(t *testing.T) {
	a := newArena(t, 6, 4)
	v, err := ecs.NewView(a.w.Game())
	if err != nil {
		t.Fatal(err)
	}
	var before, now, after ecs.Snapshot
	seen := newSketch()
	for a.w.Tick() < 900 {
		a.bots()
		a.w.Save(&before)
		a.step()
		a.w.Save(&now)
		v.Update(&before, &now, &now, 0.5)
		one := newSketch()
		a.w.Game().Draw(one, v)
		for c, n := range one.shapes {
			seen.shapes[c] += n
		}
		for p := range a.in {
			if one.shapes[playerColors[p]] == 0 || one.texts[fmt.Sprintf("P%d", p+1)] != 1 {
				t.Fatalf("tick %d: player %d is not in the picture", a.w.Tick(), p)
			}
		}
		if a.w.Save(&after); after.Checksum() != now.Checksum() {
			t.Fatalf("tick %d: drawing changed the world", a.w.Tick())
		}
	}
	for name, c := range map[string]ecs.Color{"doors": doorColor, "kits": bad, "walls": wallColor, "low walls": lowColor} {
		if seen.shapes[c] == 0 {
			t.Errorf("15 s of pictures show no %s", name)
		}
	}
	if a.happened.explosions == 0 || a.happened.deaths == 0 {
		t.Errorf("the pictures had too little to show: %+v", a.happened)
	}
}

// hands hold keys.
type hands struct {
	keys map[string]bool
	x, y float64
}

func (h hands) Down(key string) bool    { return h.keys[key] }
func (h hands) Pointer() (x, y float64) { return h.x, h.y }

func TestKeysAndMouseMakeAPad(t *testing.T) {
	h := hands{keys: map[string]bool{"w": true, "right": true, "mouse1": true, "e": true, "q": true}, x: 10.25, y: 3}
	in := pad.Unpack(Game().Controls(h))
	want := Pad{AimX: 10.25 * aimScale, AimY: 3 * aimScale, X: 90, Y: -90, Fire: true, Rocket: true, Kit: true}
	if in != want {
		t.Errorf("the pad is %+v, want %+v", in, want)
	}
	if in = pad.Unpack(Game().Controls(hands{x: 1e12, y: -1e12})); in != (Pad{AimX: 32767, AimY: -32767}) {
		t.Errorf("a pointer far outside gives %+v", in)
	}
}
