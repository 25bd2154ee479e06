// Package serve is the verb that runs a server.
package serve

import (
	"context"
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

	"github.com/jedib0t/go-pretty/v6/table"

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
func (Verb) Help() string {
	return `The connect token of a client contains its room, seat and role. A server without --key-file is for development: it prints
a command that joins it. The command names a file with a token, and the file has a new token each time a client has used
the last one. Only you can read the file, and it is removed at the end.

With --journal, clients receive a tick only after it is written to the journal, unless the disk is slow. The next server with the same --journal
continues every match, after a stop (Ctrl-C, SIGTERM) and after a crash (kill -9). Clients reconnect by themselves if it is
back within --keep-seat and a minute and a half. Another build can continue the matches of a game without floats if it computes
the same states. Otherwise
it does not start, and names the journal; with --other-build refuse, it refuses the clients of these rooms. With --other-build change, every match of another build
continues with the rules of this one. Its state is carried over by the names of components and fields. Added ones are zero,
removed ones are dropped, and a field with another type is refused. The change is an order in one of the next two ticks, and the ticks
before stay in ROOM-MATCH-TICK.ended.journal. The verb dev does this when a file is saved. Without --key-file the key is stored with the journals, as server.key. --fsync chooses how much a
power cut can lose:
  always  Nothing that a client received. Clients receive no tick before it
          is on the disk.
  100ms   Up to a tenth of a second of play, or the given time. Clients return
          the lost ticks when they reconnect, with proofs that the server
          sent them.
  never   What the system had not written yet, often half a minute. Clients
          return what they have, about 15 s.
With verify, clients have no ticks to return, so only --fsync always keeps all that they received.
With --matches too, the server adds results from the journals that the previous server did not record.
--on-stop selects what a stop does with the running matches:
  keep    They stop after their last tick, and continue in the next server.
          Clients show that the server restarts, and wait for it. Results
          that players vote on are recorded by the next server.
  finish  They continue until their players have left. The server refuses
          further rooms and players. A second signal ends the matches.
  end     They end, and clients receive that the server shuts down.

While a journal cannot be written, as on a full disk, its match waits. It continues when the journal can be written. If a write
takes more than a quarter of a second, the match continues, and clients receive ticks that are not written yet. After three
seconds the match waits, with --fsync always after one second. The event journal_slow reports such a write. A match ends
when its room is empty, or with --on-stop end. It leaves ROOM-MATCH.ended.journal, which may be removed.

A token is good for one connection, also after a restart: DIR/tokens.used records the used ones until they expire. A server
refuses tokens minted before that record began, since they may have been used. Without --journal it begins with each start.
While the record cannot be written, the server refuses clients with that reason, and they try again with the same token.

A journal that is damaged, or a file that is no journal, is moved to DIR/quarantine with a warning, and the other matches
resume. Its match is over. A build or strategy that fits none of the journals is an error, and no file is changed. With
--quarantine=false, each journal that cannot be recovered is such an error.

With --json, the events about journals are recovered, journal, journal_changed, journal_torn, journal_removed, journal_quarantined,
journal_skipped, journal_failed, journal_recovered, journal_slow, journal_ended, journal_refused, journal_removed_directory, tokens_failed, tokens_lost and key_lost. The event waiting names the players for whom
a continued match waits, until a time. The events stopping and kept are those of a stop. The event lag
reports that matches paused because the server stood still or is too slow. The event token_refused reports the first token that an
earlier server may have accepted.

With --admin 127.0.0.1:9090, http://127.0.0.1:9090/ shows rooms, players and the costs of ticks, /metrics is for Prometheus,
/debug/pprof/ has profiles, and /healthz and /readyz are for the program that starts and stops servers. With
--admin-token-file too, the verbs players, kick, ban, switch, pause and resume control the running server.

A client is expelled for lying, if its checksums differ too often; for flooding, if it sends too many messages or packets;
or for framing, if they are malformed. It is then banned for --ban-time: the server refuses all its tokens, and the client
receives the time that is left. With --journal, the banned clients are kept in bans.json beside the journals. Without it,
the bans end with the server.

A player who loses the connection keeps the seat for --keep-seat. The client tries to connect twice a second, for
that time and at least a minute and a half. After --keep-seat it returns if the seat is free and the room is open. A room without
players closes after half a minute, or 15 s after --keep-seat if that is longer. A longer --keep-seat, such as 10m for players
whose computers sleep, keeps idle players in the match.

A pause stops the ticks of one match. The operator begins it with the verb pause; with --pause players, every player can
too. It ends with resume or after --pause-time. Players can end each other's pauses, but not one of the operator.

With --lan, every client on the local network may join without a token: run join there without an address. Requests from other networks
are ignored. The server prints code words for each client that receives a token, and so does the client. If they differ,
another host is between the two and can play in place of that client.

With --broadcast DIR, every room is written into DIR/ROOM as files that never change, each with 3 s of the match. Any web server
and any HTTP cache carries them, and viewers cost the room nothing: see watch. They see the match after --broadcast-delay. The files contain
the whole state, also the state of the random numbers. Clients of predict, reckon and verify do not have all of it: choose a delay after which
it is of no use to players. A game with private data is broadcast only with --broadcast-private. The files of the last
48 s are kept. With --on-stop keep and after a crash, those that are not visible yet are never written. With --json, the events
are broadcast, broadcast_failed and broadcast_recovered.

With --cluster, several servers store their matches in NATS together, and no --journal is used. Each room is on one server.
If a server ends or is cut off, another one continues its rooms after about two seconds. Clients reconnect by themselves. All
servers need the same --key-file. A match keeps its strategy on a server with another --sync if the settings are the default
ones. With --fsync always, a server that fails loses nothing. With 100ms it loses up to a tenth of a second of play, and up
to three seconds while NATS accepts no entries. With lockstep and relay, clients return these ticks. SIGTERM and the verb
drain move the rooms to other servers while they are played. embedded runs NATS in this process, without a port, with the
files in --cluster-dir. No other server can join, so its rooms do not move. Bans end with the server. With --json, the events
are cluster_waits, cluster_joined, cluster_left, cluster_lost, cluster_back, cluster_connected, cluster_disconnected,
cluster_checked, cluster_error, journal_lost, draining, drain_waits, moved, move_failed, drained and accepting.

With --agones, the server reports itself to Agones: ready when it listens, and health while its rooms answer. It also reports the
counter rooms, the list players, and the labels build and protocol. It is Allocated while a room is open. When Agones removes the
server, it stops as with SIGTERM. A server that stops accepts no further rooms. At its end it requests its removal. With --json, the
events are agones_failed, agones_recovered and agones_removes. The guide FLEETS.md describes a fleet.

A room whose rules panic ends, with a report, and the others continue. With --max-rooms 1 or without --key-file, the server
ends with exit code 1 if no other room is open.

Examples:
  serve
  serve --lan
  serve --public game.example.net:7777 --key-file server.key --max-rooms 500
  serve --record recordings --matches matches.db
  serve --admin 127.0.0.1:9090
  serve --admin :9090 --admin-token-file admin.token
  serve --key-file server.key --journal journals
  serve --key-file server.key --journal journals --fsync always
  serve --web :7778 --web-pages site    browsers play, too
  serve --broadcast casts               for any number of viewers
  serve --cluster embedded
  serve --listen 10.0.0.9:7777 --key-file server.key --cluster nats://n1,n2,n3
  serve --agones auto --key-file server.key --on-stop finish
  serve --key-file server.key --on-stop finish`
}

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

// report prints statistics until the context is done. After each use of the last command to join, it prints a new one.
func (v *Verb) report(ctx context.Context, a *app.App, h *host.Host) error {
	if v.KeyFile != "" && !v.Verbose && !a.Common.JSON && a.Live() {
		app.Watch(ctx, a, func() {}, func() string {
			s := h.Stats()
			text := renderRooms(s)
			if s.TokensEarly > 0 {
				text += v.refusal() + "\n"
			}
			return text
		})
		return nil
	}
	var failed error
	began := h.Stats()
	invited, second, early := began.Joined-began.Replaced, 0, began.TokensEarly > 0
	var full noRoom
	app.Every(ctx, time.Second, func() {
		s := h.Stats()
		second++
		logStats(a, s, second, time.Now())
		full.log(a, s, second)
		if !early && s.TokensEarly > 0 {
			early = true
			a.Logf("%s", v.refusal())
			a.Emit("token_refused", app.Fields{"reason": v.refusal()})
		}
		if joined := s.Joined - s.Replaced; v.KeyFile == "" && joined > invited {
			invited = joined
			failed = errors.Join(failed, v.invite(a, h))
		}
	})
	return failed
}

// refusal describes a token that an earlier server may have accepted, and the remedy.
func (v *Verb) refusal() string {
	if v.Journal != "" || v.Cluster != "" {
		return "a client's token was used before this server began, or is older than the record of used tokens: mint a new one"
	}
	return "a client's token was minted before this server began, and may have been used: mint a new one, or record used tokens with --journal"
}

// noRoom reports that clients were refused because of --max-rooms, at most once a minute.
type noRoom struct {
	refused uint64 // at the last report
	next    int    // second from which there may be another one
}

func (n *noRoom) log(a *app.App, s server.Stats, second int) {
	if s.NoRoom == n.refused || second < n.next {
		return
	}
	n.refused, n.next = s.NoRoom, second+60
	a.Logf("a client of a further room was refused: the server has %s, as many as --max-rooms allows", app.Counted(s.MaxRooms, "room", "rooms"))
	a.Emit("rooms_full", app.Fields{"max_rooms": s.MaxRooms, "refused": s.NoRoom})
}

// logStats reports the load at a second of the run: each second as JSON, every 30 s as a line of text if there are clients.
func logStats(a *app.App, s server.Stats, second int, now time.Time) {
	a.Emit("stats", app.Fields{"stats": s})
	if second%30 == 0 && s.Clients > 0 {
		late, most := uint64(0), time.Duration(0)
		for _, r := range s.Table {
			late, most = late+r.Late, max(most, time.Duration(r.MostLate))
		}
		a.Logf("%s %s · %s, by up to %v", now.UTC().Format(time.DateTime), summary(s), app.Counted(int(late), "late tick", "late ticks"), most.Round(time.Microsecond))
	}
}

// summary describes the load in one line.
func summary(s server.Stats) string {
	return fmt.Sprintf("%d of %d rooms · %d of %d clients · %d packets in, %d out, %d refused", s.Rooms, s.MaxRooms, s.Clients, s.MaxClients,
		s.PacketsIn, s.PacketsOut, s.PacketsRefused)
}

// renderRooms returns the live table of the first rooms.
func renderRooms(s server.Stats) string {
	t := app.NewTable(summary(s), "room", "tick", "peers", "players", "MiB", "late ticks", "most late", "images", "resyncs")
	t.Extra = []string{"resyncs", "images", "most late", "late ticks"}
	t.Configs = []table.ColumnConfig{{Name: "room", WidthMax: 24}}
	for _, r := range s.Table[:min(len(s.Table), 40)] {
		t.AppendRow(table.Row{r.Name, r.Tick, r.Peers, r.Players, fmt.Sprintf("%.1f", float64(r.RingBytes)/(1<<20)),
			r.Late, time.Duration(r.MostLate).Round(time.Microsecond), r.Images, r.Resyncs})
	}
	return t.Text(false)
}
