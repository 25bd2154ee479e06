package lab

import (
	"math"
	"slices"
	"time"

	"tendon/ecs"
)

// display is what one client shows, frame by frame, until the history around each frame is known. Then the frame is
// judged. It uses only the picture and the server's states, so that it is the same for every strategy.
type display struct {
	*samples
	history *history
	seat    ecs.Player
	snap    float64  // world units
	limit   float64  // ms: see usualCap
	ahead   float64  // how long a frame waits to be judged, in seconds: the most that a picture may be ahead of the server
	begun   float64  // server's time, in ticks, when measuring began
	frames  []frame  // first the one judged last, empty at first; then those to be judged, oldest first
	judged  int      // frames
	frozen  int      // frames since one that was not frozen
	newest  ecs.Tick // the newest tick whose inputs were judged
	ownOnly bool     // only the own input is predicted
	ages    ages
	fits    []fitted // scratch
}

// frame is one picture. at is when it was shown, by the server's time, and shown is the moment of its own timeline, both
// in ticks.
type frame struct {
	at, shown float64
	tick      ecs.Tick
	inputs    []ecs.InputBytes // of the picture's state
	entities  []shownEntity    // by row
	shot      *shot            // fired at this picture, or nil
}

// shownEntity is an entity as a picture shows it.
type shownEntity struct {
	entity   ecs.Entity
	pos, vel vec
}

const (
	ahead      = 2.0                       // display.ahead of a Run, in seconds
	afterwards = (ahead + 1) * time.Second // for which a Run goes on after measuring, until all frames are judged
)

// show adds the picture of a view. at is the server's time, shown the own timeline's.
func (d *display) show(v *ecs.View, at, shown float64, players int) {
	n := len(d.frames)
	d.frames = slices.Grow(d.frames, 1)[:n+1]
	f := &d.frames[n] // the memory of an older frame
	*f = frame{at: at, shown: shown, tick: v.Tick, inputs: f.inputs[:0], entities: f.entities[:0]}
	for p := range players {
		f.inputs = append(f.inputs, v.Sim.Image().Input(ecs.Player(p)))
	}
	v.Sim.Image().Motions(func(e ecs.Entity, m ecs.Motion) bool {
		f.entities = append(f.entities, shownEntity{e, vecOf(m.Pos), vecOf(m.Vel)})
		return true
	})
}

// judge judges the frames around which the history is known.
func (d *display) judge() {
	for n := len(d.frames); n > 1 && float64(d.history.tick) >= d.frames[1].at+d.ahead*d.history.rate; n-- {
		d.judgeFrame(&d.frames[1])
		old := d.frames[0]
		copy(d.frames, d.frames[1:])
		d.frames[n-1], d.frames = old, d.frames[:n-1]
	}
}

func (d *display) judgeFrame(f *frame) {
	s := d.secondOf(f)
	if d.judged++; d.judged%fitEvery == 1 {
		if age, ok := d.fit(f); ok {
			d.ages.add(age)
			d.remote = append(d.remote, d.ms(age))
			s.Remote, s.remote = s.Remote+d.ms(age), s.remote+1
		}
	}
	d.own = append(d.own, d.ms(f.at-f.shown))
	s.Own, s.own = s.Own+d.ms(f.at-f.shown), s.own+1
	d.judgeInputs(f)
	if f.shot != nil {
		d.judgeShot(f)
	}
	moving, still, old := 0, 0, d.frames[0].entities
	for i := range f.entities {
		t := &f.entities[i]
		for len(old) > 0 && old[0].entity.Row < t.entity.Row {
			old = old[1:]
		}
		var was *shownEntity
		if len(old) > 0 && old[0].entity == t.entity {
			was = &old[0]
		}
		if pace, ok := d.judgeEntity(f, t, was); ok && pace < stillBelow {
			still++
		} else if ok {
			moving++
		}
	}
	d.judgeFreeze(still > 0 && moving == 0)
}

func (d *display) ms(ticks float64) float64 { return ticks / d.history.rate * 1e3 }

// secondOf returns the sums of the second of a frame.
func (d *display) secondOf(f *frame) *Second {
	n := int(max(f.at-d.begun, 0) / d.history.rate)
	for len(d.seconds) <= n {
		d.seconds = append(d.seconds, Second{})
	}
	return &d.seconds[n]
}

// judgeFreeze counts a frame, which is frozen or not.
func (d *display) judgeFreeze(frozen bool) {
	d.counts.frames++
	if !frozen {
		d.frozen = 0
		return
	}
	if d.frozen++; d.frozen == 1 {
		d.freezes++
	}
	d.counts.frozen++
	d.longestFreeze = max(d.longestFreeze, d.frozen)
}

const stillBelow = 0.05 // pace below which an entity stands still

// judgeEntity compares an entity in a frame, and its step since the frame before, with the history. It returns the pace of
// a remote entity; ok is false unless its true motion is straight and even.
func (d *display) judgeEntity(f *frame, t, was *shownEntity) (pace float64, ok bool) {
	k := d.history.tracks[t.entity]
	if k == nil {
		return 0, false // never on the server: a misprediction
	}
	own := t.entity.Owner() == ecs.OwnedBy(d.seat)
	age := d.usualAge(f)
	if k.teleportedNear(f.at, math.Abs(age), d.history.rate) {
		return 0, false
	}
	shown := f.shown
	if !own {
		shown = f.at - age
		d.judgePlace(f, t, k, age)
	} else if at, ok := k.where(f.shown); ok {
		d.ownState = append(d.ownState, t.pos.sub(at).len())
	}
	if was == nil {
		return 0, false
	}
	near, ok := k.around(shown)
	if !ok {
		return 0, false
	}
	step := t.pos.sub(was.pos)
	d.judgeJump(step, t, was, near)
	return d.judgeStep(step, near, own)
}

// judgePlace measures how far a remote entity is shown from where it is, and from where it was at the usual age.
func (d *display) judgePlace(f *frame, t *shownEntity, k *track, age float64) {
	if at, ok := k.where(f.at); ok {
		off := t.pos.sub(at).len()
		d.absolute = append(d.absolute, off)
		speed := k.points[int(f.at)-int(k.first)].vel
		d.squares += speed.dot(speed)
		s := d.secondOf(f)
		s.Error, s.errors = s.Error+off, s.errors+1
	}
	if at, ok := k.where(f.at - age); ok {
		d.shape = append(d.shape, t.pos.sub(at).len())
	}
}

// judgeJump measures the deviation of a step from the velocity, beyond the deviations of the true motion around that
// moment.
func (d *display) judgeJump(step vec, t, was *shownEntity, near []point) {
	jump := min(step.sub(t.vel.times(1.0/displayHz)).len(), step.sub(was.vel.times(1.0/displayHz)).len())
	deviation := 0.0
	for i := 1; i < len(near); i++ {
		deviation = max(deviation, near[i].deviation)
	}
	if jump -= deviation; jump > tiny {
		d.jumps = append(d.jumps, jump)
		if jump > d.snap {
			d.snaps++
		}
	}
}

// judgeStep counts a step that is against every step that the entity made around that moment, and measures its pace.
func (d *display) judgeStep(step vec, near []point, own bool) (pace float64, ok bool) {
	mean := near[len(near)-1].pos.sub(near[0].pos).times(1 / float64(len(near)-1))
	even, forward := mean.len() > tiny, false
	for i := 1; i < len(near); i++ {
		way := near[i].pos.sub(near[i-1].pos)
		even = even && way.sub(mean).len() < 0.02*mean.len()
		forward = forward || step.dot(way) >= 0
	}
	if !forward && step.len() > tiny {
		d.backward++
	}
	if own || !even {
		return 0, false
	}
	pace = step.len() / (mean.len() * d.history.rate / displayHz)
	d.paces = append(d.paces, pace)
	return pace, true
}

// judgeInputs counts a tick, and whether its picture has the inputs that the server used.
func (d *display) judgeInputs(f *frame) {
	past, ok := d.history.ticks.At(f.tick)
	if f.tick <= d.newest || !ok {
		return
	}
	d.newest = f.tick
	d.ticks++
	for i := range min(len(f.inputs), len(past.inputs)) {
		if f.inputs[i] != past.inputs[i] && (!d.ownOnly || ecs.Player(i) == d.seat) {
			return
		}
	}
	d.hitTicks++
}

// ages are the newest remote ages, in ticks. At the age of a picture the remote entities were all where it shows them. No
// strategy has to report it. It is negative where remote entities are predicted.
type ages struct {
	last   [16]float64 // slot n % 16
	n      int
	median float64 // of last: the usual age
}

const (
	fitEvery = 6   // frames from one fit to the next
	oldest   = 4.0 // how far back a fit searches, in seconds. It searches ahead as far as display.ahead
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

const blurred = 0.003 // error per entity, in world units, within which a moment counts as equal to the best one

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
