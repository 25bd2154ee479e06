//go:build !headless

package window

import (
	"bytes"
	"context"
	"errors"
	stdimage "image"
	"image/color"
	"image/png"
	"math"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/hajimehoshi/ebiten/v2"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
)

type (
	walk struct{ Right bool }
	spot struct{ X fixed.Num }
)

var (
	walkInput = ecs.NewInput[walk]()
	spotComp  = ecs.NewComponent[spot]("spot")
	walkers   = ecs.NewQuery1(ecs.Write(spotComp))
)

// whiteImage returns a PNG file of four white pixels.
func whiteImage() []byte {
	var file bytes.Buffer
	img := stdimage.NewGray(stdimage.Rect(0, 0, 2, 2))
	for i := range img.Pix {
		img.Pix[i] = 255
	}
	if err := png.Encode(&file, img); err != nil {
		panic(err)
	}
	return file.Bytes()
}

// walkGame has one entity that goes right while the key is held.
func walkGame() *ecs.Game {
	return &ecs.Game{
		Name: "walk", Assets: []ecs.Asset{{Name: "white", Data: whiteImage()}}, TickRate: 60, MaxPlayers: 1, Input: walkInput, Components: ecs.Components(spotComp),
		Setup: func(w *ecs.World) { w.Spawn(ecs.OwnedByWorld, spotComp) },
		Systems: ecs.Systems(func(w *ecs.World) {
			for e := range walkers.All(w) {
				if walkInput.Of(w, 0).Right {
					e.A.X += fixed.One
				}
			}
		}),
		Screen: ecs.Screen{Controls: func(c ecs.Controls) ecs.InputBytes { return walkInput.Pack(walk{Right: c.Down("right")}) },
			Draw: func(c ecs.Canvas, v *ecs.View) {
				c.Camera(0, 0, 20)
				c.Rectangle(-4, -4, 8, 8, ecs.Color{R: 200, G: 80, B: 60, A: 255})
				for e := range walkers.All(v.Sim) {
					c.Circle(e.A.X.Float()/50, 0, 2, ecs.Color{G: 220, A: 255})
				}
				c.Hud().Text(1, 1, 1, -1, "walk", ecs.Color{R: 255, G: 255, B: 255, A: 255})
				if seen.pictures++; seen.pictures == 20 {
					seen.colours = distinct(c.(*canvas).dst)
					seen.areas = areas(c.(*canvas).shapes)
					seen.layers = layers(c.(*canvas))
				}
			}},
	}
}

// seen is the result of running the window. The window must run on the main goroutine, so TestMain runs it, and the test
// checks the result.
var seen struct {
	skipped  string
	err      error
	tick     ecs.Tick
	x        fixed.Num
	pressed  bool
	colours  int
	pictures int
	areas    [][2]float64
	layers   []color.Color
}

func TestMain(m *testing.M) {
	watchWindow()
	os.Exit(m.Run())
}

func watchWindow() {
	if err := Check(); err != nil {
		seen.skipped = err.Error()
		return
	}
	tool, err := exec.LookPath("xdotool")
	if err != nil {
		seen.skipped = "xdotool is not installed, so no key can be pressed"
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	pressed := make(chan struct{})
	defer func() {
		cancel()
		if seen.tick >= 10 {
			<-pressed
		}
	}()
	world, err := ecs.NewWorld(walkGame(), 1)
	if err != nil {
		seen.err = err
		return
	}
	view, err := ecs.NewView(world.Game())
	if err != nil {
		seen.err = err
		return
	}
	var state image.Snapshot
	seen.err = Run(Config{
		Title: "tendon window test", Game: world.Game(), Status: func() string { return "" },
		Banner: func(time.Time) string { return "connection lost; reconnecting, 12 s left" },
		Frame: func(_ time.Time, in ecs.InputBytes) error {
			if ctx.Err() != nil {
				return errors.New("no key arrived in a minute")
			}
			if world.Tick() == 10 {
				go func() {
					press(ctx, tool)
					close(pressed)
				}()
			}
			world.Step(ecs.TickInputs{Players: []ecs.InputBytes{in}})
			world.Image().Save(&state)
			view.Update(nil, &state, nil, 0)
			for e := range walkers.All(world) {
				seen.tick, seen.x = world.Tick(), e.A.X
			}
			seen.pressed = seen.pressed || walkInput.Unpack(in).Right
			if seen.x >= fixed.FromInt(10) && seen.colours > 0 {
				return ErrClosed
			}
			return nil
		},
		View: func(time.Time, func(*ecs.View, ecs.Effect)) *ecs.View { return view },
	})
}

// press holds the right arrow key. Without a window manager no window has the focus, so it is set by name.
func press(ctx context.Context, tool string) {
	defer exec.Command(tool, "keyup", "Right").Run() // the key must not stay down on the X server
	for ctx.Err() == nil {
		_ = exec.CommandContext(ctx, tool, "search", "--name", "tendon window test", "windowfocus", "--sync", "keydown", "Right").Run()
		time.Sleep(200 * time.Millisecond)
	}
}

// distinct counts the colours of a picture.
func distinct(picture *ebiten.Image) int {
	pixels := make([]byte, 4*picture.Bounds().Dx()*picture.Bounds().Dy())
	picture.ReadPixels(pixels)
	colours := map[[3]byte]bool{}
	for i := 0; i+3 < len(pixels); i += 4 {
		colours[[3]byte(pixels[i:i+3])] = true
	}
	return len(colours)
}

// areas paints shapes and returns how many pixels each covers, beside its area.
func areas(s *shapes) (list [][2]float64) {
	picture := ebiten.NewImage(128, 128)
	defer picture.Deallocate()
	c := &canvas{dst: picture, scale: 1, shapes: s}
	white := ecs.Color{R: 255, G: 255, B: 255, A: 255}
	measure := func(area float64) {
		pixels, sum := make([]byte, 4*128*128), 0.0
		c.flush()
		picture.ReadPixels(pixels)
		for i := 3; i < len(pixels); i += 4 {
			sum += float64(pixels[i]) / 255
		}
		list = append(list, [2]float64{sum, area})
		picture.Clear()
	}
	for _, radius := range []float64{0.7, 3, 10, 33.3, 60} {
		c.Circle(64.3, 63.8, radius, white)
		measure(math.Pi * radius * radius)
	}
	for _, width := range []float64{0.5, 1.5, 6, 20} { // along the axes and between them, longer and shorter than wide
		c.Line(20, 30, 100, 30, width, white)
		measure(80 * width)
		c.Line(30, 100, 90, 20, width, white)
		measure(100 * width)
		c.Line(60, 60, 66, 68, width, white)
		measure(10 * width)
	}
	c.Line(60, 60, 60, 60, 10, white)
	c.Line(60, 60, 70, 60, 0, white)
	measure(0)
	c.Rectangle(10, 20, 30, 40, white)
	measure(30 * 40)
	return list
}

// layers paints one thing over another with different methods, and returns the color of each picture.
func layers(screen *canvas) (list []color.Color) {
	picture := ebiten.NewImage(32, 32)
	defer picture.Deallocate()
	c := &canvas{dst: picture, scale: 1, shapes: screen.shapes, fonts: screen.fonts, images: screen.images}
	red, green := ecs.Color{R: 255, A: 255}, ecs.Color{G: 255, A: 255}
	shape := func(col ecs.Color) { c.Circle(16, 16, 40, col) }
	polygon := func(col ecs.Color) {
		c.Polygon([]ecs.Point{{X: -50, Y: -50}, {X: 90, Y: -50}, {X: 90, Y: 90}, {X: -50, Y: 90}}, col)
	}
	words := func(col ecs.Color) { c.Text(16, -60, 100, 0, "████", col) }
	asset := func(col ecs.Color) { c.Image("white", 0, 0, 32, 32, ecs.ImageOptions{Tint: col}) }
	for _, other := range []func(ecs.Color){polygon, words, asset} {
		for _, order := range [][2]func(ecs.Color){{shape, other}, {other, shape}} {
			order[0](red)
			order[1](green)
			c.flush()
			list = append(list, picture.At(16, 16))
			picture.Clear()
		}
	}
	return list
}

// Things that are painted later cover earlier ones.
func TestThePictureIsPaintedInOrder(t *testing.T) {
	if seen.skipped != "" {
		t.Skip(seen.skipped)
	}
	if len(seen.layers) != 6 {
		t.Fatalf("%d pictures", len(seen.layers))
	}
	for i, c := range seen.layers {
		if c != (color.RGBA{G: 255, A: 255}) {
			t.Errorf("picture %d is %v, want green", i, c)
		}
	}
}

// Circles, lines and rectangles cover their areas, within 4 %. Shapes with few pixels are less exact.
func TestShapesCoverTheirAreas(t *testing.T) {
	if seen.skipped != "" {
		t.Skip(seen.skipped)
	}
	if len(seen.areas) == 0 {
		t.Fatal("no shapes were painted")
	}
	for i, a := range seen.areas {
		if covered, area := a[0], a[1]; math.Abs(covered-area) > max(0.04*area, 15) {
			t.Errorf("shape %d covers %.2f pixels, want %.2f", i, covered, area)
		}
	}
}

// A key pressed on the real keyboard of the X server moves the entity, tick by tick, and the picture shows something.
func TestKeyPressMovesTheEntityAndThePictureIsNotBlank(t *testing.T) {
	if seen.skipped != "" {
		t.Skip(seen.skipped)
	}
	if seen.err != nil {
		t.Fatal(seen.err)
	}
	if !seen.pressed || seen.x < fixed.FromInt(10) || seen.tick < 20 || fixed.FromInt(int(seen.tick)) <= seen.x {
		t.Errorf("pressed %t, at %v in tick %d: want at least 10 units, fewer than ticks", seen.pressed, seen.x, seen.tick)
	}
	if seen.colours < 10 {
		t.Errorf("the picture has %d colours: it is blank", seen.colours)
	}
	t.Logf("tick %d, x %v, %d colours", seen.tick, seen.x, seen.colours)
}
