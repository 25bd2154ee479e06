//go:build linux

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"tendon/bench/internal/measure"
	"tendon/net/room"
)

// roomRows find out how many lockstep rooms one core serves over real sockets, with the arena's own binary: the server
// on core 0, and bots, which are whole clients, on core 1.
func roomRows() []measure.Row {
	var rows []measure.Row
	for _, players := range []int{2, 4} {
		rows = append(rows, measure.Row{Name: fmt.Sprintf("lockstep-rooms-%d", players),
			What:      fmt.Sprintf("99th percentile of how late frames are, with the most rooms of %d players at 30 Hz that one core was loaded with", players),
			Reference: "a frame", Reach: 0.5, Run: func() measure.Result { return mostRooms(players) }})
	}
	return rows
}

// What mostRooms tries.
const (
	roomsFirst  = 50
	roomsMost   = 1000
	roomHz      = "30"
	roomsSettle = 5 * time.Second // until all bots are in
	roomsTime   = 5 * time.Second
)

// roomsRun is what one number of rooms showed.
type roomsRun struct {
	rooms    int
	late     room.Lateness
	busy     float64 // share of the core that the server used
	botsLate float64 // ms, 99th percentile
	live     int
}

// p99 returns the upper bound of the 99th percentile of lateness, in frames.
func (r *roomsRun) p99() float64 {
	for eighths := 1; eighths < len(r.late); eighths++ {
		if r.late.Share(eighths) <= 0.01 {
			return float64(eighths) / 8
		}
	}
	return 99
}

// mostRooms raises the number of rooms until the server is late, or the bots are.
func mostRooms(players int) measure.Result {
	dir, err := os.MkdirTemp("", "tendon-bench")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, "arena")
	if out, err := exec.Command("go", "build", "-o", binary, "./cmd/arena").CombinedOutput(); err != nil {
		panic(fmt.Sprintf("the arena cannot be built; run this in the repository's root: %v: %s", err, out))
	}
	var best roomsRun
	why := fmt.Sprintf("no more than %d rooms were tried", roomsMost)
	for n := roomsFirst; n <= roomsMost; n += n / 2 {
		r, err := loadRooms(binary, dir, n, players)
		if err != nil {
			panic(err)
		}
		if r.live < n*players || r.botsLate > 1000/30.0/2 {
			why = fmt.Sprintf("with %d rooms the bots' core was the bottleneck", n)
			if best.rooms > 0 {
				break
			}
		} else if r.p99() > 0.5 {
			why = fmt.Sprintf("with %d rooms the server was late", n)
			if best.rooms > 0 {
				break
			}
		}
		best = r
	}
	p99 := best.p99()
	return measure.Result{Unit: "frame", Ratio: measure.Ratio{Median: p99, Low: p99, High: p99},
		Text: fmt.Sprintf("%d rooms, %d clients", best.rooms, best.live),
		Note: fmt.Sprintf("the server's core %.0f %% busy, %.2f ms a room-second; %s", 100*best.busy, 1000*best.busy/float64(best.rooms), why)}
}

// loadRooms runs a server and its bots.
func loadRooms(binary, dir string, rooms, players int) (r roomsRun, err error) {
	key := filepath.Join(dir, "key")
	if err := os.WriteFile(key, []byte(strings.Repeat("0123456789abcdef", 4)), 0o600); err != nil {
		return r, err
	}
	server, err := pinned(0, binary, "serve", "--sync", "lockstep", "--tick-rate", roomHz, "--workers", "1", "--listen", "127.0.0.1:0",
		"--key-file", key, "--max-rooms", "4096", "--json")
	if err != nil {
		return r, err
	}
	defer server.stop()
	var listening struct{ Address string }
	if err := server.hear("listening", &listening); err != nil {
		return r, err
	}
	bots, err := pinned(1, binary, "bots", listening.Address, "--key-file", key, "--rooms", strconv.Itoa(rooms), "--players", strconv.Itoa(players),
		"--tick-rate", roomHz, "--json")
	if err != nil {
		return r, err
	}
	defer bots.stop()
	time.Sleep(roomsSettle)
	before, err := server.lateness()
	if err != nil {
		return r, err
	}
	began, used := time.Now(), server.used()
	time.Sleep(roomsTime)
	if r.late, err = server.lateness(); err != nil {
		return r, err
	}
	for i := range r.late {
		r.late[i] -= before[i]
	}
	var crowd struct {
		Live int
		Late int64 `json:"late_p99_us"`
	}
	err = bots.hear("stats", &crowd)
	r.rooms, r.busy = rooms, (server.used()-used).Seconds()/time.Since(began).Seconds()
	r.live, r.botsLate = crowd.Live, float64(crowd.Late)/1000
	return r, err
}

// program is a running process that prints JSON lines. The last one of each event is kept.
type program struct {
	command *exec.Cmd
	mu      sync.Mutex
	said    map[string]json.RawMessage
}

// pinned starts a program on one core, with one thread for Go code.
func pinned(core int, line ...string) (*program, error) {
	if path, err := exec.LookPath("taskset"); err == nil {
		line = append([]string{path, "-c", strconv.Itoa(core % runtime.NumCPU())}, line...)
	}
	p := &program{command: exec.Command(line[0], line[1:]...), said: map[string]json.RawMessage{}}
	p.command.Env = append(os.Environ(), "GOMAXPROCS=1")
	out, err := p.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	go func() {
		for lines := bufio.NewReader(out); ; {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				return
			}
			var head struct{ Event string }
			if json.Unmarshal(line, &head) == nil {
				p.mu.Lock()
				p.said[head.Event] = line
				p.mu.Unlock()
			}
		}
	}()
	return p, p.command.Start()
}

// hear returns the last line of an event, and waits for the first one.
func (p *program) hear(event string, v any) error {
	for began := time.Now(); time.Since(began) < 10*time.Second; time.Sleep(20 * time.Millisecond) {
		p.mu.Lock()
		line := p.said[event]
		p.mu.Unlock()
		if line != nil {
			return json.Unmarshal(line, v)
		}
	}
	return fmt.Errorf("rooms: the process never said %q", event)
}

// lateness returns how late the frames of all rooms were so far.
func (p *program) lateness() (sum room.Lateness, err error) {
	var told struct {
		Stats struct {
			Table []struct{ Lateness room.Lateness }
		}
	}
	err = p.hear("stats", &told)
	for _, r := range told.Stats.Table {
		for i, n := range r.Lateness {
			sum[i] += n
		}
	}
	return sum, err
}

// used returns the processor time that the process has used: fields 14 and 15 of its stat, in hundredths of a second
// (proc(5)).
func (p *program) used() time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.command.Process.Pid))
	if err != nil {
		panic(err)
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

func (p *program) stop() {
	_ = p.command.Process.Kill()
	_ = p.command.Wait()
}
