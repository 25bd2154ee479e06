package ecs

import (
	"testing"

	"tendon/ecs/fixed"
)

type tPos struct{ X, Y fixed.Num }
type tVel struct{ X, Y fixed.Num }
type tPad struct {
	DX   int8
	Fire bool `tendon:"press"`
}

var (
	cPos   = NewComponent[tPos]("pos")
	cVel   = NewComponent[tVel]("vel")
	cTag   = NewComponent[struct{}]("tag")
	tInput = NewInput[tPad]()
	qMove  = NewQuery2(Write(cPos), Read(cVel))
)

func tGame() *Game {
	return &Game{Name: "t", TickRate: 60, MaxPlayers: 4, Input: tInput,
		Components: Components(cPos, cVel, cTag)}
}

func filled(t testing.TB, n int) *World {
	w, err := NewWorld(tGame(), 1)
	if err != nil {
		t.Fatal(err)
	}
	for range n {
		e := w.Spawn(OwnedByWorld, cPos, cVel)
		cVel.Put(w, e, tVel{1, 2})
	}
	w.flush()
	w.releaseHeld()
	return w
}

func TestSmoke(t *testing.T) {
	w := filled(t, 1000)
	n := 0
	for e := range qMove.All(w) {
		e.A.X += e.B.X
		if e.Entity().Row != uint32(n+1) {
			t.Fatal(e.Entity())
		}
		n++
	}
	if n != 1000 {
		t.Fatal(n)
	}
	n = 0
	for r := range qMove.Runs(w) {
		for i := range r.A {
			n += int(r.A[i].X)
		}
		t.Log(len(r.A))
	}
	if n != 1000 {
		t.Fatal(n)
	}
	var s, s2 Snapshot
	w.Save(&s)
	a := s.Checksum()
	for e := range qMove.All(w) {
		e.A.X += e.B.X
	}
	w.Save(&s2)
	if s2.Checksum() == a {
		t.Fatal()
	}
	w.Restore(&s)
	w.Save(&s2)
	if s2.Checksum() != a {
		t.Fatal()
	}
	if got := testing.AllocsPerRun(100, func() {
		for e := range qMove.All(w) {
			e.A.X += e.B.X
		}
		for r := range qMove.Runs(w) {
			for i := range r.A {
				r.A[i].X++
			}
		}
		w.Save(&s2)
		w.Restore(&s)
		e := w.Spawn(OwnedBy(1), cPos, cVel, cTag)
		w.flush()
		w.Despawn(e)
		w.flush()
		w.releaseHeld()
	}); got != 0 {
		t.Fatal(got)
	}
}

func moveAll(w *World) {
	for e := range qMove.All(w) {
		e.A.X += e.B.X
		e.A.Y += e.B.Y
	}
}

func moveRuns(w *World) {
	for r := range qMove.Runs(w) {
		v := r.B[:len(r.A)]
		for i := range r.A {
			r.A[i].X += v[i].X
			r.A[i].Y += v[i].Y
		}
	}
}

func BenchmarkIter(b *testing.B) {
	w := filled(b, 10000)
	p, v := make([]tPos, 10000), make([]tVel, 10000)
	b.Run("slices", func(b *testing.B) {
		for b.Loop() {
			for i := range p {
				p[i].X += v[i].X
				p[i].Y += v[i].Y
			}
		}
	})
	b.Run("all", func(b *testing.B) {
		for b.Loop() {
			moveAll(w)
		}
	})
	b.Run("runs", func(b *testing.B) {
		for b.Loop() {
			moveRuns(w)
		}
	})
	b.Run("spawn", func(b *testing.B) {
		for b.Loop() {
			e := w.Spawn(OwnedBy(1), cPos, cVel, cTag)
			w.flush()
			w.Despawn(e)
			w.flush()
			w.releaseHeld()
		}
	})
	var ring [12]Snapshot
	b.Run("save", func(b *testing.B) {
		i := 0
		for b.Loop() {
			for r := range qMove.Runs(w) {
				for i := range r.A {
					r.A[i].X++
				}
			}
			w.Save(&ring[i%12])
			i++
		}
	})
	mem := make([][]byte, 12)
	for i := range mem {
		mem[i] = make([]byte, 160000)
	}
	src := make([]byte, 160000)
	b.Run("copy", func(b *testing.B) {
		i := 0
		for b.Loop() {
			copy(mem[i%12], src)
			i++
		}
	})
}
