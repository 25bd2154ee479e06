package dev

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"tendon/cmd/cli/internal/app"
)

// process is the server or a client. It ends when its standard input is closed.
type process struct {
	name   string
	cmd    *exec.Cmd
	stdin  io.Closer
	ended  chan struct{} // closed at its end
	failed error         // read after ended
	over   bool          // it was stopped
}

// event is a line of JSON of a process, or its end.
type event struct {
	from *process
	kind string // exit: its end
	line []byte
}

// exit is the kind of the event at the end of a process.
const exit = "exit"

// run starts the current build with a verb.
func (s *session) run(name string, args ...string) (*process, error) {
	p := &process{name: name, cmd: exec.Command(s.current.path, append(s.common(), args...)...), ended: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), app.ChildVariable+"=1", app.ProgramVariable+"="+s.app.Program)
	p.cmd.Stderr = &lines{print: func(line string) { s.app.Logf("%s: %s", name, line) }}
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	p.stdin = in
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s cannot be started: %w", name, err)
	}
	go func() {
		scanner := bufio.NewScanner(out)
		scanner.Buffer(nil, 1<<20)
		for scanner.Scan() {
			var e struct{ Event string }
			if json.Unmarshal(scanner.Bytes(), &e) == nil && e.Event != "stats" && e.Event != "costs" {
				s.events <- event{p, e.Event, bytes.Clone(scanner.Bytes())}
			}
		}
		_, _ = io.Copy(io.Discard, out) // after a line that is too long
		p.failed = p.cmd.Wait()
		close(p.ended)
		s.events <- event{p, exit, nil}
	}()
	return p, nil
}

// common returns the flags of every verb for a process.
func (s *session) common() []string {
	args := []string{"--json"}
	if rate := s.app.Common.TickRate; rate != 0 {
		args = append(args, "--tick-rate", fmt.Sprint(rate))
	}
	return args
}

// lines passes whole lines on.
type lines struct {
	print func(string)
	rest  string
}

// Write adds text.
func (l *lines) Write(b []byte) (int, error) {
	text := l.rest + string(b)
	for {
		line, rest, ok := strings.Cut(text, "\n")
		if !ok {
			l.rest = text
			return len(b), nil
		}
		l.print(line)
		text = rest
	}
}

// stopTime is how long a process may take to end in order.
const stopTime = 10 * time.Second

// stop ends processes in order, and waits. It kills those that take longer than stopTime.
func (s *session) stop(list ...*process) { s.stopBy(time.After(stopTime), list) }

func (s *session) stopBy(limit <-chan time.Time, list []*process) {
	for _, p := range list {
		p.over = true
		_ = p.stdin.Close() // it has ended already
	}
	for _, p := range list {
		for done := false; !done; {
			select {
			case <-p.ended:
				done = true
			case e := <-s.events:
				s.handle(e)
			case <-limit:
				for _, late := range list {
					_ = late.cmd.Process.Kill() // some have ended
				}
				limit = nil
			}
		}
	}
}
