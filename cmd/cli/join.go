package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tendon/cmd/cli/window"
	"tendon/ecs"
	"tendon/net/client"
	"tendon/net/netcode"
	"tendon/net/session"
	"tendon/systems"
)

// joinVerb joins a server.
type joinVerb struct {
	Addr       string        `arg:"" help:"The server, as host:port; it must be one that the token names."`
	Token      string        `required:"" help:"The connect token, or @FILE."`
	Bot        bool          `help:"Let the game's bot play, without a window."`
	Headless   bool          `help:"No window: watch, or play as a bot with --bot."`
	Name       string        `help:"What others see."`
	InputDelay int           `help:"Ticks between an input and its effect; 0: what the server suggests."`
	For        time.Duration `help:"Leave after this long; 0: when told to."`
}

// Help explains the verb.
func (joinVerb) Help() string {
	return `Examples:
  join 127.0.0.1:7777 --token TOKEN
  join game.example.net:7777 --token @token.txt --bot --for 10m`
}

// Run plays.
func (v *joinVerb) Run(a *app) error {
	if !v.Bot && !v.Headless {
		if err := window.Check(); err != nil {
			return err
		}
	}
	if v.Bot && a.game.Bot == nil {
		return errors.New("the game has no bot: leave --bot out")
	}
	token, err := parseToken(v.Token)
	if err != nil {
		return err
	}
	if err := v.checkAddr(token); err != nil {
		return err
	}
	c, err := client.Dial(client.DialConfig{Token: token, Config: client.Config{Game: a.game, Strategies: strategies, Name: v.Name,
		Bot: v.Bot, BotSeed: uint64(time.Now().UnixNano()), InputDelay: v.InputDelay,
		Said:   func(s session.Said) { a.say("%s: %s", s.Name, s.Text) },
		Notice: func(seconds int, text string) { a.say("in %d s: %s", seconds, text) }}})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(a.ctx)
	defer cancel()
	if v.For > 0 {
		ctx, cancel = context.WithTimeout(a.ctx, v.For)
		defer cancel()
	}
	a.say("joining %s as %s", v.Addr, map[bool]string{true: "a bot", false: "a person"}[v.Bot])
	if v.Bot || v.Headless {
		return v.headless(ctx, a, c)
	}
	return inWindow(ctx, a, c, a.game.Name+" · "+v.Addr, nil)
}

// checkAddr says when the address is not the token's.
func (v *joinVerb) checkAddr(token []byte) error {
	addr, err := resolve(v.Addr)
	if err != nil {
		return err
	}
	parsed, err := netcode.ParseConnectToken(token)
	if err != nil {
		return err
	}
	for _, s := range parsed.Servers() {
		if s == addr {
			return nil
		}
	}
	return fmt.Errorf("the token is for %v, not for %v: join that address, or ask for a token for this one", parsed.Servers(), addr)
}

// headless plays without a window and prints a line now and then.
func (v *joinVerb) headless(ctx context.Context, a *app, c *client.Client) error {
	p := newPlayer(v.Name, c, a.game, nil)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		done <- p.run(ctx)
		cancel()
	}()
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for seconds := 1; ; seconds++ {
		select {
		case err := <-done:
			l := p.line()
			if a.common.JSON {
				a.printJSON(map[string]any{"event": "left", "client": l})
			} else {
				a.say("left at tick %d after %d rollbacks", l.Tick, l.Rollbacks)
			}
			return playError(err)
		case <-ticker.C:
			l := p.line()
			if a.common.JSON {
				a.printJSON(map[string]any{"event": "stats", "client": l})
			} else if seconds%5 == 0 {
				a.say("%s · tick %d · RTT %.0f ms · %.1f rollbacks/s, %.1f deep · %d stalls", l.State, l.Tick, l.RTTMs, l.PerSecond, l.Depth, l.Stalls)
			}
		}
	}
}

// playError is how a client's end reaches the exit code: being told to leave is none.
func playError(err error) error {
	if errors.Is(err, client.ErrClosed) {
		return nil
	}
	return err
}

// inWindow plays in a window; lost ends it early, nil for never.
func inWindow(ctx context.Context, a *app, c *client.Client, title string, lost <-chan error) error {
	defer c.Close()
	err := window.Run(window.Config{
		Title: title, Game: a.game,
		Frame: func(now time.Time, in ecs.InputBytes) error {
			select {
			case <-ctx.Done():
				return window.ErrClosed
			case err := <-lost:
				return err
			default:
			}
			c.SetInput(in)
			return c.Frame(now)
		},
		View: func(now time.Time) *ecs.View {
			if c.Core().World() == nil {
				return nil
			}
			view := c.View(now)
			c.Effects(func(e systems.Effect) {
				if a.game.Heard != nil {
					a.game.Heard(view, e)
				}
			})
			return view
		},
		Status: func() string { return status(c) },
	})
	return playError(err)
}

// status is the line at the bottom of the window.
func status(c *client.Client) string {
	s := c.Stats()
	switch c.State() {
	case client.Live:
		return fmt.Sprintf("RTT %d ms · %d ticks ahead · input delay %d", s.RTT/1e6, s.Strategy.Present-s.Strategy.Confirmed, s.Strategy.InputDelay)
	case client.Loading:
		return fmt.Sprintf("loading %.0f %%", 100*c.Progress())
	}
	return c.State().String() + "…"
}
