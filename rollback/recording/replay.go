package recording

import (
	"fmt"
	"slices"
	"sort"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback"
)

// Result says what Verify proved.
type Result struct {
	From, To ecs.Tick // the states of [From, To] were computed and compared
	Images   int      // that were compared too
}

// Verify plays the recording from its start to tick to, or to its end if that comes first, and compares the checksum
// of every tick and every image on the way. The error is a *rollback.DesyncReport for the first tick that differs,
// whose Here is the recording; it names component, entity and field where the recording has an image of that tick.
func Verify(g *ecs.Game, r *Recording, to ecs.Tick) (Result, error) {
	p, err := r.start(g)
	if err != nil {
		return Result{}, err
	}
	result := Result{From: r.Start(), To: r.Start()}
	for e := range r.Entries(r.Start()+1, to) {
		if result.Images, err = p.compareImages(result.Images); err != nil {
			return result, err
		}
		if err := p.step(e); err != nil {
			return result, err
		}
		result.To = e.Tick
	}
	result.Images, err = p.compareImages(result.Images)
	return result, err
}

// WorldAt returns a world in the state of tick f: the nearest image before it, played on and compared tick by tick.
// Where players' views look back beyond an image, play begins with an earlier one.
func (r *Recording) WorldAt(g *ecs.Game, f ecs.Tick) (*ecs.World, error) {
	if f < r.Start() || f > r.last {
		return nil, fmt.Errorf("%w: %d is not in [%d, %d]", ErrRange, f, r.Start(), r.last)
	}
	if err := r.header.Check(g); err != nil {
		return nil, err
	}
	p, err := r.begin(g, f)
	if err != nil {
		return nil, err
	}
	for e := range r.Entries(p.world.Tick()+1, f) {
		if err := p.step(e); err != nil {
			return nil, err
		}
	}
	p.world.Image().SetPast(nil) // what the caller computes is not added to it
	return p.world, nil
}

// player is a world that a recording is played into.
type player struct {
	recording *Recording
	world     *ecs.World
	saved     image.Snapshot
	inputs    []ecs.InputBytes
	past      *rollback.Snapshots // as far back as views reach, nil if there are none
}

// start returns a player in the recording's first state: what Setup builds, or the first image.
func (r *Recording) start(g *ecs.Game) (*player, error) {
	if err := r.header.Check(g); err != nil {
		return nil, err
	}
	p := &player{recording: r}
	var err error
	if r.Start() > 0 {
		if len(r.images) == 0 {
			return nil, fmt.Errorf("%w: there is no image to start from", ErrCorrupt)
		}
		p.world, err = r.load(g, &r.images[0])
	} else {
		p.world, err = ecs.NewWorld(g, r.header.Seed)
	}
	if err != nil {
		return nil, err
	}
	p.take()
	return p, nil
}

// begin returns a player in the last state at or before f that everything from it to f can be played from.
func (r *Recording) begin(g *ecs.Game, f ecs.Tick) (*player, error) {
	at := sort.Search(len(r.images), func(i int) bool { return r.images[i].tick > f })
	for at > 0 && !r.complete(r.images[at-1].tick, f) {
		at--
	}
	if at == 0 {
		return r.start(g)
	}
	w, err := r.load(g, &r.images[at-1])
	if err != nil {
		return nil, err
	}
	p := &player{recording: r, world: w}
	p.take()
	return p, nil
}

// complete reports whether no tick in (from, to] looks back at a state before from.
func (r *Recording) complete(from, to ecs.Tick) bool {
	for e := range r.Entries(from+1, min(to, from+r.reach)) {
		if e.Tick-rollback.LookBack(e.Tick, e.Orders) < from {
			return false
		}
	}
	return true
}

// take keeps the world's state, to compare it and for views to look back at.
func (p *player) take() {
	if p.past == nil && p.recording.reach > 0 {
		p.past = rollback.NewSnapshots(int(p.recording.reach))
		p.world.Image().SetPast(p.past.At)
	}
	p.world.Image().Save(&p.saved)
	if p.past != nil {
		p.past.Save(p.world)
	}
}

// load returns a world in the state of an image.
func (r *Recording) load(g *ecs.Game, b *imageBlock) (*ecs.World, error) {
	encoded, err := b.unpack()
	if err != nil {
		return nil, err
	}
	w, err := ecs.NewWorld(g, r.header.Seed)
	if err != nil {
		return nil, err
	}
	if err := w.Image().Load(encoded); err != nil {
		return nil, err
	}
	if w.Tick() != b.tick {
		return nil, fmt.Errorf("%w: the image of tick %d holds tick %d", ErrCorrupt, b.tick, w.Tick())
	}
	return w, nil
}

// step plays one tick and compares its checksum.
func (p *player) step(e *Entry) error {
	g := p.world.Game()
	p.inputs = append(p.inputs[:0], e.Inputs...)
	for i := range p.inputs {
		p.inputs[i] = g.Input.Clean(p.inputs[i])
	}
	p.world.Step(ecs.TickInputs{Players: p.inputs, Orders: e.Orders})
	p.take()
	if got := p.saved.Checksum(); got != e.Checksum {
		return p.report(e, got)
	}
	return nil
}

// report explains a checksum that differs.
func (p *player) report(e *Entry, got image.Checksum) error {
	report := &rollback.DesyncReport{Tick: e.Tick, Here: e.Checksum, There: got}
	for i := range p.recording.images {
		if b := &p.recording.images[i]; b.tick == e.Tick {
			if explained, err := p.compare(b); err == nil && explained != nil {
				report = explained
			}
		}
	}
	report.Inputs, report.InputSize = slices.Clone(e.Inputs), p.recording.header.InputSize
	for _, o := range e.Orders {
		o.Payload = slices.Clone(o.Payload)
		report.Orders = append(report.Orders, o)
	}
	return report
}

// compareImages compares the images of the player's tick with its state; done of them were before.
func (p *player) compareImages(done int) (int, error) {
	images := p.recording.images
	for done < len(images) && images[done].tick <= p.world.Tick() {
		report, err := p.compare(&images[done])
		if err == nil && report != nil {
			err = report
		}
		if err != nil {
			return done, err
		}
		done++
	}
	return done, nil
}

// compare returns how an image differs from the player's state, or nil.
func (p *player) compare(b *imageBlock) (*rollback.DesyncReport, error) {
	w, err := p.recording.load(p.world.Game(), b)
	if err != nil {
		return nil, err
	}
	var stored image.Snapshot
	w.Image().Save(&stored)
	return rollback.CompareSnapshots(p.world.Game(), &stored, &p.saved), nil
}
