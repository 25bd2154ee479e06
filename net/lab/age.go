package lab

import (
	"math"
	"slices"

	"tendon/ecs"
)

// ages are how old what is shown of the others was lately, in ticks, as the truth says: by the moment at which they stood
// all together as they are shown. A strategy need not say at which moments it shows what, and one that predicts the
// others shows them at an age below zero.
type ages struct {
	last [16]float64 // slot n % 16
	n    int
	mid  float64 // of last
}

const (
	// fitEvery is how many frames go by from one fit to the next.
	fitEvery = 6
	// oldest is how far back a fit looks, in seconds; it looks ahead as far as display.ahead says.
	oldest = 4.0
)

func (a *ages) add(age float64) {
	a.last[a.n%len(a.last)] = age
	a.n++
	sorted := a.last
	in := sorted[:min(a.n, len(sorted))]
	slices.Sort(in)
	a.mid = in[len(in)/2]
}

// usual is the median of the last fits.
func (a *ages) usual() (age float64, ok bool) { return a.mid, a.n > 0 }

// blurred is what a place may be off, in world units, for a moment to be as good as the best one.
const blurred = 0.003

// fit returns the age, in ticks, at which the others' entities are shown: the moment at which the sum of the squares of
// what they are off is least. Between two states everything goes straight, so that the best moment of each tick is a
// quotient. Of several moments as good, since ways cross, it is the one next to the usual age. Only entities that were
// there all the time count. ok is false if they stand at such a moment, or there are none that move.
func (d *display) fit(f *frame) (age float64, ok bool) {
	from, to := ecs.Tick(max(f.at-oldest*d.rate, 1)), ecs.Tick(f.at+(d.ahead-0.1)*d.rate)
	places, tracks := d.movers(f, from, to)
	if len(places) == 0 {
		return 0, false
	}
	d.fits = d.fits[:0]
	best := math.Inf(1)
	for i := range int(to - from) {
		var along, length, off float64
		for n, points := range tracks {
			way, gap := points[i+1].pos.sub(points[i].pos), places[n].sub(points[i].pos)
			along, length, off = along+gap.dot(way), length+way.dot(way), off+gap.dot(gap)
		}
		part := 0.0
		if length > 0 {
			part = min(max(along/length, 0), 1)
		}
		off += part*part*length - 2*part*along
		best = min(best, off)
		d.fits = append(d.fits, fitted{age: f.at - float64(from) - float64(i) - part, off: off, still: length < tiny*tiny})
	}
	usual, known := d.ages.usual()
	if !known {
		usual = f.at - f.shown
	}
	age = math.Inf(1)
	for _, x := range d.fits {
		if x.off > best+float64(len(places))*blurred*blurred {
			continue
		}
		if x.still {
			return 0, false
		}
		if math.Abs(x.age-usual) < math.Abs(age-usual) {
			age = x.age
		}
	}
	return age, true
}

// fitted is how well a moment within one tick fits.
type fitted struct {
	age, off float64
	still    bool // nobody moves in that tick
}

// movers returns where those of the others' entities are shown that were there from one tick to another, and moved, with
// their points in between.
func (d *display) movers(f *frame, from, to ecs.Tick) (places []vec, tracks [][]point) {
	for i := range f.things {
		t := &f.things[i]
		k := d.truth.tracks[t.entity]
		if t.entity.Owner() == ecs.OwnedBy(d.seat) || k == nil || k.first > from || k.first+ecs.Tick(len(k.points)) <= to {
			continue
		}
		points := k.points[from-k.first : to-k.first+1]
		if moves(points) {
			places, tracks = append(places, t.pos), append(tracks, points)
		}
	}
	return places, tracks
}

// moves reports whether there is any way between points.
func moves(points []point) bool {
	for i := range points {
		if points[i].pos != points[0].pos {
			return true
		}
	}
	return false
}
