//go:build !headless

package window

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/hajimehoshi/ebiten/v2"
	"github.com/hajimehoshi/ebiten/v2/inpututil"
	"github.com/hajimehoshi/ebiten/v2/text/v2"
	"golang.org/x/image/font/gofont/gomedium"

	"tendon/ecs"
)

// screen is the window's loop: Ebitengine calls Update and Draw once per picture.
type screen struct {
	config  Config
	canvas  canvas
	started bool
	place   place           // of the last picture
	down    ecs.InputBytes  // input for the keys that are down
	orders  *ecs.OrderQueue // of the last view; nil before the first
}

// Check returns an error if no window can be opened on this machine.
func Check() error {
	if runtime.GOOS == "linux" && os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
		return fmt.Errorf("%w: neither DISPLAY nor WAYLAND_DISPLAY is set, so there is no screen to show it on", ErrUnavailable)
	}
	return nil
}

// Run opens the window and returns when it is closed or Frame fails. It must be called on the main goroutine.
func Run(c Config) (err error) {
	if err := Check(); err != nil {
		return err
	}
	if c.Game.Screen.Draw == nil || c.Game.Screen.Controls == nil {
		return fmt.Errorf("window: the game has no Draw or no Controls; set them in ecs.Game")
	}
	s := &screen{config: c, canvas: canvas{game: c.Game, images: map[string]*ebiten.Image{}, clicks: new([2]click)}}
	if s.canvas.font, err = text.NewGoTextFaceSource(bytes.NewReader(gomedium.TTF)); err != nil {
		return fmt.Errorf("window: font: %w", err)
	}
	hud := s.canvas
	s.canvas.hud = &hud
	ebiten.SetWindowTitle(c.Title)
	ebiten.SetWindowSize(1280, 800)
	restore(c.Place)
	ebiten.SetWindowResizingMode(ebiten.WindowResizingModeEnabled)
	ebiten.SetTPS(ebiten.SyncWithFPS)
	ebiten.SetRunnableOnUnfocused(true)
	defer func() {
		if !s.started { // the loader of the graphics libraries panics
			if r := recover(); r != nil {
				err = fmt.Errorf("%v", r)
			}
			if err != nil {
				err = fmt.Errorf("%w: %v; is an X server running, are libX11 and libGL installed?", ErrUnavailable, err)
			}
		}
	}()
	if err = ebiten.RunGame(s); errors.Is(err, ErrClosed) {
		return nil
	}
	return err
}

// place is the position and the size of a window.
type place struct{ x, y, width, height int }

// restore puts the window at the place in a file, if there is one.
func restore(file string) {
	var p place
	text, err := os.ReadFile(file)
	if err == nil {
		_, err = fmt.Sscan(string(text), &p.x, &p.y, &p.width, &p.height)
	}
	if file != "" && err == nil && p.width > 0 && p.height > 0 {
		ebiten.SetWindowPosition(p.x, p.y)
		ebiten.SetWindowSize(p.width, p.height)
	}
}

// save writes the place into a file after the window was moved.
func (p *place) save(file string) {
	now := place{}
	if file == "" {
		return
	}
	now.x, now.y = ebiten.WindowPosition()
	if now.width, now.height = ebiten.WindowSize(); now != *p {
		*p = now
		_ = os.WriteFile(file, fmt.Appendln(nil, p.x, p.y, p.width, p.height), 0o600) // otherwise the next window is in the usual place
	}
}

// Update reads the controls and calls Frame.
func (s *screen) Update() error {
	s.started = true
	if s.config.Next != nil && inpututil.IsKeyJustPressed(ebiten.KeyF2) {
		s.config.Next()
	}
	if s.config.Pause != nil && inpututil.IsKeyJustPressed(ebiten.KeyF3) {
		s.config.Pause()
	}
	held := controls{&s.canvas, s.orders}
	for i, button := range mouseButtons {
		if held.Pressed(button) {
			x, y := ebiten.CursorPosition()
			s.canvas.clicks[i] = click{true, x, y}
		}
	}
	s.place.save(s.config.Place)
	before := s.down
	s.down = s.config.Game.Screen.Controls(held)
	return s.config.Frame(time.Now(), s.config.Game.Input.Begin(before, s.down))
}

// Draw paints the current view.
func (s *screen) Draw(dst *ebiten.Image) {
	s.canvas.begin(dst)
	view, status := s.config.View(time.Now()), s.config.Status()
	if view == nil {
		s.canvas.hud.Text(s.canvas.Aspect()*8, 7.6, 0.8, 0, status, ecs.Color{R: 230, G: 230, B: 235, A: 255})
		return
	}
	s.config.Game.Screen.Draw(&s.canvas, view)
	s.orders, *s.canvas.clicks = view.Orders, [2]click{}
	if s.config.Banner != nil {
		paintBanner(s.canvas.hud, s.config.Banner(time.Now()))
	}
	s.canvas.hud.Text(0.2, 15.5, 0.36, -1, status, ecs.Color{R: 200, G: 200, B: 210, A: 200})
}

// paintBanner paints a line of text on a bar, in the upper third of a canvas of height 16.
func paintBanner(c ecs.Canvas, text string) {
	if text == "" {
		return
	}
	width := 16 * c.Aspect()
	c.Rectangle(0, 4.4, width, 1.5, ecs.Color{R: 120, G: 30, B: 30, A: 220})
	c.Text(width/2, 4.7, 0.8, 0, text, ecs.Color{R: 255, G: 255, B: 255, A: 255})
}

// Layout returns the size of the window in pixels of the screen.
func (s *screen) Layout(width, height int) (int, int) {
	scale := ebiten.Monitor().DeviceScaleFactor()
	return int(float64(width) * scale), int(float64(height) * scale)
}

// controls reads keyboard and pointer. The pointer is in world units of the last camera.
type controls struct {
	canvas *canvas
	orders *ecs.OrderQueue
}

var _ ecs.Controls = controls{}

// named are the keys that are neither letters nor digits.
var named = map[string]ebiten.Key{
	"left": ebiten.KeyArrowLeft, "right": ebiten.KeyArrowRight, "up": ebiten.KeyArrowUp, "down": ebiten.KeyArrowDown,
	"space": ebiten.KeySpace, "shift": ebiten.KeyShift, "enter": ebiten.KeyEnter, "tab": ebiten.KeyTab,
}

// Down reports whether a key or button is held.
func (c controls) Down(key string) bool {
	return lookup(key, ebiten.IsMouseButtonPressed, ebiten.IsKeyPressed)
}

// Pressed reports whether a key or button went down since the last picture.
func (c controls) Pressed(key string) bool {
	return lookup(key, inpututil.IsMouseButtonJustPressed, inpututil.IsKeyJustPressed)
}

// lookup asks for the button or the key of a name.
func lookup(key string, button func(ebiten.MouseButton) bool, pressed func(ebiten.Key) bool) bool {
	switch {
	case key == "mouse1":
		return button(ebiten.MouseButtonLeft)
	case key == "mouse2":
		return button(ebiten.MouseButtonRight)
	case len(key) == 1 && key[0] >= 'a' && key[0] <= 'z':
		return pressed(ebiten.KeyA + ebiten.Key(key[0]-'a'))
	case len(key) == 1 && key[0] >= '0' && key[0] <= '9':
		return pressed(ebiten.KeyDigit0 + ebiten.Key(key[0]-'0'))
	}
	k, known := named[key]
	return known && pressed(k)
}

// Orders returns the queue of the view, nil before the first picture.
func (c controls) Orders() *ecs.OrderQueue { return c.orders }

// Pointer returns the position of the pointer in world units.
func (c controls) Pointer() (x, y float64) { return c.canvas.world(ebiten.CursorPosition()) }
