package matchtest

import (
	"testing"
	"time"

	"tendon/net/simnet"
	"tendon/systems/relay"
)

func TestSmoke(t *testing.T) {
	h, err := New(Config{Game: Dots(), Strategy: relay.Strategy, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	p, _ := simnet.ByName("P5")
	for i := range 4 {
		h.Join(Plan{Profile: p, At: time.Duration(i) * time.Second})
	}
	h.Join(Plan{Profile: p, At: time.Second, Spectator: true})
	h.RunUntil(20 * time.Second)
	for i, c := range h.Clients {
		t.Logf("%d: %v err %v checked %d mism %d live %v %+v", i, c.Core.State(), c.Core.Err(), c.Checked, c.Mismatches, c.FirstLive, c.Core.Stats())
	}
	t.Logf("%+v", h.Room.Stats())
	for _, p := range h.Room.AppendPeers(nil) {
		t.Logf("%+v", p)
	}
}
