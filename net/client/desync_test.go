package client_test

import (
	"slices"
	"testing"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/client"
	"tendon/net/matchsim"
	"tendon/net/room"
	"tendon/net/simnet"
	"tendon/rollback/record"
	"tendon/rollback/record/bundle"
	"tendon/rollback/record/cursor"
	"tendon/systems"
	"tendon/systems/lockstep"
	"tendon/systems/predict"
	"tendon/systems/reckon"
	"tendon/systems/relay"
	"tendon/systems/verify"
)

// examined writes a bundle, reads it back and examines it.
func examined(t *testing.T, g *ecs.Game, b *bundle.Bundle) (*bundle.Bundle, *bundle.Examination) {
	t.Helper()
	data, err := b.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	again, err := bundle.Open(data, g)
	if err != nil {
		t.Fatal(err)
	}
	x, err := again.Examine(8)
	if err != nil {
		t.Fatal(err)
	}
	return again, x
}

// The bundle of a client names the field that differs, and has the ticks that led to it. Replaying them leads to another
// state. The bundle of the server has its state at the same moment. This holds for every strategy whose clients compute the
// match.
func TestADesyncLeavesBundlesThatNameTheField(t *testing.T) {
	tried := 0
	for _, s := range []systems.Strategy{relay.Strategy, lockstep.Strategy, predict.Strategy, verify.Strategy, reckon.Strategy} {
		if !s.Needs.Exact {
			continue // its clients hold the states of the server and compute nothing
		}
		tried++
		t.Run(s.Name, func(t *testing.T) {
			g := game()
			recent := record.NewHistory(g, record.HeaderOf(g, 5, "test"), 10*g.TickRate)
			var atClient []client.Desync
			var atRoom []room.Desync
			var clips []*record.Record
			h, err := matchsim.New(matchsim.Config{Game: g, Strategy: s, Seed: 5, Room: func(c *room.Config) {
				c.Sinks = []room.Sink{{Tick: func(f systems.FinalTick) { recent.Add(f.Recorded(), f.World) }}, {NeedState: true, Desync: func(d room.Desync) {
					var state image.Snapshot
					d.World.Image().Save(&state)
					atRoom, clips = append(atRoom, d), append(clips, recent.RecordTo(&state))
					state.Release()
				}}}
			}})
			if err != nil {
				t.Fatal(err)
			}
			p, _ := simnet.ByName("P1")
			c := h.Join(matchsim.Plan{Profile: p, Change: func(c *client.Config) { c.Desynced = func(d client.Desync) { atClient = append(atClient, d) } }})
			h.Join(matchsim.Plan{Profile: p})
			h.Join(matchsim.Plan{Profile: p})
			until(t, h, func() bool { return h.Clients[0].Live() && h.Clients[1].Live() && h.Clients[2].Live() })
			h.Run(4 * time.Second)
			if len(atClient) != 0 || len(atRoom) != 0 {
				t.Fatalf("%d and %d desyncs are reported before there was any", len(atClient), len(atRoom))
			}
			wrong := h.Room.Tick() + 30
			c.Fault(wrong, func(w *ecs.World) { coreCounter.Write(w).Value = 77 })
			h.Run(5 * time.Second)
			if len(atClient) != 1 || len(atRoom) != 1 {
				t.Fatalf("the client reported %d desyncs, the room %d, want one each", len(atClient), len(atRoom))
			}
			theClients(t, g, &atClient[0], wrong)
			theServers(t, g, &atRoom[0], clips[0], wrong)
		})
	}
	if tried < 2 {
		t.Errorf("only %d strategies were tried", tried)
	}
}

// theClients checks the client's bundle.
func theClients(t *testing.T, g *ecs.Game, d *client.Desync, wrong ecs.Tick) {
	t.Helper()
	b, x := examined(t, g, &bundle.Bundle{Tick: d.Difference.Tick, By: bundle.Client, Peer: "seat 0", Here: d.Mine, There: d.Theirs,
		Settings: []bundle.Setting{{Name: "sync", Value: d.Strategy}}})
	if len(x.Differences) == 0 || x.Differences[0].Component != "counter" || x.Differences[0].Field != "Value" || x.Differences[0].Here != "77" || x.Differences[0].There != "0" {
		t.Errorf("the client's bundle names %+v", x.Differences)
	}
	differ := slices.DeleteFunc(slices.Clone(x.Columns), func(c bundle.Column) bool { return c.Here == c.There })
	if len(differ) != 1 || differ[0].Name != "counter" {
		t.Errorf("the columns that differ are %+v", differ)
	}
	if x.First >= x.Tick {
		t.Fatalf("the client's bundle has no ticks before %d", x.Tick)
	}
	// Where the client still kept a state from before the fault the rules lead to the server's state, else to its own.
	want := bundle.LeadsHere
	if x.First < wrong {
		want = bundle.LeadsThere
	}
	if x.Played != want {
		t.Errorf("from tick %d, with the fault in %d, the rules lead %q, want %q", x.First, wrong, x.Played, want)
	}
	tr, err := cursor.New(b.Here, nil)
	if err != nil {
		t.Fatal(err)
	}
	inputs, compared := 0, 0
	for f := x.First + 1; f <= x.Tick; f++ {
		if err := tr.Seek(f); err != nil {
			t.Fatal(err)
		}
		frame := tr.Frame()
		if f < wrong && frame.Match == cursor.Differs || x.First < wrong && f == wrong && frame.Match == cursor.Matches {
			t.Errorf("tick %d of the client's: %q, the fault was in %d", f, frame.Match, wrong)
		}
		if frame.Match != cursor.Unknown {
			compared++
		}
		inputs += len(frame.Players)
	}
	if inputs == 0 || compared == 0 {
		t.Errorf("the client's bundle has %d inputs and %d checksums", inputs, compared)
	}
}

// theServers checks the server's bundle.
func theServers(t *testing.T, g *ecs.Game, d *room.Desync, clip *record.Record, wrong ecs.Tick) {
	t.Helper()
	_, x := examined(t, g, &bundle.Bundle{Tick: clip.Last().Tick, By: bundle.Server, Peer: d.Name, Claimed: d.Differed, Claim: d.Claim, Here: clip})
	if x.Played != bundle.LeadsHere || x.First >= wrong || x.Tick < wrong || len(x.Columns) != len(g.Schema().Columns()) {
		t.Errorf("the server's bundle is of [%d, %d], with the fault in %d; the rules lead %q", x.First, x.Tick, wrong, x.Played)
	}
	if d.Differed < wrong || d.Claim != 0 && (x.Own == "" || x.Own == x.Claim) {
		t.Errorf("the claim is of tick %d, %s, where the server has %s", x.Claimed, x.Claim, x.Own)
	}
}
