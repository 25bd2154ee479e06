package server

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/net/client"
	"tendon/net/room"
	"tendon/systems"
	"tendon/systems/lockstep"
)

// A match that continues in the next process is not decided by this one.
func TestAKeptMatchIsNotDecided(t *testing.T) {
	var mu sync.Mutex
	decided := 0
	play := lockstep.New(lockstep.Config{OnDemand: true, VoteTime: 600 * systems.Second})
	inBubble(t, "P1", func(c *Config) {
		c.OnStop, c.Room.Strategy = Keep, play
		c.Room.Game.Result = func(w *ecs.World) []byte {
			if w.Tick() != 60 {
				return nil
			}
			return []byte("over")
		}
		c.Room.Sinks = []room.Sink{{Decision: func(systems.Decision) {
			mu.Lock()
			defer mu.Unlock()
			decided++
		}}}
	}, func(w *world) {
		a := w.join(w.mint(w.ticket(1, "duel")), func(c *client.DialConfig) { c.Strategies = []systems.Strategy{play} })
		w.until("live", 3*time.Second, w.live(a))
		w.net.Block(a.host, serverHost, true) // the player does not vote
		w.pass(3 * time.Second)
		w.cancel()
		w.until("the server has stopped", closeLimit+time.Second, w.stopped)
		if decided > 0 {
			t.Errorf("%d decisions", decided)
		}
	})
}

// A match that ended after its players were gone is decided before its room is closed: when the room was empty long enough,
// and when the server stops.
func TestAClosedRoomHasDecidedItsMatches(t *testing.T) {
	for _, onDemand := range []bool{false, true} {
		for _, stops := range []bool{false, true} {
			var mu sync.Mutex
			var events []string
			note := func(what string) {
				mu.Lock()
				defer mu.Unlock()
				events = append(events, what)
			}
			read := func() []string {
				mu.Lock()
				defer mu.Unlock()
				return slices.Clone(events)
			}
			play := lockstep.New(lockstep.Config{OnDemand: onDemand, VoteTime: 600 * systems.Second})
			inBubble(t, "P1", func(c *Config) {
				c.Room.Strategy = play
				c.Room.Game.Result = func(w *ecs.World) []byte {
					if w.Tick() != 120 {
						return nil
					}
					return []byte("over")
				}
				c.Room.Sinks = []room.Sink{{Decision: func(d systems.Decision) {
					note(fmt.Sprintf("%s in %d by %v of %d", d.Result, d.Tick, d.How, d.Registered))
				}}}
				c.CloseRoom = func(string, *room.Room) { note("closed") }
			}, func(w *world) {
				a := w.join(w.mint(w.ticket(1, "duel")), func(c *client.DialConfig) { c.Strategies = []systems.Strategy{play} })
				w.until("live", 3*time.Second, w.live(a))
				w.pass(time.Second)
				w.net.Block(a.host, serverHost, true) // the player neither votes nor leaves
				w.pass(4 * time.Second)
				if early := read(); len(early) > 0 {
					t.Errorf("before the room was closed: %q", early)
				}
				if stops {
					w.cancel()
					err := <-w.ended
					w.ended <- err
				} else {
					w.until("the room is closed", emptyRoom+15*time.Second, func() bool { return slices.Contains(read(), "closed") })
				}
				if want := []string{"over in 120 by replay of 1", "closed"}; !slices.Equal(read(), want) {
					t.Errorf("OnDemand %v, stops %v: %q, want %q", onDemand, stops, read(), want)
				}
			})
		}
	}
}
