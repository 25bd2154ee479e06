package rules

import (
	"sync"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/space"
)

// ways are the shortest paths around the high walls. Such a path bends only at corners of walls.
type ways struct {
	bends []fixed.Vec2
	far   []fixed.Num // by pair of bends: length of the path, fixed.Max if there is none
}

// bendOff is the distance of a bend from the sides of its corner. The middle of a body keeps bodyRadius off every wall, so no
// body has a shorter path.
var bendOff = fixed.FromRatio(1, 4)

// levelWays returns the paths of the level. The first call computes them, which takes some milliseconds.
var levelWays = sync.OnceValue(func() *ways {
	l := &ways{}
	for i := range level.Walls[:level.high] {
		b := &level.Walls[i]
		low, high := fixed.Vec2{X: b.Min.X - bendOff, Y: b.Min.Y - bendOff}, fixed.Vec2{X: b.Max.X + bendOff, Y: b.Max.Y + bendOff}
		for _, p := range [4]fixed.Vec2{low, {X: high.X, Y: low.Y}, high, {X: low.X, Y: high.Y}} {
			if level.free(p) {
				l.bends = append(l.bends, p)
			}
		}
	}
	n := len(l.bends)
	l.far = make([]fixed.Num, n*n)
	for i := range l.far {
		l.far[i] = level.straight(l.bends[i/n], l.bends[i%n])
	}
	for k := range n {
		for i := range n {
			if l.far[i*n+k] == fixed.Max {
				continue
			}
			for j := range n {
				if l.far[k*n+j] != fixed.Max {
					l.far[i*n+j] = min(l.far[i*n+j], l.far[i*n+k]+l.far[k*n+j])
				}
			}
		}
	}
	return l
})

// free reports whether a point is in the level and in no high wall.
func (l *Level) free(p fixed.Vec2) bool {
	if p.X <= 0 || p.Y <= 0 || p.X >= fixed.FromInt(l.Columns*squareSize) || p.Y >= fixed.FromInt(l.Rows*squareSize) {
		return false
	}
	dot := space.Circle(p, fixed.Epsilon)
	return !l.tiles.Overlap(&dot, highTiles)
}

// straight returns the distance between two points, fixed.Max if a high wall is between them.
func (l *Level) straight(from, to fixed.Vec2) fixed.Num {
	r := space.Line(from, to)
	if _, hit := l.tiles.CastRay(&r, highTiles); hit {
		return fixed.Max
	}
	return r.Length
}

// length returns the length of the shortest path between two points, fixed.Max if there is none. Doors and low walls are no
// obstacle, since a door may have been open and a body jumps over a low wall.
func (l *Level) length(from, to fixed.Vec2) fixed.Num {
	if !l.free(to) {
		return fixed.Max
	}
	shortest := l.straight(from, to)
	if shortest != fixed.Max {
		return shortest
	}
	w := levelWays()
	var in [maxBends]fixed.Num
	for j, p := range w.bends {
		in[j] = l.straight(p, to)
	}
	n := len(w.bends)
	for i, p := range w.bends {
		out := l.straight(from, p)
		for j := 0; j < n && out != fixed.Max; j++ {
			if between := w.far[i*n+j]; between != fixed.Max && in[j] != fixed.Max {
				shortest = min(shortest, out+between+in[j])
			}
		}
	}
	return shortest
}

// moveCost is Physics.MoveCost: the length of the shortest path around walls, and less after a dash.
func moveCost(w *ecs.World, e ecs.Entity, from, to fixed.Vec3) (distance fixed.Num, ok bool) {
	length := level.length(flat(from), flat(to))
	if length == fixed.Max {
		return 0, false
	}
	d, _ := dash.Read(w, e)
	return length.Mul(runSpeed).Div(fastest(d.Until, w.Tick())), true
}

// maxBends bounds the bends of a level.
const maxBends = 256

// leapTicks is the length of the longest jump, from a low wall to the floor, in ticks.
const leapTicks = 54

// fastest returns the highest speed of a player whose last dash ended in tick until. Between jumps a body touches the floor
// for at least a tick, in which friction slows it. A jump counts longer than it takes, since positions arrive late.
func fastest(until, now ecs.Tick) fixed.Num {
	if until == 0 {
		return runSpeed
	}
	speed := dashSpeed
	for t := until + 2*leapTicks; t <= now && speed > runSpeed; t += leapTicks {
		speed = speed.Mul(fixed.One - friction.Mul(tickTime))
	}
	return max(speed, runSpeed)
}
