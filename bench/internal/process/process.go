//go:build unix

// Package process measures a server process under the load of a client process. Each is this program, started again in a
// role and pinned to a core of its own. So the costs of the server do not include those of its clients.
package process

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"tendon/bench/internal/measure"
	"tendon/net/room"
)

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
// address and the numbers. When it is stopped it prints a line of JSON, which is stored in report. Optional.
func Measure(b *testing.B, server, load string, settle, during time.Duration, report any, numbers ...int) (u Usages) {
	s := start(b, server, 0)
	defer s.stop()
	var address string
	s.read(&address)
	u.Empty = s.usage(true)
	arguments := []string{address}
	for _, n := range numbers {
		arguments = append(arguments, strconv.Itoa(n))
	}
	l := start(b, load, 1, arguments...)
	defer l.stop()
	time.Sleep(settle)
	u.Before = s.usage(false)
	time.Sleep(during)
	u.After = s.usage(false)
	u.Full = s.usage(true)
	l.in.Close()
	if report != nil {
		l.read(report)
	}
	return u
}

// child is a started process. It runs until its standard input is closed.
type child struct {
	b       *testing.B
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
}

// start runs this program again in a role, with one thread for Go code, pinned to a core where taskset is installed.
func start(b *testing.B, role string, core int, arguments ...string) *child {
	line := append([]string{os.Args[0]}, arguments...)
	if path, err := exec.LookPath("taskset"); err == nil {
		line = append([]string{path, "-c", strconv.Itoa(core % runtime.NumCPU())}, line...)
	}
	c := &child{b: b, command: exec.Command(line[0], line[1:]...)}
	c.command.Env = append(os.Environ(), measure.RoleVariable+"="+role, "GOMAXPROCS=1")
	c.command.Stderr = os.Stderr
	c.in, c.out = measure.Must(c.command.StdinPipe()), bufio.NewReader(measure.Must(c.command.StdoutPipe()))
	if err := c.command.Start(); err != nil {
		b.Fatal(err)
	}
	return c
}

// read stores the next line of the child, which is JSON, in v.
func (c *child) read(v any) {
	line, err := c.out.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, v)
	}
	if err != nil {
		c.b.Fatalf("%v printed %q: %v", c.command, line, err)
	}
}

// usage returns the usage of a server. With memory, the server collects garbage and counts what remains.
func (c *child) usage(memory bool) (u Usage) {
	if _, err := fmt.Fprintln(c.in, memory); err != nil {
		c.b.Fatal(err)
	}
	c.read(&u)
	return u
}

func (c *child) stop() {
	c.in.Close()
	if err := c.command.Wait(); err != nil {
		c.b.Error(err)
	}
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

// Load returns the address of the server and the numbers of a load's command line.
func Load() (server netip.AddrPort, numbers []int) {
	for _, text := range os.Args[2:] {
		numbers = append(numbers, measure.Must(strconv.Atoi(text)))
	}
	return measure.Must(netip.ParseAddrPort(os.Args[1])), numbers
}

// Every calls f for each of n clients, rate times a second, until the parent stops this process. The clients are divided
// into parts that do not run at once. Every returns the 99th percentile of how late the parts were.
func Every(rate, parts, n int, f func(client int)) time.Duration {
	stopped := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(stopped)
	}()
	late, step, due := []time.Duration{0}, time.Second/time.Duration(parts*rate), time.Now()
	for call := 0; ; call++ {
		select {
		case <-stopped:
			slices.Sort(late)
			return late[len(late)*99/100]
		case <-time.After(time.Until(due)):
			late = append(late, time.Since(due))
			for i := call % parts; i < n; i += parts {
				f(i)
			}
			due = due.Add(step)
		}
	}
}
