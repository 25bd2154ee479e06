package cli

import (
	"fmt"
	"maps"
	"sync"
	"time"

	"tendon/ecs"
	"tendon/net/cost"
)

// costs are those of all rooms of a server: every room has a ledger while it is open, and what it cost is kept in past
// when it is over. Rooms open and end on several goroutines.
type costs struct {
	game     *ecs.Game
	recorder *cost.Recorder // nil: slow ticks are not recorded

	mu   sync.Mutex
	open map[string]*cost.Ledger // by room
	past *cost.Ledger
}

func newCosts(game *ecs.Game, recorder *cost.Recorder) *costs {
	return &costs{game: game, recorder: recorder, open: map[string]*cost.Ledger{}, past: newLedger(game, "server", nil)}
}

// newLedger returns a ledger for a room or a client of a game that was checked.
func newLedger(game *ecs.Game, name string, recorder *cost.Recorder) *cost.Ledger {
	// One digit, since there may be hundreds: 7 % off at most.
	l, err := cost.New(cost.Config{Game: game, Name: name, Digits: 1, Recorder: recorder})
	if err != nil {
		panic(fmt.Sprintf("cli: a ledger for a game that was checked: %v", err))
	}
	return l
}

// begin returns the ledger of a room that opens.
func (c *costs) begin(room string) *cost.Ledger {
	l := newLedger(c.game, "room "+room, c.recorder)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open[room] = l
	return l
}

// end keeps what a room cost that is over. It is for the room's goroutine.
func (c *costs) end(room string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l := c.open[room]; l != nil {
		delete(c.open, room)
		c.past.Merge(l)
	}
}

// all returns what the open rooms have cost, by their names and at most about a second old, and what all rooms have that
// are over. A room is in one of them. Any goroutine may ask; a room that opens or ends waits for none that are open.
func (c *costs) all() (open map[string]cost.Report, past cost.Report) {
	c.mu.Lock()
	ledgers, past := maps.Clone(c.open), c.past.Report()
	c.mu.Unlock()
	open = make(map[string]cost.Report, len(ledgers))
	for room, l := range ledgers {
		open[room] = l.Latest()
	}
	return open, past
}

// total returns what all rooms that are over have cost.
func (c *costs) total() cost.Report {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.past.Report()
}

// tellCosts says in a line for each what rooms and clients have cost, those that did anything.
func (a *app) tellCosts(reports ...cost.Report) {
	for i := range reports {
		if r := &reports[i]; r.Turns > 0 {
			a.tell("costs of the " + r.Line() + "\n")
		}
	}
}

// slowFlags say where slow ticks are recorded.
type slowFlags struct {
	SlowDir string `type:"path" help:"Leave a trace of the last seconds and a table of costs in this directory when a tick takes longer than it may: at most 8 in a run, and one in 10 s; the oldest of former runs give way to new ones."`
}

// recorder starts the flight recorder, if it was asked for.
func (f *slowFlags) recorder(a *app) (*cost.Recorder, error) {
	if f.SlowDir == "" {
		return nil, nil
	}
	r, err := cost.NewRecorder(cost.RecorderConfig{Dir: f.SlowDir, Told: a.tellSlow})
	if err != nil {
		return nil, fmt.Errorf("slow ticks cannot be recorded: %w; choose another --slow-dir", err)
	}
	return r, nil
}

// tellSlow says where a slow tick was recorded.
func (a *app) tellSlow(r cost.Recording) {
	f := fields{"of": r.Name, "tick": r.Turn.Tick, "ms": float64(r.Turn.Cost) / 1e6, "budget_ms": float64(r.Budget) / 1e6, "trace": r.Trace, "table": r.Table}
	text := fmt.Sprintf("%s: tick %d took %v of %v; what happened before is in %s, for go tool trace, and %s", r.Name, r.Turn.Tick,
		r.Turn.Cost.Round(10*time.Microsecond), r.Budget.Round(10*time.Microsecond), r.Trace, r.Table)
	if r.Err != nil {
		f["error"] = r.Err.Error()
		text = fmt.Sprintf("%s: tick %d took %v, and that cannot be recorded: %v", r.Name, r.Turn.Tick, r.Turn.Cost, r.Err)
	}
	a.emit("slow", f)
	a.say("%s", text)
}

// closeRecorder ends a flight recorder, if there is one.
func closeRecorder(r *cost.Recorder) {
	if r != nil {
		r.Close()
	}
}
