package server

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/net/client"
	"tendon/net/room"
	"tendon/net/session"
)

// failing returns the race with rules that panic.
func failing(when func(w *ecs.World) bool) *ecs.Game {
	g := raceGame(30)
	g.Systems[0].Run = func(w *ecs.World) {
		if when(w) {
			panic("the track ends")
		}
		run(w)
	}
	return g
}

// The rules of one room panic, at a tick or because of an input. That room ends: its clients receive the reason, and its sinks
// are closed once. The other room of the same worker continues, and a new match can be played in a room of the same name.
func TestOneRoomWhoseRulesPanicEndsThatRoom(t *testing.T) {
	for name, when := range map[string]func(w *ecs.World) bool{
		"a tick":   func(w *ecs.World) bool { return w.Players().Len() == 2 && w.Tick() == 150 },
		"an input": func(w *ecs.World) bool { return w.Players().Len() == 2 && padInput.Of(w, 1).Step == 100 },
	} {
		t.Run(name, func(t *testing.T) {
			var crashes []Crash
			var closed []string
			game := failing(when)
			config := func(c *Config) {
				c.Room.Game, c.Workers = game, 1
				c.Crashed = func(crash Crash) { crashes = append(crashes, crash) }
				c.CloseRoom = func(name string, _ *room.Room) { closed = append(closed, name) }
			}
			inBubble(t, "P2", config, func(w *world) {
				person := func(c *client.DialConfig) { c.Bot = false }
				a, b, other := w.join(w.mint(w.ticket(1, "duel")), person), w.join(w.mint(w.ticket(2, "duel")), person), w.join(w.mint(w.ticket(3, "solo")))
				w.until("all live", 4*time.Second, w.live(a, b, other))
				w.pass(time.Second)
				a.SetInput(padInput.Pack(pad{Step: 100}))
				b.SetInput(padInput.Pack(pad{Step: 100}))
				w.until("the clients of the room are out", 10*time.Second, func() bool { return a.State() == client.Ended && b.State() == client.Ended })
				for _, p := range []*player{a, b} {
					var why *session.Error
					if !errors.As(p.Err(), &why) || why.Code != session.CodeInternal || !strings.Contains(why.Text, "the rules of the game failed in tick ") {
						t.Errorf("a client of the room received %v", p.Err())
					}
				}
				w.pass(3 * time.Second)
				st := w.server.Stats()
				if st.Crashes != 1 || st.Clients != 1 || len(st.Table) != 1 || st.Table[0].Name != "solo" || !w.live(other)() {
					t.Errorf("the other client is %v, stats %+v", other.State(), st)
				}
				if len(crashes) != 1 || len(closed) != 1 || closed[0] != "duel" {
					t.Fatalf("crashes %+v, closed %v", crashes, closed)
				}
				c := crashes[0]
				if c.Room != "duel" || c.Match == 0 || c.Panic.Tick == 0 || name == "a tick" && c.Panic.Tick != 150 || c.Panic.Value != "the track ends" || !strings.Contains(string(c.Panic.Stack), "server.failing") {
					t.Errorf("%+v\n%s", c, c.Panic.Stack)
				}
				w.players = []*player{other}
				again := w.join(w.mint(w.ticket(4, "duel")))
				w.until("a new match", 5*time.Second, w.live(again, other))
			})
		})
	}
}

// A room that cannot be made is closed. The client receives a reason, and the next one finds the room free.
func TestARoomThatCannotBeMadeIsClosed(t *testing.T) {
	var broken atomic.Bool // New makes a room to check the Config
	opened, closed, crashes := 0, 0, 0
	game := raceGame(30)
	game.Setup = func(*ecs.World) {
		if broken.Load() {
			panic("no track")
		}
	}
	inBubble(t, "P2", func(c *Config) {
		c.Room.Game = game
		c.OpenRoom = func(string, *room.Config) error { opened++; return nil }
		c.CloseRoom = func(_ string, r *room.Room) {
			if closed++; (r == nil) != broken.Load() {
				t.Errorf("closed: %v", r)
			}
		}
		c.Crashed = func(c Crash) {
			if crashes++; c.Panic.Value != "no track" || c.Room != "duel" {
				t.Errorf("%+v", c)
			}
		}
	}, func(w *world) {
		broken.Store(true)
		a := w.join(w.mint(w.ticket(1, "duel")))
		w.until("a is refused", 5*time.Second, func() bool { return errors.Is(a.Err(), &session.Error{Code: session.CodeInternal}) })
		if opened != 1 || closed != 1 || crashes != 1 {
			t.Errorf("opened %d, closed %d, crashes %d", opened, closed, crashes)
		}
		broken.Store(false)
		b := w.join(w.mint(w.ticket(2, "duel")))
		w.until("b plays", 5*time.Second, w.live(b))
	})
}

// A panic of the rules on one client ends that client, with the tick. The server and the other client continue.
func TestAPanicOfTheRulesOnAClientEndsThatClient(t *testing.T) {
	inBubble(t, "P2", nil, func(w *world) {
		broken := failing(func(w *ecs.World) bool { return w.Tick() == 150 })
		a, b := w.join(w.mint(w.ticket(1, "duel")), func(c *client.DialConfig) { c.Game = broken }), w.join(w.mint(w.ticket(2, "duel")))
		w.until("both live", 4*time.Second, w.live(a, b))
		w.until("a has ended", 10*time.Second, func() bool { return a.State() == client.Ended })
		var p *session.Panic
		if !errors.As(a.Err(), &p) || p.Tick != 150 || p.Value != "the track ends" || !strings.Contains(string(p.Stack), "server.failing") {
			t.Errorf("%v", a.Err())
		}
		a.View(time.Now())
		w.pass(8 * time.Second) // its seat is kept for 5 s
		if st := w.server.Stats(); st.Clients != 1 || st.Crashes != 0 || !w.live(b)() || w.runners("duel") != 1 {
			t.Errorf("the other client is %v, stats %+v", b.State(), st)
		}
	})
}
