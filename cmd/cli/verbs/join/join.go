// Package join is the verb that joins a server.
package join

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/host"
	"tendon/cmd/cli/internal/matchlog"
	"tendon/cmd/cli/internal/netflags"
	"tendon/cmd/cli/internal/player"
	"tendon/cmd/cli/internal/syncflags"
	"tendon/cmd/cli/internal/tokens"
	"tendon/cmd/cli/window"
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/client"
	"tendon/net/cost"
	"tendon/net/netcode"
	"tendon/net/server"
	"tendon/systems"
)

// Verb joins a server.
type Verb struct {
	Addr                 string `arg:"" optional:"" help:"The server, as host:port, one of those in the token. Default, without --token: a server of the local network that runs with --lan."`
	Token                string `env:"TENDON_TOKEN" help:"Connect token, @FILE, or - for standard input. Other users of the machine can read a token on the command line, and must not be able to read FILE. With --log it may be left out to return to the match of the log."`
	Server               string `help:"Name or address of the server to join, if several of the local network answer."`
	LANAddress           string `name:"lan-address" help:"Where to look for servers of the local network, as host:port. Default: broadcast on port 47777."`
	Log                  string `type:"path" help:"Store the match in this file. Another run resumes it and downloads only what it missed, even after kill -9. With predict, reckon and verify, hardly more than the reconnect tokens is of use; see above."`
	Bot                  bool   `help:"Let the game's bot play, without a window."`
	Headless             bool   `help:"No window: send no inputs, or play as a bot with --bot."`
	Name                 string `help:"Name that other players see, at most 32 bytes."`
	host.DiagnosticFlags `embed:""`
	Place                string         `type:"path" hidden:"" help:"File with the place of the window, which is written at the end."`
	InputDelay           int            `help:"Ticks between an input and its effect, at most 30. Default: the server's suggestion."`
	For                  *time.Duration `help:"Leave after this time. Default: until Ctrl-C."`

	netflags.NetFlags `embed:"" set:"rtt=0s" set:"jitter=0s" set:"loss=0"`
	backendFlags      `embed:""`

	ledger *cost.Ledger
}

// Help explains the verb.
func (Verb) Help() string {
	return `--net, or --rtt, --jitter and --loss, add a simulated network before the server. The client reconnects by itself. In a window, F1 shows the keys. The menu (Esc) pauses the match, or continues it, if the server runs with --pause
players. The exit code is 0 when you leave, 2 when the server cannot be reached, refuses, or ends the match.

Without an address and a token, join looks for servers of the local network that run with --lan. Such a server is open to
every client on the network. Join uses the only one, or that of --server. Both sides print code words: if they differ, another host is
between the two and can play in your place. The exit code is 1 if no server answers.

The contents of --log FILE depend on the server's strategy. With relay and lockstep it holds every confirmed tick: another
run resumes at the last of them and receives the ticks since. Predicted ticks are not stored. With predict, reckon and
verify, clients receive states and not inputs. Then the file holds one tick, the state from when the match was loaded,
which is soon too old: another run returns to its seat and loads the whole state.

If the server cannot use the contents of FILE, for example because the match is over, it sends the whole state. The client
then writes FILE from the beginning and prints a line.

In each case FILE.token, beside it, holds the reconnect tokens; keep it as private as a token. Each is good for one
connection, and for --keep-seat and two minutes after the server sent it. FILE.lock keeps a second run from writing the same files.

With --backend and --queue, join queues for a match, shows how many players wait, and joins the server that the backend chooses.
Ctrl-C leaves the queue.

Examples:
  join                                          a server with --lan
  join --server attic --name ann
  join 127.0.0.1:7777 --token @token.txt
  join game.example.net:7777 --token @token.txt --bot --for 10m
  join game.example.net:7777 --token @token.txt --net P5
  join game.example.net:7777 --token @token.txt --log match.log
  join game.example.net:7777 --log match.log    return after a crash
  join --backend https://play.example.net --queue duel`
}

// Run plays.
func (v *Verb) Run(a *app.App) error {
	if !v.Bot && !v.Headless {
		if err := window.Check(); err != nil {
			return fmt.Errorf("%w; use --headless, or --bot to let the bot play", err)
		}
	}
	if v.Bot && a.Game.Bot == nil {
		return errors.New("the game has no bot: leave --bot out")
	}
	queues := v.Backend != ""
	if err := v.backendFlags.check(v); err != nil {
		return err
	}
	if v.Addr == "" && !queues {
		if err := v.findServer(a); err != nil {
			return err
		}
	} else if v.Server != "" || v.LANAddress != "" {
		return fmt.Errorf("--server and --lan-address are for servers of the local network: leave out %s, or the flags", cmp.Or(v.Addr, "--backend"))
	}
	if !queues {
		if _, err := tokens.Address(v.Addr); err != nil {
			return err
		}
	}
	d, err := v.Diagnostics(a, systems.Strategy{})
	if err != nil {
		return err
	}
	defer d.Close()
	v.ledger = host.NewLedger(a.Game, "client", d.Recorder)
	config := client.Config{Game: a.Game, Strategies: syncflags.All, Name: v.Name, Observer: v.ledger, Desynced: d.Desynced,
		Bot: v.Bot, BotSeed: app.ChooseSeed(0), InputDelay: v.InputDelay,
		Switched: func(strategy string) {
			a.Logf("the match continues with the sync strategy %s", strategy)
			a.Emit("switched", app.Fields{"strategy": strategy})
		}}
	ctx, cancel, err := a.Until(v.For)
	if err != nil {
		return err
	}
	defer cancel()
	if queues {
		return v.queue(ctx, a, config)
	}
	var log *matchlog.Log
	var store *matchlog.TokenStore
	if v.Log != "" {
		if log, err = matchlog.Lock(a, v.Log); err != nil {
			return err
		}
		defer log.Close()
		store = log.TokenStore()
	}
	dial, err := v.dial(a, config, store)
	if err != nil {
		return err
	}
	if log != nil {
		if dial.Resume, err = log.Open(); err != nil {
			return err
		}
		dial.Log, dial.StoreTokens = log, store.Store
	}
	err = v.play(ctx, a, dial)
	if errors.Is(err, player.ErrSilent) && v.Token == "" {
		return fmt.Errorf("%w; the tokens were those of the log, in %s. If the server runs, they were used before or have expired: give a new one with --token, for the same room, seat and --client-id", err, store.Path)
	}
	return err
}

// dial returns how to join the server. store is nil without --log.
func (v *Verb) dial(a *app.App, config client.Config, store *matchlog.TokenStore) (d client.DialConfig, err error) {
	addr, err := tokens.Address(v.Addr)
	if err != nil {
		return d, err
	}
	listen, err := v.Listen(addr, app.ChooseSeed(0))
	if err != nil {
		return d, err
	}
	usable, err := v.tokens(a, addr, store)
	if err != nil {
		return d, err
	}
	warnExpired(a, usable)
	return client.DialConfig{Token: usable[0], Spare: usable[1:], Config: config, Listen: listen}, nil
}

func (v *Verb) play(ctx context.Context, a *app.App, config client.DialConfig) error {
	notices, chat := listen(a, &config.Config)
	c, err := client.Dial(config)
	if err != nil {
		return err
	}
	v.announce(a)
	if v.Bot || v.Headless {
		return v.headless(ctx, a, c)
	}
	err = player.InWindow(ctx, a, c, window.Config{Title: a.Game.Name + " · " + v.Addr, Place: v.Place, Chat: chat}, nil, notices)
	if c.Core.World() != nil {
		host.PrintCosts(a, v.ledger.Report())
	}
	return err
}

// listen sets the receivers of notices and of the chat, and returns the texts for a window.
func listen(a *app.App, config *client.Config) (notices, chat <-chan string) {
	config.Notice, notices = player.Notices(a)
	config.Refused = player.Refused(config.Notice)
	config.Chat, chat = player.Chat(a)
	return notices, chat
}

// announce prints who joins.
func (v *Verb) announce(a *app.App) {
	as := "a person"
	if v.Bot {
		as = "a bot"
	} else if v.Headless {
		as = "a client without inputs"
	}
	a.Logf("joining %s as %s", v.Addr, as)
	a.Emit("joining", app.Fields{"address": v.Addr, "bot": v.Bot, "headless": v.Headless})
}

// tokens returns the tokens to join with, in order: the stored reconnect tokens, unless the command line has a new token. store
// is nil without --log.
func (v *Verb) tokens(a *app.App, addr netip.AddrPort, store *matchlog.TokenStore) ([][]byte, error) {
	var unreadable error
	if store != nil {
		unreadable = store.Load()
	}
	check := func(token []byte) error { return checkToken(a.Game, addr, token) }
	switch {
	case v.Token == "" && store == nil:
		return nil, errors.New("--token is missing or empty, and that is not a connect token: copy the whole text that serve or token printed, or give @FILE")
	case v.Token == "" && unreadable != nil:
		return nil, fmt.Errorf("the log's tokens cannot be read: %w; give one with --token", unreadable)
	case v.Token == "":
		usable, err := store.Usable(check)
		if err != nil {
			err = fmt.Errorf("%w; give one with --token", err)
		}
		return usable, err
	}
	given, err := tokens.Parse(v.Token)
	switch {
	case err != nil:
		return nil, err
	case store != nil && store.StartedWith(given): // the same command again, after a crash
		usable, err := store.Usable(check)
		if err != nil {
			return nil, fmt.Errorf("the token was used before, and %w; give a new one", err)
		}
		a.Logf("the token was used before: coming back with the reconnect tokens in %s", store.Path)
		return usable, nil
	}
	if err := check(given); err != nil {
		return nil, err
	}
	if unreadable != nil {
		a.Logf("the log's tokens cannot be read, so they are replaced by the one that was given: %v", unreadable)
	}
	if store != nil {
		store.Given = given
	}
	return [][]byte{given}, nil
}

// checkToken refuses a token that the server would not respond to.
func checkToken(g *ecs.Game, addr netip.AddrPort, token []byte) error {
	parsed, err := netcode.ParseConnectToken(token)
	switch {
	case err != nil:
		return err
	case parsed.ProtocolID != server.ProtocolID(g.Name):
		return fmt.Errorf("the token is for another game than %s, or for another version of the protocol: ask for one for this game", g.Name)
	case !slices.Contains(parsed.Servers(), addr):
		return fmt.Errorf("the token is for %v, not for %v: join that address, or ask for a token for this one", parsed.Servers(), addr)
	}
	return nil
}

// warnExpired prints a warning if all tokens have expired by the clock of this computer. That clock may be wrong, so the server
// decides.
func warnExpired(a *app.App, list [][]byte) {
	latest := uint64(0)
	for _, token := range list {
		if parsed, err := netcode.ParseConnectToken(token); err == nil {
			latest = max(latest, parsed.Expires)
		}
	}
	if at := time.Unix(int64(latest), 0); !time.Now().Before(at) {
		a.Logf("the token expired at %s by the clock of this computer; if no server responds, get a new one", at.UTC().Format(time.RFC3339))
		a.Emit("token_expired", app.Fields{"expires": at.UTC()})
	}
}

// headless plays without a window and prints its state every few seconds.
func (v *Verb) headless(ctx context.Context, a *app.App, c *client.Client) error {
	p := player.New(v.Name, c, a.Game)
	p.Bot, p.Verdict = v.Bot, func(d *image.Verdict) { player.ShowVerdict(a, d) }
	p.Discarded = func(d ecs.DiscardedWrites) { player.ShowDiscarded(a, d) }
	bar := app.NewProgress(a, 100, "% of the match loaded")
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() {
		done <- p.Run(ctx)
		cancel()
	}()
	tenths, before, paused, waiting := 0, "", false, false
	app.Every(ctx, time.Second/10, func() {
		l := p.Line()
		if l.Progress < 1 && (l.State == client.Loading.String() || l.State == client.CatchingUp.String()) {
			bar.At(int(100 * l.Progress))
		} else {
			bar.Done()
		}
		if lost := client.Reconnecting.String(); l.State == lost && before != lost && l.WaitsFor == "" {
			a.Logf("connection lost: reconnecting")
		}
		before = l.State
		if l.Waiting && !waiting {
			a.Logf("waiting for the server")
		}
		waiting = l.Waiting
		if l.Paused != paused {
			paused = l.Paused
			a.Emit(map[bool]string{true: "paused", false: "resumed"}[paused], app.Fields{"tick": l.Tick})
		}
		if tenths++; tenths%10 == 0 {
			a.Emit("stats", app.Fields{"client": l})
		}
		switch {
		case tenths%50 != 0:
		case l.Tick == 0: // it is not in the match
			a.Logf("%s", l.Status())
		default:
			a.Logf("%s · tick %d · RTT %.0f ms · %.1f rollbacks/s, %.1f deep · %d stalls · %d of %d predicted events cancelled", l.Status(), l.Tick, l.RTTMs, l.PerSecond, l.Depth, l.Stalls, l.Cancelled, l.Predicted)
		}
	})
	err := <-done
	bar.Done()
	l := p.Line()
	costs := v.ledger.Report()
	a.Emit("left", app.Fields{"client": l, "costs": []cost.Report{costs}})
	if l.Tick > 0 { // it was in the match
		a.Logf("left at tick %d after %d rollbacks", l.Tick, l.Rollbacks)
		host.PrintCosts(a, costs)
	}
	if err == nil && a.Ctx.Err() == nil && l.State != client.Live.String() { // --for is over, and it is not in the match
		switch {
		case l.Tick == 0 && c.Stats().Answered:
			return errors.New("the server answered, but the match did not begin before the end of --for: give a longer time")
		case l.Tick == 0:
			return player.ErrSilent
		}
		return errors.New("the connection was lost and could not be made again in time: see whether the server still runs")
	}
	return player.PlayError(err)
}
