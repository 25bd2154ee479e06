// Package bots is the verb that loads a server with rooms of bots.
package bots

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/jedib0t/go-pretty/v6/table"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/host"
	"tendon/cmd/cli/internal/netflags"
	"tendon/cmd/cli/internal/player"
	"tendon/cmd/cli/internal/syncflags"
	"tendon/cmd/cli/internal/tokens"
	"tendon/net/client"
	"tendon/net/cost"
	"tendon/net/netcode"
	"tendon/net/server"
)

// Verb is a load generator: many whole clients with bots in one process.
type Verb struct {
	Addr    string         `arg:"" help:"The server, as host:port."`
	KeyFile string         `required:"" type:"path" help:"Key file of the server, to mint the tokens of the bots."`
	Rooms   int            `default:"1" help:"Number of rooms."`
	Players int            `default:"2" help:"Number of bots in each room."`
	For     *time.Duration `help:"Duration. Default: until Ctrl-C."`
	Seed    uint64         `help:"Seed of the inputs. Default: a random one, which is printed."`

	netflags.NetFlags `embed:"" set:"rtt=0s" set:"jitter=0s" set:"loss=0"`
}

// Help explains the verb.
func (Verb) Help() string {
	return `Every bot is a whole client with a socket and a copy of the match. One goroutine runs all of them, spread over the tick,
so that a process with GOMAXPROCS=1 on a core of its own loads a server on another core. The exit code is 1 if a bot did not
get into its match or was removed, 0 otherwise. --net, or --rtt, --jitter and --loss, add a simulated network between each
bot and the server. It ends early if no bot plays or tries to connect any longer.

Examples:
  bots 127.0.0.1:7777 --key-file server.key --rooms 50 --players 4 --for 30s
  bots 127.0.0.1:7777 --key-file server.key --net P3
  bots 127.0.0.1:7777 --key-file server.key --rooms 200 --json`
}

// Run plays.
func (v *Verb) Run(a *app.App) error {
	err := cmp.Or(a.NeedBot(), app.InRange("--rooms", v.Rooms, 1, 100000), app.InRange("--players", v.Players, 1, a.Game.MaxPlayers))
	if err != nil {
		return err
	}
	addr, err := tokens.Address(v.Addr)
	if err != nil {
		return err
	}
	key, err := server.LoadKey(v.KeyFile)
	if err != nil {
		return err
	}
	ctx, cancel, err := a.Until(v.For)
	if err != nil {
		return err
	}
	defer cancel()
	v.Seed = app.ChooseSeed(v.Seed)
	c, err := v.dial(a, addr, key)
	defer c.close()
	if err != nil {
		return err
	}
	a.Logf("%s in %s of %v · seed %d", app.Counted(len(c.clients), "bot", "bots"), app.Counted(v.Rooms, "room", "rooms"), addr, v.Seed)
	c.play(ctx, a)
	return c.verdict(a)
}

// botGroup is all bots of the process. One goroutine uses it.
type botGroup struct {
	clients []*client.Client
	players int                     // in each room
	failed  []error                 // by client; nil: it plays
	cost    *hdrhistogram.Histogram // of a Frame, in µs
	ledger  *cost.Ledger            // one for all: a client receives in its Frame, so turns do not overlap
	late    *hdrhistogram.Histogram // lateness of the frames, in µs
	lost    int                     // clients that were reconnecting at the last report
}

// dial creates the clients. They connect with their first frames. With an error, it returns those that exist.
func (v *Verb) dial(a *app.App, addr netip.AddrPort, key netcode.Key) (*botGroup, error) {
	micros := int64(10 * time.Second / time.Microsecond)
	c := &botGroup{players: v.Players, ledger: host.NewLedger(a.Game, "client", nil), cost: hdrhistogram.New(1, micros, 3), late: hdrhistogram.New(1, micros, 3),
		failed: make([]error, v.Rooms*v.Players)}
	for i := range c.failed {
		token, err := tokens.Mint(a.Game.Name, key, addr, server.Pass{Room: fmt.Sprintf("bots-%d", i/v.Players), Seat: i % v.Players, Bot: true}, time.Hour)
		if err != nil {
			return c, err
		}
		listen, err := v.Listen(addr, v.Seed+uint64(i)<<32)
		if err != nil {
			return c, err
		}
		k, err := client.Dial(client.DialConfig{Token: token, Listen: listen, Config: client.Config{Game: a.Game, Strategies: syncflags.All,
			Name: fmt.Sprintf("bot %d", i%v.Players), Bot: true, BotSeed: v.Seed + uint64(i), Observer: c.ledger}})
		if err != nil {
			return c, err
		}
		c.clients = append(c.clients, k)
	}
	return c, nil
}

const turnsPerTick = 8 // into how many turns the bots of a tick are divided

// play runs a frame of every bot per tick until the context is done or all bots have ended.
func (c *botGroup) play(ctx context.Context, a *app.App) {
	start, second := time.Now(), 0
	step := time.Second / time.Duration(a.Game.TickRate*turnsPerTick)
	for n := 0; ctx.Err() == nil; n++ {
		due := start.Add(time.Duration(n) * step)
		if wait := time.Until(due); wait > 0 {
			time.Sleep(wait)
		}
		_ = c.late.RecordValue(max(int64(time.Since(due)/time.Microsecond), 1))
		for i := n % turnsPerTick; i < len(c.clients); i += turnsPerTick {
			if c.failed[i] == nil {
				begin := time.Now()
				c.failed[i] = c.clients[i].Frame(begin)
				_ = c.cost.RecordValue(max(int64(time.Since(begin)/time.Microsecond), 1))
			}
		}
		if now := int(time.Since(start) / time.Second); now > second {
			second = now
			c.report(a, second)
			if !slices.Contains(c.failed, nil) { // no bot plays or tries to connect
				return
			}
		}
	}
}

// report prints the figures: each second as JSON, every five seconds as text.
func (c *botGroup) report(a *app.App, second int) {
	f, before := c.figures(), c.lost
	if c.lost = f["reconnecting"].(int); c.lost > before {
		a.Logf("connection lost: %s reconnecting", app.Counted(c.lost, "bot is", "bots are"))
	}
	a.Emit("stats", f)
	if second%5 == 0 {
		a.Logf("%d of %d live · frame %d µs (p99 %d) · started %d µs late (p99 %d)", f["live"], f["bots"], f["frame_p50_us"], f["frame_p99_us"],
			f["late_p50_us"], f["late_p99_us"])
	}
}

func (c *botGroup) figures() app.Fields {
	live, lost, resyncs := 0, 0, uint64(0)
	for i, k := range c.clients {
		if c.failed[i] == nil && k.State() == client.Live {
			live++
		}
		if k.State() == client.Reconnecting {
			lost++
		}
		resyncs += k.Stats().Resyncs
	}
	return app.Fields{"bots": len(c.clients), "live": live, "reconnecting": lost, "resyncs": resyncs, "frame_p50_us": c.cost.ValueAtQuantile(50),
		"frame_p99_us": c.cost.ValueAtQuantile(99), "late_p50_us": c.late.ValueAtQuantile(50), "late_p99_us": c.late.ValueAtQuantile(99)}
}

// verdict prints the result. It fails if not all clients were live.
func (c *botGroup) verdict(a *app.App) error {
	f := c.figures()
	costs := c.ledger.Report()
	f["costs"] = []cost.Report{costs}
	a.Emit("result", f)
	t := app.NewTable("", "bots", "live", "resyncs", "frame µs (p99)", "late µs (p99)")
	t.AppendRow(table.Row{f["bots"], f["live"], f["resyncs"], fmt.Sprintf("%d (%d)", f["frame_p50_us"], f["frame_p99_us"]),
		fmt.Sprintf("%d (%d)", f["late_p50_us"], f["late_p99_us"])})
	a.Print(t.Text(true))
	host.PrintCosts(a, costs)
	silent := !slices.ContainsFunc(c.clients, func(k *client.Client) bool { return k.Core.World() != nil })
	for i, err := range c.failed {
		if err != nil && !(silent && errors.Is(err, client.ErrUnreachable)) {
			return fmt.Errorf("%w: bot %d of room bots-%d: %w", app.ErrFailed, i%c.players, i/c.players, err)
		}
	}
	switch live := f["live"].(int); {
	case a.Ctx.Err() != nil:
		return nil
	case silent:
		return fmt.Errorf("%w: %w", app.ErrFailed, player.ErrSilent)
	case f["reconnecting"].(int) > 0:
		return fmt.Errorf("%w: %d of %d bots had lost their connections at the end: does the server run?", app.ErrFailed, f["reconnecting"], len(c.clients))
	case live < len(c.clients):
		return fmt.Errorf("%w: %d of %d bots were in their match at the end: run it longer, or with fewer rooms", app.ErrFailed, live, len(c.clients))
	}
	return nil
}

func (c *botGroup) close() {
	for _, k := range c.clients {
		k.Close()
	}
}
