package drain

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/clusterflags"
	"tendon/cmd/cli/internal/crumbs"
	"tendon/net/cluster"
)

// Wrong use is refused before a connection is made.
func TestWrongUseIsRefused(t *testing.T) {
	for _, c := range []struct {
		verb Verb
		text string
	}{
		{Verb{Server: "a"}, "add --cluster"},
		{Verb{Server: "a", Flags: clusterflags.Flags{Cluster: "embedded"}}, "has one server"},
		{Verb{Rooms: 3, Flags: clusterflags.Flags{Cluster: "nats://a"}}, "name the server"},
		{Verb{End: true, Flags: clusterflags.Flags{Cluster: "nats://a"}}, "name the server"},
		{Verb{Server: "a", End: true, Rooms: 3, Flags: clusterflags.Flags{Cluster: "nats://a"}}, "choose one"},
		{Verb{Server: "a", For: -time.Second, Flags: clusterflags.Flags{Cluster: "nats://a"}}, "--for -1s"},
	} {
		if c.verb.For == 0 {
			c.verb.For = time.Minute
		}
		if err := c.verb.Run(app.New(t.Context(), crumbs.Game(), io.Discard, io.Discard)); err == nil || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%v, want %q", err, c.text)
		}
	}
}

// announce sends announcements of servers, a beat a quarter of a second.
func announce(ctx context.Context, beats ...[]cluster.Server) <-chan cluster.Server {
	out := make(chan cluster.Server)
	go func() {
		for i, servers := range beats {
			for _, s := range servers {
				s.Beat = uint64(i) + s.Beat
				select {
				case out <- s:
				case <-ctx.Done():
					return
				}
			}
			select {
			case <-time.After(250 * time.Millisecond):
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

// Servers whose announcement does not change are not listed. A server is found by its name, its ID and its addresses.
func TestOnlyLiveServersAreListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		live := cluster.Server{ID: "B", Beat: 5, Name: "10.0.0.2:7777", Addresses: []string{"10.0.0.2:7777", "play.example.net:7777"}}
		dead := cluster.Server{ID: "A", Beat: 9, Name: "10.0.0.1:7777"}
		servers := list(t.Context(), announce(t.Context(), []cluster.Server{live, dead}, []cluster.Server{live}, []cluster.Server{live}))
		if len(servers) != 1 || servers[0].ID != "B" {
			t.Fatalf("%+v", servers)
		}
		for _, name := range []string{"B", "10.0.0.2:7777", "play.example.net:7777"} {
			if s, err := find(servers, name); err != nil || s.ID != "B" {
				t.Errorf("%s: %+v, %v", name, s, err)
			}
		}
		if _, err := find(servers, "A"); err == nil || !strings.Contains(err.Error(), "10.0.0.2:7777") {
			t.Errorf("%v", err)
		}
	})
}

// A cluster may answer only after some seconds.
func TestAServerThatIsObservedLateIsListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := make(chan cluster.Server)
		go func() {
			time.Sleep(firstLimit - time.Second)
			for beat := range uint64(3) {
				late <- cluster.Server{ID: "B", Beat: 5 + beat, Addresses: []string{"10.0.0.2:7777"}}
				time.Sleep(250 * time.Millisecond)
			}
		}()
		if servers := list(t.Context(), late); len(servers) != 1 {
			t.Errorf("%+v", servers)
		}
	})
}

// The verb ends when the rooms have moved. Rooms that stay are a failure.
func TestTheVerbWaitsForTheRooms(t *testing.T) {
	at := func(rooms int, draining bool) []cluster.Server {
		return []cluster.Server{{ID: "A", Beat: 1, Name: "one", Rooms: rooms, Draining: draining}}
	}
	for _, c := range []struct {
		name  string
		rooms int
		beats [][]cluster.Server
		fails bool
	}{
		{"all", 0, [][]cluster.Server{at(3, false), at(3, true), at(1, true), at(0, true)}, false},
		{"some", 2, [][]cluster.Server{at(3, false), at(3, true), at(1, true), at(1, false)}, false},
		{"some, counted for longer", 2, [][]cluster.Server{at(3, false), at(3, true), at(3, false), at(3, false), at(2, false), at(1, false)}, false},
		{"too few", 2, append([][]cluster.Server{at(3, false), at(3, true)}, slices.Repeat([][]cluster.Server{at(2, false)}, closing+1)...), true},
		{"none", 0, [][]cluster.Server{at(3, false), at(3, true)}, true},
		{"another request", 0, [][]cluster.Server{at(3, false), at(3, true), at(2, false)}, true},
		{"end", -1, [][]cluster.Server{at(3, true), at(3, true), at(3, false)}, false},
		{"it ended", 0, [][]cluster.Server{at(3, true), at(1, true), at(0, true), {{ID: "A", Name: "one"}}}, false},
		{"it died", 0, [][]cluster.Server{at(3, true), at(1, true), {{ID: "A", Name: "one"}}}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				v := Verb{Rooms: max(c.rooms, 0), End: c.rooms < 0, For: time.Minute}
				announcements := announce(ctx, c.beats...)
				if c.name == "it ended" || c.name == "it died" {
					announcements = withdrawn(ctx, c.beats)
				}
				err := v.follow(ctx, app.New(t.Context(), crumbs.Game(), io.Discard, io.Discard), c.beats[0][0], announcements)
				if c.fails != errors.Is(err, app.ErrFailed) {
					t.Errorf("%v", err)
				}
			})
		})
	}
}

// A drain without a server for the rooms is reported once.
func TestADrainWithoutATargetIsReported(t *testing.T) {
	for accepts, other := range map[bool]cluster.Server{true: {ID: "B", Beat: 1, MaxRooms: 4, Rooms: 3}, false: {ID: "B", Beat: 1, MaxRooms: 4, Rooms: 4}} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			s := cluster.Server{ID: "A", Beat: 1, Name: "one", Rooms: 3, Draining: true}
			var note strings.Builder
			v := Verb{For: time.Minute}
			_ = v.follow(ctx, app.New(t.Context(), crumbs.Game(), io.Discard, &note), s, announce(ctx, slices.Repeat([][]cluster.Server{{other, s}}, 3*allAnnounced)...))
			if n := strings.Count(note.String(), "no other server accepts a room"); n != map[bool]int{true: 0, false: 1}[accepts] {
				t.Errorf("a server accepts rooms: %v; reported %d times: %s", accepts, n, &note)
			}
		})
	}
}

// The error of a wait that is too short names space only if rooms are left.
func TestAWaitThatIsTooShortNamesItsReason(t *testing.T) {
	for rooms, want := range map[int]string{0: "not confirmed the drain after 1ms", 2: "check the space"} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		v := Verb{For: time.Millisecond}
		err := v.follow(ctx, app.New(t.Context(), crumbs.Game(), io.Discard, io.Discard), cluster.Server{ID: "A", Name: "one", Rooms: rooms}, nil)
		if !errors.Is(err, app.ErrFailed) || !strings.Contains(err.Error(), want) || rooms == 0 && strings.Contains(err.Error(), "space") {
			t.Errorf("%d rooms: %v", rooms, err)
		}
	}
}

// withdrawn sends announcements as they are, so that the last one may have no beat.
func withdrawn(ctx context.Context, beats [][]cluster.Server) <-chan cluster.Server {
	out := make(chan cluster.Server)
	go func() {
		for _, servers := range beats {
			select {
			case out <- servers[0]:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}
