// Package drain is the verb that moves the rooms of a server to the other servers of its cluster.
package drain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/clusterflags"
	"tendon/net/cluster"
	"tendon/net/cluster/jetstream"
)

// Verb moves rooms of a server.
type Verb struct {
	clusterflags.Flags `embed:""`

	Server string        `arg:"" optional:"" help:"Address or ID of the server, as the servers of the cluster list it. Without it, the servers are listed."`
	Rooms  int           `positive:"" placeholder:"N" help:"Move N rooms, and let the server accept rooms again. Default: all, and the server accepts no further rooms."`
	End    bool          `help:"End a drain: the server accepts rooms again."`
	For    time.Duration `default:"10m" help:"Maximum time to wait until the rooms have moved."`
}

// Help explains the verb.
func (Verb) Help() string {
	return `The rooms of a server move to the other servers of its cluster while they are played. Players keep their seats and see no more
than a correction. A server accepts rooms of a game with the same protocol, up to its --max-rooms. drain waits until the
rooms have moved. Ctrl-C ends only the wait. The server continues to drain, and --end stops that.

To update a server, drain it, stop it, and start the new build. With --agones, it ends by itself. SIGTERM also drains a
server, for at most a minute.
To move load to a server that was added, use --rooms with a server that has many.

The exit code is 1 if rooms are left after --for, for example because the other servers are full. It is also 1 if the
server has not confirmed the drain by then, or if the wait is interrupted.

Examples:
  drain --cluster nats://10.0.0.1                   list the servers
  drain 10.0.0.5:7777 --cluster nats://10.0.0.1     move all rooms
  drain 10.0.0.5:7777 --rooms 20 --cluster nats://10.0.0.1
  drain 10.0.0.5:7777 --end --cluster nats://10.0.0.1`
}

const (
	// listTime is the time for which the announcements are observed after the first one. A live server announces itself several times meanwhile.
	listTime = 1500 * time.Millisecond
	// firstLimit is the maximum time until the first announcement. A new cluster elects leaders before it answers.
	firstLimit = 5 * time.Second
	// requestLimit is the timeout of the request to the server.
	requestLimit = 5 * time.Second
	// stillTime is the time without an announcement after which the server is gone.
	stillTime = 3 * time.Second
	// closing is the number of announcements after a drain in which the server may still count rooms that have moved. A room counts until its
	// last connection ends. There are four announcements a lease.
	closing = 12
	// allAnnounced is the number of announcements of the server within which all other servers have announced themselves.
	allAnnounced = 6
)

// Run drains the server.
func (v *Verb) Run(a *app.App) (err error) {
	switch {
	case v.Rooms < 0:
		return fmt.Errorf("--rooms %d: give at least 1, or leave it out", v.Rooms)
	case v.Cluster == "":
		return errors.New("drain needs the cluster: add --cluster nats://HOST:PORT, as for serve")
	case v.Embedded():
		return errors.New("--cluster embedded has one server, so its rooms cannot move: stop the server, and its matches continue at the next start")
	case v.Server == "" && v.Rooms > 0:
		return fmt.Errorf("--rooms %d: name the server whose rooms move", v.Rooms)
	case v.Server == "" && v.End:
		return errors.New("--end: name the server that accepts rooms again")
	case v.End && v.Rooms > 0:
		return errors.New("--end and --rooms exclude each other: choose one")
	case v.For <= 0:
		return fmt.Errorf("--for %v: give more than 0s", v.For)
	}
	store, end, err := v.Observe(a)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	ctx, cancel := context.WithTimeout(a.Ctx, v.For+firstLimit+listTime)
	defer cancel()
	announcements := observe(ctx, store)
	servers := list(ctx, announcements)
	if a.Ctx.Err() != nil {
		return app.ErrInterrupted
	}
	if v.Server == "" {
		return show(a, servers)
	}
	s, err := find(servers, v.Server)
	if err != nil {
		return err
	}
	asked, cancelRequest := context.WithTimeout(ctx, requestLimit)
	defer cancelRequest()
	r := jetstream.DrainRequest{Rooms: v.Rooms}
	if v.End {
		r.Rooms = jetstream.EndDrain
	}
	if err := store.RequestDrain(asked, s.ID, r); err != nil {
		return fmt.Errorf("%w: the request to server %s failed: check that it runs and that its NATS user may subscribe to %s.drain.*", err, s.Name, v.ClusterName)
	}
	return v.follow(ctx, a, s, announcements)
}

// observe returns the announcements of all servers until ctx is done.
func observe(ctx context.Context, store *jetstream.Store) <-chan cluster.Server {
	out := make(chan cluster.Server)
	go func() {
		defer close(out)
		for ctx.Err() == nil {
			for s, err := range store.Watch(ctx) {
				if err != nil {
					break
				}
				select {
				case out <- s:
				case <-ctx.Done():
					return
				}
			}
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
	}()
	return out
}

// list returns the live servers by name. A server is alive if its announcement changes.
func list(ctx context.Context, announcements <-chan cluster.Server) (servers []cluster.Server) {
	first, alive := map[string]uint64{}, map[string]cluster.Server{}
	observed := false
	for timeout := time.NewTimer(firstLimit); ; {
		select {
		case s, ok := <-announcements:
			if !observed {
				observed = true
				timeout.Reset(listTime)
			}
			beat, known := first[s.ID]
			switch {
			case !ok:
				return nil
			case s.Beat == 0 || len(s.Addresses) == 0: // it has left, or it is no server of games
				delete(alive, s.ID)
			case !known:
				first[s.ID] = s.Beat
			case s.Beat > beat:
				alive[s.ID] = s
			}
		case <-ctx.Done():
			return nil
		case <-timeout.C:
			for _, s := range alive {
				servers = append(servers, s)
			}
			slices.SortFunc(servers, func(a, b cluster.Server) int { return strings.Compare(a.Name+a.ID, b.Name+b.ID) })
			return servers
		}
	}
}

// find returns the server with a name or ID.
func find(servers []cluster.Server, name string) (cluster.Server, error) {
	var names []string
	for _, s := range servers {
		if s.ID == name || s.Name == name || slices.Contains(s.Addresses, name) {
			return s, nil
		}
		names = append(names, s.Name)
	}
	if len(names) == 0 {
		return cluster.Server{}, fmt.Errorf("the cluster has no server: check --cluster and --cluster-name")
	}
	return cluster.Server{}, fmt.Errorf("the cluster has no server %q: give one of %s", name, strings.Join(names, ", "))
}

// show prints the servers.
func show(a *app.App, servers []cluster.Server) error {
	list := []app.Fields{}
	t := app.NewTable(app.Counted(len(servers), "server", "servers"), "server", "rooms", "players", "build", "state")
	t.Configs = []table.ColumnConfig{{Name: "build", WidthMax: 28, WidthMaxEnforcer: text.WrapSoft}}
	for _, s := range servers {
		state := "open"
		if s.Draining {
			state = "drains"
		}
		list = append(list, app.Fields{"name": s.Name, "id": s.ID, "addresses": s.Addresses, "web": s.Web, "admin": s.Admin, "build": s.Build,
			"protocol": fmt.Sprintf("%016x", s.Protocol), "rooms": s.Rooms, "max_rooms": s.MaxRooms, "players": s.Players, "draining": s.Draining})
		t.AppendRow([]any{s.Name, fmt.Sprintf("%d of %d", s.Rooms, s.MaxRooms), s.Players, s.Build, state})
	}
	a.Emit("servers", app.Fields{"servers": list})
	a.Print(t.Text(false) + "\n")
	return nil
}

// follow reports the number of rooms of a server until the rooms have moved.
func (v *Verb) follow(ctx context.Context, a *app.App, s cluster.Server, announcements <-chan cluster.Server) error {
	last, draining, after, goal := s.Rooms, false, 0, 0 // after: announcements since the server accepts rooms again
	if v.Rooms > 0 {
		goal = max(0, s.Rooms-v.Rooms)
	}
	progress := func() {
		a.Logf("server %s has %s", s.Name, app.Counted(last, "room", "rooms"))
		a.Emit("progress", app.Fields{"server": s.Name, "rooms": last})
	}
	if !v.End {
		progress()
	}
	var others targets
	done := func(text string) error {
		event := "drained"
		if v.End {
			event = "accepting"
		}
		a.Print(text + "\n")
		a.Emit(event, app.Fields{"server": s.Name, "id": s.ID, "rooms": last})
		return nil
	}
	for still := time.NewTimer(stillTime); ; {
		select {
		case now, ok := <-announcements:
			if !ok {
				announcements = nil // ctx is done
			}
			if !v.End {
				others.observe(a, &now, &s)
			}
			if now.ID != s.ID {
				continue
			}
			still.Reset(stillTime)
			if now.Beat == 0 && (v.End || last > goal) {
				return fmt.Errorf("%w: server %s has left the cluster; its last announcement has %s", app.ErrFailed, s.Name, app.Counted(last, "room", "rooms"))
			}
			if now.Beat == 0 {
				return done(fmt.Sprintf("server %s has left the cluster", s.Name))
			}
			if now.Rooms != last {
				last = now.Rooms
				progress()
			}
			if v.End {
				if now.Draining {
					continue
				}
				return done(fmt.Sprintf("server %s accepts rooms, and has %s", s.Name, app.Counted(last, "room", "rooms")))
			}
			if draining && !now.Draining {
				after++
			}
			draining = draining || now.Draining
			if v.Rooms == 0 && after > 0 && last > 0 {
				return fmt.Errorf("%w: another request ended the drain; server %s has %s", app.ErrFailed, s.Name, app.Counted(last, "room", "rooms"))
			}
			if v.Rooms > 0 && !now.Draining && (last <= goal || after > closing) || draining && v.Rooms == 0 && last == 0 {
				if last > goal {
					return fmt.Errorf("%w: %s of server %s did not move: the other servers are full or incompatible", app.ErrFailed, app.Counted(last-goal, "room", "rooms"), s.Name)
				}
				return done(fmt.Sprintf("drained: server %s has %s", s.Name, app.Counted(last, "room", "rooms")))
			}
		case <-still.C:
			return fmt.Errorf("%w: server %s does not announce itself any more: it ended, or NATS does not answer", app.ErrFailed, s.Name)
		case <-ctx.Done():
			return v.unfinished(s.Name, last, a.Ctx.Err() != nil)
		}
	}
}

// targets are the servers to which the rooms of a server may move, as far as their announcements show that.
type targets struct {
	accept   []string // IDs
	own      int      // announcements of the server since another one accepted rooms
	reported bool
}

// observe records an announcement. It reports once that s has rooms which no other server accepts.
func (t *targets) observe(a *app.App, now, s *cluster.Server) {
	if now.ID != s.ID {
		t.accept = slices.DeleteFunc(t.accept, func(id string) bool { return id == now.ID })
		if now.Beat > 0 && !now.Draining && now.Rooms < now.MaxRooms && now.Protocol == s.Protocol {
			t.accept, t.own = append(t.accept, now.ID), 0
		}
		return
	}
	if t.own++; t.own >= allAnnounced && len(t.accept) == 0 && now.Rooms > 0 && !t.reported {
		t.reported = true
		a.Logf("no other server accepts a room: the rooms wait until one is compatible and has space")
		a.Emit("no_target", app.Fields{"server": s.Name, "rooms": now.Rooms})
	}
}

// unfinished returns the error of a wait that ended before the request was done.
func (v *Verb) unfinished(server string, left int, interrupted bool) error {
	rooms := app.Counted(left, "room", "rooms")
	switch {
	case v.End:
		return fmt.Errorf("%w: server %s does not accept rooms yet; run drain --end again", app.ErrFailed, server)
	case interrupted:
		return fmt.Errorf("%w: interrupted: server %s has %s and continues to drain; --end stops that", app.ErrFailed, server, rooms)
	case left == 0:
		return fmt.Errorf("%w: server %s has 0 rooms, but has not confirmed the drain after %v: give more --for", app.ErrFailed, server, v.For)
	}
	return fmt.Errorf("%w: server %s has %s after %v: check the space on the other servers, or give more --for", app.ErrFailed, server, rooms, v.For)
}
