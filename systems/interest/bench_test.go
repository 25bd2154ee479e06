package interest

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"tendon/ecs/fixed"
	"tendon/ecs/race"
)

// moving is a population that walks at 5 units a second, 60 ticks a second, with about 30 others within a radius of 50.
type moving struct {
	size     fixed.Num
	pos, vel []fixed.Vec2
	watchers int
}

func newMoving(population, watchers int) *moving {
	r := rand.New(rand.NewPCG(8, uint64(population)))
	m := &moving{size: fixed.FromInt(population * 262).Sqrt(), watchers: watchers}
	if population > 5000 {
		m.size = 4 * fixed.FromInt(population/16*262).Sqrt()
	}
	for range population {
		m.pos = append(m.pos, fixed.Vec2{X: fixed.Num(r.Int64N(int64(m.size))), Y: fixed.Num(r.Int64N(int64(m.size)))})
		m.vel = append(m.vel, fixed.FromAngle(fixed.Num(r.Int64N(int64(fixed.Tau))), fixed.FromRatio(5, 60)))
	}
	return m
}

// tick moves all entities, which turn at the sides, and updates the sets.
func (m *moving) tick(s *Sets) []Event {
	for i := range m.pos {
		p := m.pos[i].Add(m.vel[i])
		if p.X < 0 || p.X > m.size {
			m.vel[i].X = -m.vel[i].X
		}
		if p.Y < 0 || p.Y > m.size {
			m.vel[i].Y = -m.vel[i].Y
		}
		m.pos[i] = p
		s.Place(i, fixed.Vec3{X: p.X, Y: p.Y})
		if i < m.watchers {
			s.Watch(i, fixed.Vec3{X: p.X, Y: p.Y})
		}
	}
	return s.Update()
}

// One operation is a tick: all entities move and all sets are updated.
func BenchmarkUpdate(b *testing.B) {
	for _, population := range []int{1000, 10_000} {
		for _, watchers := range []int{64, population} {
			for _, pairs := range []bool{false, true} {
				b.Run(fmt.Sprintf("entities=%d/watchers=%d/pairs=%v", population, watchers, pairs), func(b *testing.B) {
					s, err := New(Config{Radius: fixed.FromInt(50), Rate: 60, PairList: pairs})
					if err != nil {
						b.Fatal(err)
					}
					m := newMoving(population, watchers)
					for range 3 {
						m.tick(s)
					}
					b.ReportAllocs()
					for b.Loop() {
						m.tick(s)
					}
					b.ReportMetric(float64(s.Counts().Members)/float64(watchers), "members/watcher")
				})
			}
		}
	}
}

func TestAnUpdateAllocatesNothingAfterWarmUp(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	for b, s := range all(t, Config{Radius: fixed.FromInt(50), Rate: 5}) {
		m := newMoving(400, 20)
		for i := range m.vel {
			m.vel[i] = m.vel[i].Scale(fixed.FromInt(60))
		}
		members, events, set := 0, 0, []int(nil)
		tick := func() {
			s.Remove(7)
			events += len(m.tick(s))
			set = s.AppendSet(set[:0], 0)
			members += len(set)
		}
		for range 400 {
			tick()
		}
		if n := testing.AllocsPerRun(100, tick); n != 0 {
			t.Errorf("backend %d: %v allocations per tick", b, n)
		}
		if members == 0 || events < 1000 {
			t.Errorf("backend %d: %d members, %d events", b, members, events)
		}
	}
}
