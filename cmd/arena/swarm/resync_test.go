package swarm

import (
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/race"
	"tendon/net/room"
	"tendon/net/simnet"
	"tendon/systems"
	"tendon/systems/lockstep"
	"tendon/systems/predict"
	"tendon/systems/reckon"
	"tendon/systems/relay"
	"tendon/systems/verify"
)

// A state that a playing client loads is some ticks old, and the client has reported the events of those ticks. It must
// not report them again.
func TestResyncReportsNoEventTwice(t *testing.T) {
	for _, s := range []systems.Strategy{relay.Strategy, lockstep.Strategy, verify.Strategy, predict.Strategy, reckon.Strategy} {
		profiles := []string{"P3", "P2", "P5"}
		if !race.Long {
			profiles = profiles[:1]
		}
		for _, profile := range profiles {
			t.Run(s.Name+"/"+profile, func(t *testing.T) {
				o := options{seed: 1, game: "heavy dots", sync: s, pause: 12}
				for range 2 {
					o.clients = append(o.clients, plan{profile: profile, hz: 60})
				}
				r, err := begin(o, func(c *room.Config) { c.ImageRate = 64 << 10 })
				if err != nil {
					t.Fatal(err)
				}
				for i := range 4 {
					r.Net.At(time.Duration(5+5*i)*time.Second, func() { r.desynced = 1 })
				}
				r.Net.Every(r.Clients[1].Node, 0, 9, func(int64, simnet.Time) {
					if r.Clients[1].Live() {
						r.Clients[1].Core.Order(ecs.Entity{}, []byte{1})
					}
				})
				r.RunUntil(25 * time.Second)
				r.heal()
				r.quiet = true
				r.Run(3 * time.Second)
				resyncs := uint64(0)
				for i, c := range r.Clients {
					r.state[i].effects.finish()
					resyncs += c.Core.Stats().Resyncs
				}
				for _, w := range r.wrong {
					t.Error(w)
				}
				if err := r.Err(); err != nil || resyncs != 4 || r.counts.Replication.Events < 60 {
					t.Errorf("%v, %d states were sent to playing clients, %d events reported", err, resyncs, r.counts.Replication.Events)
				}
			})
		}
	}
}
