//go:build !js

package labpage

import (
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"math"
	"slices"
	"strings"
	"time"

	"tendon/ecs"
	"tendon/net/lab"
	"tendon/systems/relay"
)

// The film is drawn in virtual time. The player walks left and right, and the camera does not follow.
const (
	filmHz      = 20                      // pictures a second
	filmWarmup  = 3200 * time.Millisecond // two keys, for the delay to be measured
	filmPanel   = 300                     // height of a picture of a match, in pixels
	filmCaption = 34                      // above it
	filmKeys    = 40                      // below it
	filmMargin  = 10                      // between and around
	frameTime   = time.Second / filmHz    // from one picture to the next
	filmWalk    = 900 * time.Millisecond  // for which a key is held
	filmRest    = 700 * time.Millisecond  // before the next key
)

var (
	filmGround = color.RGBA{17, 21, 19, 255}
	filmInk    = color.RGBA{230, 235, 231, 255}
	filmRaised = color.RGBA{49, 58, 53, 255}
	filmKey    = color.RGBA{92, 201, 184, 255}
	filmLate   = color.RGBA{240, 163, 90, 255}
	filmStage  = color.RGBA{18, 20, 27, 255}
)

// filmed are the keys that the player holds in turn.
var filmed = []string{"arrowright", "arrowleft"}

// Film draws the match of the settings with each strategy side by side, as the page shows them. A player holds one arrow key after
// another. The same settings give the same film.
func Film(c Config, s Settings) (*gif.GIF, error) {
	return newFilm(c, s, 4*(filmWalk+filmRest))
}

// newFilm is Film with a length.
func newFilm(c Config, s Settings, length time.Duration) (*gif.GIF, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if c.Game.Screen.Controls == nil {
		return nil, fmt.Errorf("%w: the game has no Controls: set ecs.Game.Screen.Controls", ErrConfig)
	}
	s = s.clamped(&c)
	live, err := newLive(&c, &s)
	if err != nil {
		return nil, err
	}
	f := film{config: &c, live: live, raster: newRaster(c.Game, live.Len())}
	var pictures []*image.RGBA
	for at := -filmWarmup; at < length; at += frameTime {
		if err := f.advance(at); err != nil {
			return nil, err
		}
		if at >= 0 {
			pictures = append(pictures, f.picture())
		}
	}
	return animation(pictures, 100/filmHz), nil
}

// film is the state of a film while it is drawn.
type film struct {
	config *Config
	live   *lab.Live
	raster *raster
	held   string // the arrow key that is held, "" for none
	mark   uint64 // of the input
}

// key returns the key that is held at a moment of the film.
func key(at time.Duration) string {
	step := filmWalk + filmRest
	at += filmWarmup
	if at%step >= filmWalk {
		return ""
	}
	return filmed[int(at/step)%len(filmed)]
}

// advance plays the matches to the next picture.
func (f *film) advance(at time.Duration) error {
	if k := key(at); k != f.held {
		f.held, f.mark = k, f.mark+1
	}
	hands := controls{orders: ecs.NewOrderQueue(f.config.Game)}
	if f.held != "" {
		hands.held = []string{f.held}
	}
	hands.aim(avatar(f.live.View(0)))
	f.live.Input(f.config.Game.Screen.Controls(&hands), f.mark)
	return f.live.Advance(frameTime)
}

// picture draws the present frame of all matches.
func (f *film) picture() *image.RGBA {
	r, draw := f.raster, f.config.Game.Screen.Draw
	if r.camera.height == 0 { // that of the game, at the first picture
		first := newGhost()
		first.begin()
		draw(first, f.live.View(0))
		r.camera = first.camera
	}
	r.clear()
	for i := range f.live.Len() {
		r.begin()
		if v := f.live.View(i); v != nil {
			draw(r, v)
		}
		reading, _ := f.live.Readings(i)
		remark, c := shownAfter(&reading)
		r.end(i, title(f.live.Strategy(i).Name), remark, c)
	}
	r.arrows(f.held)
	return r.copy()
}

// title returns the display name of a strategy.
func title(name string) string {
	if name == relay.Strategy.Name {
		return "Rollback"
	}
	return strings.ToUpper(name[:1]) + name[1:]
}

// shownAfter describes the delay from a key press to the picture, in frames at 60 Hz.
func shownAfter(r *lab.Reading) (string, color.Color) {
	frames := math.Floor(r.Display*60/1000 + 0.01)
	switch {
	case !r.Pressed:
		return "", filmInk
	case frames == 0:
		return "your key shows in 0 frames", filmKey
	}
	return fmt.Sprintf("your key shows after %.0f frames, %.0f ms", frames, r.Display), filmLate
}

// palette counts the colours of pictures. Each cell covers 8 levels of each channel.
type palette [1 << 15]struct{ r, g, b, n int }

func cellOf(p []uint8) uint16 { return uint16(p[0]>>3)<<10 | uint16(p[1]>>3)<<5 | uint16(p[2]>>3) }

// animation returns the pictures with a common palette of at most 255 colours. A picture contains only the pixels that have changed.
func animation(pictures []*image.RGBA, delay int) *gif.GIF {
	var p palette
	for _, m := range pictures {
		for i := 0; i < len(m.Pix); i += 4 {
			x := m.Pix[i : i+3]
			c := &p[cellOf(x)]
			c.r, c.g, c.b, c.n = c.r+int(x[0]), c.g+int(x[1]), c.b+int(x[2]), c.n+1
		}
	}
	colors, index := p.choose()
	g := &gif.GIF{}
	var before []uint8
	for _, m := range pictures {
		shown := image.NewPaletted(m.Rect, colors)
		for i := range shown.Pix {
			shown.Pix[i] = index[cellOf(m.Pix[4*i:])]
		}
		now := slices.Clone(shown.Pix)
		g.Image = append(g.Image, changed(shown, before))
		g.Delay, g.Disposal = append(g.Delay, delay), append(g.Disposal, gif.DisposalNone)
		before = now
	}
	return g
}

// choose returns transparency and the most frequent colours, and the index of the nearest colour for each cell.
func (p *palette) choose() (colors color.Palette, index [1 << 15]uint8) {
	var cells []uint16
	for i := range p {
		if p[i].n > 0 {
			cells = append(cells, uint16(i))
		}
	}
	slices.SortStableFunc(cells, func(a, b uint16) int { return p[b].n - p[a].n })
	colors = color.Palette{color.RGBA{}}
	for i, x := range cells {
		c := &p[x]
		mean := color.RGBA{uint8(c.r / c.n), uint8(c.g / c.n), uint8(c.b / c.n), 255}
		if i < 255 {
			colors, index[x] = append(colors, mean), uint8(i+1)
		} else {
			index[x] = uint8(1 + colors[1:].Index(mean))
		}
	}
	return colors, index
}

// changed returns the part of a picture that differs from the pixels before, in which equal pixels are transparent. The first
// picture is complete.
func changed(m *image.Paletted, before []uint8) *image.Paletted {
	if before == nil {
		return m
	}
	part := image.Rectangle{}
	for i, x := range m.Pix {
		if x == before[i] {
			m.Pix[i] = 0
			continue
		}
		at := image.Pt(i%m.Stride, i/m.Stride)
		part = part.Union(image.Rectangle{at, at.Add(image.Pt(1, 1))})
	}
	if part.Empty() {
		part = image.Rect(0, 0, 1, 1)
	}
	return m.SubImage(part).(*image.Paletted)
}
