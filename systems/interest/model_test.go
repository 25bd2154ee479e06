package interest

import (
	"math/big"
	"math/rand/v2"

	"tendon/ecs/fixed"
)

// model is a simple model of Sets. It keeps a state for every pair and computes distances in big integers. It shares no
// code with Sets.
type model struct {
	radius   fixed.Num
	rate     int
	watchers map[int]fixed.Vec3
	markers  map[int]fixed.Vec3
	outside  map[[2]int]int // pairs in a set: Updates in a row beyond 1.25·R
	gone     map[int]bool
	n        int // ids are below
}

func newModel(c Config, ids int) *model {
	return &model{c.Radius, c.Rate, map[int]fixed.Vec3{}, map[int]fixed.Vec3{}, map[[2]int]int{}, map[int]bool{}, ids}
}

func (m *model) near(a, b fixed.Vec3, r fixed.Num) bool {
	sum := new(big.Int)
	for _, p := range [][2]fixed.Num{{a.X, b.X}, {a.Y, b.Y}, {a.Z, b.Z}} {
		d := new(big.Int).Sub(big.NewInt(int64(p[0])), big.NewInt(int64(p[1])))
		sum.Add(sum, d.Mul(d, d))
	}
	limit := big.NewInt(int64(r))
	return sum.Cmp(limit.Mul(limit, limit)) <= 0
}

func (m *model) unwatch(w int) {
	delete(m.watchers, w)
	for k := range m.n {
		delete(m.outside, [2]int{w, k})
	}
}

func (m *model) remove(k int) {
	if _, ok := m.markers[k]; ok {
		m.gone[k] = true
	}
	delete(m.markers, k)
}

func (m *model) update() (events []Event) {
	for w := range m.n {
		at, ok := m.watchers[w]
		if !ok {
			continue
		}
		for k := range m.n {
			pair := [2]int{w, k}
			outside, in := m.outside[pair]
			if in && m.gone[k] {
				events, in = append(events, Event{w, k, Gone}), false
				delete(m.outside, pair)
			}
			pos, placed := m.markers[k]
			switch {
			case in && m.near(at, pos, m.radius+m.radius/4):
				m.outside[pair] = 0
			case in && outside == m.rate:
				events = append(events, Event{w, k, Leave})
				delete(m.outside, pair)
			case in:
				m.outside[pair]++
			case placed && m.near(at, pos, m.radius):
				events = append(events, Event{w, k, Enter})
				m.outside[pair] = 0
			}
		}
	}
	clear(m.gone)
	return events
}

// script makes random moves from a seed: steps, some teleports, removals, ids that are reused at once, and watchers that
// come and go.
type script struct {
	*rand.Rand
	size fixed.Num // of the square that holds all positions
	at   [2][]fixed.Vec3
}

func (c *script) anywhere() fixed.Vec3 {
	return fixed.Vec3{X: c.num(), Y: c.num(), Z: c.num() / 8}
}

func (c *script) num() fixed.Num { return fixed.Num(c.Int64N(int64(c.size))) - c.size/2 }

// step returns v moved by at most a length in each direction.
func (c *script) step(v fixed.Vec3, length fixed.Num) fixed.Vec3 {
	d := func() fixed.Num { return fixed.Num(c.Int64N(2*int64(length)+1)) - length }
	return fixed.Vec3{X: (v.X + d()).Clamp(-c.size/2, c.size/2), Y: (v.Y + d()).Clamp(-c.size/2, c.size/2), Z: v.Z}
}
