//go:build !headless

package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/hajimehoshi/ebiten/v2"

	"tendon/cmd/cli/window"
	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/net/client"
)

const title = "tendon embed test"

// seen holds the observations of the run of the loop. Ebitengine's loop must run on the main goroutine, so TestMain runs it and
// the tests look at this.
var seen struct {
	skipped       string
	err           error
	before, after ecs.Tick  // when the key went down, and when the fish had moved
	start, x      fixed.Num // where the own fish was then
	colours       int
	sprites, bare int     // bodies in the view with a sprite, and without
	age           float64 // of the own fish's sprite, in seconds
}

func TestMain(m *testing.M) {
	watchLoop()
	os.Exit(m.Run())
}

func watchLoop() {
	if err := window.Check(); err != nil {
		seen.skipped = err.Error()
		return
	}
	tool, err := exec.LookPath("xdotool")
	if err != nil {
		seen.skipped = "xdotool is not installed, so no key can be pressed"
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	g, err := newGame(nil, "relay")
	if err != nil {
		seen.err = err
		return
	}
	defer g.match.close()
	defer g.client.Close()
	ebiten.SetWindowTitle(title)
	ebiten.SetWindowSize(g.Layout(0, 0))
	ebiten.SetRunnableOnUnfocused(true)
	seen.err = ebiten.RunGame(&watched{Game: g, ctx: ctx, tool: tool})
	cancel()
	_ = exec.Command(tool, "keyup", "Right").Run() // the next to use this screen may look at it
}

// watched is the game as it is, looked at after each call.
type watched struct {
	*Game
	ctx  context.Context
	tool string
}

func (g *watched) Update() error {
	if err := g.Game.Update(); err != nil {
		return err
	}
	if g.ctx.Err() != nil {
		return errors.New("no key moved the fish in a minute")
	}
	if g.client.State() != client.Live {
		return nil
	}
	for e := range fish.All(g.client.Core.World()) {
		if int(e.B.Player) == g.client.Seat() {
			seen.x, seen.after = e.A.Pos.X, g.client.Core.World().Tick()
		}
	}
	if seen.before == 0 && seen.after > 0 && seen.colours > 0 {
		seen.start, seen.before = seen.x, seen.after
		go press(g.ctx, g.tool)
	}
	if seen.before > 0 && seen.x > seen.start+fixed.FromInt(2) && seen.age > growSeconds {
		return ebiten.Termination
	}
	return nil
}

func (g *watched) Draw(screen *ebiten.Image) {
	g.Game.Draw(screen)
	if g.client.State() != client.Live {
		return
	}
	pixels := make([]byte, 4*screen.Bounds().Dx()*screen.Bounds().Dy())
	screen.ReadPixels(pixels)
	seen.colours = distinct(pixels)
	seen.sprites, seen.bare = 0, 0
	view := g.client.View(g.drawn)
	for entry := range body.Iter(view.World) {
		if !entry.HasComponent(sprite) {
			seen.bare++
			continue
		}
		seen.sprites++
		if entry.HasComponent(seat) && int(seat.GetValue(entry).Player) == g.client.Seat() {
			seen.age = sprite.Get(entry).age
		}
	}
}

// press holds the right arrow key. Without a window manager nothing is focused, so the window is named. The key is released
// first: an earlier test on this screen may have left it down.
func press(ctx context.Context, tool string) {
	for ctx.Err() == nil {
		_ = exec.CommandContext(ctx, tool, "search", "--name", title, "windowfocus", "--sync", "keyup", "Right", "keydown", "Right").Run()
		time.Sleep(200 * time.Millisecond)
	}
}

func distinct(pixels []byte) int {
	colours := map[[3]byte]bool{}
	for i := 0; i+3 < len(pixels); i += 4 {
		colours[[3]byte(pixels[i:i+3])] = true
	}
	return len(colours)
}

// A key pressed on the real keyboard of the X server passes through client and server, and the fish swims.
func TestKeyPressMovesTheFishAndThePictureIsNotBlank(t *testing.T) {
	if seen.skipped != "" {
		t.Skip(seen.skipped)
	}
	if seen.err != nil {
		t.Fatal(seen.err)
	}
	// The largest speed is pull / (1 − drag) = 0.2 metres a tick.
	moved := seen.x - seen.start
	if moved < fixed.FromInt(2) || fixed.FromInt(int(seen.after-seen.before))/5 < moved {
		t.Errorf("from tick %d to %d the fish swam %v metres, want at least 2 and at most 0.2 a tick", seen.before, seen.after, moved)
	}
	if seen.colours < 10 {
		t.Errorf("the picture has %d colours: it is blank", seen.colours)
	}
	t.Logf("%+v", seen)
}

// Dress gives every entity its sprite once. With a new sprite after each rewind or picture the age would stay small.
func TestEveryEntityKeepsTheSpriteThatDressGaveIt(t *testing.T) {
	if seen.skipped != "" {
		t.Skip(seen.skipped)
	}
	if seen.sprites < 1+botCount || seen.bare != 0 || seen.age <= growSeconds {
		t.Errorf("%d sprites, %d bodies without one, the own sprite is %v s old", seen.sprites, seen.bare, seen.age)
	}
}

func TestAnInvitationIsReadAsItWasWritten(t *testing.T) {
	m, err := hostMatch(pond(nil), "relay")
	if err != nil {
		t.Fatal(err)
	}
	defer m.close()
	words := strings.Fields(m.invitation())
	secret, _ := strings.CutPrefix(words[0], "TENDON_TOKEN=")
	t.Setenv("TENDON_TOKEN", secret)
	o, token, err := parse(words[2:])
	if err != nil || o.Address != m.address.String() {
		t.Fatalf("%q leads to %+v, %v", words, o, err)
	}
	if _, err := dial(m.rules, token, client.Config{}); err != nil {
		t.Errorf("the token of an invitation is refused: %v", err)
	}
	t.Setenv("TENDON_TOKEN", "")
	words = []string{words[2], "--token", secret}
	if _, again, err := parse(words); err != nil || string(again) != string(token) {
		t.Errorf("as an argument: %v", err)
	}
	for _, args := range [][]string{{"127.0.0.1:1"}, {"127.0.0.1:1", "--token"}, {"--token", "x", "y"}, {"127.0.0.1:1", "--token", "%"}, {"--sync", "x"}, append(words, "--sync", "relay")} {
		if _, _, err := parse(args); err == nil {
			t.Errorf("%q is taken for a command line", args)
		}
	}
}
