//go:build !headless

package window

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/hajimehoshi/ebiten/v2"

	"tendon/ecs"
)

// screen is the window's loop: Ebitengine calls Update and Draw once per picture.
type screen struct {
	config  Config
	canvas  *canvas
	started bool
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
	s := &screen{config: c}
	if s.canvas, err = newCanvas(c.Game); err != nil {
		return err
	}
	ebiten.SetWindowTitle(c.Title)
	ebiten.SetWindowSize(1280, 800)
	ebiten.SetWindowResizingMode(ebiten.WindowResizingModeEnabled)
	ebiten.SetTPS(ebiten.SyncWithFPS)
	ebiten.SetRunnableOnUnfocused(true)
	err = runGame(s)
	switch {
	case err == nil || errors.Is(err, ErrClosed):
		return nil
	case s.started:
		return err
	}
	return fmt.Errorf("%w: %v; is an X server running, are libX11 and libGL installed?", ErrUnavailable, err)
}

// runGame returns a panic of the graphics libraries' loader as an error.
func runGame(s *screen) (err error) {
	defer func() {
		if r := recover(); r != nil {
			if s.started {
				panic(r)
			}
			err = fmt.Errorf("%v", r)
		}
	}()
	return ebiten.RunGame(s)
}

// Update reads the controls and calls Frame.
func (s *screen) Update() error {
	s.started = true
	return s.config.Frame(time.Now(), s.config.Game.Screen.Controls(controls{s.canvas}))
}

// Draw paints the current view.
func (s *screen) Draw(dst *ebiten.Image) {
	s.canvas.begin(dst)
	view := s.config.View(time.Now())
	status := ""
	if s.config.Status != nil {
		status = s.config.Status()
	}
	hud := s.canvas.Hud()
	if view == nil {
		hud.Text(s.canvas.Aspect()*8, 7.6, 0.8, 0, status, ecs.Color{R: 230, G: 230, B: 235, A: 255})
	} else {
		s.config.Game.Screen.Draw(s.canvas, view)
		hud.Text(0.2, 15.5, 0.36, -1, status, ecs.Color{R: 200, G: 200, B: 210, A: 200})
	}
}

// Layout returns the size of the window in pixels of the screen.
func (s *screen) Layout(width, height int) (int, int) {
	scale := ebiten.Monitor().DeviceScaleFactor()
	return int(float64(width) * scale), int(float64(height) * scale)
}
