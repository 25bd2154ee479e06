//go:build unix

package faults

import (
	"bufio"
	"encoding/json"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"tendon/bench/internal/measure"
	"tendon/ecs"
	"tendon/net/netcode"
	"tendon/net/server"
	"tendon/systems"
)

// service is a server that is started again after each end, on the same port and with the same journals.
type service struct {
	b        *testing.B
	strategy systems.Strategy
	dir      string         // of the journals
	address  netip.AddrPort // it listens here
	public   netip.AddrPort // clients reach it here
	flags    []string
	key      netcode.Key
	*program
}

// program is a process of a service.
type program struct {
	command *exec.Cmd
	ended   chan struct{}

	mu     sync.Mutex
	events map[string]event // the last one of each name
	ready  time.Time        // when it listened
}

// event is a line of --json.
type event map[string]any

const (
	firstTime = 30 * time.Second // for a server to listen, and for clients to enter
	keepSeat  = "15m"            // longer than every outage
)

// startService starts a server with journals in a new directory. Clients reach it at public, if that is valid.
func startService(b *testing.B, s systems.Strategy, public netip.AddrPort, flags ...string) *service {
	v := &service{b: b, strategy: s, dir: filepath.Join(b.TempDir(), "journals"), address: netip.MustParseAddrPort("127.0.0.1:0"), public: public,
		flags: append(flags, "--keep-seat", keepSeat)}
	if public.IsValid() {
		v.flags = append(v.flags, "--public", public.String())
	}
	v.start(measure.Must(os.Executable()))
	listening := v.await("listening")
	v.address = netip.MustParseAddrPort(listening["address"].(string))
	if !public.IsValid() {
		v.public = v.address
	}
	v.key = measure.Must(server.LoadKey(filepath.Join(v.dir, "server.key")))
	return v
}

// start starts a program as the server.
func (v *service) start(executable string) {
	v.program = &program{ended: make(chan struct{}), events: map[string]event{}}
	p := v.program
	p.command = exec.Command(executable, append([]string{"serve", "--json", "--sync", v.strategy.Name, "--listen", v.address.String(), "--journal", v.dir}, v.flags...)...)
	p.command.Env = append(os.Environ(), measure.RoleVariable+"="+serverRole)
	p.command.Stderr = nil
	out := measure.Must(p.command.StdoutPipe())
	if err := p.command.Start(); err != nil {
		v.b.Fatal(err)
	}
	v.b.Cleanup(func() { _ = p.command.Process.Kill(); <-p.ended })
	go func() {
		defer close(p.ended)
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 1<<22)
		for lines.Scan() {
			var e event
			if json.Unmarshal(lines.Bytes(), &e) == nil {
				name, _ := e["event"].(string)
				p.mu.Lock()
				if p.events[name] = e; name == "listening" {
					p.ready = time.Now()
				}
				p.mu.Unlock()
			}
		}
		_ = p.command.Wait() // it may be killed
	}()
}

// last returns the last event of a name, or nil.
func (p *program) last(name string) event {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.events[name]
}

// await waits for the first event of a name.
func (v *service) await(name string) event {
	for deadline := time.Now().Add(firstTime); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if e := v.last(name); e != nil {
			return e
		}
	}
	v.b.Fatalf("%s: the server has no event %s", v.strategy.Name, name)
	return nil
}

func (v *service) signal(s syscall.Signal) {
	if err := v.command.Process.Signal(s); err != nil {
		v.b.Fatal(err)
	}
}

// recovered returns the tick up to which each room was recovered.
func (v *service) recovered() map[string]ecs.Tick {
	ticks := map[string]ecs.Tick{}
	rooms, _ := v.await("recovered")["rooms"].([]any)
	for _, r := range rooms {
		r := r.(map[string]any)
		ticks[r["room"].(string)] = ecs.Tick(r["tick"].(float64))
	}
	return ticks
}

// givenUp returns the time that all rooms but one gave up.
func (v *service) givenUp(without string) (d time.Duration) {
	stats, _ := v.last("stats")["stats"].(map[string]any)
	table, _ := stats["table"].([]any)
	for _, r := range table {
		if r := r.(map[string]any); r["name"] != without {
			d += time.Duration(r["given_up"].(float64))
		}
	}
	return d
}
