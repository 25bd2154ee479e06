//go:build !headless

// Command embed is a game with its own Ebitengine loop and a networked match. The client is three calls in that loop, and
// the game draws donburi sprites.
//
//	embed                           a server, two bots and you, in this process
//	embed --sync predict            the same with another sync strategy
//	TENDON_TOKEN=TOKEN embed ADDR   join the match of another embed, which prints this line
package main

import (
	"cmp"
	"errors"
	"fmt"
	"image/color"
	"math"
	"os"
	"time"

	"github.com/alecthomas/kong"
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
	since  time.Time // when it began to connect
	down   ecs.InputBytes
}

// patience is the longest time until a server answers for the first time.
const patience = 10 * time.Second

// Update is called sixty times a second. It passes the player's input to the client and advances the match.
func (g *Game) Update() error {
	g.match.frame(time.Now())
	before := g.down
	g.down = pad.Pack(readKeys())
	g.client.SetInput(pad.Begin(before, g.down)) // a key that is held is one press
	err := g.client.Frame(time.Now())
	follow(g.client.Core)
	if err == nil && g.client.State() == client.Connecting && time.Since(g.since) > patience {
		err = errors.New("no server responds: a token is good for one player and for an hour; ask for a new one")
	}
	return err
}

// Draw paints the sprites of the view of this moment.
func (g *Game) Draw(screen *ebiten.Image) {
	now := time.Now()
	screen.Fill(water)
	view := g.client.View(now)
	for entry := range sprite.Iter(view.World) {
		sprite.Get(entry).draw(screen, body.GetValue(entry), now.Sub(g.drawn))
	}
	g.drawn = now
	ebitenutil.DebugPrint(screen, fmt.Sprintf("%v, tick %d\narrows swim, space blows bubbles", g.client.State(), view.Tick))
}

// Layout makes the screen as large as the pond.
func (g *Game) Layout(int, int) (int, int) {
	return pixels * pondWidth.Int(), pixels * pondHeight.Int()
}

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

// newGame returns a game that joins a match with the token. Without a token it starts its own match.
func newGame(token []byte, sync string) (*Game, error) {
	pictures := paintPictures()
	rules := pond(func(_ *ecs.View, entry *donburi.Entry) {
		picture := pictures.bubble
		switch {
		case entry.HasComponent(turtle):
			picture = pictures.turtle
		case entry.HasComponent(seat):
			picture = pictures.fish[int(seat.GetValue(entry).Player)%len(pictures.fish)]
		}
		donburi.Add(entry, sprite, &Sprite{image: picture})
	})
	g, err := &Game{match: &match{}, since: time.Now()}, error(nil)
	if token != nil {
		g.client, err = dial(rules, token, client.Config{})
		return g, err
	}
	if g.match, err = hostMatch(rules, sync); err == nil {
		g.client, err = g.match.join(client.Config{})
	}
	return g, err
}

// options is the command line.
type options struct {
	Address string `arg:"" optional:"" help:"Address of the match to join. Needs --token."`
	Token   string `env:"TENDON_TOKEN" help:"Token of the match, as its host printed it. Other users of the machine can read a token on the command line."`
	Sync    string `enum:"relay,lockstep,predict,reckon,verify," default:"" help:"Sync strategy of a match of your own: relay, lockstep, predict, reckon or verify. Default: relay."`
}

// parse reads the command line: nothing, or the address and the token of a match.
func parse(args []string) (o options, token []byte, err error) {
	parser := kong.Must(&o, kong.Name("embed"), kong.Description("A game with a window of its own: fish, bubbles and a turtle that carries fish."))
	if _, err = parser.Parse(args); err == nil && (o.Address == "") != (o.Token == "") {
		err = errors.New("give both an address and --token, or neither; see --help")
	}
	if err == nil && o.Token != "" && o.Sync != "" {
		err = errors.New("--sync is for a match of your own: the host of the other match has chosen; leave it out")
	}
	if err == nil && o.Token != "" {
		token, err = parseToken(o.Token)
	}
	return o, token, err
}

// run starts the game, in its own match or in the match of the token.
func run(args []string) error {
	o, token, err := parse(args)
	if err != nil {
		return err
	}
	if window.Check() != nil {
		return errors.New("cannot open a window: set DISPLAY to a screen")
	}
	g, err := newGame(token, cmp.Or(o.Sync, "relay"))
	if err != nil {
		return err
	}
	defer g.match.close()
	defer g.client.Close()
	if token == nil {
		fmt.Println("one more player joins within an hour with:\n" + g.match.invitation())
	}
	ebiten.SetWindowTitle("embed " + o.Address)
	ebiten.SetWindowSize(g.Layout(0, 0))
	ebiten.SetRunnableOnUnfocused(true)
	return ebiten.RunGame(g)
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "embed:", err)
		os.Exit(2)
	}
}

// Sprite is the appearance of an entity in a view. It is an ordinary donburi component with a pointer and a tween in it, and
// keeps its values through rollbacks.
type Sprite struct {
	image *ebiten.Image // looking right
	age   float64       // seconds on the screen, for the tween
	turn  float64       // radians; follows the way it swims
}

var (
	sprite = donburi.NewComponentType[Sprite]()
	water  = color.RGBA{16, 42, 64, 255}
)

const (
	growSeconds = 0.4
	pixels      = 20 // per metre
)

// draw paints a sprite at its body. elapsed is the time since the last frame.
func (s *Sprite) draw(screen *ebiten.Image, b Body, elapsed time.Duration) {
	seconds := min(elapsed.Seconds(), 0.1)
	s.age += seconds
	if vx, vy := b.Vel.X.Float(), b.Vel.Y.Float(); math.Hypot(vx, vy) > 0.01 {
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
	o.GeoM.Translate(pixels*b.Pos.X.Float(), pixels*b.Pos.Y.Float())
	screen.DrawImage(s.image, o)
}

// pictures are the images of the sprites.
type pictures struct {
	fish           []*ebiten.Image
	bubble, turtle *ebiten.Image
}

func paintPictures() (p pictures) {
	for _, c := range []color.RGBA{{255, 150, 60, 255}, {90, 200, 250, 255}, {250, 210, 80, 255}, {240, 110, 150, 255}} {
		img := ebiten.NewImage(44, 28)
		for x := range 10 { // the tail
			vector.FillRect(img, float32(2+x), float32(5+x), 1, float32(18-2*x), c, false)
		}
		vector.FillCircle(img, 20, 14, 11, c, true)
		vector.FillCircle(img, 29, 14, 9, c, true)
		vector.FillCircle(img, 32, 11, 2.5, color.White, true)
		vector.FillCircle(img, 33, 11, 1.2, color.Black, true)
		p.fish = append(p.fish, img)
	}
	p.bubble = ebiten.NewImage(16, 16)
	vector.StrokeCircle(p.bubble, 8, 8, 6, 1.5, color.RGBA{150, 210, 235, 255}, true)
	vector.FillCircle(p.bubble, 6, 6, 1.5, color.White, true)
	p.turtle = ebiten.NewImage(80, 60)
	skin := color.RGBA{120, 160, 90, 255}
	for _, at := range [][2]float32{{20, 8}, {20, 52}, {56, 8}, {56, 52}, {72, 30}} { // legs and head
		vector.FillCircle(p.turtle, at[0], at[1], 8, skin, true)
	}
	vector.FillCircle(p.turtle, 38, 30, 26, color.RGBA{70, 110, 60, 255}, true)
	vector.StrokeCircle(p.turtle, 38, 30, 15, 3, skin, true)
	return p
}
