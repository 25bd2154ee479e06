package page

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"tendon/ecs"
)

// painter.js reads the commands, so their format is fixed.
func TestPictureIsCommandsInOneFlatArray(t *testing.T) {
	p := NewPicture()
	p.Reset(1.5)
	c := ecs.Color{R: 255, G: 2, B: 3, A: 4}
	p.Camera(1.5, -2, 10)
	p.Rectangle(0, 0.0004, 1, 2.0006, c)
	p.Hud().Text(1, 2, 0.5, 7, "a\"\\\n界\xff", c)
	p.Hud().Hud().Camera(9, 9, 9) // does not move
	p.Circle(-0.25, 100, 3, ecs.Color{})
	p.Line(1, 2, 3, 4, 5, c)
	p.Polygon([]ecs.Point{{X: 1, Y: 2}, {X: 3, Y: 4}, {X: 5, Y: 6}}, c)
	p.Polygon([]ecs.Point{{X: 1, Y: 2}, {X: 3, Y: 4}}, c) // draws nothing
	p.Text(1, 1, 1, 0, "", c)                             // draws nothing
	p.Image("ship", 1, 2, 3, 4, ecs.ImageOptions{Part: ecs.Part{X: 5, Y: 6, Width: 7, Height: 8}, Frames: 3, Frame: -1, Rotation: 0.5, Mirrored: true, Tint: c})
	const color = "4278321924"
	want := `>[0,1.5,-2,10,1,0,0,1,2.001,` + color + `,7,1,5,1,2,0.5,1,"a\"\\\u000a界` + "\uFFFD" + `",` + color +
		`,7,0,2,-0.25,100,3,0,3,1,2,3,4,5,` + color + `,4,3,1,2,3,4,5,6,` + color + `,6,"ship",1,2,3,4,5,6,7,8,3,-1,0.5,1,` + color + `]`
	if got := string(p.Append([]byte(">"))); got != want {
		t.Errorf("\n%s, want\n%s", got, want)
	}
	if p.Aspect() != 1.5 || p.Hud().Aspect() != 1.5 {
		t.Errorf("the aspects are %v and %v", p.Aspect(), p.Hud().Aspect())
	}
	p.Reset(1)
	if got := string(p.Append(nil)); got != "[]" {
		t.Errorf("a new picture is %s", got)
	}
}

// Every drawing is valid JSON. Numbers are rounded to 1/1000; NaN is 0.
func TestEveryPictureIsJSON(t *testing.T) {
	numbers := []float64{0, math.Copysign(0, -1), 1e-9, -0.0005, 0.9995, -0.9996, 12345.678, -99.01, 1e11 + 0.001, 1e300, math.Inf(1), math.Inf(-1), math.NaN(), math.MaxFloat64, math.SmallestNonzeroFloat64}
	var all strings.Builder
	for r := range rune(0x300) {
		all.WriteRune(r)
	}
	p := NewPicture()
	for _, x := range numbers {
		p.Reset(1)
		p.Text(x, x, x, 0, all.String()+"\xc0\xaf", ecs.Color{R: 1})
		var commands []any
		if err := json.Unmarshal(p.Append(nil), &commands); err != nil {
			t.Fatalf("%v: %v in %s", x, err, p.Append(nil))
		}
		want := x
		switch {
		case x != x:
			want = 0
		case math.Abs(x) > farthest:
			want = math.Copysign(farthest, x)
		}
		if got := commands[1].(float64); math.Abs(got-want) > 0.0005+1e-4*math.Abs(want)/1e9 {
			t.Errorf("%v came back as %v", x, got)
		}
		if got := commands[5].(string); got != all.String()+"\uFFFD\uFFFD" {
			t.Errorf("the text came back as %q", got)
		}
	}
}

// The lab records sixty pictures a second for each of several strategies.
func TestPictureAllocatesNothingOnceWarm(t *testing.T) {
	p, out := NewPicture(), []byte(nil)
	points := []ecs.Point{{X: 1, Y: 2}, {X: 3, Y: 4}, {X: 5, Y: 6}}
	draw := func() {
		p.Reset(2)
		var c ecs.Canvas = p
		c.Camera(1, 2, 30)
		for i := range 100 {
			c.Rectangle(float64(i), 1.5, 2.25, 3, ecs.Color{R: uint8(i)})
			c.Circle(float64(i), 1.5, 2.25, ecs.Color{})
			c.Line(1, 2, 3, 4, 5, ecs.Color{})
			c.Polygon(points, ecs.Color{})
			c.Hud().Text(1, 2, 3, -1, "points", ecs.Color{})
			c.Image("ship", 1, 2, 3, 4, ecs.ImageOptions{})
		}
		out = p.Append(out[:0])
	}
	draw()
	if n := testing.AllocsPerRun(100, draw); n != 0 {
		t.Errorf("%v allocations a picture", n)
	}
}

// A press of a mouse button is reported in the units of each canvas.
func TestClicksAreReportedInWorldUnits(t *testing.T) {
	p := NewPicture()
	p.Reset(1.5)
	p.Clicks = map[string]ecs.Point{"mouse1": {X: 0.75, Y: 0.25}}
	if x, y, ok := p.Clicked("mouse1"); !ok || x != 12 || y != 4 {
		t.Errorf("before Camera: %v %v %v", x, y, ok)
	}
	p.Camera(10, 20, 40)
	if x, y, ok := p.Clicked("mouse1"); !ok || x != 10 || y != 10 {
		t.Errorf("through the camera: %v %v %v", x, y, ok)
	}
	if x, y, ok := p.Hud().Clicked("mouse1"); !ok || x != 12 || y != 4 {
		t.Errorf("on the HUD: %v %v %v", x, y, ok)
	}
	if _, _, ok := p.Clicked("mouse2"); ok {
		t.Error("the other button was pressed")
	}
}
