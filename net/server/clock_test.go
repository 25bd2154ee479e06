package server

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/net/client"
	"tendon/net/room"
	"tendon/systems"
)

// The clock follows the clock of the host, but of a gap only half a second counts. It never goes back.
func TestTheClockOfAServerSkipsGaps(t *testing.T) {
	c := serverClock{epoch: time.Unix(100, 0)}
	for _, v := range []struct{ host, want, lost systems.Time }{
		{20, 20, 0}, {500, 500, 0}, {1000, 1000, 0}, {900, 1000, 0}, {1501, 1500, 1}, {61501, 2000, 59501}, {61521, 2020, 59501}, {61000, 2020, 59501},
	} {
		const ms = systems.Second / 1000
		if at := c.at(c.epoch.Add(v.host * ms)); at != v.want*ms || c.lost() != v.lost*ms {
			t.Errorf("after %d ms the clock is at %v and has skipped %v, want %d and %d ms", v.host, at, c.lost(), v.want, v.lost)
		}
	}
}

// A server with two rooms on one worker stands still for 20 s. Both matches continue where they were, without a rush. A player whose
// connection was lost before still has their seat, and no room is closed. One report has the time and the ticks.
func TestAFrozenServerKeepsItsSeatsAndDoesNotRush(t *testing.T) {
	var lines bytes.Buffer
	var lags []Lag
	g := &gate{}
	inBubble(t, "P2", func(c *Config) {
		g.Socket = c.Socket.(Socket)
		c.Socket, c.Workers, c.Room.KeepSeat = g, 1, 5*systems.Second
		c.Logger = slog.New(slog.NewTextHandler(&lines, nil))
		c.Lagged = func(l Lag) { lags = append(lags, l) }
	}, func(w *world) {
		ticket := func(id uint64, name string, timeout time.Duration) []byte {
			t := w.ticket(id, name)
			t.Timeout = timeout
			return w.mint(t)
		}
		patient := func(c *client.DialConfig) { c.Timeout = systems.Second * 60 }
		a, b, away := w.join(ticket(1, "one", time.Minute), patient), w.join(ticket(2, "two", time.Minute), patient), w.join(ticket(3, "one", 0))
		w.until("all live", 10*time.Second, w.live(a, b, away))
		w.until("a token", 5*time.Second, func() bool { return away.token != nil })
		seat, token := away.Seat(), away.token
		w.players = w.players[:2] // its process is killed
		w.until("its connection has timed out", 7*time.Second, func() bool { return w.server.Stats().TimedOut == 1 })
		one, two := w.tick("one"), w.tick("two")
		g.set(false)
		w.pass(20 * time.Second)
		if !a.Stats().Waiting || !b.Stats().Waiting {
			t.Error("the clients do not report that they wait")
		}
		g.set(true)
		w.pass(time.Second)
		for name, before := range map[string]ecs.Tick{"one": one, "two": two} {
			if n := w.tick(name) - before; n < 20 || n > 30*3 {
				t.Errorf("room %s: %d ticks in the freeze and the second after it, at 30 a second", name, n)
			}
		}
		w.until("live", time.Second, w.live(a, b))
		if a.Stats().Reconnects+b.Stats().Reconnects > 0 {
			t.Error("a client has lost its connection")
		}
		again := w.join(token)
		w.until("the player is back", 3*time.Second, w.live(again))
		if n := w.runners("one"); again.Seat() != seat || n != 2 {
			t.Errorf("the player has seat %d, had %d; %d runners", again.Seat(), seat, n)
		}
		w.players = append(w.players, away) // to be closed
		w.pass(2 * time.Second)
		if st := w.server.Stats(); st.Total().GivenUp < 36*systems.Second || st.Total().GivenUp > 41*systems.Second {
			t.Errorf("two rooms gave up %v", st.Total().GivenUp)
		}
	})
	if n := strings.Count(lines.String(), "matches paused"); n != 1 {
		t.Errorf("%d lines about the time that was given up:\n%s", n, lines.String())
	}
	if len(lags) != 1 || lags[0].Rooms != 2 || lags[0].Stood < 18*time.Second || lags[0].Stood > 20*time.Second || lags[0].Ticks < 2*18*30 || lags[0].Ticks > 2*21*30 {
		t.Errorf("reported %+v", lags)
	}
}

// A client with further tokens shows why its room cannot be opened, tries again, and plays when there is space on the disk.
func TestAClientTriesAgainWhileARoomCannotBeOpened(t *testing.T) {
	var failures atomic.Int64
	inBubble(t, "P2", func(c *Config) {
		c.OpenRoom = func(string, *room.Config) error {
			if failures.Add(1) <= 2 {
				return fmt.Errorf("the journal of the room: %w", syscall.ENOSPC)
			}
			return nil
		}
	}, func(w *world) {
		var notices []string
		first := w.mint(w.ticket(1, "duel"))
		p := w.join(first, func(c *client.DialConfig) {
			for range 3 {
				time.Sleep(time.Millisecond)
				c.Spare = append(c.Spare, w.mint(w.ticket(1, "duel")))
			}
			c.Notice = func(_ int, text string) { notices = append(notices, text) }
		})
		w.until("live", 20*time.Second, w.live(p))
		if len(notices) != 2 || !strings.Contains(notices[0], "cannot open the room") || !strings.Contains(notices[0], "the disk of the server is full") {
			t.Errorf("the notices were %q", notices)
		}
	})
}

// A message counts as received when it arrived, also if the clock of the host was set meanwhile.
func TestArrivalsFollowTheClockOfTheServer(t *testing.T) {
	c := connTable{read: 10 * systems.Second}
	for _, v := range []struct{ age, want time.Duration }{
		{0, 11 * time.Second}, {300 * time.Millisecond, 10700 * time.Millisecond}, {time.Hour, 10 * time.Second}, {-time.Hour, 11 * time.Second},
	} {
		if got := c.arrived(11*systems.Second, v.age); got != v.want {
			t.Errorf("a datagram that was in the socket for %v arrived at %v, want %v", v.age, got, v.want)
		}
	}
}
