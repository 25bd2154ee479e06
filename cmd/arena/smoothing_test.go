package main

import (
	"math"
	"testing"
	"time"

	"tendon/cmd/arena/rules"
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/ecs/race"
	"tendon/net/lab"
	"tendon/net/matchsim/halves"
	"tendon/net/simnet"
	"tendon/systems"
	"tendon/systems/relay"
)

// topSpeed returns the top speed of an entity of the arena: a dash along the floor in a jump, and for rockets their own.
func topSpeed(ecs.Entity) float64 { return math.Hypot(18, 7) }

// With relay, no correction shows as a jump in the arena. On P3 no entity moves in a frame by more than the top speed and 20 %
// allow, except by a teleport. On P5 there are at most five snaps a minute, also by the measure of the lab.
func TestRelayShowsNoCorrectionAsAJump(t *testing.T) {
	seconds := 12
	if race.Long {
		seconds = 120
	}
	for _, name := range []string{"P3", "P5"} {
		game := rules.Game()
		path, _ := simnet.ByName(name)
		m := halves.New(t, halves.Config{Game: game, Strategy: relay.Strategy, Seed: 4, Change: func(c *systems.ServerConfig) { c.States = true }})
		var teleports halves.Teleports
		m.OnTick = func(f systems.FinalTick) { teleports.Watch(f.World, topSpeed) }
		steps := make([]halves.Steps, 4)
		for seat := range steps {
			view, err := ecs.NewView(game)
			if err != nil {
				t.Fatal(err)
			}
			random, s := image.NewRand(uint64(seat)), &steps[seat]
			s.Top = topSpeed
			var p *halves.Peer
			p = m.Join(halves.Plan{Path: path, Config: systems.ClientConfig{Seat: seat}, FromOpen: true, Clock: simnet.Clock{DriftPPM: int64(40*seat - 60)},
				Input: func(int) ecs.InputBytes { return game.Bot(p.World, ecs.Player(seat), random) },
				Display: func(now time.Duration) {
					p.Frame(now)
					p.Effects = p.Effects[:0]
					p.Half.(systems.Presenter).Present(view, now)
					if m.Net.Now() > 4*time.Second {
						s.Look(view, now)
					}
				}})
		}
		m.Net.RunUntil(time.Duration(seconds) * time.Second)
		for seat := range steps {
			s := &steps[seat]
			beyond, snaps := s.Judge(&teleports, 1.2)
			st, perMinute := m.Peers[seat].Half.Stats(), float64(snaps)*60/float64(seconds-4)
			t.Logf("%s, client %d: largest step %.2f of the top speed, %d of %d beyond, %.1f snaps a minute; %d rollbacks, %d events predicted, %d cancelled",
				name, seat, s.Worst, beyond, s.N, perMinute, st.Rollbacks, st.EventsPredicted, st.EventsCancelled)
			if name == "P3" && beyond > 0 || perMinute > 5 {
				t.Errorf("%s, client %d: %d steps beyond, %.1f snaps a minute", name, seat, beyond, perMinute)
			}
			if s.N < 4*50*(seconds-4) || st.Rollbacks < uint64(seconds) || st.EventsPredicted == 0 {
				t.Errorf("%s, client %d: the run proves nothing: %d steps, %+v", name, seat, s.N, st)
			}
		}
	}
	path, _ := simnet.ByName("P5")
	r, err := lab.Run(lab.Config{Game: rules.Game(), Strategies: []systems.Strategy{relay.Strategy}, Profiles: []simnet.Profile{path},
		For: time.Duration(seconds) * time.Second / 2, Seed: 1})
	if err != nil || r.Results[0].Failed != "" {
		t.Fatal(err, r.Results[0].Failed)
	}
	if jumps := r.Results[0].Jumps; jumps.SnapsRate > 5 {
		t.Errorf("P5 in the lab: %+v", jumps)
	}
}
