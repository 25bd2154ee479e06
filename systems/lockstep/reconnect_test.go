package lockstep_test

import (
	"fmt"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/net/simnet"
	"tendon/systems"
	"tendon/systems/lockstep"
)

// leaveAt has a client's process stop in the moment in which it has executed a frame, and its connection end.
func (c *client) leaveAt(f ecs.Tick) {
	c.onFrame = func() {
		if !c.peer.Off && c.Stats().Present >= f {
			c.peer.Off = true
			c.peer.Drop()
		}
	}
}

// when calls f once, when the server has ended a frame.
func (r *rig) when(frame ecs.Tick, f func()) { r.Net.At(at(frame)+1, f) }

// delivery is what a client was sent to bring it up to date, from when it came back.
type delivery struct {
	first, last ecs.Tick // frames
	bytes       int      // of the messages with them
	upTo        ecs.Tick // which end here: what the server had when it came back
}

// delivered records the messages that are sent to c from now on, until c holds the frames that the server has now.
func (r *rig) delivered(c *client) *delivery {
	d := &delivery{}
	next := r.onSend
	r.onSend = func(to *client, ch systems.Channel, m []byte) {
		if next != nil {
			next(to, ch, m)
		}
		h, ok := headOf(m)
		if to != c || !ok || d.upTo != 0 && d.last >= d.upTo {
			return
		}
		if d.first == 0 {
			d.first, d.upTo = h.first, h.s
		}
		d.last = max(d.last, h.last)
		d.bytes += len(m)
	}
	return d
}

// codes returns how many bytes the operations of the frames [first, last] take.
func (r *rig) codes(first, last ecs.Tick) int {
	bits := 0
	for f := first; f <= last; f++ {
		bits += r.frames[f].bits
	}
	return (bits + 7) / 8
}

// company seats players who wander.
func (r *rig) company(n int, path simnet.Profile) {
	for s := range n {
		r.seated(options{path: path, seat: s, play: wander(uint64(50 + s)), epoch: simnet.Time(s) * 3 * ms})
	}
}

// LS-WARM: a client that died at c = 1000 and reconnects when the server is at 1600 receives the frames 1001 … and no
// others. Its process may be the same, or a new one that has the state from the log on its disk.
func TestLSWarmAReconnectBringsTheMissingFrames(t *testing.T) {
	for _, process := range []string{"same process", "log on disk"} {
		onBoth(t, "LS-WARM/"+process, lockstep.Config{OnDemand: true}, func(t *testing.T, config lockstep.Config) {
			r := newRig(t, newGame(0), config, 16)
			r.company(3, link(way, way))
			c := r.clients[2]
			c.leaveAt(1000)
			var d *delivery
			r.when(1600, func() {
				if c.peer.World.Tick() != 1000 || r.Server.Done() != 1600 {
					t.Fatalf("c = %d, the server is at %d", c.peer.World.Tick(), r.Server.Done())
				}
				c.onFrame, d = nil, r.delivered(c)
				if process == "same process" {
					c.peer.Reconnect()
					return
				}
				encoded := imageOf(c.peer.World)
				c.restart()
				c.load(encoded)
				c.peer.Open()
			})
			r.Net.RunUntil(at(1900))
			if d.first != 1001 || d.upTo < 1600 || d.upTo > 1604 || d.last > 1604 {
				t.Errorf("it was sent the frames %d … %d of %d", d.first, d.last, d.upTo)
			}
			if c.ran[1600] == 0 || c.ran[1000] > at(1010) || !c.Live() || c.Stats().Present < 1880 || c.Stats().Snaps > 0 && process == "log on disk" {
				t.Errorf("not back: %+v", c.Stats())
			}
			r.wantSound(1800)
		})
	}
}

// LS-COLD, LS-09: a client without any state receives all frames from the first, where the server has only State(0).
// Otherwise it receives the image of a checkpoint and the frames since. In both cases it ends in the same state, and
// the other clients are not affected.
func TestLS09LSColdAClientWithoutAStateEndsInTheSame(t *testing.T) {
	for _, checkpoint := range []ecs.Tick{0, 1500} {
		config := lockstep.Config{OnDemand: true}
		if checkpoint > 0 {
			config.OnDemand = false
		}
		onBoth(t, fmt.Sprintf("LS-09 LS-COLD/checkpoint %d", checkpoint), config, func(t *testing.T, config lockstep.Config) {
			run := func(joins bool) (*rig, *client, *delivery) {
				r := newRig(t, newGame(0), config, 16)
				r.company(3, link(way, way))
				c := r.add(options{path: link(50*ms, 50*ms), seat: -1})
				var encoded []byte
				r.when(checkpoint, func() { encoded = imageOf(r.Server.World()) })
				var d *delivery
				if joins {
					r.when(1600, func() {
						d = r.delivered(c)
						c.load(encoded)
						c.peer.Open()
					})
				}
				r.Net.RunUntil(at(2000))
				return r, c, d
			}
			r, c, d := run(true)
			if d.first != checkpoint+1 || d.upTo < 1600 || d.upTo > 1612 {
				t.Errorf("it was sent the frames %d … %d of %d", d.first, d.last, d.upTo)
			}
			if codes := r.codes(d.first, d.last); d.bytes > codes*11/10+64 {
				t.Errorf("%d bytes for frames that take %d", d.bytes, codes)
			}
			if c.ran[1600] == 0 || c.ran[checkpoint+1] == 0 || !c.Live() || c.Stats().Present < 1970 {
				t.Errorf("not there: %+v", c.Stats())
			}
			r.wantSound(1980 - int(checkpoint))
			twin, _, _ := run(false)
			for i := range 3 {
				untouched(t, r.clients[i], twin.clients[i])
			}
		})
	}
}

// LS-08: after five minutes, a client that missed ten seconds receives little more than the operations of those. It is
// live again as soon as it has computed 600 frames, and disturbs no other client.
func TestLS08AWarmReconnectCostsTheOperationsThatAreMissing(t *testing.T) {
	notUnderRace(t)
	const back, missing = ecs.Tick(18000), ecs.Tick(600)
	onBoth(t, "LS-08", lockstep.Config{OnDemand: true}, func(t *testing.T, config lockstep.Config) {
		r := newRig(t, newGame(0), config, 8)
		r.company(2, link(way, way))
		// The bound knows no ticks: the client's word comes a millisecond before the server sends, and what is sent comes a
		// millisecond before the client computes.
		c := r.seated(options{path: link(49*ms, 50*ms), seat: -1, epoch: ms})
		c.leaveAt(back - missing)
		var d *delivery
		r.when(back, func() {
			c.onFrame, d = nil, r.delivered(c)
			c.peer.Reconnect()
		})
		r.Net.RunUntil(at(back + 300))
		if d.first != back-missing+1 || d.upTo < back {
			t.Errorf("it was sent the frames %d … %d of %d", d.first, d.last, d.upTo)
		}
		codes := r.codes(d.first, d.last)
		if codes < 500 {
			t.Errorf("the run proves nothing: %d bytes", codes)
		}
		if d.bytes*10 > codes*11 {
			t.Errorf("%d bytes were sent of %d", d.bytes, codes)
		}
		// A Frame computes 64 frames while it catches up.
		took, bound := c.live-at(back), simnet.Time(missing)*time.Second/63/60+99*ms
		t.Logf("%d bytes for %d of operations; live after %v of %v", d.bytes, codes, took, bound)
		if c.live == 0 || took > bound {
			t.Errorf("live after %v, at most %v", took, bound)
		}
		if c.Stats().Present < back+280 || c.Stats().Snaps != 1 { // it took its own state over again
			t.Errorf("%+v", c.Stats())
		}
		r.wantSound(int(back))
		for _, o := range r.clients[:2] {
			early, late := o.lags[len(o.lags)-900], o.lags[len(o.lags)-1] // before and after
			if d := late.lag - early.lag; o.lost > 0 || d > time.Microsecond || d < -time.Microsecond {
				t.Errorf("client %d: lost %d ticks, its lag went from %v to %v", o.peer.ID, o.lost, early.lag, late.lag)
			}
		}
	})
}

// LS-10: a client whose frames the server no longer keeps is given an image instead.
func TestLS10AClientTooFarBehindReceivesAnImage(t *testing.T) {
	notUnderRace(t)
	for _, onDemand := range []bool{false, true} {
		onBoth(t, fmt.Sprintf("LS-10/OnDemand=%v", onDemand), lockstep.Config{OnDemand: onDemand, Backlog: 6 << 10}, func(t *testing.T, config lockstep.Config) {
			r := newRig(t, newGame(0), config, 10)
			r.company(3, link(way, way))
			c := r.clients[2]
			c.leaveAt(200)
			r.when(3000, func() {
				if r.Server.Serves(200) {
					t.Fatal("frame 200 can be served")
				}
				c.onFrame = nil
				c.peer.Reconnect()
			})
			r.Net.RunUntil(at(3400))
			if _, ok := c.ran[201]; ok || c.peer.Run != 3 || !c.Live() || c.Stats().Present < 3380 || c.peer.Faulty {
				t.Errorf("not back with an image: run %d, live %v, %+v", c.peer.Run, c.Live(), c.Stats())
			}
			r.wantSound(500)
		})
	}
}

// The operations of a player before and after a reconnect are each carried out once. Old messages that are still on the
// way do nothing. An order whose confirmation was lost with the connection counts once too.
func TestOperationsAroundAReconnectAreCarriedOutOnce(t *testing.T) {
	onBoth(t, "reconnect", lockstep.Config{}, func(t *testing.T, config lockstep.Config) {
		r := newRig(t, newGame(0), config, 12)
		path := link(20*ms, 20*ms)
		path.Up.Duplicate = 0.5
		for s := range 2 {
			r.seated(options{path: path, seat: s, epoch: simnet.Time(s) * 5 * ms})
		}
		c := r.clients[0]
		fires := 0
		c.play = func(c *client, frame int) pad {
			in := pad{Held: 5, Fire: c.Live() && frame%20 == 7 && !c.peer.Off}
			if in.Fire {
				fires++
			}
			return in
		}
		var ordered []string
		c.peer.Between = func(systems.Time) {
			for k, when := range []simnet.Time{2 * time.Second, 2990 * ms, 4 * time.Second} {
				if d := r.Net.Now() - when; d >= 0 && d < time.Second/60 {
					text := fmt.Sprint("order ", k)
					if err := c.Order(1, ecs.Entity{}, []byte(text), c.peer); err != nil {
						t.Error(err)
					}
					ordered = append(ordered, text)
				}
			}
		}
		// The way down is gone first, so that what is stamped is not confirmed.
		r.Net.Cut(r.Node, c.peer.Node, 2950*ms, 3050*ms)
		r.Net.At(3050*ms, func() { c.peer.Drop() })
		r.Net.At(3100*ms, func() { c.peer.Reconnect() })
		r.Net.RunUntil(6 * time.Second)
		var got []string
		for _, rec := range r.frames {
			got = append(got, rec.order...)
		}
		if fmt.Sprint(got) != fmt.Sprint(ordered) || len(ordered) != 3 {
			t.Errorf("orders %q were given, %q carried out", ordered, got)
		}
		for _, o := range r.clients {
			n := 0
			for e := range walkers.All(o.peer.World) {
				if e.B.Player == 0 {
					n = int(e.A.Fires)
				}
			}
			// A press that was not stamped when the connection ended is gone; one that was is not made again.
			if n > fires || n < fires-2 || fires < 10 {
				t.Errorf("client %d: %d presses, %d were made", o.peer.ID, n, fires)
			}
		}
		if !c.Live() || c.peer.Run != 2 || r.clients[1].lost > 0 {
			t.Errorf("live %v, run %d, the other lost %d", c.Live(), c.peer.Run, r.clients[1].lost)
		}
		r.wantSound(300)
	})
}
