package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"sync"
	"syscall"
	"time"

	"tendon/ecs"
)

// The exit codes of every verb.
const (
	exitFine   = 0
	exitFailed = 1 // the check failed: a desync, a difference
	exitUsage  = 2 // wrong use or environment
)

// errFailed is wrapped by the error of a verb whose check failed. The verb has printed the result before.
var errFailed = errors.New("check failed")

// errInterrupted is the error of a check that was interrupted: it is no success, since it proved nothing.
var errInterrupted = errors.New("interrupted before the end, so nothing is proven: run it again")

// Common are the flags of every verb.
type Common struct {
	JSON       bool   `name:"json" help:"Print JSON, one object a line, instead of text."`
	PprofKind  string `name:"profile" enum:"none,cpu,mem,allocs,block,mutex,goroutine,trace,clock" default:"none" help:"Profile the run: cpu, mem, allocs, block, mutex, goroutine, trace or clock."`
	TickRate   int    `help:"Run the game at this many ticks per second; every peer of a match needs the same. Default: the game's own rate."`
	ProfileDir string `type:"path" default:"profiles" help:"Directory of the profile."`
}

// app is what a verb works with: the game, the flags of every verb and the output. Goroutines may print concurrently.
type app struct {
	ctx     context.Context
	game    *ecs.Game
	program string // command that started this process
	common  Common

	printing sync.Mutex
	out      *results
	note     io.Writer // settings, progress, warnings
}

// newApp returns an app that prints results to out and everything else to note.
func newApp(ctx context.Context, game *ecs.Game, out, note io.Writer) *app {
	return &app{ctx: ctx, game: game, program: program(), out: &results{to: out}, note: note}
}

// results is the standard output.
type results struct {
	to  io.Writer
	err error // the first
}

// Write writes to the standard output. A reader that has closed the pipe is not an error.
func (r *results) Write(b []byte) (int, error) {
	n, err := r.to.Write(b)
	if err != nil && r.err == nil && !errors.Is(err, syscall.EPIPE) {
		r.err = err
	}
	return n, err
}

// lostResults returns an error if results could not be written.
func (a *app) lostResults() error {
	a.printing.Lock()
	defer a.printing.Unlock()
	if a.out.err == nil {
		return nil
	}
	return fmt.Errorf("the results could not be written: %w; make room on the disk, or write them elsewhere", a.out.err)
}

// exitCode prints an error and returns its exit code.
func (a *app) exitCode(err error) int {
	if err == nil {
		return exitFine
	}
	a.emit("error", fields{"error": err.Error()})
	a.say("%s: %v", a.game.Name, err)
	if errors.Is(err, errFailed) {
		return exitFailed
	}
	return exitUsage
}

// say prints a line of text about settings or progress, to the standard error. With --json it prints nothing.
func (a *app) say(format string, args ...any) {
	if !a.common.JSON {
		a.print(a.note, fmt.Sprintf(format, args...)+"\n")
	}
}

// tell prints a result as text, to the standard output. With --json it prints nothing.
func (a *app) tell(text string) {
	if !a.common.JSON {
		a.print(a.out, text)
	}
}

// fields are the fields of a line of JSON.
type fields map[string]any

// emit prints one object a line with --json. event is the kind of the object.
func (a *app) emit(event string, f fields) {
	if !a.common.JSON {
		return
	}
	object := fields{"event": event}
	maps.Copy(object, f)
	line, err := json.Marshal(object)
	if err != nil {
		panic(fmt.Sprintf("cli: a result cannot be encoded as JSON: %v", err))
	}
	a.print(a.out, string(line)+"\n")
}

// print writes a text in one call. lostResults reports what the standard output did not accept.
func (a *app) print(to io.Writer, text string) {
	a.printing.Lock()
	defer a.printing.Unlock()
	_, _ = io.WriteString(to, text)
}

// until returns a context that ends after d, or only with the process if d is 0.
func (a *app) until(d time.Duration) (context.Context, context.CancelFunc, error) {
	if d < 0 {
		return nil, nil, fmt.Errorf("--for %v: give a time above 0, or leave it out", d)
	}
	if d == 0 {
		ctx, cancel := context.WithCancel(a.ctx)
		return ctx, cancel, nil
	}
	ctx, cancel := context.WithTimeout(a.ctx, d)
	return ctx, cancel, nil
}

// every calls f periodically until the context is done.
func every(ctx context.Context, interval time.Duration, f func()) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			f()
		}
	}
}

// chooseSeed returns a seed: the given one, or a random one that is short enough to type.
func chooseSeed(given uint64) uint64 {
	if given != 0 {
		return given
	}
	return 1 + rand.Uint64N(1e9)
}

// counted returns a number with its noun.
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprint(n, " ", many)
}
