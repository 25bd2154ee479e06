package cluster

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"time"
)

// model is a store in virtual time. Requests take random times. Requests and replies can be lost, can arrive after the timeout of
// the sender, and wait while the store has no quorum. Reads and announcements can be stale. A Watch may stop without an error, or fall behind.
type model struct {
	store   Memory
	mu      sync.Mutex
	random  *rand.Rand
	down    bool // there is no quorum
	noFence bool // entries are added after any other: a fault that the checker must find
	ended   chan struct{}
	seen    counts
	past    []announced              // all announcements, in order
	added   chan struct{}            // closed when one is added
	claimed func(room, owner string) // is called when a claim replaces an owner
}

// announced is an announcement with its time.
type announced struct {
	Server
	at time.Time
}

// counts are what a run has seen.
type counts struct {
	Claims, Takeovers, Appends, Conflicts, LostRequests, LostReplies, Late, Stale, Pauses, Kills, Cuts, Outages, Parts, Begins, Releases, Moves, Moved, Reclaimed, Dropped, Abandoned, Ends, Trims, Followed, Stopped, Behind, Slow int
}

func (c *counts) add(o counts) {
	to, from := reflect.ValueOf(c).Elem(), reflect.ValueOf(o)
	for i := range to.NumField() {
		to.Field(i).SetInt(to.Field(i).Int() + from.Field(i).Int())
	}
}

func newModel(seed uint64) *model {
	return &model{random: rand.New(rand.NewPCG(seed, 1)), ended: make(chan struct{}), added: make(chan struct{})}
}

// link is one server's connection to the model.
type link struct {
	m       *model
	seed    uint64
	mu      sync.Mutex
	random  map[string]*rand.Rand
	to      bool          // requests are lost
	from    bool          // replies are lost
	paused  chan struct{} // closed when the process continues; nil: it runs
	killed  chan struct{}
	lossy   float64
	watches int // calls of Watch since the faults
}

var errUnreachable = errors.New("no answer")

// draws are the random numbers of one goroutine of a process, so that a run follows from its seed.
func (l *link) draws(of string) *rand.Rand {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.random[of]
	if r == nil {
		h := fnv.New64a()
		h.Write([]byte(of))
		r = rand.New(rand.NewPCG(l.seed, h.Sum64()))
		l.random[of] = r
	}
	return r
}

// delay is a random time on the way: mostly half a millisecond, sometimes much longer.
func delay(r *rand.Rand) time.Duration {
	d := time.Duration(200_000 + r.Float64()*600_000)
	if r.Float64() < 0.01 {
		d += time.Duration(r.Float64() * 300e6)
	}
	return d
}

// runs waits while the process is paused, and ends its goroutine's work if it was killed.
func (l *link) runs(of string) error {
	for {
		l.mu.Lock()
		paused := l.paused
		l.mu.Unlock()
		select {
		case <-l.killed:
			return errUnreachable
		default:
		}
		if paused == nil {
			return nil
		}
		select {
		case <-paused:
			l.m.sleep(delay(l.draws(of))) // goroutines of a process continue at different moments
		case <-l.killed:
		}
	}
}

// faults are the faults of the connection now.
func (l *link) faults() (to, from bool, lossy float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.to, l.from, l.lossy
}

// reply is the store's answer to a request.
type reply[T any] struct {
	value T
	err   error
}

// call sends a request of a goroutine, which do executes at the store, and waits for the reply.
func call[T any](ctx context.Context, l *link, of string, do func() (T, error)) (T, error) {
	var got reply[T]
	if err := l.runs(of); err != nil {
		return got.value, err
	}
	m := l.m
	done := make(chan reply[T], 1)
	to, _, lossy := l.faults()
	r := l.draws(of)
	lost, unanswered, late := r.Float64() < lossy || to, r.Float64() < lossy, r.Float64() < lossy/2
	there, back := delay(r), delay(r)
	if late {
		there += time.Duration(r.Float64() * 3e9)
	}
	go func() {
		if lost {
			m.count(func(c *counts) { c.LostRequests++ })
			return
		}
		if !m.sleep(there) {
			return
		}
		for m.isDown() {
			if !m.sleep(50 * time.Millisecond) {
				return
			}
		}
		if late && ctx.Err() != nil {
			m.count(func(c *counts) { c.Late++ })
		}
		value, err := do()
		if !m.sleep(back) {
			return
		}
		if _, from, _ := l.faults(); from || unanswered {
			m.count(func(c *counts) { c.LostReplies++ })
			return
		}
		done <- reply[T]{value, err}
	}()
	timer := time.NewTimer(time.Second)
	defer timer.Stop()
	select {
	case got = <-done:
	case <-ctx.Done():
		got.err = ctx.Err()
	case <-timer.C:
		got.err = errUnreachable
	case <-l.killed:
		got.err = errUnreachable
	}
	return got.value, errors.Join(got.err, l.runs(of))
}

func (m *model) sleep(d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-m.ended:
		return false
	}
}

func (m *model) isDown() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.down
}

func (m *model) count(f func(c *counts)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f(&m.seen)
}

func (l *link) Append(ctx context.Context, room string, e *Entry) (uint64, error) {
	b, err := e.Append(nil)
	if err != nil {
		return 0, err
	}
	return call(ctx, l, room, func() (uint64, error) {
		m := l.m
		m.mu.Lock()
		defer m.mu.Unlock()
		entry, err := ParseEntry(b)
		if err != nil {
			return 0, err
		}
		last, at, _ := m.store.Last(ctx, room)
		if m.noFence {
			entry.Before = at
		}
		sequence, err := m.store.Append(ctx, room, &entry)
		if err != nil {
			m.seen.Conflicts++
			return 0, err
		}
		switch entry.Kind {
		case KindClaim:
			m.seen.Claims++
			switch {
			case at == 0 || last.owner() == "":
			case last.Kind == KindMove:
				m.seen.Reclaimed++
			default:
				m.seen.Takeovers++
			}
			if at != 0 && last.owner() != entry.Owner && !m.noFence {
				m.claimed(room, last.Owner)
			}
		case KindPart:
			m.seen.Parts++
		case KindData:
			m.seen.Appends++
			if entry.From == itself || last.Kind == KindPart {
				m.seen.Begins++
			}
		case KindRelease:
			m.seen.Releases++
		case KindMove:
			m.seen.Moves++
		case KindEnd:
			m.seen.Ends++
		}
		return sequence, nil
	})
}

// stale reports whether a reply is of an earlier moment.
func (l *link) stale() bool {
	_, _, lossy := l.faults()
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	stale := l.m.random.Float64() < lossy
	if stale {
		l.m.seen.Stale++
	}
	return stale
}

func (l *link) Last(ctx context.Context, room string) (Entry, uint64, error) {
	last, err := call(ctx, l, room, func() (last Stored, _ error) {
		last.Entry, last.Sequence, _ = l.m.store.Last(ctx, room)
		if last.Sequence == 0 || !l.stale() {
			return last, nil
		}
		past := l.list(room, 0, last.Entry.Before)
		if len(past) == 0 {
			return Stored{}, nil
		}
		return past[len(past)-1], nil
	})
	return last.Entry, last.Sequence, err
}

func (l *link) list(room string, from, to uint64) (list []Stored) {
	for e := range l.m.store.Read(context.Background(), room, from, to) {
		list = append(list, e)
	}
	return list
}

func (l *link) Read(ctx context.Context, room string, from, to uint64) iter.Seq2[Stored, error] {
	return func(yield func(Stored, error) bool) {
		list, err := call(ctx, l, room, func() ([]Stored, error) {
			list := l.list(room, from, to)
			if len(list) > 1 && l.stale() {
				list = slices.Delete(list, len(list)/2, len(list)/2+1)
			}
			return list, nil
		})
		if err != nil {
			yield(Stored{}, err)
			return
		}
		for _, e := range list {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (l *link) Trim(ctx context.Context, room string, before uint64) error {
	_, err := call(ctx, l, fmt.Sprint("trim ", room, before), func() (struct{}, error) {
		l.m.count(func(c *counts) { c.Trims++ })
		return struct{}{}, l.m.store.Trim(ctx, room, before)
	})
	return err
}

func (l *link) Announce(ctx context.Context, s Server) error {
	return l.send(ctx, fmt.Sprint("announcement ", s.Beat), func() error { return l.m.store.Announce(ctx, s) })
}

func (l *link) Withdraw(ctx context.Context, id string) error {
	return l.send(ctx, "withdrawal", func() error { return l.m.store.Withdraw(ctx, id) })
}

func (l *link) Expire(ctx context.Context, s Server) error {
	return l.send(ctx, fmt.Sprint("expiry ", s.ID, " ", s.Beat), func() error { return l.m.store.Expire(ctx, s) })
}

// send is a call whose reply has no value.
func (l *link) send(ctx context.Context, of string, do func() error) error {
	_, err := call(ctx, l, of, func() (struct{}, error) { return struct{}{}, do() })
	return err
}

func (l *link) Watch(ctx context.Context) iter.Seq2[Server, error] {
	return func(yield func(Server, error) bool) {
		l.mu.Lock()
		l.watches++
		l.mu.Unlock()
		if _, err := call(ctx, l, "watch", func() (struct{}, error) { return struct{}{}, nil }); err != nil {
			yield(Server{}, err)
			return
		}
		r, lag := l.draws("watch"), time.Duration(0)
		for s := range l.m.watch(ctx, l.behind(r)) {
			_, from, lossy := l.faults()
			for ; from; _, from, _ = l.faults() { // the connection delivers all or ends
				if pause(ctx, 20*time.Millisecond) != nil {
					return
				}
			}
			// The race detector of Go 1.26 crashes if a timer in virtual time is due at once.
			if late := time.Until(s.at.Add(lag)); late > 0 && pause(ctx, late) != nil {
				return
			}
			if l.runs("watch") != nil || !l.m.sleep(delay(r)) || !yield(s.Server, nil) {
				return
			}
			switch p := r.Float64(); {
			case p < lossy/10:
				yield(Server{}, errUnreachable)
				return
			case p < lossy/5: // the part of the store that sends the announcements has failed
				l.m.count(func(c *counts) { c.Stopped++ })
				<-ctx.Done()
				return
			case lag == 0 && p < 3*lossy/10: // all later announcements are late until Watch is called again
				l.m.count(func(c *counts) { c.Slow++ })
				lag = time.Duration(500e6 + r.Float64()*3e9)
			}
		}
	}
}

// behind returns the number of announcements that the replica lacks at which a Watch begins. It receives them later.
func (l *link) behind(r *rand.Rand) (count int) {
	if _, _, lossy := l.faults(); r.Float64() < 4*lossy {
		l.m.count(func(c *counts) { c.Behind++ })
		count = r.IntN(100)
	}
	return count
}

// watch yields the announcements of a replica that lacks a number of them for up to two seconds.
func (m *model) watch(ctx context.Context, behind int) iter.Seq[announced] {
	return func(yield func(announced) bool) {
		m.mu.Lock()
		next := max(0, len(m.past)-behind)
		past := slices.Clone(m.past[:next])
		m.mu.Unlock()
		newest := map[string]int{}
		for i, s := range past {
			newest[s.ID] = i
		}
		for i, s := range past {
			if newest[s.ID] == i && !yield(s) {
				return
			}
		}
		if behind > 0 && pause(ctx, time.Duration(behind)*20*time.Millisecond) != nil {
			return
		}
		for ctx.Err() == nil {
			m.mu.Lock()
			later, added := slices.Clone(m.past[next:]), m.added
			m.mu.Unlock()
			for _, s := range later {
				if next++; !yield(s) {
					return
				}
			}
			select {
			case <-ctx.Done():
			case <-added:
			}
		}
	}
}

// record keeps all announcements in order until ctx is done.
func (m *model) record(ctx context.Context) {
	for s := range m.store.Watch(ctx) {
		m.mu.Lock()
		m.past = append(m.past, announced{s, time.Now()})
		close(m.added)
		m.added = make(chan struct{})
		m.mu.Unlock()
	}
}
