package cli

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/jedib0t/go-pretty/v6/table"

	"tendon/net/client"
	"tendon/net/cost"
	"tendon/net/netcode"
	"tendon/net/server"
)

// botsVerb is a load generator: whole clients with bots, a whole crowd of them in one process.
type botsVerb struct {
	Addr    string        `arg:"" help:"The server, as host:port."`
	KeyFile string        `required:"" type:"path" help:"The server's key file, to mint the bots' tokens with."`
	Rooms   int           `default:"1" help:"How many rooms they fill."`
	Players int           `default:"2" help:"How many bots play in each."`
	For     time.Duration `help:"How long; 0: until Ctrl-C."`
	Seed    uint64        `help:"Seed of what they do; 0: chosen and printed."`
}

// Help explains the verb.
func (botsVerb) Help() string {
	return `Every bot is a whole client with a socket and a copy of the match; all are driven by one goroutine, spread over the
tick, so that a process with GOMAXPROCS=1 on a core of its own loads a server on another one. The exit code is 1 if a bot
never came into its match or was thrown out, 0 otherwise.

Examples:
  bots 127.0.0.1:7777 --key-file server.key --rooms 50 --players 4 --for 30s
  bots 127.0.0.1:7777 --key-file server.key --rooms 200 --json`
}

// Run plays.
func (v *botsVerb) Run(a *app) error {
	switch {
	case a.game.Bot == nil:
		return errors.New("the game has no Bot, so nobody would play: set ecs.Game.Bot")
	case v.Rooms < 1 || v.Rooms > 100000:
		return fmt.Errorf("--rooms %d: give 1 to 100000", v.Rooms)
	case v.Players < 1 || v.Players > a.game.MaxPlayers:
		return fmt.Errorf("--players %d: the game takes 1 to %d", v.Players, a.game.MaxPlayers)
	}
	addr, err := resolve(v.Addr)
	if err != nil {
		return err
	}
	key, err := loadKey(v.KeyFile)
	if err != nil {
		return err
	}
	ctx, cancel, err := a.until(v.For)
	if err != nil {
		return err
	}
	defer cancel()
	v.Seed = chooseSeed(v.Seed)
	c, err := v.gather(a, addr, key)
	if err != nil {
		return err
	}
	a.say("%d bots in %d rooms of %v · seed %d", len(c.clients), v.Rooms, addr, v.Seed)
	c.play(ctx, a)
	return c.verdict(a)
}

// crowd is all bots of the process. They are used by one goroutine.
type crowd struct {
	clients []*client.Client
	failed  []error // index as clients; nil: it plays
	cost    *hdrhistogram.Histogram
	ledger  *cost.Ledger            // one for all: a client receives in its Frame, so their turns do not mix
	late    *hdrhistogram.Histogram // how late the frames of a slice began, in µs
	live    int                     // most that were live at once
	rate    int                     // frames a second
}

// gather makes the clients; they connect with their first frames.
func (v *botsVerb) gather(a *app, addr netip.AddrPort, key netcode.Key) (*crowd, error) {
	micros := int64(10 * time.Second / time.Microsecond)
	c := &crowd{ledger: newLedger(a.game, "client", nil), cost: hdrhistogram.New(1, micros, 3), late: hdrhistogram.New(1, micros, 3), rate: a.game.TickRate}
	for i := range v.Rooms * v.Players {
		pass := server.Pass{Room: fmt.Sprintf("bots-%d", i/v.Players), Seat: i % v.Players}
		token, err := server.Mint(server.Ticket{ProtocolID: server.ProtocolID(a.game.Name), Key: key, Addresses: []netip.AddrPort{addr},
			Pass: pass, Lifetime: time.Hour}, time.Now())
		if err != nil {
			c.close()
			return nil, err
		}
		k, err := client.Dial(client.DialConfig{Token: token, Config: client.Config{Game: a.game, Strategies: strategies,
			Name: fmt.Sprintf("bot %d", i%v.Players+1), Bot: true, BotSeed: v.Seed + uint64(i), Observer: c.ledger}})
		if err != nil {
			c.close()
			return nil, err
		}
		c.clients = append(c.clients, k)
	}
	c.failed = make([]error, len(c.clients))
	return c, nil
}

// turnsPerTick is into how many turns the bots of one tick are spread.
const turnsPerTick = 8

// play lets every bot have a frame per tick until the context is done.
func (c *crowd) play(ctx context.Context, a *app) {
	start, second := time.Now(), 0
	step := time.Second / time.Duration(c.rate*turnsPerTick)
	for n := 0; ctx.Err() == nil; n++ {
		due := start.Add(time.Duration(n) * step)
		if wait := time.Until(due); wait > 0 {
			time.Sleep(wait)
		}
		_ = c.late.RecordValue(max(int64(time.Since(due)/time.Microsecond), 1))
		for i := n % turnsPerTick; i < len(c.clients); i += turnsPerTick {
			c.frame(i)
		}
		if now := int(time.Since(start) / time.Second); now > second {
			second = now
			c.report(a, second)
		}
	}
}

// frame is one frame of one bot.
func (c *crowd) frame(i int) {
	if c.failed[i] != nil {
		return
	}
	begin := time.Now()
	c.failed[i] = c.clients[i].Frame(begin)
	_ = c.cost.RecordValue(max(int64(time.Since(begin)/time.Microsecond), 1))
}

// report says how the crowd is, every second as JSON and every five for people.
func (c *crowd) report(a *app, second int) {
	f := c.figures()
	a.emit("stats", f)
	if second%5 == 0 {
		a.say("%d of %d live · frame %d µs (p99 %d) · begun %d µs late (p99 %d)", f["live"], f["bots"], f["frame_p50_us"], f["frame_p99_us"],
			f["late_p50_us"], f["late_p99_us"])
	}
}

func (c *crowd) figures() fields {
	live, resyncs := 0, uint64(0)
	for i, k := range c.clients {
		if c.failed[i] == nil && k.State() == client.Live {
			live++
		}
		resyncs += k.Stats().Resyncs
	}
	c.live = max(c.live, live)
	return fields{"bots": len(c.clients), "live": live, "resyncs": resyncs, "frame_p50_us": c.cost.ValueAtQuantile(50),
		"frame_p99_us": c.cost.ValueAtQuantile(99), "late_p50_us": c.late.ValueAtQuantile(50), "late_p99_us": c.late.ValueAtQuantile(99)}
}

// verdict closes the clients and says whether all were in their matches.
func (c *crowd) verdict(a *app) error {
	f := c.figures()
	c.close()
	spent := c.ledger.Report()
	f["costs"] = []cost.Report{spent}
	a.emit("result", f)
	t := newTable("")
	t.AppendHeader(table.Row{"bots", "live", "resyncs", "frame µs (p99)", "late µs (p99)"})
	t.AppendRow(table.Row{f["bots"], f["live"], f["resyncs"], fmt.Sprintf("%d (%d)", f["frame_p50_us"], f["frame_p99_us"]),
		fmt.Sprintf("%d (%d)", f["late_p50_us"], f["late_p99_us"])})
	a.tell(t.Render() + "\n")
	a.tellCosts(spent)
	silent := !slices.ContainsFunc(c.clients, heard)
	for i, err := range c.failed {
		if err != nil && !(silent && errors.Is(err, client.ErrUnreachable)) {
			return fmt.Errorf("%w: bot %d: %w", errFailed, i, err)
		}
	}
	if silent && a.ctx.Err() == nil {
		return fmt.Errorf("%w: %w", errFailed, errSilent)
	}
	if live := f["live"].(int); live < len(c.clients) && a.ctx.Err() == nil {
		return fmt.Errorf("%w: %d of %d bots were in their match at the end: run it longer, or with fewer rooms", errFailed, live, len(c.clients))
	}
	return nil
}

// heard reports whether a server let a client in at any time.
func heard(k *client.Client) bool { return k.Core().World() != nil }

func (c *crowd) close() {
	for _, k := range c.clients {
		k.Close()
	}
}
