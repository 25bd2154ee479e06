//go:build unix

package faults

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"tendon/bench/internal/measure"
	"tendon/cmd/arena/rules"
	"tendon/ecs"
	"tendon/net/client"
	"tendon/net/server"
	"tendon/systems"
)

// player is a client with a bot.
type player struct {
	*client.Client
	room      string
	err       error
	confirmed ecs.Tick
	moved     time.Time     // when confirmed rose last
	longest   time.Duration // longest time in which confirmed did not rise
	base      ecs.Tick      // only newer ticks count
	since     time.Time     // when the client began to play; zero: it does not play
	back      time.Time     // when the client began to play for at least stays; zero: it has not since the last mark
}

// players are clients that one goroutine plays.
type players []*player

const (
	frameRate  = 60
	stays      = time.Second            // how long a client must play to have returned
	quietLimit = 500 * time.Millisecond // a client that confirms no tick for this time does not play
	returnTime = 60 * time.Second       // a client that has not returned after this time counts as out
)

// enter connects a bot to a room of a server. listen opens its sockets. It may be nil.
func enter(b *testing.B, v *service, room string, seat int, listen func(netip.AddrPort) (client.Socket, error)) *player {
	token := measure.Must(server.Mint(server.Ticket{ProtocolID: server.ProtocolID(rules.Game().Name), Key: v.key,
		Addresses: []netip.AddrPort{v.public}, Pass: server.Pass{Room: room, Seat: seat}, Lifetime: time.Minute}, time.Now()))
	c := measure.Must(client.Dial(client.DialConfig{Token: token, Listen: listen, Config: client.Config{Game: rules.Game(),
		Strategies: strategies, Bot: true, BotSeed: uint64(seat)}}))
	b.Cleanup(c.Close)
	return &player{Client: c, room: room, moved: time.Now()}
}

// enterRooms connects two bots to each room, and plays until all have played for a while.
func enterRooms(b *testing.B, v *service, rooms ...string) (all players) {
	for _, room := range rooms {
		for seat := range 2 {
			all = append(all, enter(b, v, room, seat, nil))
		}
	}
	all.settle(b)
	return all
}

// settle plays until all have played for a while.
func (all players) settle(b *testing.B) {
	all.mark()
	if !all.play(firstTime, all.returned) {
		b.Fatalf("not all clients entered: %s", all.states())
	}
}

// frame plays a frame.
func (p *player) frame(now time.Time) {
	if p.err != nil {
		return
	}
	if p.err = p.Frame(now); p.err != nil {
		p.since = time.Time{}
		return
	}
	p.Effects(func(systems.Effect) {})
	s := p.Stats()
	if s.Strategy.Confirmed > p.confirmed {
		p.longest = max(p.longest, now.Sub(p.moved))
		p.confirmed, p.moved = s.Strategy.Confirmed, now
	}
	plays := s.State == client.Live && !s.Waiting && p.confirmed > p.base && now.Sub(p.moved) < quietLimit
	switch {
	case !plays:
		p.since = time.Time{}
	case p.since.IsZero():
		p.since = now
	case p.back.IsZero() && now.Sub(p.since) >= stays:
		p.back = p.since
	}
}

// play plays until done returns true, at most for limit, and reports whether done returned true. done may be nil.
func (all players) play(limit time.Duration, done func() bool) bool {
	ticker := time.NewTicker(time.Second / frameRate)
	defer ticker.Stop()
	for end := time.Now().Add(limit); time.Now().Before(end); <-ticker.C {
		for _, p := range all {
			p.frame(time.Now())
		}
		if done != nil && done() {
			return true
		}
	}
	return false
}

// mark begins a measurement: from now on, clients play if they confirm newer ticks.
func (all players) mark() {
	for _, p := range all {
		p.base, p.since, p.back = p.confirmed, time.Time{}, time.Time{}
	}
}

// resetGap begins to measure the longest gap.
func (all players) resetGap() {
	for _, p := range all {
		p.longest, p.moved = 0, time.Now()
	}
}

// returned reports whether all clients have played for a while.
func (all players) returned() bool {
	for _, p := range all {
		if p.back.IsZero() {
			return false
		}
	}
	return true
}

// add adds the times from a moment until each client plays to a result.
func (all players) add(r *result, from time.Time) {
	for _, p := range all {
		if p.back.IsZero() {
			r.out++
		} else {
			r.times = append(r.times, max(p.back.Sub(from), 0))
		}
	}
}

// in returns the clients in a room, and the clients outside.
func (all players) in(room string) (inside, outside players) {
	for _, p := range all {
		if p.room == room {
			inside = append(inside, p)
		} else {
			outside = append(outside, p)
		}
	}
	return inside, outside
}

// resyncs returns the number of states that clients loaded because of a difference or a loss.
func (all players) resyncs() (n uint64) {
	for _, p := range all {
		n += p.Stats().Resyncs
	}
	return n
}

// gap returns the longest time without a newly confirmed tick since resetGap.
func (all players) gap() (longest time.Duration) {
	for _, p := range all {
		longest = max(longest, p.longest, time.Since(p.moved))
	}
	return longest
}

func (all players) states() (text string) {
	for _, p := range all {
		if p.back.IsZero() {
			text += fmt.Sprintf("%s: %v at tick %d, %v; ", p.room, p.State(), p.confirmed, p.err)
		}
	}
	return text
}
