//go:build unix

package faults

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"tendon/bench/internal/measure"
	"tendon/ecs"
	"tendon/systems"
)

const (
	kills    = 32
	restarts = 8
	downTime = 200 * time.Millisecond // from a kill to the next start
)

// BenchmarkKill measures the time from kill -9 until a client has a newly confirmed tick.
func BenchmarkKill(b *testing.B) {
	each(b, func(b *testing.B, s systems.Strategy) {
		r := result{what: fmt.Sprintf("kill -9, %d times, and a start 0.2 s later: from the kill to play", kills), reach: 1500 * time.Millisecond}
		v := startService(b, s, noAddress)
		all := enterRooms(b, v, "a", "b")
		lost := lossOf{}
		for range kills {
			from := time.Now()
			v.signal(syscall.SIGKILL)
			all.play(downTime, nil)
			<-v.ended
			all.mark()
			v.start(measure.Must(os.Executable()))
			all.play(returnTime, all.returned)
			all.add(&r, from)
			lost.add(v, all, from)
		}
		lost.report(&r)
		r.report(b)
	})
}

// lossOf counts the ticks and matches that servers did not recover.
type lossOf struct {
	ticks          ecs.Tick
	matches, rooms int
	starts         []time.Duration // from the fault until the next server listened
}

// add compares the recovered ticks with those that clients had confirmed before the server started. from is the time of the fault.
func (l *lossOf) add(v *service, all players, from time.Time) {
	recovered := v.recovered()
	v.await("listening")
	v.mu.Lock()
	l.starts = append(l.starts, v.ready.Sub(from))
	v.mu.Unlock()
	bases := map[string]ecs.Tick{}
	for _, p := range all {
		bases[p.room] = max(bases[p.room], p.base)
	}
	for room, base := range bases {
		l.rooms++
		tick, ok := recovered[room]
		if !ok {
			l.matches++
		}
		l.ticks += max(base, tick) - tick
	}
}

func (l *lossOf) report(r *result) {
	r.note = fmt.Sprintf("the server listened after p50 %.2f s, p99 %.2f s; %d confirmed ticks and %d of %d matches lost",
		percentile(l.starts, 50).Seconds(), percentile(l.starts, 99).Seconds(), l.ticks, l.matches, l.rooms)
	if l.ticks > 0 || l.matches > 0 {
		r.fault = "something confirmed was lost"
	}
}

// BenchmarkRestart measures the time from SIGTERM until a client has a newly confirmed tick, with another build after each stop.
func BenchmarkRestart(b *testing.B) {
	each(b, func(b *testing.B, s systems.Strategy) {
		r := result{what: fmt.Sprintf("SIGTERM with --on-stop keep, %d times, and another build at once: from the signal to play", restarts), reach: 2 * time.Second}
		builds := [2]string{measure.Must(os.Executable()), anotherBuild(b)}
		v := startService(b, s, noAddress, "--on-stop", "keep")
		all := enterRooms(b, v, "a", "b")
		lost := lossOf{}
		for i := range restarts {
			from := time.Now()
			v.signal(syscall.SIGTERM)
			all.play(returnTime, v.over)
			all.mark()
			v.start(builds[(i+1)%2])
			all.play(returnTime, all.returned)
			all.add(&r, from)
			lost.add(v, all, from)
		}
		lost.report(&r)
		r.report(b)
	})
}

// over reports whether the process has ended.
func (p *program) over() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// anotherBuild returns a copy of this program that counts as another build.
func anotherBuild(b *testing.B) string {
	program := measure.Must(os.ReadFile(measure.Must(os.Executable())))
	path := filepath.Join(b.TempDir(), "another")
	if err := os.WriteFile(path, append(program, 0), 0o700); err != nil {
		b.Fatal(err)
	}
	return path
}
