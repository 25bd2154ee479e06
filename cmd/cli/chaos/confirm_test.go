//go:build linux

package chaos

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"tendon/net/cluster"
	"tendon/net/cluster/jetstream"
)

// BenchmarkConfirm measures how long a tick waits for its entry in a cluster of three NATS servers that sync each entry, before the tick is
// confirmed. 40 rooms append an entry per tick. The NATS servers store their files in memory.
func BenchmarkConfirm(b *testing.B) {
	const rooms, entry, length, tick = 40, 90, 10 * time.Second, time.Second / 60
	nodes, _ := startNATS(b, 3, 2<<10)
	c, err := nats.Connect(fmt.Sprintf("nats://127.0.0.1:%d", nodes[0].config.Port), nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1))
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(b.Context(), 5*time.Minute)
	defer cancel()
	store, err := jetstream.Open(ctx, jetstream.Config{Connection: c, Replicas: len(nodes)})
	if err != nil {
		b.Fatal(err)
	}
	node, err := cluster.New(cluster.Config{Store: store})
	if err != nil {
		b.Fatal(err)
	}
	var times []time.Duration
	var mu sync.Mutex
	for b.Loop() {
		var all sync.WaitGroup
		for i := range rooms {
			all.Go(func() {
				room, err := node.Claim(ctx, roomName(i))
				if err != nil {
					b.Error(err)
					return
				}
				time.Sleep(tick * time.Duration(i) / rooms)
				ticker := time.NewTicker(tick)
				defer ticker.Stop()
				for began := time.Now(); time.Since(began) < length; <-ticker.C {
					at := time.Now()
					if err := room.Append(ctx, make([]byte, entry), false); err != nil {
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
	}
	if b.Failed() {
		b.FailNow()
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "ms-median")
	b.ReportMetric(float64(times[len(times)*99/100].Microseconds())/1000, "ms-p99")
	b.ReportMetric(float64(len(times))/b.Elapsed().Seconds(), "entries/s")
}
