package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"regexp"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"tendon/cmd/cli/page"
	"tendon/ecs"
	"tendon/net/cost"
	"tendon/net/cost/traffic"
	"tendon/net/room"
	"tendon/net/server"
	"tendon/net/session"
	"tendon/rollback/record"
	"tendon/systems"
)

type (
	pad    struct{ Go bool }
	walker struct{ X int32 }
)

var (
	pads    = ecs.NewInput[pad]()
	walkers = ecs.NewComponent[walker]("walker")
	walking = ecs.NewQuery1(ecs.Write(walkers))
)

func walk(w *ecs.World) {
	for e := range walking.All(w) {
		e.A.X++
	}
}

// game is the game of the fake server.
var game = &ecs.Game{Name: "walk", TickRate: 60, MaxPlayers: 4, Systems: ecs.Systems(walk), Input: pads, Components: ecs.Components(walkers),
	Setup: func(w *ecs.World) { w.Spawn(ecs.OwnedByWorld, walkers) }}

// lastSeconds simulates a match of so many ticks and returns its last seconds.
func lastSeconds(ticks int) (*record.Record, error) {
	w, err := ecs.NewWorld(game, 1)
	if err != nil {
		return nil, err
	}
	history := record.NewHistory(game, record.HeaderOf(game, 1, "test"), 120)
	for range ticks {
		inputs := make([]ecs.InputBytes, game.MaxPlayers)
		w.Step(ecs.TickInputs{Players: inputs})
		history.Add(record.Tick{Tick: w.Tick(), Inputs: inputs}, w)
	}
	return history.Record(), nil
}

// fakeServer is a server whose rooms a test opens and closes.
type fakeServer struct {
	mu    sync.Mutex
	stats server.Stats
	open  map[string]cost.Report
	past  cost.Report
	peers map[string][]server.PeerInfo
}

// report returns the costs of a room after so many turns.
func report(turns int) cost.Report {
	n := uint64(turns)
	d := time.Duration(turns)
	return cost.Report{Budget: time.Second / 60, Turns: n, Over: n / 10, Busy: d * time.Millisecond, P50: time.Millisecond, P99: 2 * time.Millisecond, Max: 5 * time.Millisecond,
		Rows: []cost.Row{
			{RowName: cost.RowName{Phase: "send"}, Calls: n, Total: d * 300 * time.Microsecond, Self: d * 300 * time.Microsecond, P50: time.Microsecond, P99: 2 * time.Microsecond, Max: 3 * time.Microsecond},
			{RowName: cost.RowName{Phase: "simulate", System: "walk"}, Calls: n, Total: d * 700 * time.Microsecond, Self: d * 700 * time.Microsecond, P50: 4 * time.Microsecond, P99: 5 * time.Microsecond, Max: 6 * time.Microsecond},
			{RowName: cost.RowName{Phase: "resimulate", System: "walk"}, Calls: n, Total: d, Self: d, P50: 4, P99: 5, Max: 6},
		},
		Bytes:   &traffic.Bytes{Total: 40 * n, Rows: []traffic.Row{{Part: "tick", Bytes: 10 * n}, {Kind: "walker", Part: "walker", Bytes: 30 * n}}},
		Largest: cost.Turn{Tick: 7, Cost: 5 * time.Millisecond, Computed: 1, Parts: []cost.Part{{RowName: cost.RowName{Phase: "simulate", System: "walk"}, Calls: 1, Self: 4 * time.Millisecond}}}}
}

// add opens a room.
func (p *fakeServer) add(name string, players int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := server.RoomStats{Name: name, Stats: room.Stats{Tick: 100, Peers: players, Players: players, Late: 1, RingBytes: 1 << 20}}
	r.Lateness[0], r.Lateness[8] = 99, 1
	p.stats.Table = append(p.stats.Table, r)
	p.stats.Rooms, p.stats.MaxRooms = len(p.stats.Table), 256
	p.stats.PacketsIn += 1000
	p.open[name] = report(100)
	for i := range players {
		p.peers[name] = append(p.peers[name], server.PeerInfo{PeerInfo: room.PeerInfo{Peer: systems.Peer(i), Seat: i, State: "playing", Session: session.Stats{RTT: 50e6}, Identity: room.Identity{Name: fmt.Sprintf("%s %d", name, i)}}})
	}
}

// remove closes the oldest room.
func (p *fakeServer) remove() {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.stats.Table[0]
	p.stats.Table = slices.Clone(p.stats.Table[1:])
	p.stats.Rooms = len(p.stats.Table)
	r.Peers, r.Players, r.RingBytes = 0, 0, 0
	p.stats.Past.Add(&r.Stats)
	add(&p.past, p.open[r.Name])
	delete(p.open, r.Name)
	delete(p.peers, r.Name)
}

func (p *fakeServer) source() Source {
	return Source{
		Stats: func() server.Stats { p.mu.Lock(); defer p.mu.Unlock(); return p.stats },
		Peers: func(name string) ([]server.PeerInfo, error) {
			p.mu.Lock()
			defer p.mu.Unlock()
			if _, ok := p.open[name]; !ok {
				return nil, server.ErrNoRoom
			}
			return slices.Clone(p.peers[name]), nil
		},
		Record: func(_ context.Context, name string) (*record.Record, error) {
			p.mu.Lock()
			defer p.mu.Unlock()
			if _, ok := p.open[name]; !ok {
				return nil, server.ErrNoRoom
			}
			return lastSeconds(300)
		},
		Costs: func() (map[string]cost.Report, cost.Report) {
			p.mu.Lock()
			defer p.mu.Unlock()
			past := p.past
			past.Rows = slices.Clone(past.Rows)
			return maps.Clone(p.open), past
		},
	}
}

func newFakeServer() *fakeServer {
	return &fakeServer{open: map[string]cost.Report{}, peers: map[string][]server.PeerInfo{}}
}

// start serves until the test ends.
func start(t *testing.T, c page.Config) *Server {
	t.Helper()
	s, err := New(Config{Page: c, Game: game, Strategy: "relay", Build: "test"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s
}

// request sends a request. headers are names and values alternately; Host is one of them.
func request(t *testing.T, s *Server, method, path string, headers ...string) (int, string) {
	t.Helper()
	r, err := http.NewRequest(method, strings.TrimSuffix(s.URL(), "/")+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

// series returns the project's series of a scrape with their values, and the names of the counters.
func series(t *testing.T, s *Server) (values map[string]float64, counters map[string]bool) {
	t.Helper()
	status, body := request(t, s, "GET", "/metrics")
	if status != 200 {
		t.Fatalf("/metrics: %d %s", status, body)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(body))
	if err != nil {
		t.Fatalf("/metrics cannot be parsed: %v", err)
	}
	if families["go_goroutines"] == nil || families["go_memstats_heap_alloc_bytes"] == nil {
		t.Error("the runtime is not among the metrics")
	}
	values, counters = map[string]float64{}, map[string]bool{}
	for name, family := range families {
		if !strings.HasPrefix(name, "tendon_") {
			continue
		}
		for _, m := range family.Metric {
			key := name
			for _, l := range m.Label {
				key += fmt.Sprintf(" %s=%q", l.GetName(), l.GetValue())
			}
			if m.Counter != nil {
				values[key], counters[key] = m.Counter.GetValue(), true
			} else {
				values[key] = m.Gauge.GetValue()
			}
		}
	}
	return values, counters
}

// A monitor stores every series for good. Names of rooms and players come from outside, so they must not become series. A
// counter that decreases looks like a restarted server.
func TestMetricsAreTheSameSeriesWhateverRoomsComeAndGo(t *testing.T) {
	s, p := start(t, page.Config{}), newFakeServer()
	p.add("first", 3)
	s.Ready(p.source())
	before, counters := series(t, s)
	want := slices.Sorted(maps.Keys(before))
	if len(want) < 80 {
		t.Fatalf("only %d series: %v", len(want), want)
	}
	for i := range 200 {
		if i < 100 {
			p.add(fmt.Sprintf("chosen-by-a-visitor-%d", i), i%5)
		} else {
			p.remove()
		}
		now, _ := series(t, s)
		if got := slices.Sorted(maps.Keys(now)); !slices.Equal(got, want) {
			t.Fatalf("after %d steps there are %d series, and were %d", i, len(got), len(want))
		}
		for name := range counters {
			if now[name] < before[name] {
				t.Fatalf("after %d steps %s fell from %v to %v", i, name, before[name], now[name])
			}
		}
		before = now
	}
	for _, name := range want {
		if strings.Contains(name, "first") || strings.Contains(name, "visitor") {
			t.Errorf("%s names a room", name)
		}
	}
	if before["tendon_rooms"] != 1 || before[`tendon_ticks_total eighths="0"`] != 101*99 || before["tendon_ticks_late_total"] != 101 || before["tendon_turns_total"] != 101*100 {
		t.Errorf("at the end: %v", before)
	}
	if got := before[`tendon_cost_calls_total phase="simulate" system="walk"`]; got != 101*100 {
		t.Errorf("walk was called %v times", got)
	}
}

// A profile shows what a process does and costs time, so it is for the operator only.
func TestProfilesAnswerOnlyTheRightHostAndToken(t *testing.T) {
	const right = "operators-token-1234"
	s := start(t, page.Config{Token: right})
	good := []string{"Authorization", "Bearer " + right}
	for _, path := range []string{"/debug/pprof/", "/debug/pprof/goroutine?debug=1", "/debug/pprof/cmdline", "/metrics", "/"} {
		if status, body := request(t, s, "GET", path, good...); status != 200 || len(body) < 10 {
			t.Errorf("%s with the token: %d", path, status)
		}
		for what, headers := range map[string][]string{
			"nothing": nil, "another token": {"Authorization", "Bearer operators-token-1235"}, "a shorter one": {"Authorization", "Bearer operators"},
			"a foreign host":   append([]string{"Host", "evil.example"}, good...),
			"a foreign origin": append([]string{"Origin", "https://evil.example"}, good...),
			"another site":     append([]string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"}, good...),
		} {
			if status, body := request(t, s, "GET", path, headers...); status < 400 || strings.Contains(body, "goroutine") {
				t.Errorf("%s with %s: %d", path, what, status)
			}
		}
		if status, _ := request(t, s, "POST", path, good...); status != 405 {
			t.Errorf("POST %s: %d", path, status)
		}
	}
}

// Every profile in the list exists, and the list complies with the policy of all pages.
func TestTheListOfProfilesLeadsToEach(t *testing.T) {
	s := start(t, page.Config{})
	status, list := request(t, s, "GET", "/debug/pprof/")
	if status != 200 || strings.Contains(list, "<style") || strings.Contains(list, "style=") || strings.Contains(list, "onclick") {
		t.Fatalf("%d %s", status, list)
	}
	for _, p := range pprof.Profiles() {
		if link := `href="` + p.Name() + `?debug=1"`; !strings.Contains(list, link) {
			t.Errorf("the list has no %s", link)
		}
	}
	for _, m := range regexp.MustCompile(`href="([a-z]+)(\?debug=\d)?"`).FindAllStringSubmatch(list, -1) {
		if status, body := request(t, s, "GET", "/debug/pprof/"+m[1]+m[2]); status != 200 || body == "" {
			t.Errorf("%s: %d", m[0], status)
		}
	}
}

// register adds a handler to net/http's default mux, which accepts it only once per process.
var register = sync.OnceFunc(func() {
	http.HandleFunc("/only-the-default-mux", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "leaked") })
})

// Handlers that other packages register with net/http are not served.
func TestDefaultMuxIsNotServed(t *testing.T) {
	register()
	s := start(t, page.Config{})
	if status, body := request(t, s, "GET", "/only-the-default-mux"); status != 404 || strings.Contains(body, "leaked") {
		t.Errorf("%d %s", status, body)
	}
}

// A load balancer sends players only while /readyz says ready. /healthz says that the process runs.
func TestReadyIsFromReadyUntilStopping(t *testing.T) {
	s := start(t, page.Config{Token: "operators-token-1234"})
	check := func(when string, want int, says string) {
		t.Helper()
		if status, body := request(t, s, "GET", "/readyz"); status != want || strings.TrimSpace(body) != says {
			t.Errorf("/readyz %s: %d %s", when, status, body)
		}
		if status, _ := request(t, s, "GET", "/healthz"); status != 200 {
			t.Errorf("/healthz %s: %d", when, status)
		}
		if status, _ := request(t, s, "GET", "/readyz", "Host", "evil.example"); status != 421 {
			t.Errorf("/readyz under another name %s: %d", when, status)
		}
		value := map[bool]string{true: "tendon_ready 1", false: "tendon_ready 0"}[want == 200]
		if status, body := request(t, s, "GET", "/metrics", "Authorization", "Bearer operators-token-1234"); status != 200 || !strings.Contains(body, value) {
			t.Errorf("/metrics %s: %d, and %s is not in it", when, status, value)
		}
	}
	check("before", 503, "starting")
	s.Ready(newFakeServer().source())
	check("while it serves", 200, "ready")
	s.Stopping()
	check("while it stops", 503, "stopping")
}

// A request for the last seconds of a room that does not answer ends when the page is closed, and after 5 s.
func TestLastSecondsOfARoomThatDoesNotAnswer(t *testing.T) {
	s, from := start(t, page.Config{}), newFakeServer().source()
	ctx, closePage := context.WithCancel(t.Context())
	var limit time.Duration
	from.Record = func(ctx context.Context, _ string) (*record.Record, error) {
		end, _ := ctx.Deadline()
		limit = time.Until(end)
		closePage()
		<-ctx.Done()
		return nil, ctx.Err()
	}
	s.Ready(from)
	if _, err := s.last(ctx, "main"); !errors.Is(err, context.Canceled) || limit > 5*time.Second || limit < time.Second {
		t.Errorf("with a limit of %v: %v", limit, err)
	}
}

// Sums are of two open rooms and a closed one; quantiles are of the worst open one.
func TestCostsOfRoomsAreAdded(t *testing.T) {
	a, b := report(100), report(50)
	b.Rows[0].P99, b.P99 = time.Second, time.Second
	b.Rows = b.Rows[:2]
	b.Rows = append(b.Rows, cost.Row{RowName: cost.RowName{Phase: "save"}, Calls: 3})
	past := report(1000)
	past.P99 = time.Hour
	all := together(map[string]cost.Report{"a": a, "b": b}, past)
	send, again, save := all.Row("send", ""), all.Row("resimulate", "walk"), all.Row("save", "")
	if all.Turns != 1150 || all.P99 != time.Second || send.Calls != 1150 || send.P99 != time.Second || again.Calls != 1100 || save == nil || save.Calls != 3 {
		t.Errorf("%+v", all)
	}
	if b := all.Bytes; b.Total != 1150*40 || len(b.Rows) != 2 || b.Rows[1].Bytes != 1150*30 {
		t.Errorf("%+v", b)
	}
	if past.Rows[0].Calls != 1000 || a.Rows[0].Calls != 100 || past.Bytes.Rows[1].Bytes != 30_000 || a.Bytes.Total != 4000 {
		t.Error("adding changed what was added")
	}
	if alone := together(nil, past); alone.P99 != time.Hour {
		t.Errorf("with no room open: %+v", alone)
	}
	// Shares are of the 50 turns since the last report. Half of their time is spent in walk.
	now := report(150)
	now.Rows[1].Self += 25 * now.Budget
	l := since(&now, &a)
	if share := l.Rows[1].Share; share < 0.5 || share > 0.55 || l.Rows[1].Calls != l.Turns || l.Turns != 50 || l.All != 150 {
		t.Errorf("walk had %v of the budget in %v calls per turn", share, l.Rows[1].Calls)
	}
	if l.Bytes.Total != 50*40 || l.Bytes.Rows[0] != (traffic.Row{Kind: "walker", Part: "walker", Bytes: 50 * 30}) {
		t.Errorf("%+v", l.Bytes)
	}
	if l := since(&a, &a); l.Rows[1].Calls != l.Turns || l.Turns != 100 || l.Used() <= 0 {
		t.Errorf("without further turns, all turns count: %+v", l)
	}
}

// The figures of a page are of the time since its last update. A new player in a seat starts at zero.
func TestUpdatesShowTheTimeSinceTheLast(t *testing.T) {
	s, p := start(t, page.Config{}), newFakeServer()
	p.add("main", 2)
	s.Ready(p.source())
	w := &viewer{server: s}
	at := time.Unix(1000, 0)
	first := w.update(at)
	if first.Room == nil || len(first.Room.Players) != 2 || first.Room.Players[0].Loss != -1 || first.In != 0 || first.Total.Players != 2 {
		t.Fatalf("%+v", first)
	}
	p.stats.BytesIn += 50_000
	p.peers["main"][0].Accepted, p.peers["main"][0].Newest = 90, 100
	p.peers["main"][0].Link.BytesSent = 10_000
	p.peers["main"][1].Identity.Name = "somebody else"
	p.peers["main"][1].Newest = 100
	second := w.update(at.Add(2 * time.Second))
	row := second.Room.Players[0]
	if second.In != 200 || row.Loss < 0.0999 || row.Loss > 0.1001 || row.Out != 40 || row.RTT != 50 {
		t.Errorf("%+v, %+v", second, row)
	}
	if other := second.Room.Players[1]; other.Loss != -1 || other.In != 0 {
		t.Errorf("a new player has the figures of the previous one: %+v", other)
	}
	w.room = "gone"
	if g := w.update(at.Add(3 * time.Second)); g.Room != nil {
		t.Errorf("a closed room: %+v", g.Room)
	}
	for i := range rowLimit {
		p.add(fmt.Sprint(i), 0)
	}
	if g := w.update(at.Add(4 * time.Second)); len(g.Stats.Table) != rowLimit || g.Stats.Rooms != rowLimit+1 {
		t.Errorf("%d rows of %d", len(g.Stats.Table), g.Stats.Rooms)
	}
}

// A page of another site cannot start a profiler by a link or an image.
func TestAnotherSiteStartsNoProfiler(t *testing.T) {
	s := start(t, page.Config{})
	for _, name := range []string{"profile?seconds=1", "trace?seconds=1"} {
		for _, site := range []string{"cross-site", "same-site"} {
			if status, _ := request(t, s, "GET", "/debug/pprof/"+name, "Sec-Fetch-Site", site); status != http.StatusForbidden {
				t.Errorf("%s from %s: %d", name, site, status)
			}
		}
	}
	if status, body := request(t, s, "GET", "/debug/pprof/trace?seconds=0.01", "Sec-Fetch-Site", "same-origin"); status != http.StatusOK {
		t.Errorf("from the page itself: %d %s", status, body)
	}
}

// A response must be written within 10 s, but a profile takes as long as it was requested to.
func TestProfileMayTakeLongerThanAResponse(t *testing.T) {
	if os.Getenv("TENDON_LONG") == "" {
		t.Skip("takes 11 s")
	}
	t.Parallel()
	s := start(t, page.Config{})
	status, body := request(t, s, "GET", "/debug/pprof/profile?seconds=11")
	if status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	taken, err := profile.ParseData([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	if taken.DurationNanos < int64(10900*time.Millisecond) { // it can only be more on a slow machine
		t.Errorf("the profile of 11 s is one of %v", time.Duration(taken.DurationNanos))
	}
}
