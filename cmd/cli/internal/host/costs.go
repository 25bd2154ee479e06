package host

import (
	"fmt"
	"maps"
	"sync"
	"time"

	"tendon/cmd/cli/internal/app"
	"tendon/ecs"
	"tendon/net/cost"
)

// Costs are the costs of all rooms of a server. Every open room has a ledger, which is merged into past when the room closes.
// Rooms open and close on several goroutines.
type Costs struct {
	game     *ecs.Game
	recorder *cost.Recorder // of slow ticks; optional

	mu   sync.Mutex
	open map[string]*cost.Ledger // by room
	past *cost.Ledger
}

func newCosts(game *ecs.Game, recorder *cost.Recorder) *Costs {
	return &Costs{game: game, recorder: recorder, open: map[string]*cost.Ledger{}, past: NewLedger(game, "server", nil)}
}

// NewLedger returns a ledger for a room or a client of a valid game.
func NewLedger(game *ecs.Game, name string, recorder *cost.Recorder) *cost.Ledger {
	// One digit, an error of at most 7 %, since there may be hundreds.
	l, err := cost.New(cost.Config{Game: game, Name: name, Digits: 1, Recorder: recorder})
	if err != nil {
		panic(fmt.Sprintf("cli: the ledger of a valid game: %v", err))
	}
	return l
}

// begin returns the ledger of a new room.
func (c *Costs) begin(room string) *cost.Ledger {
	l := NewLedger(c.game, "room "+room, c.recorder)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open[room] = l
	return l
}

// end merges the costs of a closed room. The room's goroutine calls it.
func (c *Costs) end(room string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l := c.open[room]; l != nil {
		delete(c.open, room)
		c.past.Merge(l)
	}
}

// All returns the costs of the open rooms by name, at most about a second old, and of all closed rooms. Each room is in one
// of them. Any goroutine may call it; it does not block rooms.
func (c *Costs) All() (open map[string]cost.Report, past cost.Report) {
	c.mu.Lock()
	ledgers, past := maps.Clone(c.open), c.past.Report()
	c.mu.Unlock()
	open = make(map[string]cost.Report, len(ledgers))
	for room, l := range ledgers {
		open[room] = l.Latest()
	}
	return open, past
}

// Total returns the costs of all closed rooms.
func (c *Costs) Total() cost.Report {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.past.Report()
}

// PrintCosts prints a line for each report that has turns.
func PrintCosts(a *app.App, reports ...cost.Report) {
	for i := range reports {
		if r := &reports[i]; r.Turns > 0 {
			a.Print("costs of the " + r.Line() + "\n")
		}
	}
}

// SlowFlags are the flags about slow ticks.
type SlowFlags struct {
	SlowDir string `type:"path" help:"When a tick exceeds its budget, write a trace of the last seconds and a table of costs into this directory: at most 8 per run, one in 10 s. New files replace the oldest of previous runs."`
}

// OpenRecorder starts the flight recorder of --slow-dir, if any.
func (f *SlowFlags) OpenRecorder(a *app.App) (*cost.Recorder, error) {
	if f.SlowDir == "" {
		return nil, nil
	}
	r, err := cost.NewRecorder(cost.RecorderConfig{Dir: f.SlowDir, Recorded: func(r cost.Recording) { printSlow(a, r) }})
	if err != nil {
		return nil, fmt.Errorf("slow ticks cannot be recorded: %w; choose another --slow-dir", err)
	}
	return r, nil
}

// printSlow reports the files of a slow tick.
func printSlow(a *app.App, r cost.Recording) {
	f := app.Fields{"of": r.Name, "tick": r.Turn.Tick, "ms": float64(r.Turn.Cost) / 1e6, "budget_ms": float64(r.Budget) / 1e6, "trace": r.Trace, "table": r.Table}
	text := fmt.Sprintf("%s: tick %d took %v of %v; the trace before it is %s, for go tool trace, its costs are in %s", r.Name, r.Turn.Tick,
		r.Turn.Cost.Round(10*time.Microsecond), r.Budget.Round(10*time.Microsecond), r.Trace, r.Table)
	if r.Err != nil {
		f["error"] = r.Err.Error()
		text = fmt.Sprintf("%s: tick %d took %v, and it cannot be recorded: %v", r.Name, r.Turn.Tick, r.Turn.Cost, r.Err)
	}
	a.Emit("slow", f)
	a.Logf("%s", text)
}

// CloseRecorder ends a flight recorder, if there is one.
func CloseRecorder(r *cost.Recorder) {
	if r != nil {
		r.Close()
	}
}
