package swarm

import (
	"testing"
	"time"

	"tendon/net/client"
	"tendon/net/matchsim"
	"tendon/net/matchsim/halves"
	"tendon/net/simnet"
	"tendon/systems/lockstep"
	"tendon/systems/predict"
	"tendon/systems/relay"
)

// These tests are seeds that failed, reduced.

func harness(t *testing.T, players int, profile string, delay int) *matchsim.Match {
	h, err := matchsim.New(matchsim.Config{Game: halves.Dots(), Strategy: relay.Strategy, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	p, _ := simnet.ByName(profile)
	for range players {
		h.Join(matchsim.Plan{Profile: p, Change: func(c *client.Config) { c.InputDelay = delay }})
	}
	return h
}

// Seed 15: on a link whose round trip is shorter than the input delay the present stays behind the server. A client
// there never became live.
func TestClientJoinsWithALongInputDelayOnAShortLink(t *testing.T) {
	h := harness(t, 2, "P1", 8)
	h.RunUntil(5 * time.Second)
	for i, c := range h.Clients {
		if !c.Live() || c.FirstLive > 2*time.Second || c.Checked < 100 {
			t.Errorf("client %d is %v, first live after %v, %d ticks checked", i, c.Core.State(), c.FirstLive, c.Checked)
		}
	}
	if err := h.Err(); err != nil {
		t.Error(err)
	}
}

// Seeds 16, 26 and 39: the right state arrived before the client had computed its own of that tick. Its input delay was
// the cause, or the state overtook the notice. The client had no state to compare and reported no desync.
func TestDesyncIsReportedThoughTheRightStateOvertookTheNotice(t *testing.T) {
	for _, link := range []struct {
		profile string
		delay   int
	}{{"P0", 4}, {"P1", 8}, {"P6", 2}} {
		h := harness(t, 2, link.profile, link.delay)
		h.RunUntil(4 * time.Second)
		h.Clients[1].Fault(h.Room.Tick()+30, dotsFlip)
		h.RunUntil(8 * time.Second)
		c := h.Clients[1]
		if d := c.Core.Desyncs(); len(d) != 1 || c.Mismatches == 0 || c.Mismatches > 120 || h.Clients[0].Mismatches > 0 {
			t.Errorf("%s, input delay %d: reports %v, %d of %d ticks differed", link.profile, link.delay, d, c.Mismatches, c.Checked)
		}
	}
}

// Seed 339: a player joined just before a state became wrong, and the image made for that player was sent as the
// correction. It led to the same wrong state five times, and the server dropped the client.
func TestCorrectionIsNewerThanTheWrongState(t *testing.T) {
	h := harness(t, 2, "P0", 0)
	h.RunUntil(4900 * time.Millisecond)
	sick := h.Clients[1]
	sick.Fault(299, dotsFlip) // checksums of tick 300 are compared
	h.Join(matchsim.Plan{})
	h.RunUntil(8 * time.Second)
	if s := sick.Core.Stats(); !sick.Live() || s.Resyncs != 1 || len(sick.Core.Desyncs()) != 1 || sick.FirstMismatch != 299 {
		t.Errorf("%v, resyncs %d, reports %v, first wrong tick %d", sick.Core.Err(), s.Resyncs, sick.Core.Desyncs(), sick.FirstMismatch)
	}
	if n := h.Room.Stats().Images; n < 3 {
		t.Errorf("%d images: no player joined just before, or the image was not a fresh one", n)
	}
}

// Seed 1232: the first image arrives before the round trip is known. With 30 frames and 10 snapshots a second on a link
// with a long way up, each snapshot was newer than the client's present. Each one reset the measured input lateness, and
// the client never sent an input.
func TestClientLearnsItsLeadAlthoughSnapshotsOvertakeIt(t *testing.T) {
	for _, profile := range []string{"P3", "P4", "P6"} {
		for hz := 10; hz <= 60; hz += 5 {
			for _, rate := range []int{5, 10, 20, 60} {
				h, err := matchsim.New(matchsim.Config{Game: halves.Dots(), Strategy: predict.New(predict.Config{SnapshotRate: rate}), Seed: 1})
				if err != nil {
					t.Fatal(err)
				}
				p, _ := simnet.ByName(profile)
				c := h.Join(matchsim.Plan{Profile: p, Hz: hz})
				h.RunUntil(4*time.Second + 10*time.Second/time.Duration(rate))
				if !c.Live() {
					t.Errorf("%s, %d frames and %d snapshots a second: the client is %v, %+v", profile, hz, rate, c.Core.State(), c.Core.Stats().Strategy)
				}
			}
		}
	}
}

// Seeds 31337097 and 123456850: a client reports an event of a tick that a power cut took from the server, before the room
// executes the tick again. The checks had forgotten the event.
func TestAnEventOfALostTickIsReported(t *testing.T) {
	o := options{seed: 3, game: "dots", sync: lockstep.Strategy, pause: 12, clients: []plan{{profile: "P4", hz: 60}, {profile: "P4", hz: 60}}}
	r, err := begin(o, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.RunUntil(5 * time.Second)
	for len(r.events[len(r.events)-1]) == 0 {
		r.Run(time.Second / 60)
	}
	r.Run(time.Second / 10) // until the event is sent
	lost := r.Room.Tick()
	r.strike(incident{kind: powerCut, count: 12, length: 10 * time.Millisecond})
	r.Run(25 * time.Second)
	if r.cuts != 1 || r.Room.Stats().Adopted == 0 || r.Room.Tick() < lost+60 {
		t.Errorf("%d power cuts, %d ticks adopted, at tick %d from %d", r.cuts, r.Room.Stats().Adopted, r.Room.Tick(), lost)
	}
	if len(r.wrong) > 0 {
		t.Error(r.wrong)
	}
}

// Seeds that failed and have not been reduced:
//   - 700101: predict sent inputs of long ago for ticks that the player had skipped, and the server executed a press twice.
//   - 800433: a power cut took ticks that clients had returned to the server after an earlier one. They had dropped them.
//   - 900900: the right state was of a tick of which the client kept no state any more. It reported no desync.
//   - 901074: on a congested line the operations of lockstep waited on the reliable channel, and their frames with them.
//   - 500110: lockstep sent operations on a reliable channel whose queue was long, and a client was a second behind.
//   - 950931: a client was given another seat, had no state for it, and came back to its own. It played as if on the other one.
//   - 1360097499: a clock was set while a client of reckon joined. It acknowledged a later tick than the server's, which removed it.
//   - 1387895452: a client of verify that lagged by 15 s did not receive the older events.
func TestSeedsThatFailed(t *testing.T) {
	for _, seed := range []uint64{500110, 700101, 800433, 900900, 901074, 950931, 1360097499, 1387895452} {
		check(t, draw(seed, time.Minute))
	}
}
