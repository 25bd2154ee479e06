package swarm

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"tendon/cmd/cli/internal/syncflags"
	"tendon/net/simnet"
)

// Schedule describes a run completely.
type Schedule struct {
	Seed    uint64   `json:"seed"` // of the network and the bots
	Sync    string   `json:"sync"`
	Rooms   int      `json:"rooms"`
	Workers int      `json:"workers"`
	Journal bool     `json:"journal"`
	Fsync   string   `json:"fsync,omitempty"` // as the flag; empty: 100ms
	Clients []Client `json:"clients"`
	Faults  []Fault  `json:"faults"`
}

// Client is a player of a room.
type Client struct {
	Room    int    `json:"room"`
	Profile string `json:"profile"`
	Hz      int    `json:"hz"` // frames per second
	Joins   Span   `json:"joins"`
}

// Fault is a fault with its beginning and its length.
type Fault struct {
	Kind   Kind `json:"kind"`
	Client int  `json:"client"` // of a fault of one client, or of the disk under the journal of its room; −1: all
	At     Span `json:"at"`
	For    Span `json:"for"`
	Step   Span `json:"step,omitempty"` // of a clock
}

// Span is a duration that JSON shows as "1.5s".
type Span time.Duration

// MarshalText returns a duration as time.Duration prints it.
func (s Span) MarshalText() ([]byte, error) { return []byte(time.Duration(s).String()), nil }

// UnmarshalText reads a duration.
func (s *Span) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	*s = Span(d)
	return err
}

// Kind is the kind of a fault.
type Kind string

// The kinds.
const (
	freeze   Kind = "freeze"   // the server's process stands still
	overload Kind = "overload" // it has less processor time than it needs
	stutter  Kind = "stutter"  // it stands still for 80 ms of each 100
	kill     Kind = "kill"     // it is killed, and another one begins after the length
	power    Kind = "power"    // as kill, and the bytes that were not synced are lost
	stop     Kind = "stop"     // it is interrupted with --on-stop keep, and another one begins after the length
	update   Kind = "update"   // as stop, and the next process has another build
	remove   Kind = "remove"   // the directory of the journals is removed; after the length it is back, and another process begins
	flip     Kind = "flip"     // as kill, with a bit of one room's journal flipped meanwhile
	stall    Kind = "stall"    // each call to the disk of the journals takes 400 ms
	ioError  Kind = "eio"      // each write to the disk fails
	full     Kind = "full"     // the disk is full
	clock    Kind = "clock"    // the clock of the server's host is stepped; no length
	up       Kind = "up"       // packets to the server are lost
	down     Kind = "down"     // packets from the server are lost
	both     Kind = "both"
	suspend  Kind = "suspend" // the client's process stands still
	rebind   Kind = "rebind"  // the client's packets come from another address; no length
	corrupt  Kind = "corrupt" // one packet of twenty arrives with a flipped bit
	narrow   Kind = "narrow"  // packets of more than 600 bytes are lost
	slow     Kind = "slow"    // 1 Mbit/s with one second of queue, and cross traffic
)

// kinds are drawn evenly. One of three faults of the disk lasts until the process has ended. When the clock is stepped, the network
// fails or another process begins.
var kinds = []Kind{freeze, overload, stutter, kill, power, stop, update, remove, flip, stall, ioError, full, clock, up, down, both, suspend, rebind, corrupt, narrow, slow}

// ofServer reports whether a fault is one of the server's process.
func (k Kind) ofServer() bool {
	return k.restarts() || k.ofDisk() || k == clock || k == freeze || k == overload || k == stutter
}

// ofDisk reports whether a fault is one of the disk. Like a restart, it requires journals.
func (k Kind) ofDisk() bool { return k == stall || k == ioError || k == full }

// restarts reports whether another process of the server begins.
func (k Kind) restarts() bool {
	return k == kill || k == power || k == stop || k == update || k == remove || k == flip
}

// profiles are those of the clients. longest is the longest fault: a seat is kept for more than that.
var profiles = []string{"P0", "P1", "P1", "P2", "P2", "P3", "P3", "P4", "P5", "P8", "P10", "P11", "P12"}

// fsyncs are the values of Schedule.Fsync.
var fsyncs = []string{"always", "100ms", "100ms", "never"}

const longest = 10 * time.Minute

// draw returns the schedule of a seed. Faults do not overlap, so that a short list says what failed.
func draw(seed uint64) (s Schedule) {
	r := rand.New(rand.NewPCG(seed, 11))
	s = Schedule{Seed: seed, Sync: syncflags.All[r.IntN(len(syncflags.All))].Name, Rooms: 1 + r.IntN(3), Workers: 1 + r.IntN(2), Journal: r.IntN(4) > 0,
		Fsync: fsyncs[r.IntN(len(fsyncs))]}
	for i := range s.Rooms + 1 + r.IntN(3) {
		s.Clients = append(s.Clients, Client{Room: i % s.Rooms, Profile: profiles[r.IntN(len(profiles))], Hz: []int{60, 60, 30, 144}[r.IntN(4)],
			Joins: Span(time.Duration(r.IntN(1500)) * time.Millisecond)})
	}
	at := 6 * time.Second
	for i := range 1 + r.IntN(4) {
		f := Fault{Kind: kinds[r.IntN(len(kinds))], Client: r.IntN(len(s.Clients)+1) - 1, At: Span(at), For: Span(length(r))}
		if i == 0 { // so that a few seeds contain all kinds
			f.Kind = kinds[seed%uint64(len(kinds))]
			s.Journal = s.Journal || f.Kind.restarts() || f.Kind.ofDisk()
		} else if (f.Kind.restarts() || f.Kind.ofDisk()) && !s.Journal {
			f.Kind = freeze
		}
		switch {
		case f.Kind.restarts():
			f.For = Span(200*time.Millisecond) + f.For%Span(10*time.Second)
		case f.Kind == overload || f.Kind == stutter || f.Kind == corrupt || f.Kind == narrow || f.Kind == slow:
			f.For %= Span(20 * time.Second)
		case f.Kind == rebind:
			f.For = 0
		}
		if f.Kind.ofServer() && !f.Kind.ofDisk() {
			f.Client = -1
		}
		s.Faults = append(s.Faults, f)
		if f.Kind.ofDisk() && r.IntN(3) == 0 { // it ends while no process runs
			end := Fault{Kind: []Kind{kill, power, stop}[r.IntN(3)], Client: -1, At: f.At + f.For/2, For: f.For/2 + Span(1+r.IntN(5))*Span(time.Second)}
			s.Faults = append(s.Faults, end)
			f.For = end.At + end.For - f.At
		}
		if f.Kind == clock {
			s.Faults = append(s.Faults[:len(s.Faults)-1], steps(r, f.At, s.Journal)...)
			at, f.For = s.end()+renewal, 0
		}
		at += time.Duration(f.For) + time.Duration(2000+r.IntN(8000))*time.Millisecond
	}
	return s
}

// renewal is the time after which each client has a reconnect token by the present clock. If the clock was set forward by hours, and
// a process begins earlier, all tokens have expired, as after hours without a server.
const renewal = 45 * time.Second

// steps draws a step of the server's clock, with a fault during it or after it. Half of the steps are undone later in the same way.
func steps(r *rand.Rand, at Span, journal bool) (list []Fault) {
	ms := func(low, high int) Span { return Span(time.Duration(low+r.IntN(high-low)) * time.Millisecond) }
	step := []Span{ms(500, 30_000), ms(30_000, 900_000), ms(3600_000, 12*3600_000)}[r.IntN(3)] * Span(1-2*r.IntN(2))
	for range 1 + r.IntN(2) {
		f := Fault{Kind: clock, Client: -1, At: at + Span(3*time.Second), Step: step}
		during := Fault{Kind: both, Client: -1, At: f.At + ms(-3000, 3000), For: ms(5000, 10_000)}
		if journal && r.IntN(2) == 0 {
			during.Kind, during.For = []Kind{kill, power, stop}[r.IntN(3)], ms(200, 10_000)
			if step > Span(time.Hour) {
				during.At = f.At + Span(renewal)
			}
		}
		list = append(list, f, during)
		at, step = max(f.At, during.At+during.For)+ms(2000, 10_000), -step
		if f.Step > Span(time.Hour) {
			at += Span(renewal)
		}
	}
	return list
}

// length draws the length of a fault: most are seconds, one of 16 is minutes.
func length(r *rand.Rand) time.Duration {
	ms := func(low, high int) time.Duration { return time.Duration(low+r.IntN(high-low)) * time.Millisecond }
	switch r.IntN(16) {
	case 0:
		return ms(60_000, int(longest/time.Millisecond))
	case 1, 2, 3:
		return ms(10_000, 60_000)
	}
	return ms(50, 10_000)
}

// end returns when the last fault is over.
func (s *Schedule) end() (end time.Duration) {
	for _, f := range s.Faults {
		end = max(end, time.Duration(f.At+f.For))
	}
	return max(end, 6*time.Second)
}

// check returns what makes a schedule invalid, as one that a person has edited may be.
func (s *Schedule) check() error {
	if s.Rooms < 1 || s.Workers < 1 || len(s.Clients) == 0 {
		return fmt.Errorf("%d rooms, %d workers, %d clients: each needs at least one", s.Rooms, s.Workers, len(s.Clients))
	}
	for i, c := range s.Clients {
		if _, ok := simnet.ByName(c.Profile); !ok || c.Room < 0 || c.Room >= s.Rooms || c.Hz < 1 || c.Hz > 1000 {
			return fmt.Errorf("client %d: %+v", i, c)
		}
	}
	if s.Fsync != "" && !slices.Contains(fsyncs, s.Fsync) {
		return fmt.Errorf("fsync %q", s.Fsync)
	}
	for i, f := range s.Faults {
		if f.Client < -1 || f.Client >= len(s.Clients) || f.At < 0 || f.For < 0 || (f.Step != 0) != (f.Kind == clock) || (f.Kind.restarts() || f.Kind.ofDisk()) && !s.Journal {
			return fmt.Errorf("fault %d: %+v", i, f)
		}
	}
	return nil
}

func (s Schedule) String() string {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		panic(err)
	}
	return string(text)
}
