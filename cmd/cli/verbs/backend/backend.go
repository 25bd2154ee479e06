// Package backend is the verb that queues players and gives them connect tokens.
package backend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tendon/cmd/cli/backend"
	"tendon/cmd/cli/backend/queue"
	"tendon/cmd/cli/durable"
	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/clusterflags"
	"tendon/cmd/cli/internal/tokens"
	"tendon/cmd/cli/page"
	"tendon/net/cluster"
	"tendon/net/server"
	"tendon/net/web"
	"tendon/net/wire"
)

// Verb runs a backend.
type Verb struct {
	Listen         string         `default:"127.0.0.1:8080" help:"Address of HTTP, as host:port. Another host than loopback needs --keys or a JWT flag."`
	KeyFile        string         `type:"path" placeholder:"FILE" help:"Key file of the servers, with which tokens are sealed. Required, except with --check and --check-cluster."`
	Queue          []string       `placeholder:"NAME=PLAYERS" help:"A queue and the players of its matches. Repeat it for more queues. Default: main, with all seats of the game."`
	Dir            string         `type:"path" default:"backend" help:"Directory of the tickets. With --cluster they are in the cluster."`
	Server         []string       `placeholder:"HOST:PORT" help:"Address of a server that is not in a cluster, as clients see it. Repeat it for more."`
	ServerRooms    int            `default:"256" help:"Rooms of each --server: its --max-rooms."`
	TokenLife      time.Duration  `default:"45s" help:"Lifetime of a connect token."`
	AdminTokenFile string         `type:"path" placeholder:"FILE" help:"File with the token of the servers' --admin, for rooms, kick and ban."`
	Check          string         `type:"path" placeholder:"FILE" help:"Replay the match functions with a log, such as backend/tickets.log, and compare the matches. Nothing is served."`
	CheckCluster   bool           `help:"Like --check, with the log of the backend of --cluster. The backend keeps running."`
	For            *time.Duration `help:"Stop after this time. Default: run until Ctrl-C."`

	accessFlags        `embed:""`
	browserFlags       `embed:""`
	clusterflags.Flags `embed:""`
}

type accessFlags struct {
	Keys        string `group:"Access" type:"path" placeholder:"FILE" help:"Bearer keys of programs: a line with a name and a key of 16 characters or more for each."`
	JWTIssuer   string `group:"Access" name:"jwt-issuer" placeholder:"URL" help:"Accept JWTs of this OpenID Connect issuer from players."`
	JWTKey      string `group:"Access" name:"jwt-key" type:"path" placeholder:"FILE" help:"Accept JWTs that are signed with this key in PEM: RSA, ECDSA or Ed25519. --jwt-issuer is then optional, and its keys are not read."`
	JWTAudience string `group:"Access" name:"jwt-audience" placeholder:"NAME" help:"Audience of the JWTs."`
	JWTPlayer   string `group:"Access" name:"jwt-player" default:"sub" placeholder:"CLAIM" help:"Claim with the id of the player."`
}

type browserFlags struct {
	Origin          []string `group:"Browsers" placeholder:"URL" help:"Origin of a page that may use the backend, such as https://example.com. Repeat it for more."`
	Web             string   `group:"Browsers" placeholder:"HOST:PORT" help:"Public address of --web of the --server, for players in browsers. In a cluster the servers announce theirs."`
	WebCertificates string   `group:"Browsers" type:"path" placeholder:"DIR" help:"Folder of the self-signed certificates of the --server, as serve prints it. In a cluster the servers announce theirs."`
}

// Help explains the verb.
func (Verb) Help() string {
	return `Players queue with HTTP and JSON; /v1/openapi.json describes all requests. The match function of the game, Program.Match, decides
who plays together. Each matched player receives a connect token for a server. The verb join with --backend is a client.

Tickets survive kill -9: they are in --dir, or with --cluster in the cluster. A second backend of a cluster waits until the first
one ends, and then continues with its tickets.

Without --keys and a JWT flag, every request has full access, so only loopback is then possible. Put a proxy with TLS before any
other address.

With --check and --check-cluster, the exit code is 1 if the match function returns other matches than the log has.

Examples:
  backend --key-file server.key --server 127.0.0.1:7777
  backend --key-file server.key --server 127.0.0.1:7777 --queue duel=2
  backend --key-file FILE --cluster nats://n1,n2,n3 --listen :8080 --keys FILE
  backend --key-file FILE --server HOST:7777 --jwt-key FILE --jwt-audience me
  backend --check backend/tickets.log --queue duel=2
  backend --check-cluster --cluster nats://n1,n2,n3 --queue duel=2`
}

// Run serves until it is stopped.
func (v *Verb) Run(a *app.App) error {
	if v.Check != "" || v.CheckCluster {
		return v.check(a)
	}
	config, err := v.config(a)
	if err != nil {
		return err
	}
	ctx, cancel, err := a.Until(v.For)
	if err != nil {
		return err
	}
	defer cancel()
	config.Access, err = v.access(ctx)
	if err != nil {
		return err
	}
	if config.Access == nil && page.Reachable(v.Listen) {
		return fmt.Errorf("--listen %s: other machines can reach it, and every request would have full access: add --keys FILE or --jwt-issuer", v.Listen)
	}
	listener, err := net.Listen("tcp", v.Listen)
	if err != nil {
		return fmt.Errorf("--listen %s: %w; choose another address", v.Listen, err)
	}
	defer listener.Close()
	if v.Cluster == "" {
		return v.alone(ctx, a, config, listener)
	}
	return v.inCluster(ctx, a, config, listener)
}

// config returns the settings that need neither files of the state nor the cluster.
func (v *Verb) config(a *app.App) (c backend.Config, err error) {
	if err := v.Flags.Check(); err != nil {
		return c, err
	}
	switch {
	case v.KeyFile == "":
		return c, errors.New("--key-file is missing: name the key file of the servers")
	case v.Cluster == "" && len(v.Server) == 0:
		return c, errors.New("no server is known: add --server HOST:PORT, or --cluster")
	case v.Embedded():
		return c, errors.New("--cluster embedded: no server can join a cluster inside the backend: give nats://HOST:PORT, or --server HOST:PORT instead of --cluster")
	case v.Cluster != "" && len(v.Server)+len(v.Web)+len(v.WebCertificates) > 0:
		return c, errors.New("--server, --web and --web-certificates are for servers outside of a cluster: leave them out with --cluster")
	case v.ServerRooms < 1:
		return c, fmt.Errorf("--server-rooms %d: give at least 1", v.ServerRooms)
	}
	if err := app.InRange("--token-life", v.TokenLife, time.Second, time.Hour); err != nil {
		return c, err
	}
	for _, address := range v.Server {
		if _, err := tokens.Address(address); err != nil {
			return c, fmt.Errorf("--server: %w", err)
		}
	}
	for _, origin := range v.Origin {
		if u, err := url.Parse(origin); err != nil || u.Scheme == "" || u.Host == "" || u.Scheme+"://"+u.Host != origin {
			return c, fmt.Errorf("--origin %q is not an origin: give one such as https://example.com, without a path", origin)
		}
	}
	c = backend.Config{Game: a.Game.Name, Protocol: a.Game.Fingerprint(), Life: v.TokenLife, Origins: v.Origin, Report: func(err error) {
		event, effect := "match_failed", "; the tickets wait"
		if errors.Is(err, backend.ErrKept) {
			event, effect = "log_kept", ""
		}
		a.Logf("%v%s", err, effect)
		a.Emit(event, app.Fields{"error": err.Error()})
	}}
	if c.Queues, err = v.queues(a); err != nil {
		return c, err
	}
	if v.AdminTokenFile != "" {
		if c.Admin, err = tokens.AdminFile(v.AdminTokenFile); err != nil {
			return c, err
		}
	}
	c.Key, err = server.LoadKey(v.KeyFile)
	return c, err
}

// queues returns the queues of the flags.
func (v *Verb) queues(a *app.App) (list []queue.Queue, err error) {
	if len(v.Queue) == 0 {
		return []queue.Queue{{Name: "main", Players: a.Game.MaxPlayers, Match: a.Match}}, nil
	}
	seen := map[string]bool{}
	for _, text := range v.Queue {
		name, count, _ := strings.Cut(text, "=")
		n, err := strconv.Atoi(count)
		if err != nil || name == "" || seen[name] || n < 1 || n > a.Game.MaxPlayers {
			return nil, fmt.Errorf("--queue %q: give a new name and 1 to %d players, such as duel=2", text, a.Game.MaxPlayers)
		}
		if wire.Clip(name, backend.MaxQueue) != name {
			return nil, fmt.Errorf("--queue %q: give a name of at most %d bytes of UTF-8 without control or invisible characters", text, backend.MaxQueue)
		}
		seen[name] = true
		list = append(list, queue.Queue{Name: name, Players: n, Match: a.Match})
	}
	return list, nil
}

// withJWT reports whether players authenticate with JWTs.
func (f *accessFlags) withJWT() bool { return f.JWTIssuer != "" || f.JWTKey != "" }

// access returns who may send requests. It is nil without a flag.
func (v *Verb) access(ctx context.Context) (*backend.Access, error) {
	jwt := v.withJWT()
	switch {
	case jwt && v.JWTAudience == "":
		return nil, errors.New("--jwt-audience is missing: give the audience of the JWTs, so that those for other services are refused")
	case !jwt && v.JWTAudience != "":
		return nil, errors.New("--jwt-audience goes with --jwt-issuer or --jwt-key: add one of them")
	case !jwt && v.Keys == "":
		return nil, nil
	}
	access := &backend.Access{Claim: v.JWTPlayer}
	if v.Keys != "" {
		content, err := tokens.ReadPrivate(v.Keys)
		if err == nil {
			access.Keys, err = backend.LoadKeys(content)
		}
		if err != nil {
			return nil, fmt.Errorf("--keys: %w", err)
		}
	}
	var err error
	switch {
	case v.JWTKey != "":
		var content []byte
		if content, _, err = durable.ReadFile(v.JWTKey); err == nil {
			access.Verify, err = backend.PublicKey(content, v.JWTIssuer, v.JWTAudience)
		}
		if err != nil {
			err = fmt.Errorf("--jwt-key: %w", err)
		}
	case jwt:
		access.Verify, err = backend.Issuer(ctx, v.JWTIssuer, v.JWTAudience)
	}
	return access, err
}

// alone runs a backend whose tickets are in a directory.
func (v *Verb) alone(ctx context.Context, a *app.App, config backend.Config, listener net.Listener) error {
	var hashes []web.Hash
	var err error
	if v.WebCertificates != "" {
		if hashes, err = web.ReadHashes(v.WebCertificates); err != nil {
			return fmt.Errorf("--web-certificates: %w", err)
		}
	}
	log, err := backend.OpenFile(v.Dir)
	if err != nil {
		return fmt.Errorf("--dir: %w", err)
	}
	log.Full = func(err error) {
		if err == nil {
			a.Logf("the events are on the disk: the backend accepts requests again")
			a.Emit("log_written", nil)
			return
		}
		a.Logf("%v; requests about tickets, backfill and bans receive 503 until the events are on the disk", err)
		a.Emit("log_waits", app.Fields{"error": err.Error()})
	}
	config.Directory = backend.NewStatic(v.Server, v.ServerRooms, v.Web, hashes)
	s, err := backend.New(config)
	if err == nil {
		err = v.serve(ctx, a, s, listener, func(ctx context.Context) error { return s.Run(ctx, log) })
	}
	if errors.Is(err, queue.ErrLog) {
		err = fmt.Errorf("%w; --check names the line of %s; move the file away to begin without tickets and bans", err, filepath.Join(v.Dir, "tickets.log"))
	}
	return errors.Join(err, log.Close())
}

// report shows a change of the cluster to the operator. key is the fingerprint of the key of the backend.
func report(a *app.App, e cluster.Event, key string) {
	switch {
	case e.Kind == cluster.Joined && !e.Server.Opens(key):
		a.Logf("server %s has another key, so no match is placed there: give it and the backend the same --key-file", e.Server.Name)
		a.Emit("other_key", app.Fields{"server": e.Server.Name, "id": e.Server.ID})
	case e.Kind == cluster.StoreLost:
		a.Logf("the cluster does not answer: requests about tickets, backfill and bans receive 503 until it does (%v)", e.Err)
		a.Emit("cluster_lost", app.Fields{"error": fmt.Sprint(e.Err)})
	case e.Kind == cluster.StoreBack:
		a.Logf("the cluster answers again")
		a.Emit("cluster_back", nil)
	}
}

// inCluster runs a backend whose tickets are in a cluster.
func (v *Verb) inCluster(ctx context.Context, a *app.App, config backend.Config, listener net.Listener) error {
	store, end, err := v.Open(a, true)
	if a.Interrupted(err) {
		return nil
	}
	if err != nil {
		return err
	}
	host, _ := os.Hostname()
	key := cluster.Fingerprint(config.Key[:])
	node, err := cluster.New(cluster.Config{Store: store, Server: cluster.Server{Name: cmp.Or(host, "backend"), Build: app.Build()},
		Report: func(e cluster.Event) { report(a, e, key) }})
	if err != nil {
		return errors.Join(err, end())
	}
	config.Directory = node
	s, err := backend.New(config)
	if err != nil {
		return errors.Join(err, end())
	}
	member, leave := context.WithCancel(context.WithoutCancel(ctx))
	left := make(chan struct{})
	go func() { node.Run(member); close(left) }()
	err = v.serve(ctx, a, s, listener, func(ctx context.Context) error {
		return s.RunInCluster(ctx, node, func(owner cluster.Server) {
			a.Logf("another backend decides matches, on %s: this one waits until it ends", cmp.Or(owner.Name, owner.ID))
			a.Emit("backend_waits", app.Fields{"server": owner.Name, "id": owner.ID})
		}, func() {
			a.Logf("this backend decides matches now")
			a.Emit("backend_decides", nil)
		})
	})
	leave()
	<-left
	return errors.Join(err, end())
}

// serve serves requests while run decides matches.
func (v *Verb) serve(ctx context.Context, a *app.App, s *backend.Service, listener net.Listener, run func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	h := &http.Server{Handler: s.Handler(), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 45 * time.Second,
		IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10}
	served := make(chan error, 1)
	go func() { served <- h.Serve(listener) }()
	ran := make(chan error, 1)
	go func() { ran <- run(ctx) }()
	at, suffix := addressOf(listener.Addr().(*net.TCPAddr).AddrPort())
	key := ""
	if v.Keys != "" || v.withJWT() {
		key = " --backend-key FILE"
	}
	a.Logf("the backend is at %s%s; queue with\n  %s join --backend %s --queue %s%s", at, suffix, a.Program, at, app.Quoted(v.first()), key)
	a.Emit("backend", app.Fields{"url": at})
	var err error
	select {
	case err = <-ran:
	case err = <-served:
		cancel()
		err = errors.Join(err, <-ran)
	}
	end, stop := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer stop()
	if h.Shutdown(end) != nil {
		_ = h.Close() // requests that wait for a ticket
	}
	return err
}

// addressOf returns the URL of a listener. If it is on all interfaces, at is the URL on this machine, and suffix describes the other addresses.
func addressOf(listener netip.AddrPort) (at, suffix string) {
	if listener.Addr().Unmap().IsUnspecified() {
		suffix = fmt.Sprintf(" on this machine, and at port %d of its other addresses", listener.Port())
	}
	return page.LocalURL(listener), suffix
}

// first returns the name of the first queue.
func (v *Verb) first() string {
	if len(v.Queue) == 0 {
		return "main"
	}
	name, _, _ := strings.Cut(v.Queue[0], "=")
	return name
}
