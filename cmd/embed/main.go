//go:build !headless

// Command embed is a game with its own Ebitengine loop and a networked match. The client is three calls in that loop, and
// the game draws donburi sprites.
//
//	embed                      a server, two bots and you, in this process
//	embed ADDR --token TOKEN   join the match of another embed, which prints this line
package main

import (
	"errors"
	"fmt"
	"image/color"
	"math"
	"os"
	"time"

	"github.com/hajimehoshi/ebiten/v2"
	"github.com/hajimehoshi/ebiten/v2/ebitenutil"
	"github.com/hajimehoshi/ebiten/v2/vector"
	"github.com/yohamta/donburi"

	"tendon/cmd/cli/window"
	"tendon/ecs"
	"tendon/net/client"
)

// Game is an ordinary Ebitengine game that owns a client.
type Game struct {
	client *client.Client
	match  *match // in this process; empty if it is elsewhere
	drawn  time.Time
}

// Update is called sixty times a second. It passes the player's input to the client and advances the match.
func (g *Game) Update() error {
	g.match.frame(time.Now())
	g.client.SetInput(pad.Pack(readKeys()))
	return g.client.Frame(time.Now())
}

// Draw paints the sprites of the view of this moment.
func (g *Game) Draw(screen *ebiten.Image) {
	now := time.Now()
	screen.Fill(water)
	view := g.client.View(now)
	for entry := range sprite.Iter(view.World) {
		sprite.Get(entry).draw(screen, body.Get(entry), now.Sub(g.drawn))
	}
	g.drawn = now
	ebitenutil.DebugPrint(screen, fmt.Sprintf("%v, tick %d\narrows swim, space blows bubbles", g.client.State(), view.Tick))
}

// Layout makes the screen as large as the pond.
func (g *Game) Layout(int, int) (int, int) { return pondWidth.Int(), pondHeight.Int() }

func readKeys() Pad {
	held := func(key ebiten.Key) int8 {
		if ebiten.IsKeyPressed(key) {
			return 1
		}
		return 0
	}
	return Pad{
		DX:   held(ebiten.KeyArrowRight) - held(ebiten.KeyArrowLeft),
		DY:   held(ebiten.KeyArrowDown) - held(ebiten.KeyArrowUp),
		Blow: ebiten.IsKeyPressed(ebiten.KeySpace),
	}
}

// newGame returns a game that joins with the token, or one with a match of its own if there is none.
func newGame(token []byte) (*Game, error) {
	pictures := paintPictures()
	rules := pond(func(_ *ecs.View, entry *donburi.Entry) {
		picture := len(pictures) - 1
		if !entry.HasComponent(bubble) {
			picture = int(seat.GetValue(entry).Player) % picture
		}
		donburi.Add(entry, sprite, &Sprite{image: pictures[picture]})
	})
	g, err := &Game{match: &match{}}, error(nil)
	if token != nil {
		g.client, err = dial(rules, token, client.Config{})
		return g, err
	}
	if g.match, err = hostMatch(rules); err == nil {
		g.client, err = g.match.join(client.Config{})
	}
	return g, err
}

// run plays: alone with bots, or with a token where its server is.
func run(address string, token []byte) error {
	if window.Check() != nil {
		return errors.New("there is no screen to open a window on: is DISPLAY set?")
	}
	g, err := newGame(token)
	if err != nil {
		return err
	}
	defer g.match.close()
	defer g.client.Close()
	if token == nil {
		fmt.Println("another player joins with:\n" + g.match.invitation())
	}
	ebiten.SetWindowTitle("embed " + address)
	ebiten.SetWindowSize(pondWidth.Int(), pondHeight.Int())
	ebiten.SetRunnableOnUnfocused(true)
	return ebiten.RunGame(g)
}

// parse reads the command line: nothing, or ADDR --token TOKEN.
func parse(args []string) (address string, token []byte, err error) {
	switch {
	case len(args) == 0:
		return "", nil, nil
	case len(args) != 3 || args[1] != "--token":
		return "", nil, errors.New("usage: embed, or embed ADDR --token TOKEN")
	}
	token, err = parseToken(args[2])
	return args[0], token, err
}

func main() {
	address, token, err := parse(os.Args[1:])
	if err == nil {
		err = run(address, token)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "embed:", err)
		os.Exit(2)
	}
}

// Sprite is how an entity looks: the view's own, an ordinary donburi component with a pointer and a tween in it. It
// stays while the entity is shown, whatever is rewound meanwhile.
type Sprite struct {
	image *ebiten.Image // looking right
	age   float64       // seconds on the screen, for the tween
	turn  float64       // radians; follows the way it swims
}

var (
	sprite = donburi.NewComponentType[Sprite]()
	water  = color.RGBA{16, 42, 64, 255}
)

const growSeconds = 0.4

// draw paints a sprite at its body, elapsed after the picture before.
func (s *Sprite) draw(screen *ebiten.Image, b *Body, elapsed time.Duration) {
	seconds := min(elapsed.Seconds(), 0.1)
	s.age += seconds
	if vx, vy := b.Vel.X.Float(), b.Vel.Y.Float(); math.Hypot(vx, vy) > 0.2 {
		s.turn += math.Remainder(math.Atan2(vy, vx)-s.turn, 2*math.Pi) * (1 - math.Exp(-8*seconds))
	}
	size := 1.0
	if t := s.age / growSeconds; t < 1 { // grows a little too far and back
		size = 1 + 2.7*math.Pow(t-1, 3) + 1.7*math.Pow(t-1, 2)
	}
	o := &ebiten.DrawImageOptions{Filter: ebiten.FilterLinear}
	bounds := s.image.Bounds()
	o.GeoM.Translate(-float64(bounds.Dx())/2, -float64(bounds.Dy())/2)
	o.GeoM.Scale(size, size)
	if math.Abs(s.turn) > math.Pi/2 { // never belly up
		o.GeoM.Scale(1, -1)
	}
	o.GeoM.Rotate(s.turn)
	o.GeoM.Translate(b.Pos.X.Float(), b.Pos.Y.Float())
	screen.DrawImage(s.image, o)
}

// paintPictures returns the images of the fish, and that of a bubble behind them.
func paintPictures() (pictures []*ebiten.Image) {
	for _, c := range []color.RGBA{{255, 150, 60, 255}, {90, 200, 250, 255}, {250, 210, 80, 255}, {240, 110, 150, 255}} {
		img := ebiten.NewImage(44, 28)
		for x := range 10 { // the tail
			vector.FillRect(img, float32(2+x), float32(5+x), 1, float32(18-2*x), c, false)
		}
		vector.FillCircle(img, 20, 14, 11, c, true)
		vector.FillCircle(img, 29, 14, 9, c, true)
		vector.FillCircle(img, 32, 11, 2.5, color.White, true)
		vector.FillCircle(img, 33, 11, 1.2, color.Black, true)
		pictures = append(pictures, img)
	}
	img := ebiten.NewImage(16, 16)
	vector.StrokeCircle(img, 8, 8, 6, 1.5, color.RGBA{150, 210, 235, 255}, true)
	vector.FillCircle(img, 6, 6, 1.5, color.White, true)
	return append(pictures, img)
}
