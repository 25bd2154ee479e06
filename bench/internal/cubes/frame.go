package cubes

import "math"

// Cube is a body as it is sent. Largest is which component of the quaternion is left out, 0 to 3 for w, x, y and z.
type Cube struct {
	At      [3]int32 // x, y and z in 1/512 m
	Largest uint8    // of the four components
	Turn    [3]int32 // the others in their order, [-256, 255] for [-√½, √½]
}

// Frame is all bodies at one moment.
type Frame [Bodies]Cube

// unit is how many steps a metre has.
const unit = 512

// Kind is a run of the yard.
type Kind int

const (
	Rolling Kind = iota // the large cube pushes small ones away
	Dense               // it also pulls them towards itself and jumps
	Mixed               // as Dense, but it rests for four of six seconds, and so do most small cubes
)

func (k Kind) String() string { return [...]string{"rolling", "dense", "mixed"}[k] }

// Record returns the frames of a run of the yard.
func Record(k Kind, frames int) []Frame {
	y, list := newYard(k), make([]Frame, frames)
	for f := range list {
		y.step()
		for i := range y.bodies {
			list[f][i] = y.bodies[i].quantised()
		}
	}
	return list
}

func (b *body) quantised() (c Cube) {
	c.At = [3]int32{int32(math.Round(b.at.x * unit)), int32(math.Round(b.at.y * unit)), int32(math.Round(b.at.z * unit))}
	q := [4]float64{b.turn.w, b.turn.x, b.turn.y, b.turn.z}
	for i := range q {
		if math.Abs(q[i]) > math.Abs(q[c.Largest]) {
			c.Largest = uint8(i)
		}
	}
	sign := math.Copysign(1, q[c.Largest]) // q and -q are the same rotation
	k := 0
	for i := range q {
		if i != int(c.Largest) {
			c.Turn[k] = int32(min(max(math.Round(q[i]*sign*math.Sqrt2*256), -256), 255))
			k++
		}
	}
	return c
}

// Changed returns how many bodies differ between two frames.
func Changed(a, b *Frame) (n int) {
	for i := range a {
		if a[i] != b[i] {
			n++
		}
	}
	return n
}
