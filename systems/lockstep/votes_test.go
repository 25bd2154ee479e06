package lockstep_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/simnet"
	"tendon/net/wire"
	"tendon/systems"
	"tendon/systems/lockstep"
)

// The matches of the table end in tick 420, seven seconds after they began; players have two seconds to vote.
const (
	ending   = ecs.Tick(420)
	voteTime = 2 * systems.Second
)

// lying returns the game as a player has it who says that another result came out, or that it came out in another tick.
func lying(first byte, end ecs.Tick) *ecs.Game {
	g, truth := newGame(end), newGame(end)
	g.Result = func(w *ecs.World) []byte {
		result := truth.Result(w)
		if result != nil && first != 0 {
			result[0] = first
		}
		return result
	}
	return g
}

// election is one line of the table. Each player has one letter. A claims the true result, B and C another one. D
// claims the true result and then another, E claims it a tick later. L claims what B does, after the deadline; - claims
// nothing. tainted players differed once before. A majority is audited if a player who is not tainted contradicts it and
// has a budget of replays.
type election struct {
	id      string
	players string
	tainted image.PlayerSet
	audits  int // of 1000
	budget  int // of replays per dissenter

	first                      byte // of the result: 's' is what came out
	how                        systems.How
	dissented, silent, doubled image.PlayerSet
	replays                    int
}

// LS-11: the table of votes, sent by clients with a modified game. Without a replay, the server has computed no frame, or only
// the frames up to the one in which a tainted player differed.
func TestLS11TheTableOfVotes(t *testing.T) {
	const majority, disputed, replay, audit = systems.ByMajority, systems.Disputed, systems.ByReplay, systems.ByAudit
	for _, v := range []election{
		{"V-40", "AAAA", 0, 0, 0, 's', majority, 0, 0, 0, 0},
		{"V-31", "AAAB", 0, 0, 0, 's', disputed, 8, 0, 0, 0},
		{"V-31 tainted dissenter", "AAAB", 8, 0, 1, 's', disputed, 8, 0, 0, 0},
		{"V-31 clean dissenter", "AAAB", 0, 0, 1, 's', audit, 8, 0, 0, 1},
		{"V-22", "AABB", 0, 0, 0, 's', replay, 0b1100, 0, 0, 1},
		{"V-22 R is neither", "CCBB", 0, 0, 0, 's', replay, 0b1111, 0, 0, 1},
		{"V-11", "AB", 0, 0, 0, 's', replay, 2, 0, 0, 1},
		{"V-3-", "AAA-", 0, 0, 0, 's', majority, 0, 8, 0, 0},
		{"V-21-", "AAB-", 0, 0, 0, 's', replay, 4, 8, 0, 1},
		{"V-31-late", "AAAL", 0, 0, 0, 's', majority, 0, 8, 0, 0},
		{"V-collude", "BBBA", 0, 0, 0, 'B', disputed, 8, 0, 0, 0},
		{"V-collude tainted dissenter", "BBBA", 8, 0, 1, 'B', disputed, 8, 0, 0, 0},
		{"V-collude tainted majority", "BBBA", 1, 0, 0, 's', replay, 7, 0, 0, 1},
		{"V-collude audited", "BBBA", 8, 1000, 0, 's', audit, 7, 0, 0, 1},
		{"V-collude clean dissenter", "BBBA", 0, 0, 1, 's', audit, 7, 0, 0, 1},
		{"V-dup", "AADA", 0, 0, 0, 's', majority, 0, 0, 4, 0},
		{"V-dup undecided", "ADBB", 0, 0, 0, 's', replay, 0b1100, 0, 2, 1},
		{"2:1:1", "AABC", 0, 0, 0, 's', replay, 0b1100, 0, 0, 1},
		{"2:0 two silent", "AA--", 0, 0, 0, 's', replay, 0, 0b1100, 0, 1},
		{"other end", "AAAE", 8, 0, 0, 's', disputed, 8, 0, 0, 0},
		{"V-40 audited", "AAAA", 0, 1000, 0, 's', audit, 0, 0, 0, 1},
	} {
		onBoth(t, "LS-11/"+v.id, lockstep.Config{OnDemand: true, VoteTime: voteTime, Audits: v.audits, DissentReplays: v.budget}, v.hold)
	}
}

func (v election) hold(t *testing.T, config lockstep.Config) {
	if config.Reliable {
		notUnderRace(t)
	}
	r := newRig(t, newGame(ending), config, 11)
	for p, who := range v.players {
		v.register(r, p, byte(who))
	}
	r.Net.RunUntil(at(ending) + 5*time.Second)
	if len(r.Decisions) != 1 {
		t.Fatalf("decisions: %+v", r.Decisions)
	}
	d, all := r.Decisions[0], image.PlayerSet(1)<<len(v.players)-1
	want := systems.Decision{Tick: ending, How: v.how, Registered: all, Voted: all &^ v.silent, Dissented: v.dissented, Silent: v.silent, Doubled: v.doubled, Replays: v.replays}
	if d.Tick != want.Tick || d.How != want.How || d.Registered != want.Registered || d.Voted != want.Voted || d.Dissented != want.Dissented ||
		d.Silent != want.Silent || d.Doubled != want.Doubled || d.Replays != want.Replays {
		t.Errorf("decision %+v\nwant     %+v", d, want)
	}
	if len(d.Result) != 12 || d.Result[0] != v.first {
		t.Errorf("result %q, want one with %q", d.Result, v.first)
	}
	computed, proof := r.Server.World().Tick(), ecs.Tick(0)
	if v.tainted != 0 {
		proof = 120
	}
	if v.replays == 0 && computed != proof || v.replays > 0 && computed < ending {
		t.Errorf("%d replays are to be made, the server has computed %d frames", v.replays, computed)
	}
	for p, c := range r.clients {
		if v.tainted.Has(ecs.Player(p)) != (len(c.peer.Flagged) == 1) {
			t.Errorf("player %d was found to differ at %v", p, c.peer.Flagged)
		}
		if sum := r.frames[ending].sum; d.Voted.Has(ecs.Player(p)) && d.Votes[p] != sum && v.players[p] != 'E' {
			t.Errorf("player %d voted for the state %x, it was %x", p, d.Votes[p], sum)
		}
	}
}

func (v election) register(r *rig, p int, who byte) {
	o := options{path: link(way, way), seat: p, play: wander(uint64(p)), epoch: simnet.Time(p) * ms}
	switch who {
	case 'B', 'L':
		o.game = lying('B', ending)
	case 'C':
		o.game = lying('C', ending)
	case 'E':
		o.game = lying(0, ending+1)
	case '-':
		o.game = newGame(0)
	}
	if p == 0 {
		o.path = link(50*ms, way) // so that it votes last, and what comes twice does so in time
	}
	c := r.seated(o)
	switch {
	case who == 'L':
		r.Net.Cut(c.peer.Node, r.Node, at(ending-20), at(ending)+3*time.Second)
	case who == 'D':
		sent := false
		c.onFrame = func() {
			if c.Stats().Present >= ending && !sent {
				sent = true
				c.peer.Send(0, systems.Reliable, resultMessage(ending, r.frames[ending].sum, []byte("something else")))
			}
		}
	}
	if v.tainted.Has(ecs.Player(p)) {
		c.flipAt(70)
	}
}

// resultMessage is what a client's half sends of a result, as the wire standard has it.
func resultMessage(f ecs.Tick, sum image.Checksum, result []byte) []byte {
	w := wire.NewWriter(nil, systems.MaxReliable)
	w.U8(kindResult)
	w.Uvarint(uint64(f))
	w.U64(uint64(sum))
	w.Blob(result)
	return w.Bytes()
}

// flipAt flips a bit of the client's state once it has executed a frame, each of those named.
func (c *client) flipAt(frames ...ecs.Tick) {
	c.spoil = func(w *ecs.World) {
		if len(frames) > 0 && w.Tick() == frames[0] {
			frames = frames[1:]
			story.Write(w).Sum ^= 1 << 17
			c.peer.Faulty = true
		}
	}
}

// A majority is published when voting is over: when all have voted, or at the deadline if a player has not. That of the table
// is 10 s.
func TestLS11TheVerdictComesWhenVotingIsOver(t *testing.T) {
	for _, v := range []struct {
		players  string
		voteTime systems.Time
		after    simnet.Time // since the first vote
	}{{"AAAA", voteTime, 0}, {"AAA-", voteTime, simnet.Time(voteTime)}, {"AAA-", 0, 10 * time.Second}} {
		r := newRig(t, newGame(ending), lockstep.Config{OnDemand: true, VoteTime: v.voteTime}, 11)
		first, last, decided := simnet.Time(0), simnet.Time(0), simnet.Time(0)
		for p, who := range v.players {
			election{}.register(r, p, byte(who))
		}
		r.onUp = func(_ *client, _ systems.Channel, m []byte) {
			if m[0] == kindResult {
				if last = r.Net.Now(); first == 0 {
					first = last
				}
			}
		}
		r.Net.Every(r.Node, 0, 1000, func(int64, simnet.Time) {
			if len(r.Decisions) > 0 && decided == 0 {
				decided = r.Net.Now()
			}
		})
		r.Net.RunUntil(at(ending) + 13*time.Second)
		if want := max(last, first+v.after); decided < want || decided > want+time.Second/60+ms {
			t.Errorf("%s: first vote at %v, last at %v, verdict at %v", v.players, first, last, decided)
		}
	}
}

// LS-14: a bit flips in one client's state at frame f. The check of a frame ≤ f + 60 finds it as soon as the claims have
// arrived. A server that only keeps the log then computes the frames up to it, 100 in each of its ticks. Only that client gets a
// strike and a correction.
func TestLS14OneFlippedBitIsFoundWithinASecond(t *testing.T) {
	notUnderRace(t)
	for _, onDemand := range []bool{true, false} {
		for _, f := range []ecs.Tick{61, 120, 121} {
			onBoth(t, fmt.Sprintf("LS-14/OnDemand=%v/f=%d", onDemand, f), lockstep.Config{OnDemand: onDemand}, func(t *testing.T, config lockstep.Config) {
				r, twin := flipped(t, config, f), flipped(t, config)
				c := r.clients[2]
				check := (f + 59) / 60 * 60
				if len(c.peer.Flagged) != 1 || check > f+60 {
					t.Fatalf("flagged at %v", c.peer.Flagged)
				}
				first, voted := twin.clients[2].ran[check], simnet.Time(0)
				for _, o := range r.clients {
					voted = max(voted, twin.clients[o.peer.ID].ran[check]+way)
				}
				if !onDemand {
					voted = first + way
				}
				if d := c.peer.Flagged[0]; d < first || d > voted+3*time.Second/60+ms {
					t.Errorf("found at %v; it had executed frame %d at %v, and the claims were there at %v", d, check, first, voted)
				}
				if r.Server.PeerStats(2).Desyncs != 1 || c.peer.Faulty || !c.Live() {
					t.Errorf("%+v, live %v, still wrong %v", r.Server.PeerStats(2), c.Live(), c.peer.Faulty)
				}
				if onDemand && r.Server.World().Tick() != check {
					t.Errorf("the server computed %d frames, the contested one is %d", r.Server.World().Tick(), check)
				}
				for i, o := range r.clients {
					if o == c {
						continue
					}
					if s := r.Server.PeerStats(o.peer.ID); s.Desyncs != 0 || len(o.peer.Flagged) > 0 || s.Checked < 4 || o.peer.Run != 1 {
						t.Errorf("client %d: %+v, flagged at %v", i, s, o.peer.Flagged)
					}
					untouched(t, o, twin.clients[i])
				}
			})
		}
	}
}

// flipped plays five seconds in which the third of four clients has bits flipped.
func flipped(t *testing.T, config lockstep.Config, frames ...ecs.Tick) *rig {
	r := newRig(t, newGame(0), config, 14)
	for s := range 4 {
		c := r.seated(options{path: link(way, way), seat: s, play: wander(uint64(s)), epoch: simnet.Time(s) * ms})
		if s == 2 {
			c.flipAt(frames...)
		}
	}
	r.Net.RunUntil(5 * time.Second)
	return r
}

// untouched asserts that a client executed every frame in the same moment in both runs.
func untouched(t *testing.T, c, twin *client) {
	t.Helper()
	if c.lost != twin.lost || len(c.ran) != len(twin.ran) || len(c.ran) < 100 {
		t.Errorf("client %d stalled %d ticks of %d instead of %d of %d", c.peer.ID, c.lost, len(c.ran), twin.lost, len(twin.ran))
	}
	for f, when := range c.ran {
		if twin.ran[f] != when {
			t.Fatalf("client %d executed frame %d at %v instead of %v", c.peer.ID, f, when, twin.ran[f])
		}
	}
}

// LS-14: a player who differs for the third time is removed from the match, at the third check and not before. The
// other players play on.
func TestLS14TheThirdStrikeRemoves(t *testing.T) {
	for _, onDemand := range []bool{true, false} {
		onBoth(t, fmt.Sprintf("LS-14/strikes/OnDemand=%v", onDemand), lockstep.Config{OnDemand: onDemand}, func(t *testing.T, config lockstep.Config) {
			r := newRig(t, newGame(0), config, 14)
			for s := range 4 {
				r.seated(options{path: link(way, way), seat: s, play: wander(uint64(s))})
			}
			c := r.clients[2]
			r.onSend = func(to *client, _ systems.Channel, _ []byte) {
				if to == c && c.peer.Removed {
					t.Fatal("the server still sends to a player who was removed")
				}
			}
			// Each flip comes after the correction of the one before.
			c.spoil = func(w *ecs.World) {
				if !c.peer.Faulty && c.Live() && w.Tick()%60 == 30 && r.Server.Done() > 60 {
					story.Write(w).Sum ^= 1
					c.peer.Faulty = true
				}
			}
			r.Net.RunUntil(20 * time.Second)
			if len(c.peer.Flagged) != 3 || !c.peer.Removed {
				t.Fatalf("flagged at %v, removed %v", c.peer.Flagged, c.peer.Removed)
			}
			if c.peer.Flagged[2] > 10*time.Second {
				t.Errorf("it took until %v", c.peer.Flagged[2])
			}
			left := false
			for f, rec := range r.frames {
				if f > 0 && bytes.Contains(rec.text[4*32:], []byte{byte(image.OrderLeave), 2, 0, 0}) {
					left = true
				}
			}
			if !left {
				t.Error("no frame has the order that removes the player")
			}
			for i, o := range r.clients {
				if o != c && (len(o.peer.Flagged) > 0 || o.lost > 0 || o.Stats().Present+20 < r.Server.Done() || o.checked < 1000) {
					t.Errorf("client %d: flagged at %v, lost %d, %+v", i, o.peer.Flagged, o.lost, o.Stats())
				}
			}
		})
	}
}

// LS-14: where two of four differ, a server without simulation computes the match as far as needed, and both are found.
func TestLS14WithoutAMajorityTheServerComputes(t *testing.T) {
	onBoth(t, "LS-14/2:1:1", lockstep.Config{OnDemand: true}, func(t *testing.T, config lockstep.Config) {
		r := newRig(t, newGame(0), config, 14)
		for s := range 4 {
			c := r.seated(options{path: link(way, way), seat: s, play: wander(uint64(s))})
			if s >= 2 {
				c.flipAt(ecs.Tick(100 + s))
			}
		}
		r.Net.RunUntil(3500 * ms)
		for i, c := range r.clients {
			if want := i / 2; len(c.peer.Flagged) != want || c.peer.Faulty {
				t.Errorf("client %d: flagged at %v, still wrong %v", i, c.peer.Flagged, c.peer.Faulty)
			}
		}
		if w := r.Server.World().Tick(); w != 120 {
			t.Errorf("the server computed %d frames, the contested one is 120", w)
		}
	})
}

// Liars among three players claim the same wrong checksums and the same forged result. The server blames only them, with a
// proof, and the honest result is the result of the match.
func TestLiarsDoNotTakeAMatch(t *testing.T) {
	for _, v := range []collusion{
		{"two from the start", 0b011, 60, ending, 20, true, systems.ByMajority},
		{"one from the start", 0b010, 60, ending, 3, true, systems.ByMajority},
		{"two in the last tick", 0b110, 960, 960, 1, false, systems.ByReplay}, // the proof takes longer than the vote
		{"one in the last tick", 0b100, 960, 960, 1, false, systems.ByAudit},  // the proof of the tick is one of the result
	} {
		for seed := range v.seeds {
			t.Run(fmt.Sprintf("%s/%d", v.name, seed), func(t *testing.T) {
				if seed > 0 {
					notUnderRace(t)
				}
				v.play(t, seed)
			})
		}
	}
}

// collusion is a match of three players in which liars claim wrong checksums, and a forged result.
type collusion struct {
	name     string
	liars    image.PlayerSet
	from     ecs.Tick // first wrong checksum, and the only one if the liars are not expelled
	end      ecs.Tick
	seeds    uint64
	expelled bool
	how      systems.How
}

func (v collusion) play(t *testing.T, seed uint64) {
	r := newRig(t, newGame(v.end), lockstep.Config{OnDemand: true, VoteTime: voteTime}, seed)
	for s := range 3 {
		r.seated(options{path: link(way, way), seat: s, play: wander(seed*3 + uint64(s)), epoch: simnet.Time(s) * ms})
	}
	var result []byte // as an honest player claims it
	r.onUp = func(c *client, _ systems.Channel, m []byte) {
		switch lies := v.liars.Has(ecs.Player(c.peer.ID)); {
		case m[0] == kindHash && lies && r.Server.Done() >= v.from && (v.expelled || r.Server.Done() < v.from+60), m[0] == kindResult && lies:
			m[len(m)-1] ^= 1
		case m[0] == kindResult:
			result = bytes.Clone(m[len(m)-12:])
		}
	}
	r.Net.RunUntil(at(v.end) + 4*time.Second)
	strikes := 1
	if v.expelled {
		strikes = 3
	}
	for p, c := range r.clients {
		want := 0
		if v.liars.Has(ecs.Player(p)) {
			want = strikes
		}
		if n := len(c.peer.Flagged); n != want || c.peer.Removed != (want == 3) {
			t.Errorf("player %d has %d strikes, want %d; expelled: %v", p, n, want, c.peer.Removed)
		}
	}
	if len(r.Decisions) != 1 {
		t.Fatalf("decisions: %+v", r.Decisions)
	}
	if d := r.Decisions[0]; d.How != v.how || !bytes.Equal(d.Result, result) || d.Dissented != v.liars&d.Registered || v.expelled != (d.Registered == 0b111&^v.liars) {
		t.Errorf("decision %+v, want the result %q", d, result)
	}
	if computed := r.Server.World().Tick(); v.expelled && computed > 360 {
		t.Errorf("the server computed %d frames for three strikes", computed)
	}
}
