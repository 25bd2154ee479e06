package image_test

import (
	"testing"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/ecs/internal/sample"
)

// shortGame has pages of 128 rows with a short form of 16.
func shortGame() *ecs.Game {
	g := sample.Bare()
	g.Components = ecs.Components(sample.Positions, dMoving)
	return g
}

func TestOwnersWithFewEntitiesTakeLittleMemory(t *testing.T) {
	g := shortGame()
	w := sample.NewWorld(t, g)
	sample.InSystem(w, func() {
		for p := range g.MaxPlayers {
			w.Spawn(ecs.OwnedBy(ecs.Player(p)), sample.Positions)
		}
	})
	ring := make([]image.Snapshot, 32)
	for i := range ring {
		sample.InSystem(w, func() {
			for e := range ecs.NewQuery1(ecs.Write(sample.Positions)).All(w) {
				e.A.X++
			}
		})
		w.Image().Save(&ring[i])
	}
	if most := (len(ring) + 4) * (g.MaxPlayers + 3) * 2 * 512; w.Image().PageBytes() > most {
		t.Errorf("%d bytes of pages for %d ticks, want at most %d", w.Image().PageBytes(), len(ring), most)
	}
}

// farRow returns an entity with components of zeros in a row that no short page reaches.
func farRow(w *ecs.World) (e ecs.Entity) {
	sample.InSystem(w, func() {
		for range 100 {
			e = w.Spawn(ecs.OwnedBy(0), sample.Positions, dMoving)
		}
	})
	return e
}

// A row of zeros is in no page of an encoded state. It can be written later, saved and restored like any other.
func TestARowThatWasReceivedAsZerosCanBeWritten(t *testing.T) {
	for _, receive := range []struct {
		name string
		f    func(from, to *ecs.World, empty *image.Snapshot) error
	}{
		{"image", func(from, to *ecs.World, _ *image.Snapshot) error { return to.Image().Copy(sample.Saved(from)) }},
		{"delta", func(from, to *ecs.World, empty *image.Snapshot) error {
			return to.Image().ApplyDelta(sample.Saved(from).AppendDelta(nil, empty))
		}},
	} {
		from, to := sample.NewWorld(t, shortGame()), sample.NewWorld(t, shortGame())
		empty := sample.Saved(from)
		e := farRow(from)
		if err := receive.f(from, to, empty); err != nil {
			t.Fatalf("%s: %v", receive.name, err)
		}
		before := sample.Saved(to)
		for _, w := range []*ecs.World{from, to} {
			*sample.Positions.Write(w, e) = sample.PosAt(3, 4)
		}
		after := sample.Saved(to)
		if got, want := after.Checksum(), sample.Saved(from).Checksum(); got != want {
			t.Errorf("%s: the state is %v, want %v", receive.name, got, want)
		}
		to.Image().Restore(before)
		if got := sample.Saved(to).Checksum(); got != before.Checksum() {
			t.Errorf("%s: restored, the state is %v, want %v", receive.name, got, before.Checksum())
		}
		to.Image().Restore(after)
		if got, _ := sample.Positions.Read(to, e); got != sample.PosAt(3, 4) {
			t.Errorf("%s: restored, the row is %v", receive.name, got)
		}
	}
}

func TestAPictureShowsRowsThatWereShiftedAnew(t *testing.T) {
	w := sample.NewWorld(t, shortGame())
	e := farRow(w)
	shown := image.Shown{Cur: sample.Saved(w), Own: image.EveryRow()}
	view := sample.NewWorld(t, shortGame())
	p := image.NewPicture(view.Image())
	p.Show(shown, 1)
	p.Shift(e, fixed.Vec3{X: fixed.One})
	if m, ok := view.Image().Motion(e); !ok || m.Pos.X != fixed.One {
		t.Fatalf("the picture shows %v %v", m, ok)
	}
	p.Show(shown, 1)
	if m, _ := view.Image().Motion(e); m.Pos.X != 0 {
		t.Errorf("the next picture shows %v", m.Pos)
	}
}
