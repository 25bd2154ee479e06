package broadcast

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback"
	"tendon/rollback/record"
)

// Config describes the broadcast of a match.
type Config struct {
	Game   *ecs.Game     // required
	Header record.Header // of the match, as record.HeaderOf returns it. Start is the tick before the first one. Required
	Run    string        // name of the directory of the fragments: a-z, 0-9 and '-'. Unique for each Writer. Required
	Store  Store         // receives the files, on a goroutine of the Writer. Required
	// Delay is the number of ticks from the last tick of a fragment until it becomes visible.
	Delay ecs.Tick
	// Seats are the names of the players at Header.Start.
	Seats []record.Seat
	// Failed receives the first error of a series of failed writes, and nil after the next successful one. It is called on a
	// goroutine of the Writer. Optional.
	Failed func(error)
}

// Store receives the files of a broadcast.
type Store interface {
	Put(name string, data []byte) error // replaces a file atomically
	Remove(name string) error
}

const (
	cutBytes  = 1 << 20   // size of the ticks at which a fragment ends early
	copyBytes = 256 << 10 // maximum part of a state that one tick copies
	maxJobs   = 32        // maximum number of fragments that wait for the store; others are dropped
)

var errDropped = errors.New("broadcast: the files are written too slowly: a fragment was dropped, and viewers skip it")

// Writer writes the broadcast of a match. Its methods belong to the goroutine of the room, and none of them waits for the store.
//
// A fragment that cannot be written is dropped, and viewers continue with the next one.
type Writer struct {
	config Config
	header record.Header
	length ecs.Tick // of a fragment
	names  []string // of the players

	file   *bytes.Buffer  // of ticks
	ticks  *record.Writer // into file
	reach  ecs.Tick       // maximum distance that views looked back so far, in ticks
	oldest ecs.Tick       // the oldest tick that views of this fragment read
	states []copying
	seats  []record.Seat // at the start of the fragment

	hidden []ecs.Tick // the last ticks of fragments that are not visible
	lost   int        // fragments that were dropped since the last job
	jobs   chan job
	done   chan struct{}
}

// copying is a state that is copied in parts, so that no tick copies all of it.
type copying struct {
	held   *image.Snapshot
	reader *image.Reader
	data   bytes.Buffer
	tick   ecs.Tick
}

// part copies the next bytes. It returns false if all are copied.
func (c *copying) part(limit int64) bool {
	if c.reader == nil {
		return false
	}
	n, _ := io.CopyN(&c.data, c.reader, limit) // the only possible error is io.EOF
	if n < limit {
		c.held.Release()
		c.reader = nil
	}
	return true
}

// NewWriter starts the broadcast of a match. first is the state of Config.Header.Start. It may be nil for tick 0.
func NewWriter(c Config, first *image.Snapshot) (*Writer, error) {
	switch {
	case c.Game == nil || c.Store == nil:
		return nil, errors.New("broadcast: Config: Game and Store are required")
	case !runName.MatchString(c.Run):
		return nil, fmt.Errorf("broadcast: Config: Run is %q, want a-z, 0-9 and -", c.Run)
	case c.Header.Start.Tick > 0 && first.Empty():
		return nil, fmt.Errorf("broadcast: NewWriter without the state of tick %d", c.Header.Start.Tick)
	}
	w := &Writer{config: c, header: c.Header, length: ecs.Tick(FragmentSeconds * c.Game.TickRate), names: make([]string, c.Game.MaxPlayers),
		jobs: make(chan job, maxJobs), done: make(chan struct{})}
	for _, s := range c.Seats {
		if int(s.Player) < len(w.names) {
			w.names[s.Player] = s.Name
		}
	}
	if err := w.begin(c.Header.Start, first, nil); err != nil {
		return nil, err
	}
	p := newPublisher(&c)
	go func() {
		defer close(w.done)
		p.run(w.jobs)
	}()
	return w, nil
}

// begin begins a fragment after a position. past is the past of the match. Optional.
func (w *Writer) begin(at record.Position, first *image.Snapshot, past func(ecs.Tick) (*image.Snapshot, bool)) (err error) {
	w.header = headerOf(w.config.Header, at)
	w.file = new(bytes.Buffer)
	if w.ticks, err = record.NewTicksWriter(w.file, w.config.Game, w.header); err != nil {
		return err
	}
	for i := range w.states { // a fragment that was not finished
		w.states[i].held.Release()
	}
	w.oldest, w.states, w.seats = at.Tick, nil, nil
	if first.Empty() {
		return nil
	}
	w.seats = seatsOf(first.Players(), w.names)
	list := []*image.Snapshot{first}
	for f := at.Tick; past != nil && f > 0 && at.Tick-f < min(w.reach, ecs.Tick(w.config.Game.TickRate)); f-- {
		s, ok := past(f - 1)
		if !ok {
			break
		}
		list = append(list, s)
	}
	w.states = make([]copying, len(list))
	for i, s := range slices.Backward(list) { // the newest is the last
		c := &w.states[len(list)-1-i]
		c.held, c.tick = new(image.Snapshot), s.Tick()
		c.held.Hold(s)
		c.reader = image.NewReader(c.held)
	}
	return nil
}

// Tick appends a final tick with its checksum. state is the state of that tick. world contains the past of the match, which views
// read. A tick that does not follow the previous one begins a new fragment.
func (w *Writer) Tick(t rollback.FinalTick, state *image.Snapshot, world *ecs.World) {
	noteJoins(w.names, t.Orders)
	err := w.ticks.Tick(t)
	if err == nil {
		w.copy(copyBytes)
		if back := record.LookBack(t.Tick, t.Orders); back > 0 {
			w.reach, w.oldest = max(w.reach, back), min(w.oldest, t.Tick-back)
		}
	}
	if err != nil || t.Tick-w.header.Start.Tick >= w.length || w.ticks.Waiting() > cutBytes {
		if err == nil {
			w.cut()
		}
		at := record.Position{Tick: t.Tick, Chain: w.ticks.Chain(), Inputs: t.Inputs}
		_ = w.begin(at, state, world.Image().Past) // the header was valid before
	}
	w.show(t.Tick)
}

// copy copies the next bytes of the states of the fragment.
func (w *Writer) copy(limit int64) {
	for i := range w.states {
		if w.states[i].part(limit) {
			return
		}
	}
}

// finish returns the fragment, which ends with the last tick.
func (w *Writer) finish() job {
	f := &fragment{header: w.header, last: w.ticks.Last(), seats: w.seats}
	err := w.ticks.End()
	f.ticks = w.file.Bytes()
	for i := range w.states {
		s := &w.states[i]
		for s.part(1 << 30) {
		}
		if s.tick >= w.oldest {
			f.states = append(f.states, state{s.tick, s.data.Bytes()})
		}
	}
	return job{add: f, err: err, lost: w.lost}
}

// cut passes the fragment to the publisher.
func (w *Writer) cut() {
	select {
	case w.jobs <- w.finish():
		w.hidden, w.lost = append(w.hidden, w.ticks.Last()), 0
	default:
		w.lost++
	}
}

// show requests the publication of the fragments that become visible in tick f.
func (w *Writer) show(f ecs.Tick) {
	n := 0
	for n < len(w.hidden) && w.hidden[n]+w.config.Delay <= f {
		n++
	}
	if n == 0 {
		return
	}
	select {
	case w.jobs <- job{show: w.hidden[n-1]}:
		w.hidden = slices.Delete(w.hidden, 0, n)
	default: // the next tick tries again
	}
}

// Close ends the broadcast and returns a function that waits until the files are written. If over is true, the remaining fragments
// become visible. Otherwise another process may continue the match, and Close drops fragments that are not visible yet.
func (w *Writer) Close(over bool) (wait func()) {
	return func() { // the publisher reads all jobs
		if over && w.ticks.Last() > w.header.Start.Tick {
			w.jobs <- w.finish()
		}
		if over {
			w.jobs <- job{show: w.ticks.Last(), over: true, lost: w.lost}
		}
		close(w.jobs)
		<-w.done
	}
}
