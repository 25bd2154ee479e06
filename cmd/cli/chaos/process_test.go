//go:build linux

package chaos

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"tendon/cmd/arena/rules"
	"tendon/cmd/cli"
	"tendon/cmd/cli/internal/app"
)

// roleVariable is the environment variable with the role of a process that a test started. Its program is that of the test.
const roleVariable = "TENDON_CHAOS_ROLE"

const (
	natsRole   = "nats"
	serverRole = "server"
)

func TestMain(m *testing.M) {
	os.Setenv(app.ProgramVariable, "arena")
	switch os.Getenv(roleVariable) {
	case natsRole:
		runNATS(os.Args[1])
	case serverRole:
		cli.Main(*rules.Game())
	}
	os.Exit(m.Run())
}

// process is a running process.
type process struct {
	name    string
	command *exec.Cmd
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
	p := &process{name: name, command: exec.Command(path, args...), ended: make(chan struct{}), events: map[string]event{}, counts: map[string]int{}}
	p.command.Env = append(os.Environ(), roleVariable+"="+role)
	p.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := p.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.command.Stderr = p
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
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

// ports returns unused ports, which the system does not give to sockets without a port of their own.
func ports(t testing.TB, n int) (list []int) {
	t.Helper()
	for port := 20000 + os.Getpid()*61%9000; len(list) < n; port++ {
		if port >= 30000 {
			port = 20000
		}
		stream, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		datagrams, err := net.ListenPacket("udp", fmt.Sprintf("127.0.0.1:%d", port))
		_ = stream.Close()
		if err != nil {
			continue
		}
		_ = datagrams.Close()
		list = append(list, port)
	}
	return list
}
