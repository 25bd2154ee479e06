//go:build unix

package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tendon/bench/internal/measure"
	"tendon/bench/internal/process"
	"tendon/cmd/arena/rules"
	"tendon/ecs"
	"tendon/net/broadcast"
	"tendon/net/matchsim"
	"tendon/net/matchsim/halves"
	"tendon/net/room"
	"tendon/rollback/record"
	"tendon/systems"
	"tendon/systems/predict"
	"tendon/systems/relay"
)

const (
	castPlayers = 8
	castViewers = 10_000
	castSettle  = 20 * time.Second // in which the viewers join
	castTime    = 30 * time.Second
	castMinutes = 1
)

// castFiles is a broadcast in memory, with its files in the order in which they were written.
type castFiles struct {
	mu    sync.Mutex
	names []string
	files map[string][]byte // by name; those of the index by its place in names
}

func (r *castFiles) Put(name string, data []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if name == broadcast.IndexName {
		name = fmt.Sprint(broadcast.IndexName, len(r.names))
	}
	r.names, r.files[name] = append(r.names, name), slices.Clone(data)
	return nil
}

func (r *castFiles) Remove(string) error { return nil }

// broadcastArena broadcasts a match of the arena with bots on P3 for a time. ticked receives each tick. Optional.
func broadcastArena(t testing.TB, s systems.Strategy, length time.Duration, ticked func(w *broadcast.Writer, f *systems.FinalTick)) *castFiles {
	game := rules.Game()
	game.MaxPlayers = max(game.MaxPlayers, castPlayers)
	r := &castFiles{files: map[string][]byte{}}
	var w *broadcast.Writer
	m := measure.Must(matchsim.New(matchsim.Config{Game: game, Strategy: s, Seed: 1, Unchecked: true, Room: func(c *room.Config) {
		h := record.HeaderOf(c.Game, c.Seed, "bench")
		w = measure.Must(broadcast.NewWriter(broadcast.Config{Game: c.Game, Header: h, Run: "run", Store: r}, nil))
		c.Sinks = append(c.Sinks, room.Sink{NeedState: true, Tick: func(f systems.FinalTick) {
			if ticked != nil {
				ticked(w, &f)
				return
			}
			w.Tick(f.Recorded(), f.State, f.World)
		}})
	}}))
	for range castPlayers {
		m.Join(matchsim.Plan{Profile: halves.Profile(t, "P3")})
	}
	m.Run(length)
	if err := m.Err(); err != nil {
		t.Fatal(err)
	}
	w.Close(true)()
	return r
}

// BenchmarkBroadcast measures a broadcast of the arena and its viewers.
func BenchmarkBroadcast(b *testing.B) {
	for _, c := range []struct {
		name     string
		strategy systems.Strategy
		reach    float64
	}{{"relay", relay.Strategy, 1.7}, {"predict", predict.Strategy, 4.2}} {
		b.Run("bytes/"+c.name, func(b *testing.B) {
			var r *castFiles
			for b.Loop() {
				r = broadcastArena(b, c.strategy, castMinutes*time.Minute, nil)
			}
			ticks, full, largest, n := 0, 0, 0, 0
			for name, data := range r.files {
				switch {
				case strings.HasSuffix(name, ".ticks"):
					ticks += len(data)
				case strings.HasSuffix(name, ".full"):
					full, largest, n = full+len(data), max(largest, len(data)), n+1
				}
			}
			measure.Row{
				What: fmt.Sprintf("broadcast of the arena with %d players, %s on P3: a viewer loads in a minute", castPlayers, c.name), Reference: "100 KB", Reach: c.reach,
				Text: fmt.Sprintf("%.1f KB, of which %.1f KB are checksums; the state to join with has %.1f KB, at most %.1f KB", float64(ticks)/1000/castMinutes,
					float64(8*60*rules.Game().TickRate)/1000, float64(full)/1000/float64(n), float64(largest)/1000),
			}.Report(b, measure.Of(100, float64(ticks)/1000/castMinutes))
		})
	}
	b.Run("tick", func(b *testing.B) {
		var times []float64
		for b.Loop() {
			times = nil
			broadcastArena(b, relay.Strategy, castMinutes*time.Minute, func(w *broadcast.Writer, f *systems.FinalTick) {
				t := f.Recorded() // the checksum is computed for every sink
				from := time.Now()
				w.Tick(t, f.State, f.World)
				times = append(times, float64(time.Since(from)))
			})
		}
		slices.Sort(times)
		budget := float64(time.Second) / float64(rules.Game().TickRate) / 1000
		measure.Row{
			What:      fmt.Sprintf("broadcast of the arena with %d players: what it adds to a tick of the room", castPlayers),
			Reference: "a thousandth of the budget of a tick, at 60 ticks per second", Unit: "tick", Reach: 1,
			Note: fmt.Sprintf("p99 %v, at most %v", time.Duration(quantile(times, 0.99)), time.Duration(times[len(times)-1])),
		}.Report(b, measure.Of(budget, times...))
	})
	b.Run("join", func(b *testing.B) {
		var joins []float64
		var r *castFiles
		for b.Loop() {
			r, joins = broadcastArena(b, relay.Strategy, 30*time.Second, nil), nil
			for range 5 {
				joins = append(joins, float64(join(b, r)))
			}
		}
		measure.Row{
			What: "a viewer joins a broadcast of the arena in mid-match, at 20 Mbit/s and a round trip of 100 ms: time to the first shown tick", Reference: "2 s", Reach: 1,
			Note: "HTTP without TLS, which adds 100 ms",
		}.Report(b, measure.Of(float64(2*time.Second), joins...))
	})
	b.Run("viewers", func(b *testing.B) {
		var u process.Usages
		var v castLoad
		for b.Loop() {
			u = process.Measure(b, "broadcast", "viewers", castSettle, castTime, &v, castViewers)
		}
		seconds := (u.After.Time - u.Before.Time).Seconds()
		measure.Row{
			What: "10 000 viewers of a broadcast of the arena, each with a connection of its own, from one file server: 99th percentile of a request", Reference: "a fragment's 3 s", Reach: 0.1,
			Text: fmt.Sprintf("%v, p50 %v, at most %v; %.0f requests a second, %.0f %% of one core for the server, the viewers on the other; %d of %d viewers joined, %d failed requests, %d gaps",
				v.P99.Round(100*time.Microsecond), v.P50.Round(100*time.Microsecond), v.Most.Round(time.Millisecond), float64(u.After.Served-u.Before.Served)/seconds, 100*u.Share(), v.Joined, castViewers, v.Failed, v.Gaps),
		}.Report(b, measure.Of(float64(3*time.Second), float64(v.P99)))
	})
}

// join returns the time that a viewer needs to join over a slow line. The server has the complete broadcast.
func join(b *testing.B, r *castFiles) time.Duration {
	dir := b.TempDir()
	r.publish(broadcast.Dir(dir+"/main"), len(r.names))
	listener := measure.Must(net.Listen("tcp", "127.0.0.1:0"))
	server := &http.Server{Handler: broadcast.Handler(dir)}
	go server.Serve(listener)
	defer server.Close()
	transport := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		time.Sleep(2 * lineDelay) // of the handshake
		c, err := new(net.Dialer).DialContext(ctx, network, address)
		return newLine(c), err
	}}
	defer transport.CloseIdleConnections()
	from := time.Now()
	clock := func() time.Duration { return time.Since(from) }
	game := rules.Game()
	game.MaxPlayers = max(game.MaxPlayers, castPlayers)
	source := measure.Must(broadcast.NewHTTP("http://"+listener.Addr().String()+"/main", &http.Client{Transport: transport}))
	v := measure.Must(broadcast.NewViewer(game, source, 1, clock()))
	for {
		if _, err := v.Fetch(context.Background(), clock); err != nil {
			b.Fatal(err)
		}
		if view, err := v.Show(clock(), nil); err != nil {
			b.Fatal(err)
		} else if view != nil {
			return clock()
		}
	}
}

// publish writes files up to a place in the order in which they were written.
func (r *castFiles) publish(to broadcast.Dir, n int) {
	for _, name := range r.names[:n] {
		file := name
		if strings.HasPrefix(name, broadcast.IndexName) {
			file = broadcast.IndexName
		}
		if err := to.Put(file, r.files[name]); err != nil {
			panic(err)
		}
	}
}

const (
	lineDelay = 50 * time.Millisecond // one way
	lineRate  = 20e6 / 8              // bytes a second
)

// line adds a delay to a connection and limits its rate. It does not simulate the windows of TCP.
type line struct {
	net.Conn
	incoming, outgoing *direction
}

// direction is one direction of a line.
type direction struct {
	mu   sync.Mutex
	free time.Time // when the line has sent everything
}

func newLine(c net.Conn) net.Conn { return &line{c, new(direction), new(direction)} }

// pass waits until n bytes have passed.
func (d *direction) pass(n int) {
	d.mu.Lock()
	now := time.Now()
	if d.free.Before(now) {
		d.free = now
	}
	d.free = d.free.Add(time.Duration(float64(n) / lineRate * float64(time.Second)))
	until := d.free.Add(lineDelay)
	d.mu.Unlock()
	time.Sleep(time.Until(until))
}

func (l *line) Read(b []byte) (int, error) {
	n, err := l.Conn.Read(b)
	l.incoming.pass(n)
	return n, err
}

func (l *line) Write(b []byte) (int, error) {
	l.outgoing.pass(len(b))
	return l.Conn.Write(b)
}

// castServer serves a broadcast from a directory, and publishes a fragment every three seconds.
func castServer() {
	r := broadcastArena(new(testing.B), relay.Strategy, castSettle+castTime+60*time.Second, nil)
	dir := measure.Must(os.MkdirTemp("", "broadcast-*"))
	defer os.RemoveAll(dir)
	at := 0 // of the next file
	next := func() {
		for from := at; at < len(r.names) && (at == from || !strings.HasPrefix(r.names[at-1], broadcast.IndexName)); {
			at++
		}
	}
	to := broadcast.Dir(filepath.Join(dir, "main"))
	for range 5 {
		next()
	}
	r.publish(to, at)
	go func() {
		for range time.Tick(broadcast.FragmentSeconds * time.Second) {
			from := at
			next()
			(&castFiles{names: r.names[from:at], files: r.files}).publish(to, at-from)
		}
	}()
	listener := measure.Must(net.Listen("tcp", "127.0.0.1:0"))
	var mu sync.Mutex
	served := 0
	files := broadcast.Handler(dir)
	go http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		served++
		mu.Unlock()
		files.ServeHTTP(w, r)
	}))
	process.Serve(listener.Addr().String(), func(u *process.Usage) {
		mu.Lock()
		defer mu.Unlock()
		u.Served = served
	})
}

// castLoad is the report of the viewers.
type castLoad struct {
	P50, P99, Most       time.Duration // of a request
	Joined, Failed, Gaps int
}

// castViewing makes the requests of many viewers until the parent stops this process. The viewers join one after the other.
func castViewing() {
	at, numbers := process.Load()
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	start, rate := time.Now(), rules.Game().TickRate
	var mu sync.Mutex
	var report castLoad
	var times []time.Duration
	var all sync.WaitGroup
	for i := range numbers[0] {
		all.Go(func() {
			transport := &http.Transport{MaxIdleConnsPerHost: 1, DisableCompression: true, ReadBufferSize: 2 << 10, WriteBufferSize: 1 << 10}
			source := measure.Must(broadcast.NewHTTP("http://"+at.String()+"/main", &http.Client{Transport: transport}))
			s := broadcast.NewSchedule(uint64(i), castSettle*3/4*time.Duration(i)/time.Duration(numbers[0]))
			last := ecs.Tick(0)
			for ctx.Err() == nil {
				r := s.Next()
				select {
				case <-ctx.Done():
					return
				case <-time.After(time.Until(start.Add(r.At))):
				}
				from := time.Now()
				data, err := source.Get(ctx, r.Name, r.Max)
				took := time.Since(from)
				if ctx.Err() != nil {
					break
				}
				response := broadcast.Response{Err: err}
				if err == nil && r.Kind == broadcast.KindIndex {
					response.Index, response.Err = broadcast.ParseIndex(data)
				}
				mu.Lock()
				if from.Sub(start) > castSettle {
					times = append(times, took)
				}
				if err != nil && !errors.Is(err, broadcast.ErrNotFound) {
					report.Failed++
				}
				if err == nil && r.Kind == broadcast.KindTicks {
					if !s.Joined() {
						report.Joined++
					} else if r.First != last {
						report.Gaps++
					}
				}
				mu.Unlock()
				if r.Kind == broadcast.KindTicks && err == nil {
					last = r.First + ecs.Tick(broadcast.FragmentSeconds*rate)
					response.Last = last
				}
				s.Done(time.Since(start), response)
			}
		})
	}
	all.Wait()
	slices.Sort(times)
	n := len(times)
	report.P50, report.P99, report.Most = times[n/2], times[n*99/100], times[n-1]
	process.Print(&report)
}
