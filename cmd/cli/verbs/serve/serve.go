// Package serve is the verb that runs a server.
package serve

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"tendon/cmd/cli/admin"
	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/host"
	"tendon/cmd/cli/internal/tokens"
	"tendon/cmd/cli/journals"
	"tendon/net/cost"
	"tendon/net/netcode"
	"tendon/net/room"
	"tendon/net/server"
)

// Verb runs a server until it is interrupted.
type Verb struct {
	host.Flags     `embed:""`
	adminFlags     `embed:""`
	journalFlags   `embed:""`
	webFlags       `embed:""`
	broadcastFlags `embed:""`
	clusterFlags   `embed:""`
	agonesFlags    `embed:""`

	Listen     string         `default:":7777" help:"Address to listen on, as host:port or :port."`
	LAN        bool           `name:"lan" help:"Accept every client on the local network: the verb join finds the server and needs no token. See above."`
	LANAddress string         `name:"lan-address" default:":47777" help:"Address on which --lan answers; join then needs the same --lan-address."`
	Public     []string       `help:"Address of the server as clients see it, which is put into tokens; may be given several times. Default: the listening address, or the loopback interface."`
	KeyFile    string         `type:"path" help:"Private key shared with the minter of tokens. Without it the server generates a key for this run and prints a command that joins it."`
	OldKeyFile string         `type:"path" help:"Second key whose tokens are accepted: the previous one, or the next one while the key of a cluster is changed."`
	MaxRooms   int            `default:"256" help:"Maximum number of rooms, 1 to 65536."`
	Workers    int            `help:"Goroutines that simulate rooms, 1 to 1024. Default: one per core."`
	Matches    string         `type:"path" help:"Store a record of every decided match in this file; matches lists it."`
	BanTime    time.Duration  `default:"10m" help:"Length of the ban of a client that was expelled for lying, flooding or framing. 0: no ban."`
	KeepSeat   time.Duration  `default:"5s" help:"How long the seat of a player who lost the connection is kept, 1s to 24h. The client tries for at least a minute and a half more. It then returns if the room is still open and the seat is free."`
	Pause      room.PauseBy   `default:"admin" help:"Players who may pause a match. off: none. admin: none, only the operator, with the verb pause. players: all, and the operator."`
	PauseTime  time.Duration  `default:"60s" help:"Maximum length of a pause, 1s or more. The match then continues by itself."`
	Pauses     *int           `placeholder:"N" help:"Pauses that a player may begin in a match, 1 or more, with --pause players. Default: 3."`
	Seed       uint64         `help:"Seed of every room. Default: a random one for each."`
	For        *time.Duration `help:"Stop after this time. Default: until Ctrl-C."`
	Verbose    bool           `short:"v" help:"Log rooms and connections."`

	inviteDir string // of the token in the command that joins
}

// Help explains the verb.
func (Verb) Help() string { return help }

// Run serves.
func (v *Verb) Run(a *app.App) (err error) {
	c := host.Config{Config: server.Config{Address: v.Listen, MaxRooms: v.MaxRooms, Workers: v.Workers, BanTime: v.BanTime}, Flags: &v.Flags,
		Pause: room.PauseRule{By: v.Pause, Longest: v.PauseTime},
		Seed:  v.Seed, Matches: v.Matches, Watched: v.Admin != ""}
	var open opened
	defer func() { err = errors.Join(err, open.close()) }()
	watch, err := v.open(a, &c, &open)
	if a.Interrupted(err) {
		return nil
	}
	if err != nil {
		return err
	}
	ctx, cancel, err := a.Until(v.For)
	if err != nil {
		return err
	}
	defer cancel()
	if v.KeyFile == "" || v.MaxRooms == 1 { // usually there is no other room
		c.Crash = cancel
	}
	h, err := v.start(a, c)
	if err != nil {
		return err
	}
	open.add(func() error {
		if v.inviteDir == "" {
			return nil
		}
		return os.RemoveAll(v.inviteDir)
	})
	defer v.startAgones(ctx, cancel, a, h)()
	if watch != nil {
		source := admin.Source{Stats: h.Stats, Peers: h.Peers, Costs: h.Costs, Record: h.Recent, Control: h}
		if c.Journals != nil {
			source.Quarantined = c.Journals.Quarantined()
		}
		watch.Ready(source)
	}
	if c.Cluster != nil {
		if err := v.handleRequests(ctx, cancel, a, h, c.Cluster.ID()); err != nil {
			return errors.Join(err, h.Stop())
		}
	}
	if v.LAN {
		closeLAN, err := v.openLAN(a, h, c.Public)
		if err != nil {
			return errors.Join(err, h.Stop())
		}
		defer closeLAN()
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
	err = errors.Join(err, v.stop(a, h, c.OnStop))
	_, costs := h.Costs()
	host.PrintCosts(a, costs)
	a.Emit("costs", app.Fields{"costs": []cost.Report{costs}})
	return err
}

// opened closes the resources of a server, the newest first.
type opened []func() error

func (o *opened) add(end func() error) { *o = append(*o, end) }

func (o opened) close() (err error) {
	for _, end := range slices.Backward(o) {
		err = errors.Join(err, end())
	}
	return err
}

// open checks the flags and opens what the server needs: sockets of other protocols, journals, and the cluster. The admin server is nil
// without --admin.
func (v *Verb) open(a *app.App, c *host.Config, open *opened) (watch *admin.Server, err error) {
	if v.Public, err = v.openAgones(a, v.Public); err != nil {
		return nil, err
	}
	if err = v.settings(a, c); err != nil {
		return nil, err
	}
	if c.Broadcast, err = v.broadcastOf(a); err != nil {
		return nil, err
	}
	if c.Broadcast != nil {
		unlock, err := v.lockBroadcast()
		if err != nil {
			return nil, err
		}
		open.add(unlock)
	}
	watch, endWatch, err := v.startAdmin(a, c.Strategy)
	if err != nil {
		return nil, err
	}
	open.add(endWatch)
	if err := v.startWeb(a, v.Journal, v.Broadcast); err != nil {
		return nil, err
	}
	if v.listener != nil {
		open.add(v.listener.Close) // the server has closed it already, if it was started
		c.Web = v.listener
	}
	if v.Cluster != "" {
		leave, err := v.join(a, c, watch)
		if err != nil {
			return nil, err
		}
		open.add(leave)
	}
	if v.Journal != "" {
		if err = c.OpenJournals(a, journals.Config{Dir: v.Journal, Sync: v.Fsync, Quarantine: v.Quarantine, RefuseOthers: v.OtherBuild == "refuse", ChangeRules: v.OtherBuild == "change"}); err != nil {
			return nil, err
		}
		open.add(c.Journals.Close)
	}
	if v.Verbose {
		c.Logger = slog.New(slog.NewTextHandler(a.Note, nil))
	}
	return watch, nil
}

// start starts the server.
func (v *Verb) start(a *app.App, c host.Config) (*host.Host, error) {
	h, err := host.Start(a, c)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s is in use: another server runs there; stop it or choose another --listen", v.Listen)
	case errors.Is(err, syscall.EACCES) && errors.As(err, new(*net.OpError)): // not of a file
		return nil, fmt.Errorf("%s may not be listened on: choose a port above 1023", v.Listen)
	}
	return h, err
}

// settings checks the flags, and sets the strategy, the keys and the addresses in tokens. Without keys the host generates one
// for this run; without addresses it uses the one that it listens on.
func (v *Verb) settings(a *app.App, c *host.Config) (err error) {
	c.Strategy, err = v.ServerStrategy(a.Game)
	switch {
	case v.MaxRooms < 1 || v.MaxRooms > netcode.MaxSlots:
		return fmt.Errorf("--max-rooms %d: give 1 to %d", v.MaxRooms, netcode.MaxSlots)
	case v.Workers < 0 || v.Workers > 1024:
		return fmt.Errorf("--workers %d: give 1 to 1024, or leave it out", v.Workers)
	case err != nil:
		return err
	case v.BanTime < 0 || v.BanTime > server.MaxBanTime:
		return fmt.Errorf("--ban-time %v: give 0 to %v", v.BanTime, server.MaxBanTime)
	case v.KeepSeat < time.Second || v.KeepSeat > server.MaxKeepSeat:
		return fmt.Errorf("--keep-seat %v: give 1s to %v", v.KeepSeat, server.MaxKeepSeat)
	case v.PauseTime < time.Second:
		return fmt.Errorf("--pause-time %v: give 1s or more", v.PauseTime)
	case v.Pauses != nil && v.Pause != room.PausePlayers:
		return fmt.Errorf("--pauses %d is for --pause players: add that, or leave --pauses out", *v.Pauses)
	case v.Pauses != nil && *v.Pauses < 1:
		return fmt.Errorf("--pauses %d: give 1 or more, or --pause admin", *v.Pauses)
	case v.KeyFile == "" && v.OldKeyFile != "":
		return errors.New("--old-key-file goes with --key-file")
	case v.Cluster == "":
		if err := v.Check(); err != nil {
			return err
		}
	}
	if c.OnStop, err = v.onStop(v.Cluster != ""); err != nil {
		return err
	}
	c.Room.KeepSeat = v.KeepSeat
	if v.Pauses != nil {
		c.Pause.PerSeat = *v.Pauses
	}
	if v.BanTime == 0 {
		c.BanTime = -1 // the Config's 0 is its default
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
		if v.LAN {
			c.Public = lanAddresses(uint16(listen.Port))
		}
		c.Public = append(c.Public, netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(listen.Port)))
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
	a.Print(fmt.Sprintf("%s listens on %v, clients reach it at %v\nbuild %s, protocol %s, %d ticks/s, strategy %s, at most %s\n",
		a.Game.Name, h.Addr(), h.PublicAddr, app.Build(), protocol, a.Game.TickRate, v.Sync, app.Counted(v.MaxRooms, "room", "rooms")))
	a.Emit("listening", app.Fields{"address": h.Addr().String(), "public": h.PublicAddr, "build": app.Build(), "protocol": protocol,
		"tick_rate": a.Game.TickRate, "sync": v.Sync})
	v.announceBroadcast(a)
	if v.listener != nil {
		if text := v.advice(); text != "" {
			a.Logf("%s", text)
		}
	}
	if v.KeyFile != "" {
		a.Print(fmt.Sprintf("make tokens with\n  %s token %v --key-file %s%s\n", a.Program, h.PublicAddr, app.Quoted(v.KeyFile), v.mintFlags()))
		return nil
	}
	return v.invite(a, h)
}

// invite prints a command that joins a development server. Its token is in a file that only its owner may read, since other
// users can see arguments. Without a directory for the file, the command has an environment variable.
func (v *Verb) invite(a *app.App, h *host.Host) error {
	token, err := h.Token(h.PublicAddr, server.Pass{Room: "main", Seat: server.AnySeat})
	if err != nil {
		return err
	}
	if v.inviteDir == "" {
		if v.inviteDir, err = os.MkdirTemp("", a.Game.Name+"-*"); err != nil {
			a.Logf("the token cannot be written to a file: %v", err)
		}
	}
	line := fmt.Sprintf("TENDON_TOKEN=%s %s join %v", tokens.Text(token), a.Program, h.PublicAddr)
	if file := filepath.Join(v.inviteDir, "join.token"); v.inviteDir != "" {
		if err := tokens.Write(file, token); err != nil {
			return err
		}
		line = fmt.Sprintf("%s join %v --token %s", a.Program, h.PublicAddr, app.Quoted("@"+file))
	}
	a.Print("join with\n  " + line + "\n")
	fields := app.Fields{"join": line, "token": tokens.Text(token)}
	if v.listener != nil && v.WebPages != "" {
		link, err := v.link(h)
		if err != nil {
			return err
		}
		a.Print("or in a browser, at\n  " + link + "\n")
		fields["link"] = link
	}
	a.Emit("join", fields)
	return nil
}

// link returns an invitation for a browser, with a token of its own.
func (v *Verb) link(h *host.Host) (string, error) {
	token, err := h.Token(h.PublicAddr, server.Pass{Room: "main", Seat: server.AnySeat})
	if err != nil {
		return "", err
	}
	return v.invitation(token), nil
}
