package lab

import (
	"math"

	"tendon/ecs"
)

// display is what one client shows, frame by frame, until the history around each frame is known. Then the frame is
// judged. It uses only the picture and the server's states, so that it is the same for every strategy.
type display struct {
	history *history
	seat    ecs.Player
	rate    float64 // ticks per second
	hz      float64 // frames per second
	snap    float64 // world units
	limit   float64 // ms: see Config.Cap
	ahead   float64 // how long a frame waits to be judged, in seconds: the most that a picture may be ahead of the server
	begun   float64 // server's time, in ticks, when measuring began
	frames  []frame // to be judged, oldest first
	free    []frame // for reuse
	before  frame   // the frame judged last
	ages    ages
	fits    []fitted // scratch
	inputs  predicted
	marks   marks
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

// marks are the measurements of a client's pictures. They are merged over the clients of a match.
type marks struct {
	freezes
	motion
	offsets
	own, remote []float64 // ages, in ms
	hits        hits
	seconds     []Second
}

// freezes counts frames in which no remote entity moves that should.
type freezes struct{ frames, frozen, episodes, running, longest int }

// motion are the steps of entities from frame to frame.
type motion struct {
	jumps           []float64 // deviations above tiny
	snaps, backward int
	paces           []float64 // shown step by true step, where the true motion is straight and even
}

// offsets are distances of entities in the picture, in world units.
type offsets struct {
	absolute []float64 // of remote entities, from where they are
	shape    []float64 // of remote entities, from where they were at the usual remote age
	ownState []float64 // of own entities, from where the server had them in the same tick
	squares  float64   // sum of the squared true speeds, one per absolute error
}

// Second is what was measured in one second of virtual time, the mean of all clients.
type Second struct {
	Own    float64 `json:"own_age_ms"`
	Remote float64 `json:"remote_age_ms"`
	Error  float64 `json:"remote_error"`

	own, remote, errors int // how many values each mean is of
}

// ahead is display.ahead of a Run, in seconds.
const ahead = 2.0

// show adds the picture of a view. at is the server's time, shown the own timeline's.
func (d *display) show(v *ecs.View, at, shown float64, players int) {
	var f frame
	if n := len(d.free); n > 0 {
		f, d.free = d.free[n-1], d.free[:n-1]
	}
	f.at, f.shown, f.tick = at, shown, v.Tick
	f.inputs, f.entities, f.shot = f.inputs[:0], f.entities[:0], nil
	for p := range players {
		f.inputs = append(f.inputs, v.Sim.Image().Input(ecs.Player(p)))
	}
	v.Sim.Image().Motions(func(e ecs.Entity, m ecs.Motion) bool {
		f.entities = append(f.entities, shownEntity{e, vecOf(m.Pos), vecOf(m.Vel)})
		return true
	})
	d.frames = append(d.frames, f)
}

// judge judges the frames around which the history is known.
func (d *display) judge() {
	done := 0
	for done < len(d.frames) && float64(d.history.tick) >= d.frames[done].at+d.ahead*d.rate {
		d.judgeFrame(&d.frames[done])
		d.free = append(d.free, d.before)
		d.before = d.frames[done]
		done++
	}
	d.frames = d.frames[:copy(d.frames, d.frames[done:])]
}

func (d *display) judgeFrame(f *frame) {
	m, s := &d.marks, d.second(f.at)
	if m.frames++; m.frames%fitEvery == 1 {
		if age, ok := d.fit(f); ok {
			d.ages.add(age)
			m.remote = append(m.remote, d.ms(age))
			s.Remote, s.remote = s.Remote+d.ms(age), s.remote+1
		}
	}
	m.own = append(m.own, d.ms(f.at-f.shown))
	s.Own, s.own = s.Own+d.ms(f.at-f.shown), s.own+1
	d.inputs.judge(f, d.history)
	if f.shot != nil {
		d.judgeShot(f)
	}
	moving, still, old := 0, 0, 0
	for i := range f.entities {
		t := &f.entities[i]
		for old < len(d.before.entities) && d.before.entities[old].entity.Row < t.entity.Row {
			old++
		}
		var was *shownEntity
		if old < len(d.before.entities) && d.before.entities[old].entity == t.entity {
			was = &d.before.entities[old]
		}
		switch d.judgeEntity(f, t, was) {
		case isMoving:
			moving++
		case isStill:
			still++
		}
	}
	m.freeze(still > 0 && moving == 0)
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

// freeze counts a frame, which is frozen or not.
func (z *freezes) freeze(frozen bool) {
	if !frozen {
		z.running = 0
		return
	}
	if z.running == 0 {
		z.episodes++
	}
	z.frozen++
	z.running++
	z.longest = max(z.longest, z.running)
}

// shownMotion is what a remote entity, whose true motion is straight and even, does in the picture.
type shownMotion uint8

const (
	undecided shownMotion = iota
	isMoving
	isStill
)

// stillBelow is the share of its true step below which an entity stands still.
const stillBelow = 0.05

// judgeEntity compares an entity in a frame, and its step since the frame before, with the history.
func (d *display) judgeEntity(f *frame, t, was *shownEntity) shownMotion {
	k := d.history.tracks[t.entity]
	if k == nil {
		return undecided // never on the server: a misprediction
	}
	own := t.entity.Owner() == ecs.OwnedBy(d.seat)
	age := d.usualAge(f)
	if k.teleportedNear(f.at, math.Abs(age), d.rate) {
		return undecided
	}
	shown := f.shown
	if !own {
		shown = f.at - age
		d.judgePlace(f, t, k, age)
	} else if at, ok := k.where(f.shown); ok {
		d.marks.ownState = append(d.marks.ownState, t.pos.sub(at).len())
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

// judgePlace measures how far a remote entity is shown from where it is, and from where it was at the usual age.
func (d *display) judgePlace(f *frame, t *shownEntity, k *track, age float64) {
	if at, ok := k.where(f.at); ok {
		off := t.pos.sub(at).len()
		d.marks.absolute = append(d.marks.absolute, off)
		speed := k.points[int(f.at)-int(k.first)].vel
		d.marks.squares += speed.dot(speed)
		s := d.second(f.at)
		s.Error, s.errors = s.Error+off, s.errors+1
	}
	if at, ok := k.where(f.at - age); ok {
		d.marks.shape = append(d.marks.shape, t.pos.sub(at).len())
	}
}

// judgeJump measures the deviation of a step from the velocity, beyond the deviations of the true motion around that
// moment.
func (d *display) judgeJump(step vec, t, was *shownEntity, near []point) {
	jump := min(step.sub(t.vel.times(1/d.hz)).len(), step.sub(was.vel.times(1/d.hz)).len())
	deviation := 0.0
	for i := 1; i < len(near); i++ {
		deviation = max(deviation, near[i].deviation)
	}
	if jump -= deviation; jump > tiny {
		d.marks.jumps = append(d.marks.jumps, jump)
		if jump > d.snap {
			d.marks.snaps++
		}
	}
}

// judgeStep measures whether a step is against every step that the entity made around that moment, and its pace.
func (d *display) judgeStep(step vec, near []point, own bool) shownMotion {
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
		return isStill
	}
	return isMoving
}

// predicted counts the ticks whose picture has the inputs that the server used.
type predicted struct {
	ownOnly    bool // only the own input is predicted
	seat       ecs.Player
	judged     ecs.Tick // the newest
	right, all int
}

func (p *predicted) judge(f *frame, h *history) {
	if f.tick <= p.judged {
		return
	}
	used := h.inputs(f.tick)
	if used == nil {
		return
	}
	p.judged = f.tick
	p.all++
	for i := range f.inputs {
		if i < len(used) && f.inputs[i] != used[i] && (!p.ownOnly || ecs.Player(i) == p.seat) {
			return
		}
	}
	p.right++
}
