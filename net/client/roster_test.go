package client_test

import (
	"slices"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/net/client"
	"tendon/net/matchsim"
)

func namesOf(roster []ecs.Seated) (names []string) {
	for _, s := range roster {
		names = append(names, s.Name)
	}
	return names
}

// Every client shows the names of the players who are in their seats: of those before it, after it and of itself. A name that
// a client brings along after a restart replaces the one before. A player who has left has none.
func TestClientsShowTheNamesOfThePlayers(t *testing.T) {
	h, p := match(t, nil)
	name := "ann"
	named := func(text *string) matchsim.Plan {
		return matchsim.Plan{Profile: p, Change: func(c *client.Config) { c.Name = *text }}
	}
	bob, none := "bob", ""
	first, second, third := h.Join(named(&name)), h.Join(named(&bob)), h.Join(named(&none))
	watcher := h.Join(matchsim.Plan{Profile: p, Spectator: true, Change: func(c *client.Config) { c.Name = "eve" }})
	all := []*matchsim.Client{first, second, third, watcher}
	var seats []int
	expect := func(when string, names ...string) { // of first, second and third
		t.Helper()
		until(t, h, func() bool {
			for _, c := range all {
				if !c.Live() {
					return false
				}
			}
			return true
		})
		h.Run(time.Second)
		want := make([]string, h.Game.MaxPlayers)
		for i, seat := range seats {
			want[seat] = names[i]
		}
		for i, c := range all {
			if got := c.Core.View(h.Net.LocalNow(c.Node)).Roster; !slices.Equal(namesOf(got), want) {
				t.Errorf("%s: client %d shows %+v, want %q", when, i, got, want)
			}
		}
	}
	until(t, h, func() bool { return first.Live() && second.Live() && third.Live() })
	seats = []int{first.Seat(), second.Seat(), third.Seat()}
	expect("after joining", "ann", "bob", "")
	name = "anna"
	if err := first.Restart(); err != nil {
		t.Fatal(err)
	}
	expect("after a restart with another name", "anna", "bob", "")
	third.Reconnect()
	expect("after a reconnect", "anna", "bob", "")
	second.Leave()
	all = []*matchsim.Client{first, third, watcher}
	expect("after one has left", "anna", "", "")
}

// Every client shows the pings that the server measured, also its own.
func TestTheRosterHasPingsAndConnections(t *testing.T) {
	h, p := match(t, nil)
	far := p
	far.Up.Delay, far.Down.Delay = 150*time.Millisecond, 150*time.Millisecond
	first, second := h.Join(matchsim.Plan{Profile: p}), h.Join(matchsim.Plan{Profile: far})
	watcher := h.Join(matchsim.Plan{Profile: p, Spectator: true})
	until(t, h, func() bool { return first.Live() && second.Live() && watcher.Live() })
	h.Run(6 * time.Second)
	a, b := first.Seat(), second.Seat()
	for i, c := range h.Clients {
		r := c.Core.View(h.Net.LocalNow(c.Node)).Roster
		if len(r) != h.Game.MaxPlayers || !r[a].Connected || !r[b].Connected || r[a].Ping <= 0 || r[a].Ping > 250*time.Millisecond || r[b].Ping < 300*time.Millisecond || r[b].Ping > 400*time.Millisecond {
			t.Errorf("client %d shows %+v", i, r)
		}
		for seat, s := range r {
			if seat != a && seat != b && s != (ecs.Seated{}) {
				t.Errorf("client %d shows %+v in the empty seat %d", i, s, seat)
			}
		}
	}
}
