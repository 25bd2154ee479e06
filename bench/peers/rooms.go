package main

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"tendon/bench/internal/measure"
	"tendon/bench/internal/process"
)

// roomRate is the tick rate of the rooms, per second.
const roomRate = 30

const (
	roomTurns  = 3
	roomSettle = 3 * time.Second // until all clients are in and the clocks have found each other
	roomTime   = 4 * time.Second // of one turn's measurement
)

// roomRows compare whole servers.
func roomRows() []measure.Row {
	var rows []measure.Row
	for _, n := range []int{50, 100} {
		rows = append(rows, measure.Row{
			Name:      fmt.Sprintf("rooms-%d", n),
			What:      fmt.Sprintf("server with %d rooms of 2 players at 30 Hz on one core, load from the other", n),
			Reference: "room server on plain kcp-go sessions, which simulates nothing",
			Reach:     0.2, // five times as many rooms
			Missed:    "half of the time is the system's, for one datagram each way per client and tick, which alone is a sixth of the reference; the rest seals, simulates and checks, which the reference does not",
			Run:       func() measure.Result { return rooms(n) },
		})
	}
	return rows
}

// serverCost is what one turn found.
type serverCost struct {
	perRoomSecond float64 // ns of processor time
	goroutines    float64 // per client
	memory        float64 // bytes per client
}

// rooms lets both servers take turns.
func rooms(n int) measure.Result {
	var ratios, subjects, references []float64
	var ours, theirs serverCost
	for range roomTurns {
		var err error
		if theirs, err = serve("kcp", n); err != nil {
			panic(err)
		}
		if ours, err = serve("tendon", n); err != nil {
			panic(err)
		}
		ratios = append(ratios, ours.perRoomSecond/theirs.perRoomSecond)
		subjects, references = append(subjects, ours.perRoomSecond), append(references, theirs.perRoomSecond)
	}
	for _, list := range [][]float64{ratios, subjects, references} {
		slices.Sort(list)
	}
	return measure.Result{
		Ratio: measure.Ratio{Median: ratios[roomTurns/2], Low: ratios[0], High: ratios[roomTurns-1],
			Subject: subjects[roomTurns/2], Reference: references[roomTurns/2]},
		Unit: "room-second",
		Note: fmt.Sprintf("%.1f × the rooms per core; per client %.0f : %.0f KB, %.2f : %.2f goroutines", 1/ratios[roomTurns/2],
			ours.memory/1000, theirs.memory/1000, ours.goroutines, theirs.goroutines),
	}
}

// serve runs a server of this kind with its load and measures it.
func serve(kind string, n int) (c serverCost, err error) {
	server, err := process.Start(kind+" server", 0)
	if err != nil {
		return c, err
	}
	defer server.Stop()
	var address string
	if err := server.Hear(&address); err != nil {
		return c, err
	}
	empty, err := server.Ask(true)
	if err != nil {
		return c, err
	}
	load, err := process.Start(kind+" load", 1, address, strconv.Itoa(n))
	if err != nil {
		return c, err
	}
	defer load.Stop()
	time.Sleep(roomSettle)
	before, err := server.Ask(false)
	if err != nil {
		return c, err
	}
	time.Sleep(roomTime)
	after, err := server.Ask(false)
	if err != nil {
		return c, err
	}
	full, err := server.Ask(true)
	if err != nil {
		return c, err
	}
	clients := float64(after.Served)
	if after.Served != 2*n {
		return c, fmt.Errorf("the %s server serves %d clients, want %d", kind, after.Served, 2*n)
	}
	c.perRoomSecond = float64(after.CPU-before.CPU) / (after.Time - before.Time).Seconds() / float64(n)
	c.goroutines = float64(after.Goroutines-empty.Goroutines) / clients
	c.memory = (float64(full.Memory) - float64(empty.Memory)) / clients
	return c, nil
}
