package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"tendon/cmd/cli/admin"
	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/clusterflags"
	"tendon/cmd/cli/internal/host"
	"tendon/cmd/cli/journals"
	"tendon/net/cluster"
	"tendon/net/cluster/jetstream"
	"tendon/net/netcode"
)

// clusterFlags let a server join a cluster.
type clusterFlags struct {
	clusterflags.Flags `embed:""`

	store *jetstream.Store
}

// drainLimit is the maximum time for which a server that is stopped moves its rooms.
const drainLimit = time.Minute

// resultsLimit is the maximum time to open the stream of results.
const resultsLimit = 30 * time.Second

// reachable returns the address of a listener for other machines. The host is public if it listens on all interfaces. It returns "" for a
// loopback address, unless public is one too.
func reachable(at netip.AddrPort, public netip.Addr) string {
	switch host := at.Addr().Unmap(); {
	case host.IsUnspecified():
		return netip.AddrPortFrom(public, at.Port()).String()
	case host.IsLoopback() && !public.IsLoopback():
		return ""
	default:
		return netip.AddrPortFrom(host, at.Port()).String()
	}
}

// clusterAddresses checks the flags of a server of a cluster, and returns its addresses in connect tokens.
func (v *Verb) clusterAddresses(public []netip.AddrPort) ([]netip.AddrPort, error) {
	listen, err := net.ResolveUDPAddr("udp", v.Listen)
	switch {
	case err != nil:
		return nil, fmt.Errorf("--listen %q is not an address (host:port or :port): %w", v.Listen, err)
	case v.Journal != "":
		return nil, errors.New("--cluster and --journal do not go together: a cluster has the journals; leave --journal out")
	case v.KeyFile == "" && !v.Embedded():
		return nil, errors.New("--cluster needs a --key-file: give the same file to all servers, so that each of them accepts the tokens of the others")
	case v.OtherBuild == "refuse":
		return nil, errors.New("--other-build refuse is for --journal: a cluster sends the clients to a server that can continue the match; leave it out")
	case len(v.Public) > 0:
		return public[:min(len(public), netcode.MaxServers)], nil
	case listen.Port == 0:
		return nil, fmt.Errorf("--listen %s has no port: give one with --cluster, since each server of a cluster announces its address", v.Listen)
	case listen.IP != nil && !listen.IP.IsUnspecified():
		return []netip.AddrPort{netip.AddrPortFrom(listen.AddrPort().Addr().Unmap(), uint16(listen.Port))}, nil
	case !v.Embedded():
		return nil, fmt.Errorf("--listen %s has no address that other servers can name: add --public HOST:PORT", v.Listen)
	}
	return public, nil
}

// join joins the cluster of the flags. The caller calls leave when the server has stopped.
func (v *Verb) join(a *app.App, c *host.Config, watch *admin.Server) (leave func() error, err error) {
	addresses, err := v.clusterAddresses(c.Public)
	if err != nil {
		return nil, err
	}
	always := v.Fsync == journals.Always
	store, end, err := v.Open(a, always)
	if err != nil {
		return nil, err
	}
	cc := host.ClusterConfig{Store: store, Tokens: store, Connected: store.Connected, Addresses: addresses, KeyDir: v.ClusterDir, Ask: v.ask,
		Journals: journals.Config{Sync: v.Fsync, ChangeRules: v.OtherBuild == "change"}}
	if v.listener != nil {
		cc.WebHashes = v.certificates.Hashes
		if cc.Web = v.WebPublic; cc.Web == "" {
			cc.Web = reachable(netip.MustParseAddrPort(v.listener.LocalAddr().String()), addresses[0].Addr())
		}
	}
	if watch != nil {
		cc.Admin = reachable(watch.Addr(), addresses[0].Addr())
	}
	if a.Game.Result != nil {
		ctx, cancel := context.WithTimeout(a.Ctx, resultsLimit)
		c.Stream, err = store.Results(ctx)
		cancel()
	}
	if err == nil {
		err = c.JoinCluster(a, cc)
	}
	if err != nil {
		return nil, errors.Join(err, end())
	}
	v.store = store
	return func() error {
		err := c.Journals.Close()
		c.Cluster.Leave()
		return errors.Join(err, end())
	}, nil
}

// ask is host.ClusterConfig.Ask.
func (v *Verb) ask(ctx context.Context, server, from, room string) (cluster.MoveStatus, error) {
	return v.store.RequestMove(ctx, server, jetstream.MoveRequest{From: from, Room: room})
}

// handleRequests handles the requests of the verb drain until ctx is done: it drains the server, or ends a drain. A request replaces the
// previous one. After a drain of all rooms with Agones, it calls stop, so that the Fleet starts another server. It replies to other servers
// that move rooms to this one, until the connection to NATS is closed.
func (v *Verb) handleRequests(ctx context.Context, stop func(), a *app.App, h *host.Host, id string) error {
	_, err := v.store.HandleMoves(id, func(r jetstream.MoveRequest) cluster.MoveStatus { return h.MoveStatus(r.From, r.Room) })
	if err != nil {
		return fmt.Errorf("--cluster: the server cannot receive rooms of other servers: %w", err)
	}
	requests := make(chan jetstream.DrainRequest, 1)
	end, err := v.store.HandleDrains(id, func(r jetstream.DrainRequest) {
		select {
		case <-requests: // it is replaced
		default:
		}
		requests <- r
	})
	if err != nil {
		return fmt.Errorf("--cluster: the server cannot receive requests to drain: %w", err)
	}
	go func() {
		defer func() { _ = end() }()
		var running sync.WaitGroup
		cancel := func() {}
		for {
			select {
			case <-ctx.Done():
				cancel()
				running.Wait()
				return
			case r := <-requests:
				cancel() // it replaces the one before
				running.Wait()
				if ctx.Err() != nil {
					return // the server stops
				}
				var within context.Context
				within, cancel = context.WithCancel(ctx)
				v.reportFull(r.Rooms == 0)
				if r.Rooms == jetstream.EndDrain {
					if h.Accept(within) == nil {
						a.Logf("the server accepts rooms again")
						a.Emit("accepting", nil)
					}
					continue
				}
				running.Go(func() {
					if drain(within, a, h, r.Rooms); r.Rooms == 0 && v.reporter != nil && within.Err() == nil {
						stop()
					}
				})
			}
		}
	}()
	return nil
}

// drain moves rooms away, and tries again each second while no other server has space. most is 0 for all rooms.
func drain(ctx context.Context, a *app.App, h *host.Host, most int) {
	what := "all rooms move to other servers, and no further ones are opened here"
	if most > 0 {
		what = app.Counted(most, "room moves", "rooms move") + " to other servers"
	}
	a.Logf("draining: %s", what)
	a.Emit("draining", app.Fields{"rooms": most})
	waits := false
	for {
		err := h.Drain(ctx, most)
		if ctx.Err() != nil {
			return // the server stops, or another request follows
		}
		if err == nil {
			break
		}
		if !waits {
			waits = true
			a.Logf("%v: the server tries again each second; start another server, or one with more --max-rooms", err)
			a.Emit("drain_waits", app.Fields{"error": err.Error()})
		}
		if most > 0 {
			return // the server accepts rooms again
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
	a.Logf("drained: the server has %s", app.Counted(h.OpenRooms(), "room", "rooms"))
	a.Emit("drained", app.Fields{"rooms": h.OpenRooms()})
}

// moveAll moves all rooms to other servers before the server stops. Those that no server can accept are suspended then.
func (v *Verb) moveAll(a *app.App, h *host.Host) {
	ctx, cancel := context.WithTimeout(context.Background(), drainLimit)
	defer cancel()
	switch err := h.Drain(ctx, 0); {
	case ctx.Err() != nil:
		a.Logf("%s not moved within %v; their matches are suspended, and the next server continues them", app.Counted(h.OpenRooms(), "room is", "rooms are"), drainLimit)
	case err != nil:
		a.Logf("%v; their matches are suspended, and the next server continues them", err)
	}
	a.Emit("drained", app.Fields{"rooms": h.OpenRooms()})
}
