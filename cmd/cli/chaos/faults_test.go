//go:build linux

package chaos

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// kind is a kind of fault.
type kind string

// The kinds.
const (
	kill         kind = "kill -9 of a server"
	killNATS     kind = "kill -9 of a NATS server"
	killLeader   kind = "kill -9 of the leader of the rooms"
	killTwo      kind = "kill -9 of two NATS servers of three"
	pause        kind = "SIGSTOP of a server"
	cut          kind = "partition of a server and all NATS servers"
	cutOneWay    kind = "one-way partition of a server and all NATS servers"
	cutLink      kind = "partition of a server and its NATS server"
	cutRoute     kind = "partition of two NATS servers"
	cutRouteOnce kind = "one-way partition of two NATS servers"
	fullDisk     kind = "full disk of a NATS server"
	slowDisk     kind = "slow disk of a NATS server"
	stepServer   kind = "steps of the clock of a server"
	stepNATS     kind = "steps of the clock of a NATS server"
	restart      kind = "SIGTERM and restart of a server"
	rolling      kind = "rolling restart of all servers"
	drain        kind = "drain of a server"
)

// fault is a fault of a schedule.
type fault struct {
	kind   kind
	target int           // index of a server or of a NATS server
	other  int           // further random number, for a second target or a direction; of a clock: the index of its step
	length time.Duration // of faults that have one
}

// counts is the number of faults of each kind in 20 minutes, in the order in which a short run plays them.
var counts = []struct {
	kind
	number            int
	shortest, longest time.Duration
}{
	{kill, 50, 0, 0},
	{restart, 3, 0, 0},
	{killLeader, 3, time.Second, 5 * time.Second},
	{pause, 8, time.Second, 20 * time.Second},
	{cut, 3, time.Second, 8 * time.Second},
	{cutOneWay, 3, time.Second, 8 * time.Second},
	{cutLink, 2, time.Second, 8 * time.Second},
	{cutRoute, 2, time.Second, 8 * time.Second},
	{cutRouteOnce, 2, time.Second, 8 * time.Second},
	{slowDisk, 2, 3 * time.Second, 8 * time.Second},
	{fullDisk, 2, 3 * time.Second, 8 * time.Second},
	{stepServer, len(steps), time.Second, 3 * time.Second},
	{stepNATS, len(steps), time.Second, 3 * time.Second},
	{killTwo, 2, 2 * time.Second, 8 * time.Second},
	{killNATS, 3, time.Second, 5 * time.Second},
	{rolling, 2, 0, 0},
	{drain, 3, 0, 0},
}

// schedule returns the faults of a run. A short run has one of each kind and short lengths.
func schedule(seed uint64, short bool) (list []fault) {
	random := rand.New(rand.NewPCG(seed, 1))
	for _, c := range counts {
		number, longest := c.number, c.longest
		if short {
			number, longest = 1, min(c.longest, c.shortest+time.Second)
		}
		for i := range number {
			f := fault{kind: c.kind, target: random.IntN(3), other: random.IntN(1 << 10)}
			switch steps := len(steps); {
			case !c.kind.ofClock():
			case short:
				f.other %= steps
			default:
				f.other = i % steps // each once
			}
			f.length = c.shortest + time.Duration(random.Float64()*float64(longest-c.shortest))
			list = append(list, f)
		}
	}
	random.Shuffle(len(list), func(i, k int) { list[i], list[k] = list[k], list[i] })
	return list
}

// apply applies a fault and ends it. It returns the rooms that it concerns. nil: all.
func (w *world) apply(f fault) (rooms map[string]bool) {
	s, n := w.busy(f.target), w.nodes[f.target%len(w.nodes)]
	switch f.kind {
	case kill:
		rooms = s.owned()
		s.kill()
		time.Sleep(100 * time.Millisecond) // its last packets arrive
		w.ended(rooms)
		time.Sleep(200 * time.Millisecond)
		s.start(w.t)
	case restart:
		w.moves(s, s.stop)
	case rolling:
		for _, s := range w.servers {
			w.moves(s, s.stop)
		}
	case drain:
		w.moves(s, func() { w.drain(s) })
	case pause:
		rooms = s.owned()
		checked := s.count("cluster_checked")
		s.signal(syscall.SIGSTOP)
		time.Sleep(f.length)
		s.signal(syscall.SIGCONT)
		for deadline := time.Now().Add(backLimit); s.count("cluster_checked") == checked; time.Sleep(10 * time.Millisecond) {
			if !s.alive() || time.Now().After(deadline) {
				w.checker.fail("%s has not checked its rooms with the cluster within %v after a pause of %v:\n%s", s.name, backLimit, f.length, s.text())
				break
			}
		}
	case killNATS:
		w.killNodes(f.length, n)
	case killLeader:
		if i := leader(w.t, w.nodes); i >= 0 {
			n = w.nodes[i]
		} else {
			w.t.Logf("the leader is not known")
		}
		w.killNodes(f.length, n)
	case killTwo:
		w.killNodes(f.length, n, w.nodes[(f.target+1)%len(w.nodes)])
	case cut, cutOneWay, cutLink:
		rooms = s.owned()
		links := s.links
		if f.kind == cutLink {
			links = links[:1]
		}
		w.cut(f, links, links)
	case cutRoute, cutRouteOnce:
		i, k := f.target%len(w.nodes), (f.target+1+f.other%2)%len(w.nodes)
		w.cut(f, []*proxy{w.routes[i][k]}, []*proxy{w.routes[k][i]})
	case slowDisk:
		for end := time.Now().Add(f.length); time.Now().Before(end); {
			n.signal(syscall.SIGSTOP)
			time.Sleep(80 * time.Millisecond)
			n.signal(syscall.SIGCONT)
			time.Sleep(20 * time.Millisecond)
		}
	case fullDisk:
		w.fill(f.length)
	case stepServer:
		rooms = s.owned()
		w.step(f, s.process)
	case stepNATS:
		w.step(f, n.process)
	}
	return rooms
}

// steps are the differences that a clock is set to, from a second to 100 days.
var steps = []time.Duration{time.Second, -time.Second, 20 * time.Minute, -20 * time.Minute, 7 * time.Hour, -7 * time.Hour, 100 * 24 * time.Hour, -100 * 24 * time.Hour}

// step steps the clock of a process, and steps it back after a time.
func (w *world) step(f fault, p *process) {
	for _, d := range []time.Duration{steps[f.other], 0} {
		if err := p.clock.set(d); err != nil {
			w.checker.fail("the clock of %s cannot be stepped: %v", p.name, err)
		}
		time.Sleep(f.length)
	}
}

// startLoad is the time for which a server that starts takes processor time from the others.
const startLoad = 3 * time.Second

// moves calls leave, which makes the rooms of a server move. It measures the gaps of these rooms, and as the usual ones those of the
// other rooms. Then it starts the server again.
func (w *world) moves(s *service, leave func()) {
	time.Sleep(startLoad)
	rooms, others := s.owned(), map[string]bool{}
	for _, p := range w.list {
		others[p.room] = !rooms[p.room]
	}
	w.mark()
	leave()
	time.Sleep(500 * time.Millisecond)
	w.moved.add(w.gaps(rooms))
	w.usual = append(w.usual, w.gaps(others).list...)
	if s.alive() {
		s.stop()
	}
	s.start(w.t)
	w.listens(s)
}

// drain moves all rooms of a server with the verb drain.
func (w *world) drain(s *service) {
	args := []string{"drain", s.address.String(), "--json", "--cluster", fmt.Sprintf("nats://127.0.0.1:%d", w.nodes[0].config.Port)}
	p := launch(w.t, "drain", serverRole, nil, args...)
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, p.command.Process.Pid, 19) // in a fleet, an operator runs it on another machine
	<-p.ended
	if p.last("drained") == nil {
		w.checker.fail("%s is not drained: %v\n%s\n%s", s.name, p.last("error"), p.text(), s.text())
	}
}

// busy returns the first server from a number on that has rooms.
func (w *world) busy(number int) *service {
	for i := range w.servers {
		if s := w.servers[(number+i)%len(w.servers)]; len(s.owned()) > 0 {
			return s
		}
	}
	return w.servers[number%len(w.servers)]
}

// killNodes kills NATS servers, and starts them again after a time.
func (w *world) killNodes(length time.Duration, nodes ...*node) {
	for _, n := range nodes {
		n.kill()
	}
	time.Sleep(length)
	for _, n := range nodes {
		n.start(w.t)
	}
}

// restartNATS stops all NATS servers and starts them again, one after the other.
func (w *world) restartNATS() {
	for _, n := range w.nodes {
		n.stop()
		n.start(w.t)
		time.Sleep(2 * time.Second)
	}
}

// cut cuts connections for a time. The kind decides whether it cuts one direction or both. In reverse, the peers of the connections are exchanged.
// Some connections are reset when the partition heals.
func (w *world) cut(f fault, proxies, reverse []*proxy) {
	there, here := true, true
	if f.kind == cutOneWay || f.kind == cutRouteOnce {
		there = f.other&4 == 0
		here = !there
	}
	same := f.kind != cutRoute && f.kind != cutRouteOnce
	for _, p := range proxies {
		p.set(there, here)
	}
	if !same {
		for _, p := range reverse {
			p.set(here, there)
		}
	}
	time.Sleep(f.length)
	for _, p := range append(proxies[:len(proxies):len(proxies)], reverse...) {
		if f.other&8 != 0 {
			p.reset()
		}
		p.set(false, false)
	}
}

// fill fills the small disk for a time. The NATS server that has it is then started again, since it does not use a disk again that was
// full.
func (w *world) fill(length time.Duration) {
	n := w.nodes[len(w.nodes)-1]
	if n.disk == "" {
		return
	}
	ballast := filepath.Join(n.disk, "ballast")
	file, err := os.Create(ballast)
	if err != nil {
		w.t.Errorf("the disk cannot be filled: %v", err)
		return
	}
	block := make([]byte, 1<<20)
	for err == nil {
		_, err = file.Write(block)
	}
	_ = file.Close()
	time.Sleep(length)
	_ = os.Remove(ballast)
	n.stop()
	n.start(w.t)
}

// listens waits until a server listens.
func (w *world) listens(s *service) {
	for deadline := time.Now().Add(time.Minute); s.last("listening") == nil; time.Sleep(10 * time.Millisecond) {
		if !s.alive() || time.Now().After(deadline) {
			w.checker.fail("%s does not listen: %s", s.name, s.text())
			return
		}
	}
}

// String returns the kind, the target and the length.
func (f fault) String() string {
	if f.kind.ofClock() {
		return fmt.Sprintf("%s, %d, %v for %v", f.kind, f.target, steps[f.other], f.length.Round(time.Millisecond))
	}
	return fmt.Sprintf("%s, %d.%d, %v", f.kind, f.target, f.other, f.length.Round(time.Millisecond))
}
