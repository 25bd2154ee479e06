//go:build unix

package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"tendon/bench/internal/measure"
	"tendon/bench/internal/process"
	"tendon/cmd/arena/rules"
	"tendon/cmd/cli/journals"
	"tendon/net/client"
	"tendon/net/cluster"
	"tendon/net/cluster/jetstream"
	"tendon/net/cluster/jetstream/embedded"
	"tendon/net/room"
	"tendon/net/server"
	"tendon/systems"
	"tendon/systems/relay"
)

const (
	clusterRooms   = 20
	clusterPlayers = 4
	clusterSettle  = 8 * time.Second
	clusterTime    = 10 * time.Second
	clusterSync    = journals.Sync(100 * time.Millisecond)
	clusterLogs    = 40
	clusterEntry   = 90 // bytes of a tick of 4 players in a log
)

// clusterModes are the settings of --fsync that are measured.
var clusterModes = []struct {
	name string
	sync journals.Sync
}{{"always", journals.Always}, {"interval", clusterSync}}

// BenchmarkClusterRoom compares a server whose journals are in an embedded cluster with one whose journals are files.
func BenchmarkClusterRoom(b *testing.B) {
	for _, mode := range clusterModes {
		b.Run(mode.name, func(b *testing.B) {
			var files, logs process.Usages
			for b.Loop() {
				files = process.Measure(b, "files "+mode.name, "cluster load", clusterSettle, clusterTime, nil)
				logs = process.Measure(b, "embedded "+mode.name, "cluster load", clusterSettle, clusterTime, nil)
			}
			memory := func(u *process.Usages) float64 { return float64(u.Full.Memory) / (1 << 20) }
			perRoom := func(u *process.Usages) float64 { return 1000 * u.Share() / clusterRooms }
			measure.Row{What: fmt.Sprintf("server of %d rooms of %d players of the arena, journals in an embedded cluster: processor time", clusterRooms, clusterPlayers),
				Reference: "journals in files", Reach: 1.2,
				Text: fmt.Sprintf("%.2f ms : %.2f ms per room-second", perRoom(&logs), perRoom(&files)),
				Note: fmt.Sprintf("memory %.1f MB : %.1f MB, %.1f MB : %.1f MB without rooms; %d of %d clients", memory(&logs), memory(&files),
					float64(logs.Empty.Memory)/(1<<20), float64(files.Empty.Memory)/(1<<20), logs.After.Served, clusterRooms*clusterPlayers),
			}.Report(b, measure.Of(perRoom(&files), perRoom(&logs)))
		})
	}
}

// BenchmarkClusterConfirm measures how long a tick waits for its entry in an embedded cluster before it is confirmed.
func BenchmarkClusterConfirm(b *testing.B) {
	for _, mode := range clusterModes {
		b.Run(mode.name, func(b *testing.B) {
			every, adds := time.Second/60, "the confirmation of a tick waits for it"
			if mode.sync != journals.Always {
				every, adds = time.Duration(mode.sync), "a confirmation does not wait for it"
			}
			var times []time.Duration
			for b.Loop() {
				times = appendTimes(b, mode.sync == journals.Always, every)
			}
			p50, p99 := times[len(times)/2], times[len(times)*99/100]
			measure.Row{What: fmt.Sprintf("append to the log of a room in an embedded cluster, %d rooms with an entry each %v: 99th percentile", clusterLogs, every.Round(100*time.Microsecond)),
				Reference: "a tick, at 60 ticks per second", Reach: 1,
				Text: fmt.Sprintf("p50 %v, p99 %v; %s", p50.Round(10*time.Microsecond), p99.Round(10*time.Microsecond), adds),
				Note: fmt.Sprintf("%d messages a second", len(times)/int(clusterTime/time.Second)),
			}.Report(b, measure.Of(float64(time.Second/60), float64(p99)))
		})
	}
}

// appendTimes appends entries to logs for clusterTime, and returns how long each append took, in order.
func appendTimes(b *testing.B, always bool, every time.Duration) (times []time.Duration) {
	node, end := startCluster(always)
	defer end()
	var mu sync.Mutex
	var all sync.WaitGroup
	ctx, cancel := context.WithTimeout(b.Context(), clusterSettle+clusterTime+time.Minute)
	defer cancel()
	for i := range clusterLogs {
		all.Go(func() {
			log := measure.Must(node.Claim(ctx, fmt.Sprint("log", i)))
			time.Sleep(every * time.Duration(i) / clusterLogs)
			ticker := time.NewTicker(every)
			defer ticker.Stop()
			entry := make([]byte, clusterEntry*int(every*60/time.Second))
			for began := time.Now(); time.Since(began) < clusterTime; <-ticker.C {
				at := time.Now()
				if err := log.Append(ctx, entry, false); err != nil {
					b.Error(err)
					return
				}
				mu.Lock()
				times = append(times, time.Since(at))
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if len(times) == 0 {
		b.Fatal("no entry was appended")
	}
	slices.Sort(times)
	return times
}

// startCluster returns a server of an embedded cluster in a temporary directory. end stops both.
func startCluster(always bool) (node *cluster.Node, end func()) {
	dir := measure.Must(os.MkdirTemp("", "cluster-*"))
	nats := measure.Must(embedded.Start(dir, always))
	ctx, cancel := context.WithCancel(context.Background())
	store := measure.Must(jetstream.Open(ctx, jetstream.Config{Connection: nats.Connection}))
	node = measure.Must(cluster.New(cluster.Config{Store: store, Server: cluster.Server{Name: "bench"}}))
	var all sync.WaitGroup
	all.Go(func() { node.Run(ctx) })
	return node, func() {
		cancel()
		all.Wait()
		if err := errors.Join(nats.Close(), os.RemoveAll(dir)); err != nil {
			panic(err)
		}
	}
}

// journalServer returns the role of a server with journals, in files or in an embedded cluster.
func journalServer(clustered bool, sync journals.Sync) func() {
	return func() {
		c := journals.Config{Game: rules.Game(), Build: "bench", Strategy: relay.Strategy.Name, Sync: sync}
		if clustered {
			node, end := startCluster(sync == journals.Always)
			defer end()
			c.Cluster = node
		} else {
			c.Dir = measure.Must(os.MkdirTemp("", "journals-*"))
			defer os.RemoveAll(c.Dir)
		}
		s := measure.Must(journals.Open(c))
		process.ServeRooms(room.Config{Game: rules.Game(), Strategy: relay.Strategy}, func(c *server.Config) {
			c.OpenRoom = s.Open
			c.CloseRoom = func(name string, _ *room.Room) { s.End(name, nil) }
		})
		if err := s.Close(); err != nil {
			panic(err)
		}
	}
}

func clusterLoad() {
	at, _ := process.Load()
	process.PlayRooms(at, clusterRooms, clusterPlayers, client.Config{Game: rules.Game(), Strategies: []systems.Strategy{relay.Strategy}}, nil)
}
