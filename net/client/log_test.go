package client_test

import (
	"errors"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/ecs/race"
	"tendon/net/client"
	"tendon/net/matchsim"
	"tendon/net/session"
	"tendon/net/simnet"
	"tendon/rollback/record"
	"tendon/systems"
	"tendon/systems/lockstep"
	"tendon/systems/relay"
)

// loggable are the strategies whose matches a client can go on with. long reports whether it still can after twenty seconds:
// the relay keeps 1024 ticks, which is 17 seconds.
var loggable = []struct {
	systems.Strategy
	long bool
}{{relay.Strategy, false}, {lockstep.Strategy, true}}

// memory is a Log in memory.
type memory struct {
	t      *testing.T
	game   *ecs.Game
	writer *record.Writer
	match  uint64
	file   []byte
	begun  int
	last   ecs.Tick
}

func (m *memory) Write(b []byte) (int, error) {
	m.file = append(m.file, b...)
	return len(b), nil
}

func (m *memory) must(err error) {
	if err != nil {
		m.t.Helper()
		m.t.Error(err)
	}
}

func (m *memory) Begin(match client.Match, at record.Position, state *image.Snapshot) {
	m.file, m.match, m.last = nil, match.Number, at.Tick
	m.begun++
	h := record.HeaderOf(m.game, 0, "")
	h.Start, h.Match, h.Strategy = at, match.Number, match.Strategy
	var err error
	m.writer, err = record.NewWriter(m, m.game, h)
	m.must(err)
	m.must(m.writer.Image(state))
	m.must(m.writer.Flush())
}

func (m *memory) Tick(t record.Tick) {
	if t.Tick != m.last+1 {
		m.t.Errorf("the log received tick %d after tick %d", t.Tick, m.last)
	}
	m.last = t.Tick
	m.must(m.writer.Tick(t))
	m.must(m.writer.Flush())
}

// resume reads the log as another process does, and continues it.
func (m *memory) resume() *client.Resume {
	j, err := record.Open(append([]byte(nil), m.file...), m.game)
	if err != nil {
		m.t.Fatal(err)
	}
	world, err := j.WorldAt(j.Last().Tick)
	if err != nil {
		m.t.Fatal(err)
	}
	m.writer, m.last = j.Resume(m), world.Tick()
	return &client.Resume{World: world, Match: j.Header().Match, Chain: j.Last().Chain}
}

// logged is a match whose second client keeps a log.
type logged struct {
	*matchsim.Match
	log    *memory
	resume *client.Resume // for the next process
}

func newLogged(t *testing.T, s systems.Strategy) *logged {
	t.Helper()
	h, err := matchsim.New(matchsim.Config{Game: game(), Strategy: s, Seed: 1, Journal: true})
	if err != nil {
		t.Fatal(err)
	}
	l := &logged{Match: h, log: &memory{t: t}}
	p, _ := simnet.ByName("P2")
	h.Join(matchsim.Plan{Profile: p})
	h.Join(matchsim.Plan{Profile: p, Change: func(c *client.Config) {
		l.log.game, c.Log, c.Resume = c.Game, l.log, l.resume
	}})
	h.RunUntil(8 * time.Second)
	return l
}

// another starts another process of the second client from a log, and plays until it is live. It returns the bytes that
// this took.
func (l *logged) another(t *testing.T, resume *client.Resume) (bytes uint64, sawImage bool) {
	t.Helper()
	l.resume = resume
	c := l.Clients[1]
	c.Restart()
	until(t, l.Match, func() bool {
		sawImage = sawImage || c.Core.State() == client.Loading
		return c.Live()
	})
	bytes = c.Core.Stats().Session.BytesReceived
	l.Run(2 * time.Second)
	if err := l.Err(); err != nil {
		t.Error(err)
	}
	if n := c.Checked; n < 100 {
		t.Errorf("%d ticks compared", n)
	}
	// The log equals the match of the server, also after the restart.
	before := l.log.last
	world := l.log.resume().World
	var state image.Snapshot
	world.Image().Save(&state)
	if want, ok := l.Checksum(world.Tick()); world.Tick() != before || !ok || state.Checksum() != want || before+60 < l.Room.Tick() {
		t.Errorf("the log leads to tick %d with checksum %x, the server has %x and is at %d", world.Tick(), state.Checksum(), want, l.Room.Tick())
	}
	return bytes, sawImage
}

// A process that was killed goes on from its log and receives only the ticks since. It receives an image if the log is of
// another match or another past, or too old. The other clients are not affected.
func TestAnotherProcessGoesOnFromTheLog(t *testing.T) {
	race.OneGoroutine(t)
	const keyframe = tiles * 16 // noise: it cannot be less
	for _, s := range loggable {
		for _, c := range []struct {
			name string
			away time.Duration
			lie  func(*client.Resume)
			warm bool
		}{
			{name: "at once", warm: true},
			{name: "after three seconds", away: 3 * time.Second, warm: true},
			{name: "after twenty seconds", away: 20 * time.Second, warm: s.long},
			{name: "of another match", lie: func(r *client.Resume) { r.Match++ }},
			{name: "of another past", lie: func(r *client.Resume) { r.Chain++ }},
		} {
			t.Run(s.Name+"/"+c.name, func(t *testing.T) {
				l := newLogged(t, s.Strategy)
				resume := l.log.resume()
				if c.lie != nil {
					c.lie(resume)
				}
				file, last := append([]byte(nil), l.log.file...), l.log.last
				l.Run(c.away)
				l.log.file, l.log.last = file, last // as if the client had stopped then
				l.log.resume()
				l.log.begun = 0
				other := l.Clients[0].Core.Stats()
				bytes, saw := l.another(t, resume)
				if c.warm != (bytes < keyframe) || c.warm == saw || c.warm != (l.log.begun == 0) {
					t.Errorf("%d bytes until it was live, loading: %v, the log was begun anew %d times; without an image: want %v", bytes, saw, l.log.begun, c.warm)
				}
				if now := l.Clients[0].Core.Stats(); now.Reconnects != other.Reconnects || now.Resyncs != 0 || now.Strategy.Stalls > other.Strategy.Stalls {
					t.Errorf("the other: %+v", now)
				}
			})
		}
	}
}

// Server and client were killed, and the log ends before the journal. The client goes on from its log: the journal has the
// ticks since.
func TestALogAndAJournalFitTogether(t *testing.T) {
	for _, s := range loggable {
		t.Run(s.Name, func(t *testing.T) {
			l := newLogged(t, s.Strategy)
			resume := l.log.resume()
			file, last := append([]byte(nil), l.log.file...), l.log.last
			l.Run(2 * time.Second)
			l.Crash(0)
			l.Run(time.Second)
			if err := l.Recover(); err != nil {
				t.Fatal(err)
			}
			l.Run(11 * time.Second) // the other client reconnects
			l.log.file, l.log.last = file, last
			l.log.resume()
			_, saw := l.another(t, resume)
			if l.Rewritten != 0 || saw {
				t.Errorf("%d ticks were computed otherwise, loading: %v", l.Rewritten, saw)
			}
		})
	}
}

// A log may end after the journal of a server that lost ticks in a power cut, while no client has these ticks in memory. The
// client then loads an image instead of going on from its log.
func TestALogOfLostTicksIsNotGoneOnFrom(t *testing.T) {
	for _, s := range loggable {
		t.Run(s.Name, func(t *testing.T) {
			l := newLogged(t, s.Strategy)
			l.Crash(90)
			l.Run(time.Second)
			resume := l.log.resume()
			if err := l.Recover(); err != nil {
				t.Fatal(err)
			}
			if resume.World.Tick() < l.Room.Tick()+60 {
				t.Fatalf("the log ends at tick %d, the journal at %d", resume.World.Tick(), l.Room.Tick())
			}
			l.Clients[0].Restart()
			l.log.begun = 0
			if _, saw := l.another(t, resume); !saw || l.log.begun != 1 {
				t.Errorf("loading: %v, the log was begun anew %d times", saw, l.log.begun)
			}
		})
	}
}

// A Resume of another game is refused.
func TestAResumeOfAnotherGameIsRefused(t *testing.T) {
	world, err := ecs.NewWorld(game(), 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []*client.Resume{{World: world}, {}} {
		c := client.Config{Game: game(), Strategies: []systems.Strategy{relay.Strategy}, Resume: r,
			Dial: func() (session.Transport, error) { return nil, nil }}
		if _, err := client.NewCore(c); !errors.Is(err, client.ErrConfig) {
			t.Errorf("%v", err)
		}
	}
}
