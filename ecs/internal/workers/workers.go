// Package workers runs the parts of a job on several cores. It is the only package of the simulation with goroutines: its
// helpers. They are started for a job, and end a tenth of a millisecond after the last one.
//
// The order of the parts, and the core of each part, differ from call to call. So parts must be independent: none may write
// memory that another one reads or writes.
package workers

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// Job is work in parts.
type Job interface {
	// Part does part i of the job.
	Part(i int)
}

// Cores returns the number of cores that Run uses at most.
func Cores() int { return runtime.GOMAXPROCS(0) }

// Run calls Part for each i in [0, parts) and returns when all calls have returned. It uses at most Cores cores, and one if
// another job is running. If parts panic, Run panics with the value of the first of them in the order of i.
func Run(job Job, parts int) {
	helpers := min(parts, Cores()) - 1
	if helpers < 1 || !shared.TryLock() {
		for i := range parts {
			job.Part(i)
		}
		return
	}
	shared.run(job, parts, helpers)
}

// shared are the helpers of the process. A running job locks them.
var shared = team{done: make(chan struct{})}

type team struct {
	sync.Mutex
	job    Job
	parts  int32
	next   atomic.Int32  // first part that has not begun
	state  atomic.Int32  // open or waiting, plus the number of helpers at work
	alive  atomic.Int32  // helpers
	done   chan struct{} // the last helper at work sends to it if waiting is set
	failed failure
}

// Parts of team.state.
const (
	open    = 1 << 30 // helpers may join
	waiting = 1 << 29 // Run waits for done
)

// failure is the first part that panicked.
type failure struct {
	sync.Mutex
	part  int32
	value any // nil if none has panicked
}

func (t *team) run(job Job, parts, helpers int) {
	t.job, t.parts, t.failed.value = job, int32(parts), nil
	t.next.Store(0)
	t.state.Store(open)
	defer t.end()
	for range helpers - int(t.alive.Load()) {
		t.alive.Add(1)
		go help()
	}
	t.work(false)
}

// end waits until no helper is at work.
func (t *team) end() {
	t.state.Add(-open)
	if !t.poll(func(s int32) bool { return s == 0 }) && t.state.Add(waiting) != waiting {
		<-t.done
	}
	t.state.Store(0)
	failed := t.failed.value
	t.job, t.failed.value = nil, nil
	t.Unlock()
	if failed != nil {
		panic(failed)
	}
}

// help takes part in the jobs of a goroutine. It has no arguments, since go would allocate memory for them.
func help() {
	t := &shared
	defer t.alive.Add(-1)
	for t.poll(func(s int32) bool { return s >= open }) {
		if s := t.state.Load(); s >= open && t.state.CompareAndSwap(s, s+1) {
			t.work(true)
		}
	}
}

// polls is how often a goroutine looks at state before it blocks or ends, about a tenth of a millisecond. To wake a core takes longer
// than most systems, and the systems of ticks that are resimulated follow each other closely.
const (
	polls       = 300
	pollsAtOnce = 128 // between which other goroutines may run
)

// poll looks at state until a condition holds. It reports false if that takes too long.
func (t *team) poll(holds func(state int32) bool) bool {
	for range polls {
		for range pollsAtOnce {
			if holds(t.state.Load()) {
				return true
			}
		}
		runtime.Gosched()
	}
	return false
}

// work runs parts until all have begun.
func (t *team) work(helper bool) {
	part, ended := int32(0), false
	defer func() {
		v := recover()
		switch {
		case helper && v != nil:
			v = fmt.Sprintf("%v\n\n%s", v, debug.Stack())
		case helper && !ended:
			v = "workers: a part called runtime.Goexit"
		}
		t.failed.note(part, v)
		if helper && t.state.Add(-1) == waiting {
			t.done <- struct{}{}
		}
	}()
	for part = t.next.Add(1) - 1; part < t.parts; part = t.next.Add(1) - 1 {
		t.job.Part(int(part))
	}
	ended = true
}

func (f *failure) note(part int32, value any) {
	f.Lock()
	defer f.Unlock()
	if value != nil && (f.value == nil || part < f.part) {
		f.part, f.value = part, value
	}
}
