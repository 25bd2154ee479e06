package workers

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"tendon/ecs/race"
)

// counts is a job that counts the calls of each part.
type counts []atomic.Int32

func (c counts) Part(i int) { c[i].Add(1) }

func (c counts) check(t *testing.T, want int) {
	t.Helper()
	for i := range c {
		if n := int(c[i].Load()); n != want {
			t.Fatalf("part %d of %d ran %d times, want %d", i, len(c), n, want)
		}
	}
}

// withCores runs f with this GOMAXPROCS.
func withCores(cores int, f func()) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
	f()
}

func TestEveryPartRunsOnceOnAnyNumberOfCores(t *testing.T) {
	for _, cores := range []int{1, 2, 5, 3} {
		withCores(cores, func() {
			for _, parts := range []int{0, 1, 2, 33} {
				c := make(counts, parts)
				for range 200 {
					Run(c, parts)
					if n := shared.alive.Load(); n > 4 {
						t.Fatalf("%d helpers on up to 5 cores", n)
					}
				}
				c.check(t, 200)
			}
		})
	}
	for shared.alive.Load() > 0 { // they end by themselves
		runtime.Gosched()
	}
}

// A server computes its rooms in many goroutines. A job that finds the helpers busy runs alone.
func TestJobsOfManyGoroutinesShareTheHelpers(t *testing.T) {
	withCores(3, func() {
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				c := make(counts, 20)
				for range 200 {
					Run(c, len(c))
				}
				c.check(t, 200)
			})
		}
		all.Wait()
	})
}

// meeting is a job in which each of two parts waits for the other.
type meeting [2]chan struct{}

func (m *meeting) Part(i int) {
	close(m[i])
	<-m[1-i]
}

func TestPartsRunAtTheSameTime(t *testing.T) {
	withCores(2, func() {
		for range 100 {
			for shared.alive.Load() > 0 { // Run starts no helper in place of one that is about to end
				runtime.Gosched()
			}
			Run(&meeting{make(chan struct{}), make(chan struct{})}, 2)
		}
	})
}

// failing is a job whose parts panic from some part on.
type failing int

func (f failing) Part(i int) {
	if i >= int(f) {
		panic(fmt.Sprintf("part %d of a job", i))
	}
}

func TestRunPanicsLikeTheFirstPartThatDoes(t *testing.T) {
	for _, cores := range []int{1, 2, 4} {
		withCores(cores, func() {
			for range 50 {
				func() {
					defer func() {
						if v, ok := recover().(string); !ok || !strings.HasPrefix(v, "part 7 of a job") {
							t.Fatalf("%d cores: %q", cores, v)
						}
					}()
					Run(failing(7), 32)
				}()
			}
			c := make(counts, 9)
			Run(c, len(c))
			c.check(t, 1)
		})
	}
}

func TestAJobMayRunInABubble(t *testing.T) {
	withCores(3, func() {
		c := make(counts, 20)
		synctest.Test(t, func(*testing.T) { Run(c, len(c)) })
		Run(c, len(c))
		c.check(t, 2)
	})
}

// quitting is a job whose last part ends its goroutine, like a test that fails in a system.
type quitting struct{}

func (quitting) Part(i int) {
	if i == 9 {
		runtime.Goexit()
	}
}

func TestAPartMayEndItsGoroutine(t *testing.T) {
	withCores(3, func() {
		for range 20 {
			var ended sync.WaitGroup
			ended.Go(func() {
				defer func() { recover() }()
				Run(quitting{}, 10)
			})
			ended.Wait()
			c := make(counts, 5)
			Run(c, len(c))
			c.check(t, 1)
		}
	})
}

// nested is a job whose parts run jobs.
type nested struct{ inner counts }

func (n nested) Part(int) { Run(n.inner, len(n.inner)) }

func TestAPartMayRunAJob(t *testing.T) {
	withCores(2, func() {
		n := nested{make(counts, 5)}
		Run(n, 7)
		n.inner.check(t, 7)
	})
}

// A world whose job has ended may be collected.
func TestNoJobIsKept(t *testing.T) {
	withCores(2, func() {
		c := make(counts, 3)
		Run(c, len(c))
		if shared.job != nil {
			t.Error("the last job is kept")
		}
	})
}

func TestAJobAllocatesNothing(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	withCores(2, func() {
		const runs = 1000
		var job Job = make(counts, 8)
		var before, after runtime.MemStats
		for range 2 { // the first time starts helpers
			runtime.ReadMemStats(&before)
			for range runs {
				Run(job, 8)
			}
			runtime.ReadMemStats(&after)
		}
		if n := (after.Mallocs - before.Mallocs) / runs; n != 0 { // AllocsPerRun would use one core
			t.Errorf("a job allocates %d times", n)
		}
	})
}
