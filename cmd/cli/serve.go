package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"syscall"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"tendon/net/netcode"
	"tendon/net/server"
)

// serveVerb runs a server until it is told to stop.
type serveVerb struct {
	Sync       string        `default:"relay" help:"The sync strategy."`
	Listen     string        `default:":7777" help:"Where to listen, as host:port or :port."`
	Public     []string      `help:"The address under which clients reach the server, as it stands in tokens; may be given several times. Without it, the listening address, or the loopback interface."`
	KeyFile    string        `type:"path" help:"The private key shared with whoever mints tokens. Without it the server makes one for this run and prints the line that joins it."`
	OldKeyFile string        `type:"path" help:"The key before, accepted while its tokens are still about."`
	MaxRooms   int           `default:"256" help:"The most rooms at once."`
	Workers    int           `help:"Goroutines that compute rooms; 0: one for each core."`
	Record     string        `type:"path" help:"Record every room into this directory."`
	Seed       uint64        `help:"Seed of every room; 0: one chosen for each."`
	For        time.Duration `help:"Stop after this long; 0: when told to."`
	Verbose    bool          `short:"v" help:"Log rooms and connections."`
}

// Help explains the verb.
func (serveVerb) Help() string {
	return `Room, seat and role of a client come from its connect token. A server without --key-file is for development: it
prints a join line, and a new one each time that one was used.

Examples:
  serve
  serve --listen :7777 --public game.example.net:7777 --key-file server.key --max-rooms 500
  serve --record recordings`
}

// developmentLife is how long the token of a printed join line is good.
const developmentLife = 24 * time.Hour

// Run serves.
func (v *serveVerb) Run(a *app) error {
	c := hostConfig{sync: v.Sync, listen: v.Listen, maxRooms: v.MaxRooms, workers: v.Workers, seed: v.Seed, record: v.Record}
	if err := v.keys(&c); err != nil {
		return err
	}
	if err := v.publish(&c); err != nil {
		return err
	}
	if v.Verbose {
		c.logger = slog.New(slog.NewTextHandler(a.note, nil))
	}
	h, err := startHost(a, c)
	if err != nil {
		return serveError(err, v.Listen)
	}
	ctx, cancel := context.WithCancel(a.ctx)
	defer cancel()
	if v.For > 0 {
		ctx, cancel = context.WithTimeout(a.ctx, v.For)
		defer cancel()
	}
	if err := v.announce(a, h); err != nil {
		return err
	}
	v.report(ctx, a, h)
	a.say("stopping: clients are told")
	return h.stop()
}

// keys loads the private keys, or makes one for this run.
func (v *serveVerb) keys(c *hostConfig) (err error) {
	if v.KeyFile == "" {
		if v.OldKeyFile != "" {
			return errors.New("--old-key-file goes with --key-file")
		}
		c.key = randomKey()
		return nil
	}
	if c.key, err = server.LoadKey(v.KeyFile); err != nil || v.OldKeyFile == "" {
		return err
	}
	var old netcode.Key
	old, err = server.LoadKey(v.OldKeyFile)
	c.previous = &old
	return err
}

// publish chooses the addresses that tokens name.
func (v *serveVerb) publish(c *hostConfig) error {
	for _, text := range v.Public {
		addr, err := resolve(text)
		if err != nil {
			return fmt.Errorf("--public: %w", err)
		}
		c.public = append(c.public, addr)
	}
	listen, err := net.ResolveUDPAddr("udp", v.Listen)
	if err != nil {
		return fmt.Errorf("--listen %q is no address: give host:port or :port (%w)", v.Listen, err)
	}
	if len(c.public) == 0 && (listen.IP == nil || listen.IP.IsUnspecified()) {
		if listen.Port == 0 {
			return errors.New("--listen without a host and with port 0 has no address to put into tokens: add --public, or listen on 127.0.0.1:0")
		}
		c.public = []netip.AddrPort{netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(listen.Port))}
	}
	return nil
}

// serveError says what to do about an address that cannot be listened on.
func serveError(err error, listen string) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%s is in use: another server runs there; stop it or choose another --listen", listen)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("%s may not be listened on: choose a port above 1023", listen)
	}
	return err
}

// announce prints what was chosen and how to join.
func (v *serveVerb) announce(a *app, h *host) error {
	join := ""
	if v.KeyFile == "" {
		token, err := h.ticket(h.addr, server.Pass{Room: "main", Seat: server.AnySeat}, developmentLife)
		if err != nil {
			return err
		}
		join = fmt.Sprintf("%s join %v --token %s", a.game.Name, h.addr, tokenText(token))
	}
	if a.common.JSON {
		a.printJSON(map[string]any{"event": "listening", "address": h.Addr().String(), "public": h.addr, "build": buildString(),
			"protocol": fmt.Sprintf("%016x", a.game.Fingerprint()), "tick_rate": a.game.TickRate, "sync": v.Sync, "join": join})
		return nil
	}
	fmt.Fprintf(a.out, "%s listens on %v, clients reach it at %v\n", a.game.Name, h.Addr(), h.addr)
	fmt.Fprintf(a.out, "build %s, protocol %016x, %d ticks/s, strategy %s, at most %d rooms\n", buildString(), a.game.Fingerprint(), a.game.TickRate, v.Sync, v.MaxRooms)
	if join != "" {
		fmt.Fprintf(a.out, "join with\n  %s\n", join)
	} else {
		fmt.Fprintf(a.out, "mint tokens with\n  %s token %v --key-file %s\n", a.game.Name, h.addr, v.KeyFile)
	}
	return nil
}

// report prints how the server is, and a new join line when the last one was used, until the context is done.
func (v *serveVerb) report(ctx context.Context, a *app, h *host) {
	joined := uint64(0)
	refresh := time.NewTicker(time.Second)
	defer refresh.Stop()
	if !a.common.JSON && isTerminal(a.note) && !v.Verbose && v.KeyFile != "" {
		watch(ctx, a.note, func() {}, func() string { return renderRooms(h.Stats()) })
		return
	}
	for seconds := 1; ; seconds++ {
		select {
		case <-ctx.Done():
			return
		case <-refresh.C:
		}
		s := h.Stats()
		if a.common.JSON {
			a.printJSON(map[string]any{"event": "stats", "stats": s})
		} else if seconds%30 == 0 && s.Clients > 0 {
			fmt.Fprint(a.note, renderRooms(s))
		}
		if v.KeyFile == "" && s.Joined-s.Replaced > joined {
			joined = s.Joined - s.Replaced
			if token, err := h.ticket(h.addr, server.Pass{Room: "main", Seat: server.AnySeat}, developmentLife); err == nil {
				line := fmt.Sprintf("%s join %v --token %s", a.game.Name, h.addr, tokenText(token))
				if a.common.JSON {
					a.printJSON(map[string]any{"event": "join", "join": line})
				} else {
					fmt.Fprintf(a.out, "the next one joins with\n  %s\n", line)
				}
			}
		}
	}
}

// renderRooms writes a table of rooms.
func renderRooms(s server.Stats) string {
	t := newTable(fmt.Sprintf("%d of %d rooms · %d of %d clients · %d packets in, %d out, %d refused", s.Rooms, s.MaxRooms, s.Clients, s.MaxClients, s.PacketsIn, s.PacketsOut, s.PacketsRefused))
	t.AppendHeader(table.Row{"room", "tick", "peers", "players", "late ticks", "most late", "images", "resyncs"})
	for _, r := range s.Table[:min(len(s.Table), 40)] {
		t.AppendRow(table.Row{r.Name, r.Tick, r.Peers, r.Players, r.Late, time.Duration(r.MostLate).Round(time.Microsecond), r.Images, r.Resyncs})
	}
	return t.Render() + "\n"
}
