package peers

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"tendon/bench/internal/measure"
	"tendon/bench/internal/process"
)

// roomRate is the tick rate of the rooms, per second.
const roomRate = 30

const (
	roomTurns  = 3
	roomSettle = 3 * time.Second // until all clients are live and their clocks have settled
	roomTime   = 4 * time.Second // of one turn's measurement
)

func TestMain(m *testing.M) {
	measure.Main(m, "peers", "../README.md", map[string]func(){
		"kcp server": kcpServer, "kcp load": kcpLoad,
		"tendon server": tendonServer, "tendon load": tendonLoad,
	})
}

// BenchmarkRooms compares whole servers, which run alternately.
func BenchmarkRooms(b *testing.B) {
	for _, n := range []int{50, 100} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			var ratios, subjects, references []float64
			var ours, theirs serverCost
			for b.Loop() {
				ratios, subjects, references = nil, nil, nil
				for range roomTurns {
					theirs, ours = serve(b, "kcp", n), serve(b, "tendon", n)
					ratios = append(ratios, ours.perRoomSecond/theirs.perRoomSecond)
					subjects, references = append(subjects, ours.perRoomSecond), append(references, theirs.perRoomSecond)
				}
			}
			r := measure.Of(1, ratios...)
			r.Subject, r.Reference = measure.Of(1, subjects...).Median, measure.Of(1, references...).Median
			measure.Row{
				What:      fmt.Sprintf("server with %d rooms of 2 players at 30 Hz on one core, load from the other", n),
				Reference: "room server on plain kcp-go sessions, which simulates nothing",
				Unit:      "room-second",
				Note: fmt.Sprintf("%.1f × the rooms per core; per client %.0f : %.0f KB, %.2f : %.2f goroutines", 1/r.Median,
					ours.memory/1000, theirs.memory/1000, ours.goroutines, theirs.goroutines),
				Reach: 0.2, // five times as many rooms
				Missed: "the kernel takes a third of the time, for the least number of datagrams, 120 a room-second; the strategy and its world " +
					"take another third, no function more than 3 %; most of the time outside the kernel is waiting for memory, because other rooms " +
					"have displaced that of the room since the last tick",
			}.Report(b, r)
		})
	}
}

// serverCost is what a server costs in one turn.
type serverCost struct {
	perRoomSecond float64 // ns of processor time
	goroutines    float64 // per client
	memory        float64 // bytes per client
}

// serve measures a server of this kind with n rooms.
func serve(b *testing.B, kind string, n int) (c serverCost) {
	u := process.Measure(b, kind+" server", kind+" load", roomSettle, roomTime, nil, n)
	if u.After.Served != 2*n {
		b.Fatalf("the %s server serves %d clients, want %d", kind, u.After.Served, 2*n)
	}
	clients := float64(u.After.Served)
	c.perRoomSecond = u.Share() * float64(time.Second) / float64(n)
	c.goroutines = float64(u.After.Goroutines-u.Empty.Goroutines) / clients
	c.memory = (float64(u.Full.Memory) - float64(u.Empty.Memory)) / clients
	return c
}
