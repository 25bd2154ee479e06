package lab

import (
	"math"

	"tendon/ecs"
)

// display is what one client shows, frame by frame, until the truth around each frame is known; then the frame is judged.
// Nothing in it knows the strategy: all that it uses is the picture and the server's states.
type display struct {
	truth  *truth
	seat   ecs.Player
	rate   float64 // ticks per second
	hz     float64 // frames per second
	snap   float64 // world units
	limit  float64 // ms: see Config.Cap
	ahead  float64 // for how long a frame waits to be judged, in seconds: the most that may be shown ahead of the server
	begun  float64 // server's time, in ticks, when measuring began
	frames []frame // oldest first, to be judged
	free   []frame // for reuse
	before frame   // the frame judged last
	ages   ages
	fits   []fitted // scratch
	inputs predicted
	marks  marks
}

// frame is one picture: at and shown are moments in ticks, of the server when it was shown and of what it shows of its
// own timeline.
type frame struct {
	at, shown float64
	tick      ecs.Tick
	inputs    []ecs.InputBytes // that the picture's state goes on from
	things    []thing          // upwards by row
	shot      *shot            // that was fired at it; nil: none
}

// thing is an entity as it is shown.
type thing struct {
	entity   ecs.Entity
	pos, vel vec
}

// marks are what was found in the frames.
type marks struct {
	frames, frozen, episodes int
	running, longest         int // frames frozen one after the other
	own, remote              []float64
	errors, shapes           []float64
	owns                     []float64 // how far the own things are shown from where they were at the moment that is shown
	squares                  float64   // of the true speeds where there are errors
	jumps                    []float64 // above tiny
	snaps, backward          int
	paces                    []float64 // shown step by true step, where the truth goes straight and even
	hits                     hits
	seconds                  []Second
}

// Second is what was found in one second of virtual time, the mean of all clients.
type Second struct {
	Own    float64 `json:"own_age_ms"`
	Remote float64 `json:"remote_age_ms"`
	Error  float64 `json:"remote_error"`

	own, remote, errors int // how many each is the mean of
}

// ahead is display.ahead where nobody waits for what is found, in seconds.
const ahead = 2.0

// shows takes in what a view shows; at is the server's time, shown the own timeline's.
func (d *display) shows(v *ecs.View, at, shown float64, players int) {
	var f frame
	if n := len(d.free); n > 0 {
		f, d.free = d.free[n-1], d.free[:n-1]
	}
	f.at, f.shown, f.tick = at, shown, v.Tick
	f.inputs, f.things, f.shot = f.inputs[:0], f.things[:0], nil
	for p := range players {
		f.inputs = append(f.inputs, v.Sim.Image().Input(ecs.Player(p)))
	}
	v.Sim.Image().Motions(func(e ecs.Entity, m ecs.Motion) bool {
		f.things = append(f.things, thing{e, vecOf(m.Pos), vecOf(m.Vel)})
		return true
	})
	d.frames = append(d.frames, f)
}

// judge judges the frames around which the truth is known.
func (d *display) judge() {
	done := 0
	for done < len(d.frames) && float64(d.truth.tick) >= d.frames[done].at+d.ahead*d.rate {
		d.judgeFrame(&d.frames[done])
		d.free = append(d.free, d.before)
		d.before = d.frames[done]
		done++
	}
	d.frames = d.frames[:copy(d.frames, d.frames[done:])]
}

func (d *display) judgeFrame(f *frame) {
	m := &d.marks
	if m.frames++; m.frames%fitEvery == 1 {
		if age, ok := d.fit(f); ok {
			d.ages.add(age)
			m.remote = append(m.remote, d.ms(age))
			s := d.second(f.at)
			s.Remote, s.remote = s.Remote+d.ms(age), s.remote+1
		}
	}
	m.own = append(m.own, d.ms(f.at-f.shown))
	s := d.second(f.at)
	s.Own, s.own = s.Own+d.ms(f.at-f.shown), s.own+1
	d.inputs.judge(f, d.truth)
	if f.shot != nil {
		d.judgeShot(f)
	}
	moving, still, old := 0, 0, 0
	for i := range f.things {
		t := &f.things[i]
		for old < len(d.before.things) && d.before.things[old].entity.Row < t.entity.Row {
			old++
		}
		var was *thing
		if old < len(d.before.things) && d.before.things[old].entity == t.entity {
			was = &d.before.things[old]
		}
		switch d.judgeThing(f, t, was) {
		case goesOn:
			moving++
		case standsStill:
			still++
		}
	}
	d.freeze(still > 0 && moving == 0)
}

func (d *display) ms(ticks float64) float64 { return ticks / d.rate * 1e3 }

// second returns the second that a moment is in.
func (d *display) second(at float64) *Second {
	m, i := &d.marks, int(max(at-d.begun, 0)/d.rate)
	for len(m.seconds) <= i {
		m.seconds = append(m.seconds, Second{})
	}
	return &m.seconds[i]
}

// freeze counts a frame in which nothing of the others moves that should.
func (d *display) freeze(is bool) {
	m := &d.marks
	if !is {
		m.running = 0
		return
	}
	if m.running == 0 {
		m.episodes++
	}
	m.frozen++
	m.running++
	m.longest = max(m.longest, m.running)
}

// going says what an entity of the others, that moves straight and evenly in truth, does in the picture.
type going uint8

const (
	undecided going = iota
	goesOn
	standsStill
)

// stillBelow is the share of its true step below which a thing stands still.
const stillBelow = 0.05

// judgeThing holds one entity in a frame, and how it came there since the frame before, against the truth.
func (d *display) judgeThing(f *frame, t, was *thing) going {
	k := d.truth.tracks[t.entity]
	if k == nil {
		return undecided // it was never on the server: a shot that was mispredicted
	}
	own := t.entity.Owner() == ecs.OwnedBy(d.seat)
	age, known := d.ages.usual()
	if !known {
		age = f.at - f.shown
	}
	if k.jumpedNear(f.at, math.Abs(age), d.rate) {
		return undecided
	}
	shown := f.shown
	if !own {
		shown = f.at - age
		d.judgePlace(f, t, k, age)
	} else if at, ok := k.where(f.shown); ok {
		d.marks.owns = append(d.marks.owns, t.pos.sub(at).len())
	}
	if was == nil {
		return undecided
	}
	near, ok := k.around(shown)
	if !ok {
		return undecided
	}
	step := t.pos.sub(was.pos)
	d.judgeJump(step, t, was, near)
	return d.judgeStep(step, near, own)
}

// judgePlace notes how far an entity of the others is shown from where it is, and from where it was when it was as old as
// what is shown usually is.
func (d *display) judgePlace(f *frame, t *thing, k *track, age float64) {
	if at, ok := k.where(f.at); ok {
		off := t.pos.sub(at).len()
		d.marks.errors = append(d.marks.errors, off)
		speed := k.points[int(f.at)-int(k.first)].vel
		d.marks.squares += speed.dot(speed)
		s := d.second(f.at)
		s.Error, s.errors = s.Error+off, s.errors+1
	}
	if at, ok := k.where(f.at - age); ok {
		d.marks.shapes = append(d.marks.shapes, t.pos.sub(at).len())
	}
}

// judgeJump notes by how much a step is not what the velocity says, beyond what the truth does around that moment.
func (d *display) judgeJump(step vec, t, was *thing, near []point) {
	jump := min(step.sub(t.vel.times(1/d.hz)).len(), step.sub(was.vel.times(1/d.hz)).len())
	kink := 0.0
	for i := 1; i < len(near); i++ {
		kink = max(kink, near[i].kink)
	}
	if jump -= kink; jump > tiny {
		d.marks.jumps = append(d.marks.jumps, jump)
		if jump > d.snap {
			d.marks.snaps++
		}
	}
}

// judgeStep notes a step against every way that the entity took around that moment, and how even a step is.
func (d *display) judgeStep(step vec, near []point, own bool) going {
	mean := near[len(near)-1].pos.sub(near[0].pos).times(1 / float64(len(near)-1))
	even, forward := mean.len() > tiny, false
	for i := 1; i < len(near); i++ {
		way := near[i].pos.sub(near[i-1].pos)
		even = even && way.sub(mean).len() < 0.02*mean.len()
		forward = forward || step.dot(way) >= 0
	}
	if !forward && step.len() > tiny {
		d.marks.backward++
	}
	if own || !even {
		return undecided
	}
	pace := step.len() / (mean.len() * d.rate / d.hz)
	d.marks.paces = append(d.marks.paces, pace)
	if pace < stillBelow {
		return standsStill
	}
	return goesOn
}

// predicted counts the ticks in whose picture all players did what they did.
type predicted struct {
	ownOnly    bool // nobody else's are predicted
	seat       ecs.Player
	judged     ecs.Tick // the newest
	right, all int
}

func (p *predicted) judge(f *frame, t *truth) {
	if f.tick <= p.judged {
		return
	}
	did := t.inputs(f.tick)
	if did == nil {
		return
	}
	p.judged = f.tick
	p.all++
	for i := range f.inputs {
		if i < len(did) && f.inputs[i] != did[i] && (!p.ownOnly || ecs.Player(i) == p.seat) {
			return
		}
	}
	p.right++
}
