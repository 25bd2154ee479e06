package room

import (
	"errors"
	"fmt"
	"strings"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/session"
	"tendon/systems"
)

// PauseRule bounds who may pause the match, for how long and how often.
type PauseRule struct {
	By      PauseBy
	Longest systems.Time // the match then continues by itself; 1 s or more, 0: 60 s
	PerSeat int          // pauses by players in a seat, in the match or since the start of its journal; 1 or more, 0: 3
}

// PauseBy selects who may pause the match.
type PauseBy uint8

// The values of PauseBy.
const (
	PauseOff     PauseBy = iota // the match cannot be paused
	PauseAdmin                  // the operator of the server
	PausePlayers                // the operator and every player
	pauseBys
)

// String returns the name, as the flag --pause spells it.
func (b PauseBy) String() string {
	if b >= pauseBys {
		return "unknown"
	}
	return [pauseBys]string{"off", "admin", "players"}[b]
}

// UnmarshalText reads a name. It is the inverse of String.
func (b *PauseBy) UnmarshalText(name []byte) error {
	for *b = range pauseBys {
		if b.String() == string(name) {
			return nil
		}
	}
	return fmt.Errorf("%q is unknown: choose off, admin or players", name)
}

// Admin stands for the operator of the server in Room.Pause.
const Admin = none

// ErrPause is wrapped by the errors of Room.Pause.
var ErrPause = errors.New("room: the match cannot be paused or continued")

// matchClock is the time that the strategy reads. It stops while the match is paused, and skips the time that is given up.
type matchClock struct {
	epoch    systems.Time // of State(0), in the time of the strategy
	on       bool         // the match is paused
	asked    bool         // an OrderPause was stamped that is not final
	by       int          // the seat that began the pause or ended it, or Admin
	since    systems.Time // when the pause began
	strategy systems.Time // the time of the strategy then
	total    systems.Time // length of all pauses that have ended, and the time that was given up
	used     []int        // pauses that were begun, by seat
	unsent   bool         // Paused was not sent yet

	lag      systems.Time // of the next tick, when the last Frame began
	caughtUp int          // ticks that the last Frame computed
	noticed  systems.Time // part of Stats.GivenUp that the players were notified of
	noticeAt systems.Time // earliest time of the next notice
}

// Pause pauses the match, or continues it. seat is the player who requests that, or Admin. A pause begins a few ticks later,
// with the tick of an order of kind image.OrderPause; its end takes effect at once. The error wraps ErrPause, and then nothing
// has changed.
func (r *Room) Pause(on bool, seat int) error {
	refuse := func(why string) error { return fmt.Errorf("%w: %s", ErrPause, why) }
	p, rule := &r.clock, &r.config.Pause
	switch {
	case rule.By == PauseOff:
		return refuse("pauses are off: start the server with --pause admin")
	case seat != Admin && rule.By != PausePlayers:
		return refuse("players may not pause the match")
	case r.recovery != nil || r.closed != 0:
		return refuse("the match is not running")
	case r.commits.failing:
		return refuse(waitsForJournal)
	case on && (p.on || p.asked):
		return refuse("the match is already paused")
	case !on && !p.on && !p.asked:
		return refuse("the match is not paused")
	case !on && !p.on:
		return refuse("the pause has not begun: try again in a second")
	case !on && seat != Admin && p.by == Admin:
		return refuse("the operator began this pause, and only the operator can end it")
	case on && seat != Admin && p.used[seat] >= rule.PerSeat:
		return refuse("the player has used all their pauses")
	}
	if !on {
		r.unpause(seat)
		return nil
	}
	p.asked = true
	r.strategy.Stamp(pauseOrder(image.OrderPause, seat), r.out())
	return nil
}

// pauseOrder returns an order of a seat, or of Admin.
func pauseOrder(kind image.OrderKind, seat int) image.Order {
	if seat == Admin {
		return image.Order{Kind: kind}
	}
	return image.PauseOrder(kind, ecs.Player(seat))
}

// request processes the request of a peer. If it is refused, the peer receives the reason.
func (r *Room) request(p *peer, on bool) {
	err := fmt.Errorf("%w: only players may request that", ErrPause)
	if p.seat != none {
		err = r.Pause(on, p.seat)
	}
	if err != nil {
		r.stats.PausesRefused++
		p.session.Notice(0, strings.TrimPrefix(err.Error(), "room: "))
	}
}

// unpause ends the pause.
func (r *Room) unpause(seat int) {
	p := &r.clock
	p.on, p.by, p.total = false, seat, p.total+r.now-p.since
	r.strategy.Stamp(pauseOrder(image.OrderResume, seat), r.out())
	r.announcePause()
}

// pauseOrders applies the orders of a final tick that begin or end a pause. recovered is set for a tick of an earlier process,
// of which only the last such order counts.
func (r *Room) pauseOrders(orders []image.Order, recovered bool) {
	for i := range orders {
		switch o := &orders[i]; {
		case o.Kind == image.OrderPause:
			r.clock.on, r.clock.asked, r.clock.unsent = true, false, true
			r.clock.since, r.clock.strategy = r.now, r.now-r.clock.total
			if r.clock.by = Admin; !o.OfServer() {
				r.clock.by = int(o.Player)
				r.clock.used[o.Player]++
			}
		case o.Kind == image.OrderResume && recovered:
			r.clock.on = false
		}
	}
}

// announcePause sends Paused to every peer.
func (r *Room) announcePause() {
	r.clock.unsent = false
	for _, p := range r.present() {
		p.session.SendPaused(r.paused())
	}
}

func (r *Room) paused() session.Paused {
	p := session.Paused{On: r.clock.on, Seat: r.clock.by, Tick: r.Tick()}
	if p.On {
		left := r.config.Pause.Longest - (r.now - r.clock.since)
		p.Seconds = int((left + systems.Second - 1) / systems.Second)
	}
	return p
}

// framePause announces a pause that has begun, and ends one that has reached its longest time.
func (r *Room) framePause() {
	if r.recovery != nil {
		return
	}
	if r.clock.unsent && !r.uncommitted() {
		r.announcePause()
	}
	if r.clock.on && r.now-r.clock.since >= r.config.Pause.Longest {
		r.unpause(Admin)
	}
}

// strategyTime returns the time that the strategy reads: see matchClock.
func (r *Room) strategyTime() systems.Time {
	if r.clock.on {
		return r.clock.strategy
	}
	return r.now - r.clock.total
}
