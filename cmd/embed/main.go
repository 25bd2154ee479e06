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
	"os"
	"time"

	"github.com/hajimehoshi/ebiten/v2"
	"github.com/hajimehoshi/ebiten/v2/ebitenutil"
	"github.com/yohamta/donburi"

	"tendon/cmd/cli/window"
	"tendon/ecs"
	"tendon/net/client"
)

// Game is an ordinary Ebitengine game that owns a client.
type Game struct {
	client *client.Client
	match  *match // in this process; nil if it is elsewhere
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
	rules := pond(func(_ *ecs.View, entry *donburi.Entry) { donburi.Add(entry, sprite, pictures.spriteOf(entry)) })
	g, err := &Game{}, error(nil)
	if token != nil {
		g.client, err = dial(rules, token, client.Config{})
		return g, err
	}
	if g.match, err = hostMatch(rules); err != nil {
		return nil, err
	}
	g.client, err = g.match.join(client.Config{})
	return g, err
}

func (g *Game) close() {
	g.client.Close()
	g.match.close()
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
	defer g.close()
	if token == nil {
		fmt.Println("another player joins with:\n" + g.match.invitation())
	}
	ebiten.SetWindowTitle("embed " + address)
	ebiten.SetWindowSize(pondWidth.Int(), pondHeight.Int())
	ebiten.SetRunnableOnUnfocused(true)
	return ebiten.RunGame(g)
}

// parse reads the command line: nothing, or ADDR --token TOKEN. The token itself says where to go.
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
