package server

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/net/client"
	"tendon/net/matchsim"
	"tendon/net/room"
	"tendon/net/session"
	"tendon/systems"
	"tendon/systems/lockstep"
	"tendon/systems/relay"
)

// disk holds the journals of the rooms of one server after the other.
type disk struct {
	record
	mu       sync.Mutex
	strategy systems.Strategy
	journals map[string]*matchsim.Journal
	over     int // rooms that were closed and not suspended
}

func newDisk(s systems.Strategy) *disk {
	return &disk{record: *newRecord(), strategy: s, journals: map[string]*matchsim.Journal{}}
}

func (d *disk) config(c *Config) {
	c.UsedTokens, c.OnStop, c.Room.Strategy = &d.record, Keep, d.strategy
	c.CloseRoom = func(_ string, r *room.Room) {
		d.mu.Lock()
		defer d.mu.Unlock()
		if r != nil && !r.Suspended() {
			d.over++
		}
	}
	c.OpenRoom = func(name string, rc *room.Config) (err error) {
		d.mu.Lock()
		defer d.mu.Unlock()
		rc.Match = 1 + uint64(len(name))
		if d.journals[name] == nil {
			d.journals[name] = &matchsim.Journal{Always: true}
		} else if rc.Resume, err = d.journals[name].Resume(); err != nil {
			return err
		}
		return d.journals[name].Attach(rc)
	}
}

// stopped reports whether Run has returned.
func (w *world) stopped() bool {
	select {
	case err := <-w.ended:
		w.ended <- err
		return true
	default:
		return false
	}
}

// Clients of a server that restarts keep state, seat and tokens, and play in the next process within 2 s of its start, however
// long that takes.
func TestClientsOfARestartingServerPlayOnInTheNextProcess(t *testing.T) {
	for _, s := range []systems.Strategy{relay.Strategy, lockstep.Strategy} {
		for _, down := range []time.Duration{0, 3 * time.Second, 70 * time.Second} {
			d := newDisk(s)
			inBubble(t, "P1", d.config, func(w *world) {
				notices := map[string]int{}
				var all []*player
				for i, name := range []string{"one", "one", "three", "three"} {
					all = append(all, w.join(w.mint(w.ticket(uint64(i+1), name)), func(c *client.DialConfig) {
						c.Strategies, c.Notice = []systems.Strategy{s}, func(_ int, text string) { notices[text]++ }
					}))
				}
				w.until("all live", 10*time.Second, w.live(all...))
				w.pass(3 * time.Second)
				w.cancel()
				w.until("the server has stopped", closeLimit+time.Second, w.stopped)
				<-w.ended
				confirmed, seats := make([]ecs.Tick, len(all)), make([]int, len(all))
				for i, p := range all {
					confirmed[i], seats[i] = p.Core.Stats().Strategy.Confirmed, p.Seat()
					if p.State() != client.Reconnecting || confirmed[i] < 60 {
						t.Fatalf("%s: client %d is %v at tick %d after the stop: %v", s.Name, i, p.State(), confirmed[i], p.Err())
					}
				}
				w.pass(down)
				d.restart()
				w.start(d.config)
				w.until("all play again", 2*time.Second, w.live(all...))
				w.pass(2 * time.Second)
				for i, p := range all {
					st := p.Core.Stats()
					if p.Seat() != seats[i] || st.Strategy.Confirmed < confirmed[i]+30 || st.Resyncs > 0 || len(p.Core.Desyncs()) > 0 || p.State() != client.Live {
						t.Errorf("%s: client %d is %v in seat %d, was %d, at tick %d after %d, resyncs %d", s.Name, i, p.State(), p.Seat(), seats[i], st.Strategy.Confirmed, confirmed[i], st.Resyncs)
					}
				}
				for _, name := range []string{"one", "three"} {
					w.do(name, func(r *room.Room) {
						for seat := range 2 {
							if x, ok := runnerOf(r.World(), seat); !ok || x.Ticks+60 < int64(r.Tick()) {
								t.Errorf("%s: runner %d of room %s has %d ticks of %d: its player left the match", s.Name, seat, name, x.Ticks, r.Tick())
							}
						}
						if st := r.Stats(); st.Images > 0 || st.Adopted > 0 {
							t.Errorf("%s: room %s sent %d images and adopted %d ticks", s.Name, name, st.Images, st.Adopted)
						}
					})
				}
				if d.over > 0 || notices["the server restarts"] != len(all) {
					t.Errorf("%s: %d matches were ended, notices %v", s.Name, d.over, notices)
				}
			})
		}
	}
}

// A client that connects while the server stops is admitted by the next process, and no room is opened for it before.
func TestAClientThatComesDuringAStopJoinsTheNextProcess(t *testing.T) {
	d := newDisk(relay.Strategy)
	inBubble(t, "P3", d.config, func(w *world) {
		a := w.join(w.mint(w.ticket(1, "one")))
		w.until("live", 10*time.Second, w.live(a))
		w.cancel()
		w.pass(100 * time.Millisecond)
		b := w.join(w.mint(w.ticket(2, "three")))
		w.until("the server has stopped", closeLimit+time.Second, w.stopped)
		<-w.ended
		if d.journals["three"] != nil || b.Err() != nil {
			t.Errorf("a stopping server opened a room, or refused the client: %v", b.Err())
		}
		w.start(d.config)
		w.until("both live", 5*time.Second, w.live(a, b))
	})
}

// A client whose handshake is under way when the server stops receives the reason at once. If the matches are kept, the client joins
// the next process, even if its token was used.
func TestAClientInItsHandshakeIsAnsweredAtTheStop(t *testing.T) {
	for _, how := range []OnStop{End, Keep} {
		for ms := 0; ms <= 700; ms += 20 {
			d := newDisk(relay.Strategy)
			start := func(c *Config) {
				d.config(c)
				c.OnStop = how
				if open := c.OpenRoom; ms%40 == 0 {
					c.OpenRoom = func(name string, rc *room.Config) error {
						time.Sleep(200 * time.Millisecond)
						return open(name, rc)
					}
				}
			}
			inBubble(t, "P3", start, func(w *world) {
				a := w.join(w.mint(w.ticket(1, "one")))
				w.until("live", 10*time.Second, w.live(a))
				b := w.join(w.mint(w.ticket(2, "two")))
				w.pass(time.Duration(ms) * time.Millisecond)
				w.cancel()
				if how == End {
					w.until("answered", 700*time.Millisecond, func() bool { return b.Err() != nil })
					if !errors.Is(b.Err(), &session.Error{Code: session.CodeShutdown}) {
						t.Errorf("a client that came %d ms before the stop received %v", ms, b.Err())
					}
					return
				}
				w.until("the server has stopped", closeLimit+time.Second, w.stopped)
				<-w.ended
				d.restart()
				w.start(start)
				w.until("live in the next process", 2*time.Second, w.live(b))
			})
		}
	}
}

// A server that finishes its matches refuses further rooms and players, keeps the others, and ends after the last has left.
func TestAServerThatFinishesItsMatchesEndsWithTheLast(t *testing.T) {
	inBubble(t, "P1", func(c *Config) { c.OnStop = Finish }, func(w *world) {
		a, b := w.pair(10 * time.Second)
		w.pass(time.Second)
		w.cancel()
		w.pass(time.Second)
		for i, name := range []string{"duel", "other"} {
			c := w.join(w.mint(w.ticket(uint64(10+i), name)))
			w.until("the client is refused", 2*time.Second, func() bool { return c.Err() != nil })
			if !errors.Is(c.Err(), client.ErrFull) {
				t.Errorf("a further client of room %s received %v", name, c.Err())
			}
		}
		b.socket.Close()
		w.pass(time.Second)
		w.until("b is back", 12*time.Second, func() bool { return b.State() == client.Live && b.Stats().Reconnects > 0 })
		w.pass(2 * time.Minute)
		if w.stopped() || a.State() != client.Live || b.State() != client.Live {
			t.Fatalf("after 2 minutes the server has ended: %v, the clients are %v and %v", w.stopped(), a.State(), b.State())
		}
		a.Close()
		b.Close()
		w.until("the server has ended", emptyRoom+closeLimit+time.Second, w.stopped)
	})
}

// End ends the matches that a server finishes.
func TestEndEndsTheMatchesThatFinish(t *testing.T) {
	inBubble(t, "P1", func(c *Config) { c.OnStop = Finish }, func(w *world) {
		a := w.join(w.mint(w.ticket(1, "duel")))
		w.until("live", 10*time.Second, w.live(a))
		w.cancel()
		w.pass(5 * time.Second)
		if a.State() != client.Live {
			t.Fatalf("the match did not continue: %v, %v", a.State(), a.Err())
		}
		w.server.End()
		w.until("the server has ended", closeLimit+time.Second, w.stopped)
		if !errors.Is(a.Err(), &session.Error{Code: session.CodeShutdown}) {
			t.Errorf("the client received %v", a.Err())
		}
	})
}

// OpenRoom can name the reason why a room is refused, so that clients do not come back for it.
func TestOpenRoomNamesTheReasonOfARefusal(t *testing.T) {
	inBubble(t, "P1", func(c *Config) {
		c.OpenRoom = func(string, *room.Config) error { return &session.Error{Code: session.CodeOtherBuild} }
	}, func(w *world) {
		a := w.join(w.mint(w.ticket(1, "duel")))
		w.until("refused", 2*time.Second, func() bool { return a.Err() != nil })
		if !errors.Is(a.Err(), &session.Error{Code: session.CodeOtherBuild}) {
			t.Errorf("the client received %v", a.Err())
		}
	})
}

// A client whose match was lost, since its journal was removed or is damaged, receives that it plays another match.
func TestAClientLearnsThatItsMatchIsAnotherOne(t *testing.T) {
	for _, lost := range []bool{false, true} {
		d := newDisk(relay.Strategy)
		inBubble(t, "P1", d.config, func(w *world) {
			var notices []string
			a := w.join(w.mint(w.ticket(1, "one")), func(c *client.DialConfig) { c.Notice = func(_ int, text string) { notices = append(notices, text) } })
			w.until("live", 10*time.Second, w.live(a))
			w.pass(time.Second)
			w.cancel()
			w.until("the server has stopped", closeLimit+time.Second, w.stopped)
			<-w.ended
			d.restart()
			w.start(func(c *Config) {
				d.config(c)
				if open := c.OpenRoom; lost {
					delete(d.journals, "one")
					c.OpenRoom = func(name string, rc *room.Config) error {
						err := open(name, rc)
						rc.Match = 77
						return err
					}
				}
			})
			w.until("it plays again", 10*time.Second, w.live(a))
			w.pass(time.Second)
			if another := slices.Contains(notices, "the match that you played is over: this is another one"); another != lost {
				t.Errorf("lost %v: notices %q", lost, notices)
			}
		})
	}
}
