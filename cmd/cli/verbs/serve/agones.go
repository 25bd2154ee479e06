package serve

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/host"
	"tendon/net/agones"
	"tendon/net/room"
	"tendon/net/server"
	"tendon/net/session"
)

type agonesFlags struct {
	Agones string `group:"Fleet" placeholder:"auto|HOST:PORT" help:"Report rooms, players and health to the SDK server of Agones at this address. auto: port AGONES_SDK_HTTP_PORT of this machine, by default 9358. Without --public, clients reach the server at the address that Agones gave it."`

	sdk      *agones.Client
	reporter *agones.Reporter // nil without --agones
}

// placeLimit is how long a server waits until Agones has given it an address.
const placeLimit = time.Minute

// openAgones makes the client of --agones, if the flag is set. It returns the addresses of --public, or else the one from Agones.
func (f *agonesFlags) openAgones(a *app.App, public []string) (_ []string, err error) {
	if f.Agones == "" {
		return public, nil
	}
	address := f.Agones
	if address == "auto" {
		address = agones.LocalAddress()
	}
	if f.sdk, err = agones.NewClient(address); err != nil {
		return nil, fmt.Errorf("--agones: %w, or auto", err)
	}
	if len(public) > 0 {
		return public, nil
	}
	ctx, cancel := context.WithTimeout(a.Ctx, placeLimit)
	defer cancel()
	for waits := false; ; waits = true {
		g, err := f.sdk.GameServer(ctx)
		if at := g.Public(""); err == nil && at != "" {
			return []string{at}, nil
		}
		if err == nil {
			err = errors.New("the server has no address yet")
		}
		if !waits {
			a.Logf("waiting for the address from Agones: %v", err)
		}
		select {
		case <-ctx.Done():
			if a.Ctx.Err() != nil {
				return nil, a.Ctx.Err()
			}
			return nil, fmt.Errorf("--agones %s: %w; check that the SDK server runs, and that the Fleet has a port", f.Agones, err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// startAgones begins to report the server, which listens. When ctx is done, the server is reported as full. end marks it for removal.
func (f *agonesFlags) startAgones(ctx context.Context, stop func(), a *app.App, h *host.Host) (end func()) {
	if f.sdk == nil {
		return func() {}
	}
	build, _ := session.ThisBuild()
	r := agones.NewReporter(agones.Config{
		Client: f.sdk,
		Labels: map[string]string{"build": build, "protocol": fmt.Sprintf("%016x", a.Game.Fingerprint())},
		Load:   func(ctx context.Context) (agones.Load, error) { return load(ctx, h) },
		Drain: func(reason string) {
			a.Logf("Agones removes this server: %s", reason)
			a.Emit("agones_removes", app.Fields{"reason": reason})
			stop()
		},
		Report: func(err error) {
			if err == nil {
				a.Logf("Agones receives the reports of this server again")
				a.Emit("agones_recovered", nil)
				return
			}
			a.Logf("a report to Agones failed: %v; it is repeated", err)
			a.Emit("agones_failed", app.Fields{"error": err.Error()})
		},
	})
	f.reporter = r
	running, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { r.Run(running); close(ended) }()
	undo := context.AfterFunc(ctx, func() { r.Drain(true) })
	return func() {
		undo()
		cancel()
		<-ended
		if err := f.sdk.Shutdown(context.Background()); err != nil {
			a.Logf("the request to Agones to remove this server failed: %v", err)
		}
		f.sdk.Close()
	}
}

// reportFull reports whether the server accepts no further rooms.
func (f *agonesFlags) reportFull(full bool) {
	if f.reporter != nil {
		f.reporter.Drain(full)
	}
}

// load returns the rooms and players of a server. Each room answers between two of its ticks, so a worker that hangs is an error.
func load(ctx context.Context, h *host.Host) (l agones.Load, err error) {
	var mu sync.Mutex
	var asked sync.WaitGroup
	for _, r := range h.Stats().Table {
		asked.Go(func() {
			var peers []room.PeerInfo
			failed := h.Do(ctx, r.Name, func(r *room.Room) {
				mu.Lock()
				defer mu.Unlock()
				peers = r.AppendPeers(nil)
			})
			mu.Lock()
			defer mu.Unlock()
			switch {
			case errors.Is(failed, server.ErrNoRoom), errors.Is(failed, server.ErrStopped): // it has closed
				return
			case failed != nil:
				err = errors.Join(err, fmt.Errorf("room %s: %w", r.Name, failed))
				return
			}
			l.Rooms = append(l.Rooms, r.Name)
			for _, p := range peers {
				if p.Seat >= 0 {
					l.Players = append(l.Players, strconv.FormatUint(p.Identity.ClientID, 10))
				}
			}
		})
	}
	asked.Wait()
	return l, err
}
