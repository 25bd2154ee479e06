package swarm

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"tendon/net/simnet"
	"tendon/rollback/record"
)

// gate suspends a process for a time, or delays each packet that it sends.
type gate struct {
	mu    sync.Mutex
	until time.Time
	work  time.Duration // per sent packet
}

func (g *gate) shut(d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.until = time.Now().Add(d)
}

// load sets the time for each sent packet.
func (g *gate) load(work time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.work = work
}

func (g *gate) compute() {
	g.mu.Lock()
	work := g.work
	g.mu.Unlock()
	if work > 0 {
		time.Sleep(work)
	}
}

func (g *gate) wait() {
	for {
		g.mu.Lock()
		left := time.Until(g.until)
		g.mu.Unlock()
		if left <= 0 {
			return
		}
		time.Sleep(left)
	}
}

// socket is the socket of a server's process. It blocks while the process stands still. Each tick is sent, so no worker computes
// more than one tick during that time.
type socket struct {
	*simnet.PacketConn
	gate *gate
}

func (s *socket) ReadFromUDPAddrPort(b []byte) (n int, from netip.AddrPort, err error) {
	s.gate.wait()
	n, from, err = s.PacketConn.ReadFromUDPAddrPort(b)
	s.gate.wait()
	return n, from, err
}

func (s *socket) WriteToUDPAddrPort(b []byte, to netip.AddrPort) (int, error) {
	s.gate.wait()
	s.gate.compute()
	return s.PacketConn.WriteToUDPAddrPort(b, to)
}

const (
	overloadWork = 60 * time.Millisecond // for one packet to each client: more than the time of a tick
	away         = ".away"               // suffix of a directory that was removed
)

// apply begins or ends a fault that is due.
func (w *world) apply(i int, now time.Duration) {
	f := &w.schedule.Faults[i]
	switch {
	case w.done[i] == 0 && now >= time.Duration(f.At):
		w.done[i] = 1
		w.begin(f)
	case w.done[i] == 1 && (f.Kind == stop || f.Kind == update) && len(w.process.ended) == 0: // rooms and journals are being closed
	case w.done[i] == 1 && now >= time.Duration(f.At+f.For) && !w.stuck:
		w.done[i] = 2
		w.heal(f)
	case w.done[i] == 1 && f.Kind == stutter && now >= time.Duration(f.At).Truncate(100*time.Millisecond) && now%(100*time.Millisecond) < 20*time.Millisecond:
		w.frozen.shut(80 * time.Millisecond)
	}
}

func (w *world) begin(f *Fault) {
	switch f.Kind {
	case freeze:
		w.frozen.shut(time.Duration(f.For))
	case kill, power, flip:
		w.end(f.Kind)
	case stop, update:
		w.end(f.Kind)
	case overload:
		w.frozen.load(overloadWork / time.Duration(max(1, len(w.clients))))
	case stall, ioError, full:
		w.disk.set(f.Kind, w.journalsOf(f))
		w.judge.strikes(f)
	case remove:
		must(os.Rename(w.dir, w.dir+away))
	case clock:
		w.wrong.Add(int64(f.Step))
	}
	for _, p := range w.struck(f) {
		switch f.Kind {
		case up, down, both:
			w.block(f, p, true)
		case suspend:
			p.away = time.Now().Add(time.Duration(f.For))
		case rebind:
			p.moves++
			local := netip.AddrPortFrom(p.host, 40000+p.port)
			must(w.net.Rebind(local, netip.AddrPortFrom(p.host, 50000+uint16(p.moves))))
		case corrupt:
			w.route(p, func(l *simnet.Path) { l.Corrupt = 0.05 })
		case narrow:
			w.route(p, func(l *simnet.Path) { l.MTU = 600 })
		case slow:
			w.route(p, func(l *simnet.Path) {
				l.Bandwidth, l.QueueBytes = 125_000, 125_000
				l.Cross = simnet.Cross{Bandwidth: 150_000, On: 2 * time.Second, Off: 2 * time.Second}
			})
		}
	}
}

func (w *world) heal(f *Fault) {
	switch f.Kind {
	case flip:
		w.flipJournal()
	case remove:
		must(os.Rename(w.dir+away, w.dir))
		w.end(f.Kind)
	case update:
		w.build = fmt.Sprintf("build %d", len(w.past))
	case overload:
		w.frozen.load(0)
	case stall, ioError, full:
		w.judge.struck()
		w.disk.set("", "")
	}
	if f.Kind.restarts() {
		w.start()
	}
	for _, p := range w.struck(f) {
		switch f.Kind {
		case up, down, both:
			w.block(f, p, false)
		case corrupt, narrow, slow:
			w.route(p, nil)
		}
	}
}

// struck returns the clients that a fault concerns.
func (w *world) struck(f *Fault) []*player {
	switch {
	case f.Kind.ofServer():
		return nil
	case f.Client < 0:
		return w.clients
	case f.Client < len(w.clients):
		return w.clients[f.Client : f.Client+1]
	}
	return nil
}

// journalsOf returns the first bytes of the names of the files that a fault of the disk concerns.
func (w *world) journalsOf(f *Fault) string {
	if f.Client < 0 {
		return ""
	}
	return fmt.Sprintf("room%d-", w.schedule.Clients[f.Client].Room)
}

func (w *world) block(f *Fault, p *player, blocked bool) {
	if f.Kind != down {
		w.net.Block(p.host, serverHost, blocked)
	}
	if f.Kind != up {
		w.net.Block(serverHost, p.host, blocked)
	}
}

// copyFiles copies the files of a killed process. Only their owner may read the copies, like the originals. A power cut takes the
// bytes of the running journals that were not synced.
func (w *world) copyFiles(to, from string, cut bool) {
	must(os.Mkdir(to, 0o700))
	list, err := os.ReadDir(from)
	must(err)
	for _, f := range list {
		if f.Type().IsRegular() {
			content, err := os.ReadFile(filepath.Join(from, f.Name()))
			must(err)
			if cut && strings.HasSuffix(f.Name(), ".journal") && !strings.HasSuffix(f.Name(), ".ended.journal") {
				content = content[:min(int64(len(content)), w.disk.synced(filepath.Join(from, f.Name()), 0))]
			}
			must(os.WriteFile(filepath.Join(to, f.Name()), content, 0o600))
			w.disk.synced(filepath.Join(to, f.Name()), int64(len(content)))
		}
	}
}

// flipJournal flips a bit in the middle of a journal. Its room then begins another match.
func (w *world) flipJournal() {
	files, err := filepath.Glob(filepath.Join(w.dir, "*.journal"))
	must(err)
	if len(files) == 0 { // no match has begun
		return
	}
	content, err := os.ReadFile(files[0])
	must(err)
	room := 0
	if j, err := record.Open(content, w.app.Game); err == nil {
		_, _ = fmt.Sscanf(j.Header().Room, "room%d", &room)
		w.judge.changes[room] = true
	}
	content[len(content)/2] ^= 0x10
	must(os.WriteFile(files[0], content, 0o600))
}
