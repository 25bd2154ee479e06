package journals

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/cluster"
	"tendon/net/room"
	"tendon/rollback/record"
	"tendon/systems"
)

// openCluster returns the store of a server whose journals are in the logs of a cluster.
func openCluster(c *Config) *Store { return newStore(c, func() error { return nil }) }

// log is a File that writes a journal to the log of a room in a cluster. Appended entries are durable at once.
type log struct {
	*cluster.Room
	begins   bool // the next Write begins the journal anew
	releases bool // the next Write releases the room
	released bool // a Write has released the room
	probing  bool // the result of the last probe is unknown; guarded by output.file

	next string // ID of the server to which the release moves the room, or "": any server can claim it; guarded by Store.mu until Keep
}

// appendLimit is the timeout of an append. Its result is requested again afterwards.
const appendLimit = time.Second

// movedWait is how long a match that another server released waits for its players: a few ticks. Those who play are connected already.
const movedWait = systems.Second / 20

// claimLimit is the time for which Open waits for the store of the cluster.
const claimLimit = 8 * time.Second

// Write appends bytes, all or none. After an error the same bytes must be written again.
func (l *log) Write(b []byte) (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), appendLimit)
	defer cancel()
	var err error
	if l.releases {
		err = l.Release(ctx, b, l.next)
		l.released = err == nil
	} else {
		err = l.Append(ctx, b, l.begins)
	}
	if err != nil {
		return 0, err
	}
	return len(b), nil
}

func (l *log) WriteAt([]byte, int64) (int, error) { return 0, errors.ErrUnsupported }
func (l *log) Truncate(int64) error               { return errors.ErrUnsupported }
func (l *log) Stat() (fs.FileInfo, error)         { return nil, errors.ErrUnsupported }
func (l *log) Sync() error                        { return nil }
func (l *log) Close() error                       { return nil }

// claim makes this server the owner of a room of a cluster. It returns the match that its former owner left, or nil. c has the
// strategies with which a match can continue.
func (s *Store) claim(name string, c *room.Config) (l *log, m *Match, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), claimLimit)
	defer cancel()
	r, err := s.config.Cluster.Claim(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil { // another server may be able to continue the match
			leave, cancel := context.WithTimeout(context.Background(), appendLimit)
			defer cancel()
			err = errors.Join(err, r.Release(leave, nil, ""))
		}
	}()
	data, err := r.Recovered(ctx)
	if err != nil || data == nil {
		return &log{Room: r}, nil, err
	}
	m, err = s.match(data, &Match{File: logOf(name), Ended: logOf(name), Written: r.Written(), Shared: true, room: c})
	if err != nil && (otherBuild(err) || errors.Is(err, ErrStrategy)) {
		err = fmt.Errorf("%w: %w", ErrOtherBuild, err)
	}
	if m != nil && (m.empty != nil || m.Journal.Ended()) {
		m = nil
	}
	return &log{Room: r}, m, err
}

// offers reports whether a room offers the strategy with which a match began, with the same parameters. c may be nil: then it does not.
func offers(c *room.Config, h *record.Header) bool {
	if c == nil || h.Strategy == c.Strategy.Name {
		return false
	}
	return slices.ContainsFunc(c.Strategies, func(s systems.Strategy) bool { return s.Name == h.Strategy && bytes.Equal(s.Params, h.Params) })
}

// logOf describes the log of a room.
func logOf(room string) string { return "the log of room " + room }

// openLog opens the journal of a room in its log.
func (s *Store) openLog(name string, c *room.Config) (*roomJournal, *Match, error) {
	l, m, err := s.claim(name, c)
	if err != nil {
		return nil, nil, err
	}
	j := &roomJournal{store: s, room: name, wake: wakeOf(c), out: newOutput(), match: m, path: logOf(name), file: l, log: l}
	if m != nil {
		j.writer, j.header, j.seats, j.reach = m.Journal.Resume(&j.out), m.Journal.Header(), m.Journal.Seats(), m.Journal.Reach()
		if d, ok := m.Journal.Digest(); ok && len(c.HistoryKey) > 0 {
			j.digest = &d
		}
		j.header.Present, j.header.Since = m.Journal.StrategyAt(maxTick)
		if torn := m.Journal.Torn(); m.before != nil || torn != nil { // the log has the journal of another build, or a part of the last append
			j.out.fresh = true
			_, _ = j.out.Write(m.Journal.Bytes())
			if err = j.drain(); err == nil && torn != nil {
				s.config.Report(Event{Kind: Torn, Room: name, File: j.path, Tick: m.world.Tick(), Err: torn})
			}
		}
		return j, m, err
	}
	j.header, j.out.fresh = s.header(name, c), true
	if len(c.HistoryKey) > 0 {
		j.digest = new(record.Digest)
	}
	if j.writer, err = record.NewWriter(&j.out, s.config.Game, j.header); err == nil {
		err = errors.Join(j.writer.Flush(), j.drain())
	}
	return j, nil, err
}

// group returns nil before the entries are written, and writes them together, with one append in each interval of Config.Sync. It is
// called only while no other server can have the room. The room waits if they are not written after three seconds.
func (j *roomJournal) group(rate int) error {
	_ = j.writer.Flush() // output accepts all bytes
	j.begun, j.calls = false, 0
	accepted, durable, failed := j.out.state()
	if durable == accepted {
		return nil
	}
	if j.age >= int(time.Duration(j.store.config.Sync)*time.Duration(rate)/time.Second) {
		j.store.writers.list(j, accepted, failed != nil)
	}
	if err := j.tooFar(accepted, durable, rate, false); err != nil {
		return cmp.Or(failed, err)
	}
	return nil
}

// restart begins the journal anew with a state, that of the last tick, so that the next owner reads and simulates little. The journal of
// a match with results that are not stored is continued instead, because the next owner finds them only in its ticks.
//
// Entries that were not flushed are written before. If views of the last tick look back farther than the past that the journal has, the
// entries are left out instead: the state has them, and the log never ends between a tick and the past that its views need.
func (j *roomJournal) restart(w *ecs.World, state *image.Snapshot, past []*image.Snapshot, covered bool) error {
	if !j.restarts(w) {
		return j.writer.Image(state, past...)
	}
	if covered {
		_ = j.writer.Flush() // output accepts all bytes
	}
	h, next := j.header, *j.writer
	h.Start, h.Digest = record.PositionOf(w, j.writer.Chain()), record.Digest{}
	if j.digest != nil {
		h.Digest = *j.digest
	}
	err := next.Reset(&j.out, j.store.config.Game, h)
	if err == nil {
		err = next.Image(state, past...)
	}
	for _, s := range j.seats {
		if err == nil {
			err = next.Seat(s)
		}
	}
	if err != nil {
		return err
	}
	*j.writer, j.out.fresh = next, true
	return j.writer.Flush()
}

// restarts reports whether the journal can begin anew with the world's state.
func (j *roomJournal) restarts(w *ecs.World) bool {
	return !j.out.restarting() && j.settled(w)
}

// settled reports whether the results of all ticks up to the world's are stored.
func (j *roomJournal) settled(w *ecs.World) bool {
	c := &j.store.config
	return (c.Game.Result == nil || c.Game.Result(w) == nil) && c.Settled(j.room)
}

// release writes the buffered bytes and releases the room, so that another server can continue the match at once.
func (j *roomJournal) release() {
	if why := j.broken.Load(); why != nil {
		return // another server has the room, or will have it after the lease
	}
	_ = j.writer.Flush() // output accepts all bytes
	end := j.log.End
	if !j.unused() {
		j.out.end()
		end = func(ctx context.Context) error {
			if j.log.released {
				return nil
			}
			return j.log.Release(ctx, nil, j.log.next)
		}
	}
	if err := j.leave(end); err != nil {
		j.report(NotKept, err)
	}
}

// endLog writes the end mark of a match that is over, and ends it in the cluster.
func (j *roomJournal) endLog(kind Kind) {
	err := j.writer.End()
	if err == nil {
		err = j.leave(j.log.End)
	}
	if err != nil {
		j.report(NotArchived, err)
		return
	}
	if j.unused() {
		kind = Unused
	}
	j.report(kind, nil)
}

// leave writes all buffered bytes, and then ends the ownership of the room.
func (j *roomJournal) leave(end func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), claimLimit)
	defer cancel()
	for {
		if err := j.drain(); err != nil && (ctx.Err() != nil || j.broken.Load() != nil) {
			return err
		}
		if accepted, durable, _ := j.out.state(); durable == accepted {
			return j.out.locked(func() error {
				if err := j.repeatProbe(); err != nil {
					return err
				}
				return end(ctx)
			})
		}
	}
}

// CheckOwnership appends an entry without bytes to the log of each open room. It returns the number of rooms whose log has accepted the entry, and
// the names of the rooms that another server owns. Rooms that are closed meanwhile, or have no reply when ctx is done, are not included.
func (s *Store) CheckOwnership(ctx context.Context) (owned int, lost []string) {
	lost = []string{}
	var all sync.WaitGroup
	for _, j := range s.rooms() {
		all.Go(func() {
			err := j.checkOwnership(ctx)
			s.mu.Lock()
			defer s.mu.Unlock()
			switch {
			case s.open[j.room] != j: // it was closed meanwhile
			case err == nil:
				owned++
			case errors.Is(err, cluster.ErrLost):
				lost = append(lost, j.room)
			}
		})
	}
	all.Wait()
	slices.Sort(lost)
	return owned, lost
}

// checkOwnership repeats the probe until the log accepts it, the room is lost, or ctx is done. It writes the queued bytes before, because an append
// with an unknown result must be repeated.
func (j *roomJournal) checkOwnership(ctx context.Context) error {
	check := func() error {
		if j.out.ends() {
			return errClosed // and the release must not be repeated
		}
		if err := j.drainLocked(); err != nil {
			return err
		}
		return j.probe()
	}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case j.out.file <- struct{}{}:
		}
		err := check()
		<-j.out.file
		if err == nil || err == errClosed || j.broken.Load() != nil {
			return err
		}
	}
}

// probe appends an entry without bytes. After an error it must be called again before any other append. The caller has the lock of the file.
func (j *roomJournal) probe() error {
	ctx, cancel := context.WithTimeout(context.Background(), appendLimit)
	defer cancel()
	err := j.log.Append(ctx, nil, false)
	lost := errors.Is(err, cluster.ErrLost)
	if lost {
		j.check(err)
	}
	j.log.probing = err != nil && !lost
	return err
}

// repeatProbe repeats the last probe if its result is unknown.
func (j *roomJournal) repeatProbe() error {
	if j.log == nil || !j.log.probing {
		return nil
	}
	return j.probe()
}
