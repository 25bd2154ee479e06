package rules

import (
	"testing"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
)

// A client that simulates nothing follows a whole match by deltas. In a full match the delta of nearly every tick fits a
// datagram of 1200 bytes; the rates of servers are planned with this figure.
func TestAMatchTravelsAsDeltas(t *testing.T) {
	const ticks = 3600
	for _, players := range []int{2, 16} {
		a, client := newArena(t, players, 4), newArena(t, 0, 4).w
		var base, now, there image.Snapshot
		a.w.Image().Save(&base)
		if err := client.Image().Load(base.AppendImage(nil)); err != nil {
			t.Fatal(err)
		}
		var delta, events []byte
		total, most, long, told := 0, 0, 0, 0
		for range ticks {
			a.bots()
			a.step()
			a.w.Image().Save(&now)
			delta, events = now.AppendDelta(delta[:0], &base), image.AppendEvents(events[:0], a.w.Events(), nil)
			if err := client.Image().ApplyDelta(delta); err != nil {
				t.Fatalf("tick %d: %v", a.w.Tick(), err)
			}
			if client.Image().Save(&there); there.Checksum() != now.Checksum() {
				t.Fatalf("tick %d: the client stands elsewhere", a.w.Tick())
			}
			if list, err := a.w.Game().Schema().ReadEvents(nil, events); err != nil || len(list) != len(a.w.Events()) {
				t.Fatalf("tick %d: %d events arrive, %v", a.w.Tick(), len(list), err)
			}
			total, most, told = total+len(delta), max(most, len(delta)), told+len(events)
			if len(delta) > 1200 {
				long++
			}
			base, now = now, base
		}
		t.Logf("%d players: %d bytes a tick, at most %d, %d ticks above 1200; events %d bytes a tick", players, total/ticks, most, long, told/ticks)
		if each := total / ticks / players; each > 65 || long > ticks/100 || told == 0 {
			t.Errorf("%d players: %d bytes for each, %d ticks do not fit a datagram", players, each, long)
		}
	}
}

// Somebody who walked costs the low bytes of two numbers and four bytes around them; the first, one more to be found.
func TestSomebodyWhoMovedIsTwelveBytesOfADelta(t *testing.T) {
	a := newArena(t, maxPlayers, 1)
	var before, after image.Snapshot
	a.w.Image().Save(&before)
	empty := len(before.AppendDelta(nil, &before))
	for p := range ecs.Player(maxPlayers) {
		b := body.Write(a.w, avatar(a.w, p))
		step := fixed.Vec2{X: runSpeed, Y: -runSpeed}.Scale(tickTime)
		b.Pos.X, b.Pos.Y = b.Pos.X+step.X, b.Pos.Y+step.Y
	}
	a.w.Image().Save(&after)
	if got := len(after.AppendDelta(nil, &before)) - empty; got > 12*maxPlayers+1 || got < 8*maxPlayers {
		t.Errorf("%d bytes for %d who moved", got, maxPlayers)
	}
}

// BenchmarkDelta is what a server pays for a delta of one tick of a full match, and what a client does.
func BenchmarkDelta(b *testing.B) {
	a, client := newArena(b, maxPlayers, 4), newArena(b, 0, 4).w
	for range 600 {
		a.bots()
		a.step()
	}
	var base, there, now image.Snapshot
	a.w.Image().Save(&base)
	if err := client.Image().Load(base.AppendImage(nil)); err != nil {
		b.Fatal(err)
	}
	client.Image().Save(&there)
	a.bots()
	a.step()
	a.w.Image().Save(&now)
	var delta []byte
	b.Run("append", func(b *testing.B) {
		for b.Loop() {
			delta = now.AppendDelta(delta[:0], &base)
		}
		b.ReportMetric(float64(len(delta)), "bytes")
	})
	b.Run("apply and restore", func(b *testing.B) {
		for b.Loop() {
			if err := client.Image().ApplyDelta(delta); err != nil {
				b.Fatal(err)
			}
			client.Image().Restore(&there)
		}
	})
}
