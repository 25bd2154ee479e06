// Package app is the common part of all verbs: the game, the flags of every verb, text and JSON output, tables, progress and
// exit codes. It imports no verb.
package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"
	"unicode/utf16"

	"github.com/alecthomas/kong"

	"tendon/cmd/cli/backend/queue"
	"tendon/ecs"
	"tendon/net/lab"
	"tendon/net/session"
)

// The exit codes of every verb.
const (
	ExitFine   = 0
	ExitFailed = 1 // the check failed: a desync, a difference
	ExitUsage  = 2 // wrong use or environment
)

// ErrFailed is wrapped by the error of a verb whose check failed. The verb has printed the result before.
var ErrFailed = errors.New("check failed")

// ErrInterrupted is the error of a check that was interrupted, which counts as a failure.
var ErrInterrupted = errors.New("interrupted before the end, so nothing is proven: run it again")

// EndSignals end a verb in order.
var EndSignals = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}

// ChildVariable is set in the environment of a process that the verb dev starts. The process ends in order when its standard
// input ends, and ignores EndSignals, which a terminal sends to its parent too.
const ChildVariable = "TENDON_CHILD"

// EndContext returns a context that is done when the process is to end in order. A second signal ends the process at once.
func EndContext() (context.Context, context.CancelFunc) {
	if os.Getenv(ChildVariable) == "" {
		ctx, stop := signal.NotifyContext(context.Background(), EndSignals...)
		context.AfterFunc(ctx, stop)
		return ctx, stop
	}
	signal.Ignore(EndSignals...)
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	return ctx, stop
}

// Common are the flags of every verb.
type Common struct {
	JSON       bool   `name:"json" help:"Print JSON, one object a line, instead of text."`
	PprofKind  string `name:"profile" enum:"none,cpu,mem,allocs,block,mutex,goroutine,trace,clock" default:"none" help:"Profile the run: cpu, mem, allocs, block, mutex, goroutine, trace or clock."`
	TickRate   int    `positive:"" help:"Run the game at this many ticks per second; every peer of a match needs the same. Default: the game's own rate."`
	ProfileDir string `type:"path" default:"profiles" help:"Directory of the profile."`

	Version kong.VersionFlag `help:"Print the build of this program."`
}

// App is the context of a verb: the game, the flags of every verb and the output. Goroutines may print concurrently.
type App struct {
	Ctx     context.Context
	Game    *ecs.Game
	Program string // command that started this process
	Args    []string
	Gates   []lab.Gate  // of the game; empty: those of package lab
	Match   queue.Match // of the game. Optional
	Common  Common

	printing sync.Mutex
	Out      *results
	Note     io.Writer // settings, progress, warnings
}

// New returns an app that prints results to out and everything else to note.
func New(ctx context.Context, game *ecs.Game, out, note io.Writer) *App {
	return &App{Ctx: ctx, Game: game, Program: Program(), Out: &results{to: out}, Note: note}
}

type results struct {
	to  io.Writer
	err error // the first
}

// Write writes to the standard output. It ignores that a reader has closed the pipe.
func (r *results) Write(b []byte) (int, error) {
	n, err := r.to.Write(b)
	if err != nil && r.err == nil && !errors.Is(err, syscall.EPIPE) {
		r.err = err
	}
	return n, err
}

// LostResults returns an error if results could not be written.
func (a *App) LostResults() error {
	a.printing.Lock()
	defer a.printing.Unlock()
	if a.Out.err == nil {
		return nil
	}
	return fmt.Errorf("the results could not be written: %w; free space on the disk, or write them elsewhere", a.Out.err)
}

// ExitCode prints an error and returns its exit code.
func (a *App) ExitCode(err error) int {
	if err == nil {
		return ExitFine
	}
	a.Emit("error", Fields{"error": err.Error()})
	a.Logf("%s: %v", a.Game.Name, err)
	if p := (*session.Panic)(nil); errors.As(err, &p) { // of a client
		a.Emit("crash", Fields{"tick": p.Tick, "panic": p.Value, "stack": string(p.Stack)})
		a.Logf("%s", p.Stack)
		return ExitFailed
	}
	if errors.Is(err, ErrFailed) {
		return ExitFailed
	}
	return ExitUsage
}

// Interrupted reports whether a start has failed because Ctx is done, and prints a line then.
func (a *App) Interrupted(err error) bool {
	is := a.Ctx.Err() != nil && errors.Is(err, context.Canceled)
	if is {
		a.Logf("stopped before the start was complete")
	}
	return is
}

// Logf prints a line of text about settings or progress, to the standard error. With --json it prints nothing.
func (a *App) Logf(format string, args ...any) {
	if !a.Common.JSON {
		a.Write(a.Note, fmt.Sprintf(format, args...)+"\n")
	}
}

// Print prints a result as text, to the standard output. With --json it prints nothing.
func (a *App) Print(text string) {
	if !a.Common.JSON {
		a.Write(a.Out, text)
	}
}

// Fields are the fields of a line of JSON.
type Fields map[string]any

// ID returns a seed or another number of 64 bits as JSON has it: a text, since JavaScript's numbers have 53 bits.
func ID(n uint64) string { return strconv.FormatUint(n, 10) }

// FieldsOf returns a struct as fields of a line of JSON. Numbers keep all their digits.
func FieldsOf(v any) Fields {
	content, err := json.Marshal(v)
	var parts map[string]json.RawMessage
	if err == nil {
		err = json.Unmarshal(content, &parts)
	}
	if err != nil {
		panic(fmt.Sprintf("cli: a result cannot be encoded as JSON: %v", err))
	}
	f := Fields{}
	for name, part := range parts {
		f[name] = part
	}
	return f
}

// Printable replaces unprintable characters: players, games and servers choose some texts.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
}

// Emit prints one object a line with --json. event is the kind of the object.
func (a *App) Emit(event string, f Fields) {
	if a.Common.JSON {
		a.Write(a.Out, JSONLine(event, f))
	}
}

// JSONLine returns a line with an object as Emit prints it.
func JSONLine(event string, f Fields) string {
	object := Fields{"event": event}
	maps.Copy(object, f)
	line, err := json.Marshal(object)
	if err != nil {
		panic(fmt.Sprintf("cli: a result cannot be encoded as JSON: %v", err))
	}
	return escaped(line) + "\n"
}

// escaped replaces characters that are not printable by escapes of JSON, so that a line has the same meaning and shows what
// it contains.
func escaped(line []byte) string {
	var b strings.Builder
	for _, r := range string(line) {
		if unicode.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(&b, "\\u%04x", unit)
		}
	}
	return b.String()
}

// Write writes a text in one call. It replaces unprintable characters but line breaks and tabs by blanks. LostResults reports what the standard output did not accept.
func (a *App) Write(to io.Writer, text string) {
	a.printing.Lock()
	defer a.printing.Unlock()
	_, _ = io.WriteString(to, strings.Map(func(r rune) rune {
		if !strings.ContainsRune("\n\r\t", r) && !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text))
}

// Until returns a context that ends after *d, or only with the process if d is nil.
func (a *App) Until(d *time.Duration) (context.Context, context.CancelFunc, error) {
	if d == nil {
		ctx, cancel := context.WithCancel(a.Ctx)
		return ctx, cancel, nil
	}
	if *d <= 0 {
		return nil, nil, fmt.Errorf("--for %v: give a time above 0, or leave it out", *d)
	}
	ctx, cancel := context.WithTimeout(a.Ctx, *d)
	return ctx, cancel, nil
}

// InRange returns an error if the value of a flag is below low or above high.
func InRange[T cmp.Ordered](flag string, value, low, high T) error {
	if value >= low && value <= high {
		return nil
	}
	return fmt.Errorf("%s %v: give %v to %v", flag, value, low, high)
}

// NeedBot returns an error if the game has no bots.
func (a *App) NeedBot() error {
	if a.Game.Bot == nil {
		return errors.New("the game has no Bot, so there would be no player: set ecs.Game.Bot")
	}
	return nil
}

// Every calls f periodically until the context is done.
func Every(ctx context.Context, interval time.Duration, f func()) {
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

// ChooseSeed returns a seed: the given one, or a random one that is short enough to type.
func ChooseSeed(given uint64) uint64 {
	if given != 0 {
		return given
	}
	return 1 + rand.Uint64N(1e9)
}

// Counted returns a number with its noun.
func Counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprint(n, " ", many)
}
