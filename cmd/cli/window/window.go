//go:build !headless

package window

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/hajimehoshi/ebiten/v2"
	"github.com/hajimehoshi/ebiten/v2/inpututil"

	"tendon/cmd/cli/internal/keys"
	"tendon/ecs"
)

// screen is the window's loop: Ebitengine calls Update and Draw once per picture.
type screen struct {
	config  Config
	canvas  canvas
	devices devices
	overlay overlay
	sounds  *sounds
	typed   []rune
	started bool
	place   place          // of the last picture
	down    ecs.InputBytes // input for the keys that are down
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
	if err := keys.Check(c.Game); err != nil {
		return err
	}
	s, err := newScreen(c)
	if err != nil {
		return err
	}
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

// newScreen returns the loop of a window.
func newScreen(c Config) (*screen, error) {
	fonts, err := newFonts(c.Game)
	if err != nil {
		return nil, err
	}
	report := func(err error) {
		if c.Report != nil {
			c.Report(err)
		}
	}
	s := &screen{config: c, canvas: canvas{fonts: fonts, images: &images{game: c.Game, report: report, list: map[string]*ebiten.Image{}}, shapes: new(shapes), clicks: new(clicks)}}
	if c.Touch == nil {
		c.Touch = new(keys.Touch)
	}
	s.devices = devices{canvas: &s.canvas, names: keys.Reader{Chat: c.Game.Screen.Chat}, touch: c.Touch}
	s.overlay = overlay{config: &s.config, fullscreen: func() { ebiten.SetFullscreen(!ebiten.IsFullscreen()) }}
	s.sounds = newSounds(c.Game, report)
	hud := s.canvas
	s.canvas.hud = &hud
	return s, nil
}

// Update reads the controls and calls Frame.
func (s *screen) Update() error {
	s.started = true
	now := time.Now()
	if err := s.overlay.update(now, s.canvas.Aspect(), s.presses()); err != nil {
		return err
	}
	s.devices.muted = s.overlay.muted()
	s.place.save(s.config.Place)
	s.devices.read()
	before := s.down
	s.down = s.config.Game.Screen.Controls(&s.devices)
	if err := s.devices.names.Err; err != nil {
		return err
	}
	return s.config.Frame(now, s.config.Game.Input.Begin(before, s.down))
}

// effect passes an effect to the game and plays its sound.
func (s *screen) effect(v *ecs.View, e ecs.Effect) {
	if show := s.config.Game.Screen.Effect; show != nil {
		show(v, e)
	}
	s.sounds.effect(time.Now(), v, e)
}

// presses reads the keys for the overlay.
func (s *screen) presses() presses {
	s.typed = ebiten.AppendInputChars(s.typed[:0])
	p := presses{typed: s.typed, tab: ebiten.IsKeyPressed(ebiten.KeyTab), click: inpututil.IsMouseButtonJustPressed(ebiten.MouseButtonLeft)}
	p.x, p.y = s.canvas.hud.world(ebiten.CursorPosition())
	p.key = func(k ebiten.Key) bool {
		held := inpututil.KeyPressDuration(k)
		return inpututil.IsKeyJustPressed(k) || k == ebiten.KeyBackspace && held > 30 && held%3 == 0
	}
	return p
}

// Draw paints the current view.
func (s *screen) Draw(dst *ebiten.Image) {
	s.canvas.begin(dst)
	defer s.canvas.flush()
	now := time.Now()
	view, status := s.config.View(now, s.effect), s.config.Status()
	s.sounds.update(now)
	if view == nil {
		paintWait(s.canvas.hud, status)
		s.overlay.paint(s.canvas.hud, nil, time.Now())
		return
	}
	s.config.Game.Screen.Draw(&s.canvas, view)
	s.devices.orders, *s.canvas.clicks = view.Orders, clicks{}
	if s.config.Banner != nil {
		paintBanner(s.canvas.hud, s.config.Banner(time.Now()))
	}
	s.canvas.hud.Text(0.2, 15.5, 0.36, -1, status, ecs.Color{R: 200, G: 200, B: 210, A: 200})
	s.overlay.paint(s.canvas.hud, view, time.Now())
}

// paintWait paints a text in the middle of a canvas of height 16. It breaks a text that is wider than the canvas into lines.
func paintWait(c ecs.Canvas, text string) {
	lines := []string{text}
	if most := int(c.Aspect() * 32); len(text) > most {
		lines = lines[:0]
		for _, word := range strings.Fields(text) {
			if last := len(lines) - 1; last >= 0 && len(lines[last])+1+len(word) <= most {
				lines[last] += " " + word
			} else {
				lines = append(lines, word)
			}
		}
	}
	for i, line := range lines {
		c.Text(c.Aspect()*8, 7.6+float64(i)-float64(len(lines)-1)/2, 0.8, 0, line, ecs.Color{R: 230, G: 230, B: 235, A: 255})
	}
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
