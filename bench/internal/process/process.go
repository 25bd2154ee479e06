//go:build unix

// Package process starts a program again as another process on a core of its own, so that what a server costs can be
// told from what its clients do. It is for benchmarks on Unix systems.
package process

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

// variable names the role that a started program plays.
const variable = "TENDON_BENCH_ROLE"

// Child is a started process. It answers one line for each line it is sent, and ends when it is stopped.
type Child struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
}

// Start runs this program again as the role, pinned to the core where taskset is there, with one thread for Go code.
func Start(role string, core int, arguments ...string) (*Child, error) {
	line := append([]string{os.Args[0]}, arguments...)
	if path, err := exec.LookPath("taskset"); err == nil {
		line = append([]string{path, "-c", strconv.Itoa(core % runtime.NumCPU())}, line...)
	}
	c := &Child{command: exec.Command(line[0], line[1:]...)}
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

// Hear returns the next line that the child says, as JSON, in v.
func (c *Child) Hear(v any) error {
	line, err := c.out.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("process: the child said nothing more: %w", err)
	}
	return json.Unmarshal(line, v)
}

// Ask returns what the child has used up to now. With memory, it also collects garbage and counts what is left.
func (c *Child) Ask(memory bool) (u Usage, err error) {
	question := "\n"
	if memory {
		question = "memory\n"
	}
	if _, err := io.WriteString(c.in, question); err != nil {
		return u, err
	}
	return u, c.Hear(&u)
}

// Stop ends the child.
func (c *Child) Stop() error {
	c.in.Close()
	return c.command.Wait()
}

// Usage is what a process has used since it began, and what it holds now.
type Usage struct {
	Time       time.Duration // on the clock
	CPU        time.Duration // in user and system mode
	Goroutines int
	Memory     uint64 // bytes of heap and stacks after a collection
	Served     int    // clients that are served
}

// Role returns the role that this process was started for, empty for none.
func Role() string { return os.Getenv(variable) }

// Say sends a line to the parent.
func Say(v any) {
	line, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(line))
}

// Answer answers the parent's questions until it is stopped. served tells how many clients there are.
func Answer(served func() int) {
	began := time.Now()
	in := bufio.NewReader(os.Stdin)
	for {
		question, err := in.ReadString('\n')
		if err != nil {
			return
		}
		u := Usage{Time: time.Since(began), CPU: used()}
		u.Goroutines, u.Served = runtime.NumGoroutine(), served()
		if question == "memory\n" {
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			u.Memory = m.HeapAlloc + m.StackInuse
		}
		Say(u)
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

// UntilStopped returns a channel that is closed when the parent stops this process.
func UntilStopped() <-chan struct{} {
	done := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(done)
	}()
	return done
}
