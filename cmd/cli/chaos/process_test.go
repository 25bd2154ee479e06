//go:build linux

package chaos

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"tendon/cmd/cli"
	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/crumbs"
)

// roleVariable is the environment variable with the role of a process that a test started. Its program is that of the test.
const roleVariable = "TENDON_CHAOS_ROLE"

const (
	natsRole   = "nats"
	serverRole = "server"
	clockRole  = "clock"
)

func TestMain(m *testing.M) {
	os.Setenv(app.ProgramVariable, "arena")
	switch os.Getenv(roleVariable) {
	case natsRole:
		runNATS(os.Args[1])
	case serverRole:
		cli.Main(*crumbs.Game())
	case clockRole:
		runClock()
	}
	os.Exit(m.Run())
}

// process is a running process.
type process struct {
	name    string
	command *exec.Cmd
	clock   *stepper // nil where it cannot be stepped
	ended   chan struct{}

	mu     sync.Mutex
	events map[string]event // the newest one of each name
	counts map[string]int   // of events, by name
	lines  []string         // the newest lines that are no events
}

// event is a line of JSON.
type event map[string]any

// launch starts this program in a role. on receives each event. It may be nil.
func launch(t testing.TB, name, role string, on func(name string, e event), args ...string) *process {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{name: name, ended: make(chan struct{}), events: map[string]event{}, counts: map[string]int{}}
	prepare := func() (out io.Reader) {
		p.command = exec.Command(path, args...)
		p.command.Env = append(os.Environ(), roleVariable+"="+role)
		p.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		p.command.Stderr = p
		if out, err = p.command.StdoutPipe(); err != nil {
			t.Fatal(err)
		}
		return out
	}
	out := prepare()
	if p.clock, err = startStepped(p.command); err != nil {
		t.Logf("the clock of %s cannot be stepped: %v", name, err)
		out = prepare()
		if err := p.command.Start(); err != nil {
			t.Fatal(err)
		}
	}
	go func() {
		defer close(p.ended)
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 1<<22)
		for lines.Scan() {
			var e event
			if json.Unmarshal(lines.Bytes(), &e) != nil {
				_, _ = p.Write(lines.Bytes())
				continue
			}
			n, _ := e["event"].(string)
			p.mu.Lock()
			p.events[n] = e
			p.counts[n]++
			p.mu.Unlock()
			if on != nil {
				on(n, e)
			}
		}
		_ = p.command.Wait() // it may be killed
	}()
	t.Cleanup(func() {
		p.signal(syscall.SIGKILL)
		p.signal(syscall.SIGCONT)
		<-p.ended
		if p.clock != nil {
			_ = p.clock.memory.Close()
		}
	})
	return p
}

// Write keeps the last lines of text for a failing test.
func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines = append(p.lines, strings.Split(strings.TrimRight(string(b), "\n"), "\n")...)
	p.lines = p.lines[max(0, len(p.lines)-40):]
	return len(b), nil
}

func (p *process) signal(s syscall.Signal) { _ = p.command.Process.Signal(s) }

// kill ends the process with SIGKILL, and waits for its end.
func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	<-p.ended
}

func (p *process) last(name string) event {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.events[name]
}

// count returns the number of events of a name.
func (p *process) count(name string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.counts[name]
}

func (p *process) alive() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// text returns the last lines.
func (p *process) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return fmt.Sprintf("%s:\n  %s", p.name, strings.Join(p.lines, "\n  "))
}

// The ports of all processes are in blocks below those that the system gives to sockets without a port of their own. A test process
// reserves a block by listening on its first port.
const (
	firstPort = 20000
	lastPort  = 32000
	portBlock = 200
)

var reserved struct {
	mu    sync.Mutex
	first net.Listener // on the first port of the block; nil before the first call of ports
	next  int
	end   int
}

// ports returns unused ports of the block of this process. No port is returned twice.
func ports(t testing.TB, n int) (list []int) {
	t.Helper()
	r := &reserved
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := 0; r.first == nil && i < lastPort-firstPort; i += portBlock {
		block := firstPort + (os.Getpid()*portBlock+i)%(lastPort-firstPort)
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", block)); err == nil {
			r.first, r.next, r.end = l, block+1, block+portBlock
		}
	}
	for len(list) < n {
		if r.next >= r.end {
			t.Fatal("all ports of this process are used: other programs use many ports, or the tests need a larger block")
		}
		if unused(r.next) {
			list = append(list, r.next)
		}
		r.next++
	}
	return list
}

func unused(port int) bool {
	stream, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return false
	}
	defer stream.Close()
	datagrams, err := net.ListenPacket("udp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return false
	}
	return datagrams.Close() == nil
}

// Two calls return different ports, although nothing listens on those of the first one.
func TestPortsAreNotReturnedTwice(t *testing.T) {
	used := map[int]bool{}
	for range 3 {
		for _, port := range ports(t, 5) {
			if used[port] {
				t.Errorf("port %d is returned twice", port)
			}
			used[port] = true
		}
	}
}
