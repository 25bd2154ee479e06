// Package serve is the verb that runs a server.
package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"syscall"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"tendon/cmd/cli/admin"
	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/host"
	"tendon/cmd/cli/internal/tokens"
	"tendon/cmd/cli/journals"
	"tendon/cmd/cli/page"
	"tendon/net/cost"
	"tendon/net/server"
	"tendon/systems"
)

// Verb runs a server until it is interrupted.
type Verb struct {
	host.Flags `embed:""`
	adminFlags `embed:""`

	Listen     string         `default:":7777" help:"Address to listen on, as host:port or :port."`
	Public     []string       `help:"Address of the server as clients see it, which is put into tokens; may be given several times. Default: the listening address, or the loopback interface."`
	KeyFile    string         `type:"path" help:"Private key shared with the minter of tokens. Without it the server generates a key for this run and prints a command that joins it."`
	OldKeyFile string         `type:"path" help:"Previous key, accepted while its tokens are in use."`
	MaxRooms   int            `default:"256" help:"Maximum number of rooms."`
	Workers    int            `help:"Goroutines that simulate rooms. Default: one per core."`
	Matches    string         `type:"path" help:"Store a record of every decided match in this file; matches lists it."`
	Journal    string         `type:"path" help:"Keep a journal of every match in this directory. A server that was killed resumes these matches when it is restarted."`
	Fsync      journals.Sync  `default:"100ms" help:"Journal data that a power cut may lose. always: none that a client received. 1ms to 10s: the data of that time. never: all data that the system had not written."`
	Seed       uint64         `help:"Seed of every room. Default: a random one for each."`
	For        *time.Duration `help:"Stop after this time. Default: until Ctrl-C."`
	Verbose    bool           `short:"v" help:"Log rooms and connections."`
}

// Help explains the verb.
func (Verb) Help() string {
	return `The connect token of a client contains its room, seat and role. A server without --key-file is for development: it prints
a command that joins it, and a new one each time a client has used the last one.

With --journal, no client receives a tick before it is written to the journal. A server that was killed (kill -9, a crash)
and is restarted with the same --journal and the same build resumes every match. Clients reconnect by themselves if it is
back within a minute. Without --key-file the key is stored with the journals, as server.key. --fsync chooses how much a
power cut can lose:
  always  Nothing that a client received. Every tick of every room waits for
          the disk.
  100ms   Up to a tenth of a second of play, or the given time. Clients return
          the lost ticks when they reconnect, with proofs that the server
          sent them.
  never   What the system had not written yet, often half a minute. Clients
          return what they have, about 15 s.
With verify, clients have no ticks to return, so only --fsync always keeps all that they received.
With --matches too, the server adds results from the journals that the previous server did not record.
While a journal cannot be written, as on a full disk, its match waits. It continues when the journal can be written. A match ends
when its room is empty or the server is stopped. It leaves ROOM-MATCH.ended.journal, which may be removed.
With --json, the events about journals are recovered, journal, journal_torn, journal_removed, journal_failed,
journal_recovered, journal_slow and journal_ended.

With --admin 127.0.0.1:9090, http://127.0.0.1:9090/ shows rooms, players and the costs of ticks, /metrics is for Prometheus,
/debug/pprof/ has profiles, and /healthz and /readyz are for the program that starts and stops servers.

Examples:
  serve
  serve --listen :7777 --public game.example.net:7777 --key-file server.key --max-rooms 500
  serve --record recordings --matches matches.db
  serve --admin 127.0.0.1:9090
  serve --admin :9090 --admin-token-file admin.token
  serve --key-file server.key --journal journals
  serve --key-file server.key --journal journals --fsync always`
}

// Run serves.
func (v *Verb) Run(a *app.App) (err error) {
	c := host.Config{Config: server.Config{Address: v.Listen, MaxRooms: v.MaxRooms, Workers: v.Workers}, Flags: &v.Flags,
		Seed: v.Seed, Matches: v.Matches, KeepRecent: v.Admin != ""}
	if err = v.settings(a, &c); err != nil {
		return err
	}
	watch, endWatch, err := v.startAdmin(a, c.Strategy)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, endWatch()) }()
	if v.Journal != "" {
		if err = c.OpenJournals(a, v.Journal, v.Fsync); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, c.Journals.Close()) }()
	}
	if v.Verbose {
		c.Logger = slog.New(slog.NewTextHandler(a.Note, nil))
	}
	h, err := host.Start(a, c)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%s is in use: another server runs there; stop it or choose another --listen", v.Listen)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("%s may not be listened on: choose a port above 1023", v.Listen)
	case err != nil:
		return err
	}
	ctx, cancel, err := a.Until(v.For)
	if err != nil {
		return errors.Join(err, h.Stop())
	}
	defer cancel()
	if watch != nil {
		watch.Ready(admin.Source{Stats: h.Stats, Peers: h.Peers, Costs: h.Costs, Record: h.Recent})
	}
	if err = v.announce(a, h); err == nil && a.LostResults() != nil { // the command that joins is lost
		return h.Stop()
	}
	if err == nil {
		err = v.report(ctx, a, h)
	}
	if watch != nil {
		watch.Stopping()
	}
	a.Logf("stopping: closing connections")
	err = errors.Join(err, h.Stop())
	_, spent := h.Costs()
	host.PrintCosts(a, spent)
	a.Emit("costs", app.Fields{"costs": []cost.Report{spent}})
	return err
}

// settings checks the flags, and sets the strategy, the keys and the addresses in tokens. Without keys the host generates one
// for this run; without addresses it uses the one that it listens on.
func (v *Verb) settings(a *app.App, c *host.Config) (err error) {
	c.Strategy, err = v.ServerStrategy(a.Game)
	switch {
	case v.MaxRooms < 1:
		return fmt.Errorf("--max-rooms %d: give at least 1", v.MaxRooms)
	case err != nil:
		return err
	case v.Journal == "" && v.Fsync != journals.Sync(100*time.Millisecond):
		return fmt.Errorf("--fsync %v is for --journal: name a directory with --journal, or leave --fsync out", v.Fsync)
	case v.KeyFile == "" && v.OldKeyFile != "":
		return errors.New("--old-key-file goes with --key-file")
	}
	for _, text := range v.Public {
		addr, err := tokens.Address(text)
		if err != nil {
			return fmt.Errorf("--public: %w", err)
		}
		c.Public = append(c.Public, addr)
	}
	listen, err := net.ResolveUDPAddr("udp", v.Listen)
	switch {
	case err != nil:
		return fmt.Errorf("--listen %q is not an address (host:port or :port): %w", v.Listen, err)
	case len(c.Public) > 0 || listen.IP != nil && !listen.IP.IsUnspecified():
	case listen.Port == 0:
		return errors.New("--listen without a host and with port 0 has no address to put into tokens: add --public, or listen on 127.0.0.1:0")
	default:
		c.Public = []netip.AddrPort{netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(listen.Port))}
	}
	for _, path := range []string{v.KeyFile, v.OldKeyFile} {
		if path != "" {
			key, err := server.LoadKey(path)
			if err != nil {
				return err
			}
			c.Keys = append(c.Keys, key)
		}
	}
	return nil
}

func (v *Verb) announce(a *app.App, h *host.Host) error {
	protocol := fmt.Sprintf("%016x", a.Game.Fingerprint())
	a.Print(fmt.Sprintf("%s listens on %v, clients reach it at %v\nbuild %s, protocol %s, %d ticks/s, strategy %s, at most %d rooms\n",
		a.Game.Name, h.Addr(), h.PublicAddr, app.Build(), protocol, a.Game.TickRate, v.Sync, v.MaxRooms))
	a.Emit("listening", app.Fields{"address": h.Addr().String(), "public": h.PublicAddr, "build": app.Build(), "protocol": protocol,
		"tick_rate": a.Game.TickRate, "sync": v.Sync})
	if v.KeyFile != "" {
		a.Print(fmt.Sprintf("mint tokens with\n  %s token %v --key-file %s\n", a.Program, h.PublicAddr, app.Quoted(v.KeyFile)))
		return nil
	}
	return v.invite(a, h)
}

// invite prints a command that joins a development server.
func (v *Verb) invite(a *app.App, h *host.Host) error {
	token, err := h.Token(h.PublicAddr, "main", server.AnySeat)
	if err == nil {
		line := fmt.Sprintf("%s join %v --token %s", a.Program, h.PublicAddr, tokens.Text(token))
		a.Print("join with\n  " + line + "\n")
		a.Emit("join", app.Fields{"join": line, "token": tokens.Text(token)})
	}
	return err
}

// report prints statistics until the context is done, and a new command to join after each use of the last one.
func (v *Verb) report(ctx context.Context, a *app.App, h *host.Host) error {
	if v.KeyFile != "" && !v.Verbose && !a.Common.JSON {
		app.Watch(ctx, a, func() {}, func() string { return renderRooms(h.Stats()) })
		return nil
	}
	var failed error
	invited, seconds := uint64(0), 0
	app.Every(ctx, time.Second, func() {
		s := h.Stats()
		a.Emit("stats", app.Fields{"stats": s})
		if seconds++; seconds%30 == 0 && s.Clients > 0 && !a.Common.JSON {
			a.Write(a.Note, renderRooms(s))
		}
		if joined := s.Joined - s.Replaced; v.KeyFile == "" && joined > invited {
			invited = joined
			failed = errors.Join(failed, v.invite(a, h))
		}
	})
	return failed
}

func renderRooms(s server.Stats) string {
	t := app.NewTable(fmt.Sprintf("%d of %d rooms · %d of %d clients · %d packets in, %d out, %d refused", s.Rooms, s.MaxRooms, s.Clients, s.MaxClients, s.PacketsIn, s.PacketsOut, s.PacketsRefused))
	t.AppendHeader(table.Row{"room", "tick", "peers", "players", "late ticks", "most late", "images", "resyncs"})
	for _, r := range s.Table[:min(len(s.Table), 40)] {
		t.AppendRow(table.Row{r.Name, r.Tick, r.Peers, r.Players, r.Late, time.Duration(r.MostLate).Round(time.Microsecond), r.Images, r.Resyncs})
	}
	return t.Render() + "\n"
}

type adminFlags struct {
	Admin          string   `placeholder:"ADDR" help:"Serve metrics, profiles, health and a live page at this address, as host:port, such as 127.0.0.1:9090. A host other than loopback requires a token. Default: none."`
	AdminToken     string   `help:"The token of --admin, 16 characters or more. Other users of this machine may see it; --admin-token-file is better."`
	AdminTokenFile string   `type:"path" help:"A file with the token of --admin."`
	AdminHost      []string `help:"A further host name of --admin, for a proxy; may be given several times."`
}

// startAdmin starts the admin server; end ends it. Without --admin the server is nil.
func (f *adminFlags) startAdmin(a *app.App, strategy systems.Strategy) (s *admin.Server, end func() error, err error) {
	if f.Admin == "" {
		if f.AdminToken != "" || f.AdminTokenFile != "" || len(f.AdminHost) > 0 {
			return nil, nil, errors.New("--admin-token, --admin-token-file and --admin-host go with --admin: add an address, such as --admin 127.0.0.1:9090")
		}
		return nil, func() error { return nil }, nil
	}
	token, err := f.token()
	if err != nil {
		return nil, nil, err
	}
	s, err = admin.New(admin.Config{Game: a.Game, Strategy: strategy.Name, Build: app.Build(),
		Page: page.Config{Addr: f.Admin, Token: token, Hosts: f.AdminHost}})
	switch {
	case errors.Is(err, page.ErrConfig) && token == "" && page.Reachable(f.Admin):
		return nil, nil, fmt.Errorf("--admin %s can be reached from other machines: add --admin-token-file with a file that holds a token, or listen on 127.0.0.1", f.Admin)
	case errors.Is(err, page.ErrConfig):
		return nil, nil, fmt.Errorf("--admin: %w", err)
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, nil, fmt.Errorf("--admin %s is in use: choose another port", f.Admin)
	case err != nil:
		return nil, nil, fmt.Errorf("--admin %s cannot be listened on: %w", f.Admin, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	a.Logf("watch it at %s", s.URL())
	a.Emit("admin", app.Fields{"url": s.URL()})
	return s, func() error { cancel(); return <-ended }, nil
}

// token returns the token of the flags, or "".
func (f *adminFlags) token() (string, error) {
	if f.AdminTokenFile == "" {
		return f.AdminToken, nil
	}
	if f.AdminToken != "" {
		return "", errors.New("--admin-token and --admin-token-file are both given: give one of them")
	}
	info, err := os.Stat(f.AdminTokenFile)
	if err == nil && server.Exposed(info) {
		return "", fmt.Errorf("--admin-token-file: others may read %s (mode %04o): run chmod 600 on it, or write a new token if they have", f.AdminTokenFile, info.Mode().Perm())
	}
	text, err := os.ReadFile(f.AdminTokenFile)
	if err != nil {
		return "", fmt.Errorf("--admin-token-file: %w", err)
	}
	if text = bytes.TrimSpace(text); len(text) == 0 {
		return "", fmt.Errorf("--admin-token-file: %s is empty: write a token of 16 characters or more into it", f.AdminTokenFile)
	}
	return string(text), nil
}
