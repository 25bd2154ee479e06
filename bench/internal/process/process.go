//go:build unix

// Package process measures a server process under the load of a client process. Each is this program, started again in a
// role and pinned to a core of its own, so that the costs of the server do not include those of its clients.
package process

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"tendon/net/room"
)

// variable is the environment variable that names the role of a started process.
const variable = "TENDON_BENCH_ROLE"

// Role returns the role that this process was started in; "": none.
func Role() string { return os.Getenv(variable) }

// Usage is what a server has used since it began, and what it holds now.
type Usage struct {
	Time       time.Duration // since the start
	CPU        time.Duration // in user and system mode
	Goroutines int
	Memory     uint64 // bytes of heap and stacks after a collection
	Served     int    // clients
	Lateness   room.Lateness
}

// Usages are those of a server at four moments: without load, at the start and the end of the measured time, and after
// it. Only the first and the last have Memory.
type Usages struct{ Empty, Before, After, Full Usage }

// Share returns the share of a core that the server used in the measured time.
func (u *Usages) Share() float64 {
	return float64(u.After.CPU-u.Before.CPU) / float64(u.After.Time-u.Before.Time)
}

// Measure starts a server and its load, lets them settle and measures the server. The load is started with the server's
// address and the arguments. When it is stopped it prints a line of JSON, which is stored in report. Optional.
func Measure(server, load string, settle, during time.Duration, report any, arguments ...string) (u Usages, err error) {
	s, err := start(server, 0)
	if err != nil {
		return u, err
	}
	defer s.stop()
	var address string
	if err = s.read(&address); err == nil {
		u.Empty, err = s.usage(true)
	}
	if err != nil {
		return u, err
	}
	l, err := start(load, 1, append([]string{address}, arguments...)...)
	if err != nil {
		return u, err
	}
	time.Sleep(settle)
	if u.Before, err = s.usage(false); err == nil {
		time.Sleep(during)
		u.After, err = s.usage(false)
	}
	if err == nil {
		u.Full, err = s.usage(true)
	}
	l.in.Close()
	if err == nil && report != nil {
		err = l.read(report)
	}
	return u, errors.Join(err, l.stop())
}

// child is a started process. It runs until its standard input is closed.
type child struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
}

// start runs this program again in a role, with one thread for Go code, pinned to a core where taskset is installed.
func start(role string, core int, arguments ...string) (*child, error) {
	line := append([]string{os.Args[0]}, arguments...)
	if path, err := exec.LookPath("taskset"); err == nil {
		line = append([]string{path, "-c", strconv.Itoa(core % runtime.NumCPU())}, line...)
	}
	c := &child{command: exec.Command(line[0], line[1:]...)}
	c.command.Env = append(os.Environ(), variable+"="+role, "GOMAXPROCS=1")
	c.command.Stderr = os.Stderr
	var err error
	if c.in, err = c.command.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.out = bufio.NewReader(out)
	return c, c.command.Start()
}

// read stores the next line of the child, which is JSON, in v.
func (c *child) read(v any) error {
	line, err := c.out.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("process: the child printed nothing more: %w", err)
	}
	return json.Unmarshal(line, v)
}

// usage returns the usage of a server. With memory, the server collects garbage and counts what remains.
func (c *child) usage(memory bool) (u Usage, err error) {
	if _, err := fmt.Fprintln(c.in, memory); err != nil {
		return u, err
	}
	return u, c.read(&u)
}

func (c *child) stop() error {
	c.in.Close()
	return c.command.Wait()
}

// Print prints a line of JSON for the parent.
func Print(v any) {
	if err := json.NewEncoder(os.Stdout).Encode(v); err != nil {
		panic(err)
	}
}

// Serve prints the server's address and answers each query of the parent with the usage, until the parent stops this
// process. fill sets what only the server knows: Served, Lateness.
func Serve(address string, fill func(u *Usage)) {
	began := time.Now()
	Print(address)
	for in := bufio.NewReader(os.Stdin); ; {
		query, err := in.ReadString('\n')
		if err != nil {
			return
		}
		u := Usage{Time: time.Since(began), CPU: used(), Goroutines: runtime.NumGoroutine()}
		fill(&u)
		if query == "true\n" {
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			u.Memory = m.HeapAlloc + m.StackInuse
		}
		Print(u)
	}
}

// used returns the processor time of this process.
func used() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Every calls f, rate times a second, until the parent stops this process. It returns how late the calls were, one value
// per call.
func Every(rate int, f func()) (late []time.Duration) {
	stopped := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(stopped)
	}()
	step := time.Second / time.Duration(rate)
	for due := time.Now(); ; due = due.Add(step) {
		select {
		case <-stopped:
			return late
		case <-time.After(time.Until(due)):
			late = append(late, time.Since(due))
			f()
		}
	}
}
