package agones_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tendon/net/agones"
	"tendon/net/agones/sdktest"
)

// server is a game server whose load a test sets.
type server struct {
	t      *testing.T
	sdk    *sdktest.Server
	r      *agones.Reporter
	drains chan string
	errors chan error

	mu    sync.Mutex
	load  agones.Load
	bad   error
	asked int // calls of Config.Load
}

// run starts a reporter with a short interval. It ends with the test.
func run(t *testing.T, sdk *sdktest.Server, address string, hold time.Duration) *server {
	c, err := agones.NewClient(address)
	if err != nil {
		t.Fatal(err)
	}
	s := &server{t: t, sdk: sdk, drains: make(chan string, 10), errors: make(chan error, 1000)}
	s.r = agones.NewReporter(agones.Config{Client: c, Labels: map[string]string{"build": "1a2b3c go1.26 linux/amd64", "protocol": "00ff"},
		Interval: 2 * time.Millisecond, Hold: hold, Drain: func(reason string) { s.drains <- reason }, Report: func(err error) { s.errors <- err },
		Load: func(context.Context) (agones.Load, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.asked++
			return s.load, s.bad
		}})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { s.r.Run(ctx); close(ended) }()
	t.Cleanup(func() { cancel(); <-ended; c.Close() })
	return s
}

func (s *server) set(l agones.Load, bad error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.load, s.bad = l, bad
}

// calls returns how often the load was read.
func (s *server) calls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// until waits for a state of the SDK server, at most a minute.
func (s *server) until(what string, ok func(sdktest.Snapshot) bool) sdktest.Snapshot {
	s.t.Helper()
	limit := time.After(time.Minute)
	for {
		if now := s.sdk.Snapshot(); ok(now) {
			return now
		}
		select {
		case <-limit:
			s.t.Fatalf("%s: %+v", what, s.sdk.Snapshot())
		case <-time.After(time.Millisecond):
		}
	}
}

// beats waits for further reports.
func (s *server) beats(n int) sdktest.Snapshot {
	before := s.sdk.Snapshot().Health
	return s.until("no health", func(now sdktest.Snapshot) bool { return now.Health >= before+n })
}

func rooms(names ...string) agones.Load { return agones.Load{Rooms: names} }

func TestAServerIsReadyWithItsLabels(t *testing.T) {
	sdk := sdktest.Start(t, 4, 8)
	s := run(t, sdk, sdk.Address(), time.Hour)
	now := s.beats(2)
	want := []string{"PUT /metadata/label", "PUT /metadata/label", "POST /ready"}
	if !slices.Equal(now.Calls, want) || now.Labels["agones.dev/sdk-build"] != "1a2b3c-go1.26-linux-amd64" || now.Labels["agones.dev/sdk-protocol"] != "00ff" {
		t.Errorf("%+v", now)
	}
}

// Agones must not scale down a server on which a match runs.
func TestAServerIsAllocatedOnlyWhileARoomIsOpen(t *testing.T) {
	sdk := sdktest.Start(t, 4, 8)
	s := run(t, sdk, sdk.Address(), time.Nanosecond)
	if now := s.beats(3); now.State != "Ready" {
		t.Errorf("without a room: %s", now.State)
	}
	s.set(rooms("a"), nil)
	s.until("allocated", func(now sdktest.Snapshot) bool { return now.State == "Allocated" && now.Rooms == 1 })
	s.set(rooms(), nil)
	s.until("ready again", func(now sdktest.Snapshot) bool { return now.State == "Ready" && now.Rooms == 0 })
}

func TestTheCounterFollowsTheRooms(t *testing.T) {
	sdk := sdktest.Start(t, 4, 8)
	s := run(t, sdk, sdk.Address(), time.Hour)
	for _, open := range [][]string{{"a"}, {"a", "b", "c"}, {"c"}, {"d", "e"}, {}} {
		s.set(rooms(open...), nil)
		s.until("rooms", func(now sdktest.Snapshot) bool { return now.Rooms == int64(len(open)) })
	}
}

// An allocation has counted the room before it opens. It must not be counted twice.
func TestARoomOfAnAllocationIsCountedOnce(t *testing.T) {
	sdk := sdktest.Start(t, 4, 8)
	s := run(t, sdk, sdk.Address(), time.Hour)
	s.beats(2)
	if !sdk.Allocate() || !sdk.Allocate() {
		t.Fatal("no place")
	}
	if now := s.beats(3); now.Rooms != 2 {
		t.Errorf("reserved: %+v", now)
	}
	s.set(rooms("a", "b"), nil)
	if now := s.beats(3); now.Rooms != 2 {
		t.Errorf("open: %+v", now)
	}
	s.set(rooms("a", "b", "c"), nil)
	s.until("a room without an allocation", func(now sdktest.Snapshot) bool { return now.Rooms == 3 })
	s.set(rooms("c"), nil)
	s.until("a session that ends frees its count", func(now sdktest.Snapshot) bool { return now.Rooms == 1 })
}

func TestAReservationThatNoRoomUsesIsReleased(t *testing.T) {
	sdk := sdktest.Start(t, 4, 8)
	s := run(t, sdk, sdk.Address(), time.Millisecond)
	s.beats(2)
	if !sdk.Allocate() {
		t.Fatal("no place")
	}
	s.until("released", func(now sdktest.Snapshot) bool { return now.Rooms == 0 })
}

func TestTheListHasThePlayers(t *testing.T) {
	sdk := sdktest.Start(t, 4, 3)
	s := run(t, sdk, sdk.Address(), time.Hour)
	for _, players := range [][]string{{"1", "2"}, {"2", "3"}, {}} {
		s.set(agones.Load{Players: players}, nil)
		s.until("players", func(now sdktest.Snapshot) bool { return slices.Equal(now.Players, players) })
	}
	s.set(agones.Load{Players: []string{"1", "2", "3", "4", "5"}}, nil) // more than the capacity
	s.until("a full list", func(now sdktest.Snapshot) bool { return len(now.Players) == 3 })
	calls := len(s.beats(2).Calls)
	if now := s.beats(5); len(now.Calls) != calls {
		t.Errorf("requests for a full list: %q", now.Calls[calls:])
	}
}

// A process that hangs must be replaced.
func TestAServerWhoseRoomsDoNotAnswerMissesItsHealth(t *testing.T) {
	sdk := sdktest.Start(t, 4, 8)
	s := run(t, sdk, sdk.Address(), time.Hour)
	s.beats(2)
	bad := errors.New("room a does not answer")
	s.set(rooms("a"), bad)
	if err := <-s.errors; !errors.Is(err, bad) {
		t.Fatalf("reported: %v", err)
	}
	before, asked := sdk.Snapshot().Health, s.calls()
	s.until("the load is read", func(sdktest.Snapshot) bool { return s.calls() > asked+2 })
	if after := sdk.Snapshot().Health; after != before {
		t.Errorf("%d health requests of a server that does not answer", after-before)
	}
	s.set(rooms("a"), nil)
	if err := <-s.errors; err != nil {
		t.Errorf("reported: %v", err)
	}
	s.beats(2)
}

func TestAServerThatAgonesRemovesIsDrainedOnce(t *testing.T) {
	for name, remove := range map[string]func(*sdktest.Server){
		"Shutdown":  func(s *sdktest.Server) { s.SetState("Shutdown") },
		"Unhealthy": func(s *sdktest.Server) { s.SetState("Unhealthy") },
		"deleted":   (*sdktest.Server).Delete,
	} {
		sdk := sdktest.Start(t, 4, 8)
		s := run(t, sdk, sdk.Address(), time.Hour)
		s.beats(2)
		select {
		case reason := <-s.drains:
			t.Errorf("drained before: %s", reason)
		default:
		}
		sdk.CutWatches() // the next stream begins with the present state
		remove(sdk)
		if reason := <-s.drains; !strings.Contains(reason, name) {
			t.Errorf("%s: reason %q", name, reason)
		}
		sdk.SetState("Shutdown")
		s.beats(3)
		if len(s.drains) > 0 {
			t.Errorf("%s: drained again: %s", name, <-s.drains)
		}
	}
}

// Players must not be sent to a server that refuses them.
func TestNoAllocationChoosesAServerThatDrains(t *testing.T) {
	sdk := sdktest.Start(t, 4, 8)
	s := run(t, sdk, sdk.Address(), time.Hour)
	s.set(rooms("a", "b"), nil)
	s.until("open", func(now sdktest.Snapshot) bool { return now.Rooms == 2 })
	s.r.Drain(true)
	s.until("no place", func(now sdktest.Snapshot) bool { return now.Rooms == 2 && now.Capacity == 2 })
	if sdk.Allocate() {
		t.Error("allocated")
	}
	s.set(rooms("b"), nil)
	s.until("no place", func(now sdktest.Snapshot) bool { return now.Rooms == 1 && now.Capacity == 1 })
	s.r.Drain(false)
	s.until("all places", func(now sdktest.Snapshot) bool { return now.Rooms == 1 && now.Capacity == 4 })
	if !sdk.Allocate() {
		t.Error("not allocated")
	}
}

func TestFaultsOfTheSDKServerEnd(t *testing.T) {
	for name, fault := range map[string]func(http.ResponseWriter, *http.Request) bool{
		"500": func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(500); return true },
		"no JSON": func(w http.ResponseWriter, r *http.Request) bool {
			_, _ = w.Write([]byte("<html>"))
			return r.Method == "GET" // the others ignore the answer
		},
		"endless": func(w http.ResponseWriter, r *http.Request) bool {
			for b := make([]byte, 1<<16); r.Method == "GET"; {
				if _, err := w.Write(b); err != nil {
					return true
				}
			}
			return false
		},
		"values": func(w http.ResponseWriter, r *http.Request) bool {
			if strings.Contains(r.URL.Path, ":") {
				w.WriteHeader(500)
			}
			return strings.Contains(r.URL.Path, ":")
		},
		"cut": func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			sdk := sdktest.Start(t, 4, 8)
			sdk.Fault(fault)
			s := run(t, sdk, sdk.Address(), time.Hour)
			s.set(agones.Load{Rooms: []string{"a"}, Players: []string{"7"}}, nil)
			if err := <-s.errors; err == nil {
				t.Error("the fault is not reported")
			}
			sdk.Fault(nil)
			s.until("all is reported", func(now sdktest.Snapshot) bool {
				return now.State == "Allocated" && now.Rooms == 1 && slices.Equal(now.Players, []string{"7"})
			})
			sdk.Fault(fault)
			if err := <-s.errors; err != nil {
				t.Errorf("reported: %v", err)
			}
			s.set(agones.Load{}, nil)
			if err := <-s.errors; err == nil {
				t.Error("the second fault is not reported")
			}
			sdk.Fault(nil)
			s.until("all is freed", func(now sdktest.Snapshot) bool { return now.Rooms == 0 && len(now.Players) == 0 })
		})
	}
}

// A request for another state that was refused is repeated in the next report.
func TestARefusedRequestIsRepeatedAtOnce(t *testing.T) {
	sdk := sdktest.Start(t, 4, 8)
	s := run(t, sdk, sdk.Address(), time.Hour)
	s.until("ready", func(now sdktest.Snapshot) bool { return now.State == "Ready" && now.Health > 2 })
	var requests, reports atomic.Int64 // reports between the first two requests
	sdk.Fault(func(w http.ResponseWriter, r *http.Request) bool {
		switch {
		case r.URL.Path == "/health" && requests.Load() == 1:
			reports.Add(1)
		case r.URL.Path == "/allocate" && requests.Add(1) == 1:
			w.WriteHeader(http.StatusInternalServerError)
			return true
		}
		return false
	})
	s.set(rooms("a"), nil)
	s.until("allocated", func(now sdktest.Snapshot) bool { return now.State == "Allocated" })
	if n := reports.Load(); n != 1 {
		t.Errorf("repeated in report %d", n)
	}
}

// The sidecar may start after the server.
func TestTheSDKServerMayStartLater(t *testing.T) {
	away := httptest.NewServer(http.NotFoundHandler())
	address := away.Listener.Addr().String()
	away.Close() // nothing listens there
	s := run(t, nil, address, time.Hour)
	if err := <-s.errors; err == nil {
		t.Error("reported nothing")
	}
	sdk := sdktest.StartAt(t, address, 4, 8)
	if sdk == nil {
		t.Skip("another process has the port")
	}
	s.sdk = sdk
	s.until("ready", func(now sdktest.Snapshot) bool { return now.State == "Ready" && now.Health > 2 })
}

// A slow answer delays reports, and ends no match.
func TestASlowSDKServerIsWaitedFor(t *testing.T) {
	sdk := sdktest.Start(t, 4, 8)
	sdk.Fault(func(http.ResponseWriter, *http.Request) bool { time.Sleep(20 * time.Millisecond); return false })
	s := run(t, sdk, sdk.Address(), time.Hour)
	s.set(rooms("a"), nil)
	s.until("counted", func(now sdktest.Snapshot) bool { return now.Rooms == 1 && now.State == "Allocated" })
	if len(s.errors) > 0 {
		t.Errorf("reported: %v", <-s.errors)
	}
}
