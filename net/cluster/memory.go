package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"
)

// Memory is a Store of one process, for tests. Its zero value is empty.
type Memory struct {
	mu       sync.Mutex
	sequence uint64
	logs     map[string][]Stored
	servers  []Server // the newest announcement of each, in the order in which they were accepted
	watchers map[chan Server]bool
}

// Append adds an entry.
func (m *Memory) Append(_ context.Context, room string, e *Entry) (sequence uint64, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := e.check(); err != nil {
		return 0, err
	}
	if m.logs == nil {
		m.logs = map[string][]Stored{}
	}
	if at := m.last(room).Sequence; at != e.Before {
		return 0, fmt.Errorf("%w: %d, not %d", ErrConflict, at, e.Before)
	}
	m.sequence++
	stored := Stored{*e, m.sequence, time.Now()}
	stored.Body = bytes.Clone(e.Body)
	m.logs[room] = append(m.logs[room], stored)
	return m.sequence, nil
}

func (m *Memory) last(room string) Stored {
	if log := m.logs[room]; len(log) > 0 {
		return log[len(log)-1]
	}
	return Stored{}
}

// Last returns the newest entry.
func (m *Memory) Last(_ context.Context, room string) (e Entry, sequence uint64, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	last := m.last(room)
	return last.Entry, last.Sequence, nil
}

// Read yields entries.
func (m *Memory) Read(_ context.Context, room string, from, to uint64) iter.Seq2[Stored, error] {
	return func(yield func(Stored, error) bool) {
		m.mu.Lock()
		log := slices.Clone(m.logs[room])
		m.mu.Unlock()
		for _, e := range log {
			if e.Sequence >= from && e.Sequence <= to && !yield(e, nil) {
				return
			}
		}
	}
}

// Trim removes entries.
func (m *Memory) Trim(_ context.Context, room string, before uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.logs[room] = slices.DeleteFunc(m.logs[room], func(e Stored) bool { return e.Sequence < before })
	return nil
}

// Announce replaces an announcement.
func (m *Memory) Announce(_ context.Context, s Server) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.announce(s)
	return nil
}

func (m *Memory) announce(s Server) {
	m.servers = append(slices.DeleteFunc(m.servers, func(o Server) bool { return o.ID == s.ID }), s)
	for c := range m.watchers {
		select {
		case c <- s:
		default: // it is far behind
			delete(m.watchers, c)
			close(c)
		}
	}
}

// Withdraw removes an announcement.
func (m *Memory) Withdraw(ctx context.Context, id string) error {
	return m.Announce(ctx, Server{ID: id})
}

// Expire removes an announcement, if it is the newest one of the server.
func (m *Memory) Expire(_ context.Context, s Server) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if slices.ContainsFunc(m.servers, func(o Server) bool { return o.ID == s.ID && o.Beat == s.Beat }) {
		m.announce(Server{ID: s.ID})
	}
	return nil
}

var errBehind = errors.New("cluster: a watch is too far behind")

// Watch yields announcements.
func (m *Memory) Watch(ctx context.Context) iter.Seq2[Server, error] {
	return func(yield func(Server, error) bool) {
		updates := make(chan Server, 256)
		m.mu.Lock()
		if m.watchers == nil {
			m.watchers = map[chan Server]bool{}
		}
		m.watchers[updates] = true
		present := slices.Clone(m.servers)
		m.mu.Unlock()
		defer func() {
			m.mu.Lock()
			defer m.mu.Unlock()
			delete(m.watchers, updates)
		}()
		for _, s := range present {
			if !yield(s, nil) {
				return
			}
		}
		for {
			select {
			case <-ctx.Done():
				return
			case s, open := <-updates:
				if !open {
					yield(Server{}, errBehind)
					return
				}
				if !yield(s, nil) {
					return
				}
			}
		}
	}
}
