package broadcast

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"tendon/ecs"
	"tendon/rollback/record"
)

// fragment is a fragment whose ticks are complete.
type fragment struct {
	header record.Header
	last   ecs.Tick
	states []state // of header.Start, and the earlier ones that views read
	seats  []record.Seat
	ticks  []byte // the file
	full   []byte // the file, once it is encoded
}

// job is a request of a Writer to its publisher. The publisher processes the fields in this order.
type job struct {
	add  *fragment // keep it
	err  error     // it could not be written
	show ecs.Tick  // publish the fragments to this tick
	over bool      // the match has ended
	lost int       // fragments before it that were dropped
}

// publisher encodes fragments and writes them when they become visible. It runs on a goroutine of its own.
type publisher struct {
	config *Config
	writer record.Writer // of states
	index  Index
	hidden []*fragment
	shown  []ecs.Tick // first ticks of the fragments whose files exist
	stale  bool       // the index in the store is not p.index
	failed bool       // the last fragment was not written
}

func newPublisher(c *Config) *publisher {
	return &publisher{config: c, index: Index{Version: indexVersion, Game: c.Game.Name, Build: c.Header.Build, Room: c.Header.Room, Match: fmt.Sprintf("%016x", c.Header.Match),
		Run: c.Run, TickRate: c.Game.TickRate, FragmentTicks: FragmentSeconds * c.Game.TickRate, DelayTicks: int(c.Delay), Fragments: []ecs.Tick{}, Last: c.Header.Start.Tick}}
}

func (p *publisher) run(jobs <-chan job) {
	p.report(p.writeIndex()) // viewers can wait from now on
	for j := range jobs {
		if j.lost > 0 {
			p.report(errDropped)
		}
		if p.stale && !j.over {
			p.report(p.writeIndex())
		}
		if j.add != nil {
			p.add(j.add, j.err)
		}
		for len(p.hidden) > 0 && p.hidden[0].last <= j.show {
			err := p.publish(p.hidden[0])
			p.hidden[0] = nil
			p.hidden = p.hidden[1:]
			p.report(err)
		}
		if j.over {
			p.index.Over = true
			p.end()
		}
	}
}

// Bounds of the attempts to write the last index.
const (
	endTries = 5
	endPause = 200 * time.Millisecond
)

// end writes the last index, several times if it fails: viewers wait until they read it.
func (p *publisher) end() {
	for n := 1; ; n++ {
		err := p.writeIndex()
		p.report(err)
		if err == nil || n == endTries {
			return
		}
		time.Sleep(endPause)
	}
}

// add encodes a fragment and keeps it until it becomes visible.
func (p *publisher) add(f *fragment, err error) {
	if err == nil {
		f.full, err = encodeFull(&p.writer, p.config.Game, f.header, f.states, f.seats)
	}
	if err != nil {
		p.report(err)
		return
	}
	f.states = nil
	p.hidden = append(p.hidden, f)
}

// publish writes the files of a fragment, and then the index.
func (p *publisher) publish(f *fragment) error {
	x, first := &p.index, f.header.Start.Tick
	err := p.config.Store.Put(x.FullName(first), f.full)
	if err != nil {
		return err
	}
	if err = p.config.Store.Put(x.TicksName(first), f.ticks); err != nil {
		return errors.Join(err, p.config.Store.Remove(x.FullName(first)))
	}
	p.shown = append(p.shown, first)
	if first != x.Last {
		x.Fragments = x.Fragments[:0] // one before it is missing
	}
	if x.Fragments = append(x.Fragments, first); len(x.Fragments) > listedFragments {
		x.Fragments = x.Fragments[1:]
	}
	x.Last = f.last
	if err = p.writeIndex(); err != nil {
		return err
	}
	for len(p.shown) > keptFragments { // several, if the index could not be written
		err = errors.Join(err, p.config.Store.Remove(x.FullName(p.shown[0])), p.config.Store.Remove(x.TicksName(p.shown[0])))
		p.shown = p.shown[1:]
	}
	return err
}

func (p *publisher) writeIndex() error {
	data, err := json.Marshal(&p.index)
	if err == nil {
		err = p.config.Store.Put(IndexName, append(data, '\n'))
	}
	p.stale = err != nil
	return err
}

// report reports the first error of a series, and the end of the series.
func (p *publisher) report(err error) {
	if failed := err != nil; failed != p.failed {
		p.failed = failed
		if p.config.Failed != nil {
			p.config.Failed(err)
		}
	}
}
