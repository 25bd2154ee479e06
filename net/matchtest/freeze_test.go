package matchtest

import (
	"testing"
	"time"

	"tendon/ecs"
	"tendon/net/client"
	"tendon/net/matchsim"
	"tendon/net/matchsim/halves"
	"tendon/net/room"
	"tendon/systems"
	"tendon/systems/reckon"
	"tendon/systems/verify"
)

// filmed is a match of two players who move at a constant velocity. It records where each client shows both of them.
type filmed struct {
	*matchsim.Match
	name    string
	films   [2][]picture // by client
	altered int          // inputs in final ticks that the players did not send
	notices int          // that the clients received
}

// picture is one frame of a client.
type picture struct {
	at time.Duration // true time
	x  [2]float64    // of the dots, by seat
}

const filmedSpeed = 64 // units per second of a dot

func newFilmed(t *testing.T, s systems.Strategy) *filmed {
	t.Helper()
	f := &filmed{name: s.Name}
	m, err := matchsim.New(matchsim.Config{Game: halves.Dots(), Strategy: s, Seed: 3, FixedSeats: true, Journal: true, Room: func(c *room.Config) {
		c.Timeout, c.KeepSeat = 30*systems.Second, 30*systems.Second
		c.Sinks = append(c.Sinks, room.Sink{Tick: func(t systems.FinalTick) { f.altered += t.Late.Len() }})
	}})
	if err != nil {
		t.Fatal(err)
	}
	f.Match = m
	right := halves.PadInput.Pack(halves.Pad{DX: filmedSpeed / 4})
	for i := range f.films {
		m.Join(matchsim.Plan{Profile: profile(t, "P3"), Play: func(c *matchsim.Client, now time.Duration) ecs.InputBytes {
			p, v := picture{at: m.Net.Now()}, c.Core.View(now)
			for seat := range p.x {
				if b, ok := halves.Bodies.Read(v.Sim, halves.Dot(v.Sim, ecs.Player(seat))); ok {
					p.x[seat] = b.Pos.X.Float()
				}
			}
			f.films[i] = append(f.films[i], p)
			return right
		}, Change: func(c *client.Config) { c.Notice = func(int, string) { f.notices++ } }})
	}
	m.Run(5 * time.Second)
	f.altered, f.notices = 0, 0
	return f
}

// fastest returns the largest speed of a picture over a second that begins in [from, to), in nominal speeds.
func (f *filmed) fastest(client int, from, to time.Duration) (most float64) {
	film := f.films[client]
	for i, end := 0, 0; i < len(film); i++ {
		if film[i].at < from || film[i].at >= to {
			continue
		}
		for end < len(film) && film[end].at < film[i].at+time.Second {
			end++
		}
		if end == len(film) {
			break
		}
		for seat, x := range film[i].x {
			most = max(most, (film[end].x[seat]-x)/filmedSpeed)
		}
	}
	return most
}

// stepsOver returns how many frames of a client, from a moment on, moved one of the dots by more than two ticks.
func (f *filmed) stepsOver(client int, from time.Duration) (n int) {
	film := f.films[client]
	for i := 1; i < len(film); i++ {
		for seat, x := range film[i].x {
			if film[i].at > from && x-film[i-1].x[seat] > 2.0*filmedSpeed/60 {
				n++
				break
			}
		}
	}
	return n
}

// wantSame fails if a state differed on a client, or if one was sent more images of the present than expected. It also fails
// if the journal does not lead to the state of the room.
func (f *filmed) wantSame(t *testing.T, images uint64) {
	t.Helper()
	if err := f.Err(); err != nil {
		t.Errorf("%s: %v", f.name, err)
	}
	for i, c := range f.Clients {
		if n := c.Core.Stats().Resyncs; n > images || len(c.Core.Desyncs()) > 0 {
			t.Errorf("%s: client %d was resynced %d times: %v", f.name, i, n, c.Core.Desyncs())
		}
	}
	wantJournal(t, f.Match)
}

// A server stands still for longer than half a second. Then the match continues where it stood: the pictures do not rush, the
// clients play within a second, and the ticks have the inputs of the players. A client whose connection timed out meanwhile has
// another one, and its picture goes on in one step.
func TestAFrozenServerIsAPauseAndNotARush(t *testing.T) {
	for _, s := range strategies {
		for _, frozen := range []time.Duration{2 * time.Second, 9 * time.Second, 12 * time.Second} {
			f := newFilmed(t, s)
			tick, begin, end := f.Room.Tick(), f.Net.Now(), f.Net.Now()+frozen
			f.Net.Pause(f.Server, begin, end)
			f.RunUntil(begin + 600*time.Millisecond)
			for i, c := range f.Clients {
				if !c.Core.Stats().Waiting && frozen > time.Second {
					t.Errorf("%s: client %d does not report that it waits", s.Name, i)
				}
			}
			played := [2]time.Duration{} // after the freeze
			for f.Net.Now() < end+time.Second {
				f.Run(time.Second / 60)
				for i, c := range f.Clients {
					if played[i] == 0 && f.Net.Now() > end && c.Live() && c.Core.Strategy().Live() {
						played[i] = f.Net.Now() - end
					}
				}
			}
			if n := f.Room.Tick() - tick; n > 92 {
				t.Errorf("%s: %d ticks in the second after %v", s.Name, n, frozen)
			}
			lost := time.Duration(f.Room.Stats().GivenUp)
			if want := frozen - time.Second/2; lost < want-50*time.Millisecond || lost > want+50*time.Millisecond {
				t.Errorf("%s: the room gave up %v of %v", s.Name, lost, frozen)
			}
			for i, c := range f.Clients {
				if !c.Live() || !c.Core.Strategy().Live() || c.Core.Stats().Waiting {
					t.Errorf("%s: client %d is %v a second after %v", s.Name, i, c.Core.State(), frozen)
				}
			}
			soon, most := f.altered, 18/4 // the network substitutes as many at any time
			f.Run(4 * time.Second)
			for i, c := range f.Clients {
				if c.Core.Stats().Reconnects > 0 { // it goes on with the present of the server in one step
					if n := f.stepsOver(i, end); n > 8 || !c.Live() {
						t.Errorf("%s: after %v the picture of client %d moves fast in %d frames, %v", s.Name, frozen, i, n, c.Core.State())
					}
					// These are the inputs of the half second that the room does not give up, of the time until the client plays,
					// and of two round trips until its inputs are in time.
					most += int((time.Second/2 + played[i] + 200*time.Millisecond) * 60 / time.Second)
				} else if v := f.fastest(i, begin, end+3*time.Second); v > 1.5 || v < 0.9 {
					t.Errorf("%s: after %v the picture of client %d moves at %.2f times the speed", s.Name, frozen, i, v)
				}
			}
			if late := f.altered - soon; soon > most || late > 18 {
				t.Errorf("%s: %d inputs were substituted in the second after %v, want at most %d; then %d", s.Name, soon, frozen, most, late)
			}
			if notices := f.notices; notices != 2 {
				t.Errorf("%s: %d notices for 2 clients", s.Name, notices)
			}
			f.wantSame(t, 0)
		}
	}
}

// A client stands still, as a laptop that sleeps. Its picture goes on with the present of the server in one step. The client
// does not give inputs for the time that has passed, and the other client notices nothing but the substituted inputs.
func TestAFrozenClientContinuesInThePresent(t *testing.T) {
	for _, s := range strategies {
		for _, frozen := range []time.Duration{2 * time.Second, 10 * time.Second} {
			f := newFilmed(t, s)
			begin := f.Net.Now()
			end := begin + frozen
			f.Net.Pause(f.Clients[0].Node, begin, end)
			f.RunUntil(end)
			sent := f.Clients[0].Core.Stats().Session.MessagesSent
			f.Run(1500 * time.Millisecond)
			c := f.Clients[0]
			if st := c.Core.Stats(); !c.Live() || !c.Core.Strategy().Live() || st.Session.MessagesSent > sent+250 {
				t.Errorf("%s: the client is %v, and sent %d messages in the 1.5 s after %v", s.Name, c.Core.State(), st.Session.MessagesSent-sent, frozen)
			}
			f.altered = 0
			f.Run(2 * time.Second)
			most := 4
			if s.Name == reckon.Strategy.Name {
				most = 62 // a correction takes a second: see motion.RemoteConfig
			}
			if n := f.stepsOver(0, end); n > most {
				t.Errorf("%s: the picture moves fast in %d frames after %v", s.Name, n, frozen)
			}
			if v := f.fastest(1, begin, end+time.Second); v > 1.5 {
				t.Errorf("%s: the picture of the other client moves at %.2f times the speed", s.Name, v)
			}
			if f.altered > 12 {
				t.Errorf("%s: %d inputs were substituted from 1.5 s after %v on", s.Name, f.altered, frozen)
			}
			images := uint64(0)
			if s.Name == verify.Strategy.Name {
				images = 1 // of the present, instead of the changes since
			}
			f.wantSame(t, images)
		}
	}
}
