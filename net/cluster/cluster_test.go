package cluster

import (
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anishathalye/porcupine"
)

// operation is an operation of a server on the journal of a room. The journal is a list of ticks, represented by a hash. An append
// adds a tick, a recovery reads the list, and an end empties it.
type operation struct {
	room          string
	kind          operationKind
	before, after uint64 // the list; equal for a recovery
}

type operationKind uint8

const (
	appends operationKind = iota
	recovers
	ends
)

// chain is the hash of a list of ticks.
func chain(list, tick uint64) uint64 {
	x := (list ^ tick) * 0x9e3779b97f4a7c15
	return x ^ x>>29
}

func chainOf(journal []byte) (list uint64) {
	for ; len(journal) >= 8; journal = journal[8:] {
		list = chain(list, binary.LittleEndian.Uint64(journal))
	}
	return list
}

// journals is the sequential specification of all rooms, for a checker of linearizability.
var journals = porcupine.Model{
	Init: func() any { return uint64(0) },
	Partition: func(history []porcupine.Operation) (parts [][]porcupine.Operation) {
		rooms := map[string][]porcupine.Operation{}
		for _, o := range history {
			room := o.Input.(operation).room
			rooms[room] = append(rooms[room], o)
		}
		for _, part := range rooms {
			parts = append(parts, part)
		}
		return parts
	},
	Step: func(state, input, output any) (bool, any) {
		o := input.(operation)
		if state == o.before {
			return true, o.after
		}
		return output == nil, state // without an output it may have had no effect
	},
}

// fence is a fencing number of a room.
type fence struct {
	room   string
	number uint64
}

// owned is a room that a process has claimed.
type owned struct{ room, owner string }

// run is a simulated cluster: servers that own rooms and append ticks, and faults that are drawn from a seed.
type run struct {
	*model
	begun time.Time
	rooms []string

	mu        sync.Mutex
	history   []porcupine.Operation
	fences    map[fence]string     // owners
	confirmed map[string]time.Time // by room, when a tick was confirmed last
	nodes     map[*link]*Node
	owned     map[owned]*Room
	errors    []error
}

// add adds an operation that began at a time. Without an end it may take effect later, or never.
func (r *run) add(o operation, began time.Time, ended bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	end, output := int64(math.MaxInt64), any(nil)
	if ended {
		end, output = int64(time.Since(r.begun)), "done"
		r.confirmed[o.room] = time.Now()
	}
	r.history = append(r.history, porcupine.Operation{ClientId: len(r.history), Input: o, Call: int64(began.Sub(r.begun)), Output: output, Return: end})
}

// serve is a process of a server: it claims rooms, continues their journals and gives some of them up.
func (r *run) serve(ctx context.Context, l *link, random *rand.Rand) {
	n, err := New(Config{Store: l, Server: Server{Name: "server"}})
	if err != nil {
		panic(err)
	}
	n.self.ID = fmt.Sprint(l.seed)
	n.trim = 200
	n.body = 64 // journals of more than 8 ticks begin anew in parts
	r.mu.Lock()
	r.nodes[l] = n
	r.mu.Unlock()
	var all sync.WaitGroup
	all.Go(func() { n.Run(ctx) })
	drains := rand.New(rand.NewPCG(random.Uint64(), 5))
	all.Go(func() {
		for ctx.Err() == nil {
			pause(ctx, time.Duration(drains.Float64()*4e9))
			n.Drain(ctx)
			pause(ctx, time.Duration(drains.Float64()*2e9))
			n.Accept(ctx)
		}
	})
	for _, room := range r.rooms {
		seed := random.Uint64()
		all.Go(func() {
			random := rand.New(rand.NewPCG(seed, 2))
			for ctx.Err() == nil {
				pause(ctx, time.Duration(random.Float64()*400e6))
				r.own(ctx, n, room, random)
			}
		})
	}
	all.Wait()
}

// own claims a room and plays in it until it loses the room or gives it up.
func (r *run) own(ctx context.Context, n *Node, name string, random *rand.Rand) {
	began := time.Now()
	room, err := n.Claim(ctx, name)
	if err != nil {
		return
	}
	r.mu.Lock()
	at := fence{name, room.Fence()}
	if other, used := r.fences[at]; used && other != n.ID() {
		r.errors = append(r.errors, fmt.Errorf("room %s: two owners have the fencing number %d", name, room.Fence()))
	}
	r.fences[at] = n.ID()
	r.owned[owned{name, n.ID()}] = room
	r.mu.Unlock()
	if random.IntN(20) == 0 { // the process claims the room again
		r.count(func(c *counts) { c.Dropped++ })
		return
	}
	moved := room.fence == room.before // without a claim
	if moved {
		r.count(func(c *counts) { c.Moved++ })
	}
	if count := len(room.known); count > 0 && room.known[count-1].Sequence == room.before {
		r.count(func(c *counts) { c.Followed++ })
	}
	journal, err := room.Recovered(ctx)
	if err != nil {
		if ctx.Err() == nil && !errors.Is(err, ErrLost) {
			r.mu.Lock()
			r.errors = append(r.errors, err)
			r.mu.Unlock()
		}
		return
	}
	list := chainOf(journal)
	if !moved { // before the first append, another server may have claimed a moved room
		r.add(operation{name, recovers, list, list}, began, true)
	}
	// try repeats a write until its result is known. Some writes are abandoned.
	try := func(write func(ctx context.Context) error) (err error) {
		for {
			within, cancel := context.WithTimeout(ctx, time.Duration(random.Float64()*2e9))
			err = write(within)
			cancel()
			if err == nil || ctx.Err() != nil || errors.Is(err, ErrLost) {
				return err
			}
			if random.IntN(10) == 0 {
				r.count(func(c *counts) { c.Abandoned++ })
				return err
			}
		}
	}
	for left := random.IntN(400); ctx.Err() == nil; left-- {
		if left < 0 {
			began, tick, next := time.Now(), random.Uint64(), r.next(n, random)
			switch i := random.IntN(4); {
			case i == 0:
				err := try(room.End)
				r.add(operation{name, ends, list, 0}, began, err == nil)
			case i == 1, room.begin == 0:
				_ = try(func(ctx context.Context) error { return room.Release(ctx, nil, next) })
			default:
				err := try(func(ctx context.Context) error {
					return room.Release(ctx, binary.LittleEndian.AppendUint64(nil, tick), next)
				})
				r.add(operation{name, appends, list, chain(list, tick)}, began, err == nil)
			}
			return
		}
		tick := random.Uint64()
		began, journal = time.Now(), binary.LittleEndian.AppendUint64(journal, tick)
		added, begins := journal[len(journal)-8:], random.IntN(20) == 0
		if begins {
			added = journal
		}
		err = try(func(ctx context.Context) error { return room.Append(ctx, added, begins) })
		before := list
		list = chain(list, tick)
		r.add(operation{name, appends, before, list}, began, err == nil)
		if err != nil {
			return
		}
		pause(ctx, time.Duration(random.Float64()*60e6))
	}
}

// next returns the ID of a live server, an unknown ID, or "".
func (r *run) next(n *Node, random *rand.Rand) string {
	servers := n.Servers()
	switch i := random.IntN(2 + 2*len(servers)); {
	case i == 0:
		return ""
	case i == 1:
		return "unknown"
	default:
		return servers[i%len(servers)].ID
	}
}

// mostWatches is the maximum number of calls of Store.Watch by a server in the calm after the faults.
const mostWatches = 4

var errJournals = errors.New("the confirmed ticks are not those of one journal")

// simulate runs a cluster in virtual time: faults for some seconds, and then none. It returns an error if a confirmed tick was lost or
// changed, or if two owners have one fencing number. It also returns an error if a server claims a room in the lease of its owner. After the
// faults, each room must confirm ticks. Each server must observe all others within two leases, and must call Store.Watch at most mostWatches times.
func simulate(t *testing.T, seed uint64, noFence bool) (seen counts, err error) {
	const servers, faults, calm = 4, 20 * time.Second, 15 * time.Second
	synctest.Test(t, func(t *testing.T) {
		r := &run{model: newModel(seed), begun: time.Now(), rooms: []string{"a", "b", "c"}, fences: map[fence]string{}, confirmed: map[string]time.Time{}, nodes: map[*link]*Node{}, owned: map[owned]*Room{}}
		r.noFence = noFence
		r.claimed = func(room, owner string) {
			r.mu.Lock()
			defer r.mu.Unlock()
			if o := r.owned[owned{room, owner}]; o != nil && o.Leased() {
				r.errors = append(r.errors, fmt.Errorf("room %s was claimed in the lease of its owner", room))
			}
		}
		random := rand.New(rand.NewPCG(seed, 3))
		ctx, stop := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() { r.record(ctx) })
		links := make([]*link, servers)
		cancels := make([]context.CancelFunc, servers)
		start := func(i int) {
			l := &link{m: r.model, seed: random.Uint64(), random: map[string]*rand.Rand{}, killed: make(chan struct{}), lossy: 0.05}
			process, cancel := context.WithCancel(ctx)
			links[i], cancels[i] = l, cancel
			own := rand.New(rand.NewPCG(random.Uint64(), 4))
			all.Go(func() { r.serve(process, l, own) })
		}
		for i := range links {
			start(i)
		}
		heal := func(l *link) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.to, l.from = false, false
			if l.paused != nil {
				close(l.paused)
				l.paused = nil
			}
		}
		for time.Since(r.begun) < faults {
			time.Sleep(time.Duration(random.Float64() * 1.5e9))
			i := random.IntN(servers)
			l := links[i]
			switch random.IntN(7) {
			case 0: // kill -9 and a restart
				close(l.killed)
				cancels[i]()
				r.count(func(c *counts) { c.Kills++ })
				start(i)
			case 1: // SIGSTOP
				l.mu.Lock()
				if l.paused == nil {
					l.paused = make(chan struct{})
					r.count(func(c *counts) { c.Pauses++ })
				}
				l.mu.Unlock()
			case 2, 3: // a partition, also one-way
				l.mu.Lock()
				which := random.IntN(3)
				l.to, l.from = which != 1, which != 0
				l.mu.Unlock()
				r.count(func(c *counts) { c.Cuts++ })
			case 4: // no quorum
				r.model.mu.Lock()
				r.down = true
				r.seen.Outages++
				r.model.mu.Unlock()
				time.Sleep(time.Duration(random.Float64() * 3e9))
				r.model.mu.Lock()
				r.down = false
				r.model.mu.Unlock()
			default:
				heal(l)
			}
		}
		for _, l := range links {
			heal(l)
			l.mu.Lock()
			l.lossy, l.watches = 0, 0
			l.mu.Unlock()
		}
		ended := time.Now()
		time.Sleep(calm)
		var checks sync.WaitGroup
		for i, l := range links {
			checks.Go(func() {
				if err := r.observes(l, servers); err != nil {
					r.mu.Lock()
					defer r.mu.Unlock()
					r.errors = append(r.errors, fmt.Errorf("%v after the faults, server %d %w", time.Since(ended), i, err))
				}
			})
		}
		checks.Wait()
		healed := time.Now()
		for _, l := range links {
			close(l.killed)
		}
		stop()
		all.Wait()
		close(r.ended)
		synctest.Wait()
		seen = r.seen
		switch {
		case len(r.errors) > 0:
			err = r.errors[0]
		case !porcupine.CheckOperations(journals, r.history):
			err = errJournals
		}
		for _, room := range r.rooms {
			if late := healed.Sub(r.confirmed[room]); late > 5*time.Second && err == nil {
				err = fmt.Errorf("room %s has confirmed no tick for %v, %v after the faults", room, late, healed.Sub(ended))
			}
		}
	})
	return seen, err
}

// observes returns an error if a server does not observe the given number of servers, itself included, within two leases. An announcement
// may be late at any moment. It also returns an error if the server has called Store.Watch more than mostWatches times since the faults.
func (r *run) observes(l *link, servers int) error {
	l.mu.Lock()
	watches := l.watches
	l.mu.Unlock()
	if watches > mostWatches {
		return fmt.Errorf("has called Store.Watch %d times, want at most %d", watches, mostWatches)
	}
	r.mu.Lock()
	n := r.nodes[l]
	r.mu.Unlock()
	for began := time.Now(); ; time.Sleep(n.config.Lease / 8) {
		n.mu.Lock()
		interrupted := n.interrupted(time.Now())
		n.mu.Unlock()
		alive := len(n.Servers())
		if !interrupted && alive == servers {
			return nil
		}
		if time.Since(began) >= 2*n.config.Lease {
			return fmt.Errorf("observes %d of %d servers; its observation is interrupted: %v", alive, servers, interrupted)
		}
	}
}

var (
	first = flag.Uint64("cluster.first", 0, "the seed of the first simulated run of TestARoomHasOneJournal")
	seeds = flag.Uint64("cluster.seeds", 20, "the number of simulated runs of TestARoomHasOneJournal")
)

// Each room has one journal and continues after the faults. Messages are lost or late, and servers are paused, killed or partitioned.
func TestARoomHasOneJournal(t *testing.T) {
	var all counts
	for seed := *first; seed < *first+*seeds; seed++ {
		seen, err := simulate(t, seed, false)
		if err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		all.add(seen)
	}
	t.Logf("%+v", all)
	for v, i := reflect.ValueOf(all), 0; i < v.NumField(); i++ {
		if v.Field(i).Int() == 0 {
			t.Errorf("the runs have seen none of %s", v.Type().Field(i).Name)
		}
	}
}

// A store that adds entries after any other lets two servers confirm different ticks: the checker finds it.
func TestTheCheckerFindsAStoreWithoutFences(t *testing.T) {
	found := 0
	for seed := range uint64(10) {
		if _, err := simulate(t, seed, true); errors.Is(err, errJournals) {
			found++
		}
	}
	if found < 5 {
		t.Errorf("%d of 10 runs were found", found)
	}
}
