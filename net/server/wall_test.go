package server

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"
)

// host is the clock of a host, which a test steps.
type host struct{ offset atomic.Int64 }

func (h *host) step(d time.Duration) { h.offset.Add(int64(d)) }

func (h *host) now() time.Time { return time.Now().Round(0).Add(time.Duration(h.offset.Load())) }

// comesBack kills the process of a player and joins with its reconnect token. The seat must be the same.
func (w *world) comesBack(what string, p *player) *player {
	w.t.Helper()
	seat := p.Seat()
	w.players = w.players[:0]
	again := w.join(p.token)
	w.until(what+": the player is back", 4*time.Second, w.live(again))
	w.until(what+": a token", time.Second, func() bool { return again.token != nil })
	if again.Seat() != seat {
		w.t.Errorf("%s: seat %d, was %d", what, again.Seat(), seat)
	}
	return again
}

// The clock of the host is stepped while a player is in a match. The player comes back with tokens from before and after each step.
// A new player joins with a token of a host whose clock is right. A used token stays used.
func TestAStepOfTheClockEndsNoGame(t *testing.T) {
	for _, step := range []time.Duration{time.Second, -time.Second, 20 * time.Minute, -20 * time.Minute, 7 * time.Hour, -7 * time.Hour} {
		for name, r := range map[string]*record{"without a record": nil, "with a record": newRecord()} {
			var clock host
			inBubble(t, "P1", func(c *Config) {
				c.Clock, c.Room.KeepSeat = clock.now, 5*time.Second
				if r != nil {
					c.UsedTokens = r
				}
			}, func(w *world) {
				what := fmt.Sprintf("%s, a step of %v", name, step)
				p := w.join(w.mint(w.ticket(1, "duel")))
				w.until(what+": live", 5*time.Second, func() bool { return w.live(p)() && p.token != nil })
				first := p.token
				clock.step(step)
				if step > 0 || r != nil { // without a record, an earlier token may have been used before the server began
					c := w.join(w.mintAt(w.ticket(3, "duel"), clock.now()))
					w.until(what+": a player with a token by the new clock", 5*time.Second, w.live(c))
				}
				p = w.comesBack(what, p)
				p = w.comesBack(what+", with a token from after it", p)
				w.pass(time.Second)
				clock.step(-step)
				p = w.comesBack(what+" and back", p)
				w.comesBack(what+" and back, with a token from after it", p)
				used := w.join(first)
				b := w.join(w.mint(w.ticket(2, "duel")))
				w.until(what+": a new player", 5*time.Second, w.live(b))
				w.pass(time.Second)
				if w.live(used)() {
					t.Errorf("%s: a used token had a second connection", what)
				}
			})
		}
	}
}

// A server begins with a clock that is earlier than its record. It issues reconnect tokens that the record accepts.
func TestAClockThatIsSetBackOverARestartEndsNoGame(t *testing.T) {
	var clock host
	r := newRecord()
	change := func(c *Config) {
		r.config(c)
		if r.since.IsZero() {
			r.since = time.Now()
		}
		c.Clock, c.OnStop, c.Room.KeepSeat = clock.now, Keep, time.Minute
	}
	inBubble(t, "P1", change, func(w *world) {
		p := w.join(w.mint(w.ticket(1, "duel")))
		w.until("live", 5*time.Second, func() bool { return w.live(p)() && p.token != nil })
		for _, step := range []time.Duration{-7 * time.Hour, time.Hour, 6 * time.Hour} {
			clock.step(step)
			token := p.token
			r.floor = max(r.floor, uint64(time.Now().Unix())) // expired tokens were dropped
			w.restart(r, change)
			p = w.join(token)
			w.until(fmt.Sprintf("%v: live", step), 5*time.Second, func() bool { return w.live(p)() && p.token != nil })
			p = w.comesBack(step.String(), p)
		}
	})
}
