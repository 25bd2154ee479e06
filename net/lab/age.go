package lab

import (
	"math"
	"slices"

	"tendon/ecs"
)

// ages are the newest remote ages, in ticks. At the age of a picture the remote entities were all where it shows them. No
// strategy has to report it. It is negative where remote entities are predicted.
type ages struct {
	last   [16]float64 // slot n % 16
	n      int
	median float64 // of last: the usual age
}

const (
	// fitEvery is the number of frames from one fit to the next.
	fitEvery = 6
	// oldest is how far back a fit searches, in seconds. It searches ahead as far as display.ahead.
	oldest = 4.0
)

func (a *ages) add(age float64) {
	a.last[a.n%len(a.last)] = age
	a.n++
	last := a.last
	in := last[:min(a.n, len(last))]
	slices.Sort(in)
	a.median = in[len(in)/2]
}

// usualAge returns the usual remote age, or until there is one that of the own timeline.
func (d *display) usualAge(f *frame) float64 {
	if d.ages.n > 0 {
		return d.ages.median
	}
	return f.at - f.shown
}

// blurred is the error per entity, in world units, within which a moment counts as equal to the best one.
const blurred = 0.003

// fit returns the age, in ticks, at which remote entities are shown: the moment with the least sum of squared errors.
// Between two states all motion is straight, so the best moment of each tick is a quotient. Of several equal moments,
// since paths cross, it takes the one nearest to the usual age. Only entities that existed all the time count. ok is false
// if no entity moves, or they stand still at the best moment.
func (d *display) fit(f *frame) (age float64, ok bool) {
	from, to := ecs.Tick(max(f.at-oldest*d.history.rate, 1)), ecs.Tick(f.at+(d.ahead-0.1)*d.history.rate)
	places, tracks := d.movers(f, from, to)
	if len(places) == 0 {
		return 0, false
	}
	d.fits = d.fits[:0]
	best := math.Inf(1)
	for i := range int(to - from) {
		var along, length, off float64
		for n, points := range tracks {
			step, gap := points[i+1].pos.sub(points[i].pos), places[n].sub(points[i].pos)
			along, length, off = along+gap.dot(step), length+step.dot(step), off+gap.dot(gap)
		}
		part := 0.0
		if length > 0 {
			part = min(max(along/length, 0), 1)
		}
		off += part*part*length - 2*part*along
		best = min(best, off)
		d.fits = append(d.fits, fitted{age: f.at - float64(from) - float64(i) - part, off: off, still: length < tiny*tiny})
	}
	usual := d.usualAge(f)
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
	still    bool // no entity moves in that tick
}

// movers returns the shown places of the remote entities that existed from one tick to another and moved, with their
// points in between.
func (d *display) movers(f *frame, from, to ecs.Tick) (places []vec, tracks [][]point) {
	for i := range f.entities {
		t := &f.entities[i]
		k := d.history.tracks[t.entity]
		if t.entity.Owner() == ecs.OwnedBy(d.seat) || k == nil || k.first > from || k.first+ecs.Tick(len(k.points)) <= to {
			continue
		}
		points := k.points[from-k.first : to-k.first+1]
		if slices.ContainsFunc(points, func(p point) bool { return p.pos != points[0].pos }) {
			places, tracks = append(places, t.pos), append(tracks, points)
		}
	}
	return places, tracks
}
