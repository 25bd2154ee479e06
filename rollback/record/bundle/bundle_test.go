package bundle_test

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback/record"
	"tendon/rollback/record/bundle"
	"tendon/rollback/record/cursor"
)

type pad struct{ DX int8 }

type body struct{ X, Steps int32 }

var (
	pads   = ecs.NewInput[pad]()
	bodies = ecs.NewComponent[body]("body")
	moving = ecs.NewQuery1(ecs.Write(bodies))
)

var game = &ecs.Game{Name: "line", TickRate: 10, MaxPlayers: 2, Input: pads, Components: ecs.Components(bodies),
	Systems: ecs.Systems(func(w *ecs.World) {
		for e := range moving.All(w) {
			e.A.X += int32(pads.Of(w, 0).DX)
			e.A.Steps++
		}
	}),
	Setup: func(w *ecs.World) { w.Spawn(ecs.OwnedByWorld, bodies) }}

// sides returns two sides of a match of 50 ticks. Here begins with tick 20 and is spoiled before tick 45; There has the last
// state only.
func sides(t testing.TB, spoil func(w *ecs.World)) (here, there *record.Record) {
	t.Helper()
	var sides [2]*record.Record
	for i := range sides {
		w, err := ecs.NewWorld(game, 3)
		if err != nil {
			t.Fatal(err)
		}
		var images []record.Image
		var ticks []record.Tick
		for f := ecs.Tick(1); f <= 50; f++ {
			if f == 45 && i == 0 {
				spoil(w)
			}
			in := []ecs.InputBytes{pads.Pack(pad{int8(f % 5)}), {}}
			w.Step(ecs.TickInputs{Players: in})
			var s image.Snapshot
			w.Image().Save(&s)
			if f > 20 && i == 0 {
				ticks = append(ticks, record.Tick{Tick: f, Inputs: in, Checksum: s.Checksum()})
			}
			if f == 20 && i == 0 || f == 50 {
				images = append(images, record.ImageOf(&s))
			}
			s.Release()
		}
		if sides[i], err = record.Collect(game, record.HeaderOf(game, 3, "test"), images, ticks); err != nil {
			t.Fatal(err)
		}
	}
	return sides[0], sides[1]
}

func spoiled(w *ecs.World) {
	for e := range moving.All(w) {
		e.A.X += 1000
	}
}

func whole(t testing.TB) *bundle.Bundle {
	here, there := sides(t, spoiled)
	return &bundle.Bundle{Tick: 50, By: bundle.Client, Peer: "seat 1", Claimed: 40, Claim: 77,
		Settings: []bundle.Setting{{Name: "strategy", Value: "relay"}}, Here: here, There: there}
}

// A bundle is read weeks later on another machine. It names the field that differs, and the side that broke the rules.
func TestABundleNamesTheFieldAndTheSideThatDidNotFollowTheRules(t *testing.T) {
	data, err := whole(t).Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := bundle.Open(data, game)
	if err != nil {
		t.Fatal(err)
	}
	x, err := b.Examine(5)
	if err != nil {
		t.Fatal(err)
	}
	if len(x.Differences) != 1 || x.Differences[0].Component != "body" || x.Differences[0].Field != "X" || x.Differences[0].Entity != "w:1@0" || x.Played != bundle.LeadsThere {
		t.Errorf("the differences are %+v, the rules lead %s", x.Differences, x.Played)
	}
	if x.By != bundle.Client || x.Peer != "seat 1" || x.Build != "test" || x.First != 20 || x.Claim != "000000000000004d" || x.Own == "" || x.Settings[0].Value != "relay" {
		t.Errorf("%+v", x)
	}
	differ := slices.DeleteFunc(x.Columns, func(c bundle.Column) bool { return c.Here == c.There })
	if len(differ) != 1 || differ[0].Name != "body" {
		t.Errorf("the columns that differ are %+v", differ)
	}
	c, err := cursor.New(b.Here, nil)
	if err != nil || c.Seek(44) != nil || c.Frame().Match != cursor.Matches || c.Seek(45) != nil || c.Frame().Match != cursor.Differs {
		t.Errorf("the ticks that led there cannot be shown: %v", err)
	}
}

// A server often has only a checksum of the other side, and a client that lags has no earlier state.
func TestABundleMayLackStatesAndTicks(t *testing.T) {
	b := whole(t)
	b.There = nil
	_, only := sides(t, spoiled)
	for _, here := range []*record.Record{b.Here, only} {
		b.Here = here
		data, err := b.Append([]byte("before"))
		if err != nil {
			t.Fatal(err)
		}
		again, err := bundle.Open(data[len("before"):], game)
		if err != nil {
			t.Fatal(err)
		}
		x, err := again.Examine(5)
		if err != nil || len(x.Differences) != 0 || x.Columns[0].There != "" {
			t.Errorf("%+v, %v", x, err)
		}
		if want := map[bool]bundle.Played{true: bundle.NotPlayed, false: bundle.Elsewhere}[here == only]; x.Played != want {
			t.Errorf("the rules lead %s, want %s", x.Played, want)
		}
	}
	for name, wrong := range map[string]func(*bundle.Bundle){
		"no side":        func(b *bundle.Bundle) { b.By = "" },
		"nothing here":   func(b *bundle.Bundle) { b.Here = nil },
		"another tick":   func(b *bundle.Bundle) { b.Tick = 49 },
		"a long setting": func(b *bundle.Bundle) { b.Settings = []bundle.Setting{{Value: string(make([]byte, 5000))}} },
		"many settings":  func(b *bundle.Bundle) { b.Settings = make([]bundle.Setting, 65) },
	} {
		b := whole(t)
		wrong(b)
		if _, err := b.Append(nil); !errors.Is(err, bundle.ErrBundle) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A file that was cut, has one wrong bit or is none is refused as a whole.
func TestADamagedBundleIsRefused(t *testing.T) {
	data, err := whole(t).Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	for n := range data {
		if _, err := bundle.Open(data[:n], game); err == nil {
			t.Fatalf("the first %d of %d bytes are accepted", n, len(data))
		}
		bad := slices.Clone(data)
		bad[n] ^= 1 << (n % 8)
		if _, err := bundle.Open(bad, game); err == nil {
			t.Fatalf("a wrong bit in byte %d is accepted", n)
		}
	}
	if _, err := bundle.Open([]byte("TENDONRD"), game); !errors.Is(err, bundle.ErrCorrupt) || bundle.Is([]byte("TENDONRD")) {
		t.Error(err)
	}
	later := slices.Clone(data)
	later[8] = 9
	if _, err := bundle.Open(later, game); !errors.Is(err, bundle.ErrVersion) {
		t.Error(err)
	}
	other := *game
	other.Name = "plane"
	if _, err := bundle.Open(data, &other); !errors.Is(err, record.ErrOther) {
		t.Error(err)
	}
}

// Bundles come by mail from strangers. The checksum is corrected, so that the fuzzer gets behind it.
func FuzzOpen(f *testing.F) {
	data, err := whole(f).Append(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data[:len(data)-4])
	short := whole(f)
	short.There, short.Settings = nil, nil
	data, _ = short.Append(nil)
	f.Add(data[:len(data)-4])
	f.Add([]byte("TENDONDB\x02"))
	f.Fuzz(func(t *testing.T, body []byte) {
		b, err := bundle.Open(binary.LittleEndian.AppendUint32(slices.Clone(body), crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli))), game)
		if err != nil {
			return
		}
		if _, err := b.Append(nil); err != nil {
			t.Errorf("what was read cannot be written: %v", err)
		}
		b.Examine(3) // with an error or without: it must return
	})
}
