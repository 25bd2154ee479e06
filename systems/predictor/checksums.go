package predictor

import (
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/systems"
	"tendon/systems/internal/code"
)

// Checksums sends the server the checksum of every tick that is checked and has become final here, once.
type Checksums struct {
	Kind  uint8    // of the message
	Every ecs.Tick // ticks from one check to the next

	last ecs.Tick // last tick that was considered
}

// Begin starts after tick f.
func (c *Checksums) Begin(f ecs.Tick) { c.last = f }

// Send sends the checksums of the checked ticks up to until. state returns the state of a tick; a tick whose state is
// not kept, or which is older than oldest, is skipped.
func (c *Checksums) Send(core *Core, until, oldest ecs.Tick, state func(ecs.Tick) (*image.Snapshot, bool)) {
	for next := (c.last/c.Every + 1) * c.Every; next <= until; next += c.Every {
		c.last = next
		s, ok := state(next)
		if !ok || next < oldest {
			continue
		}
		core.Buffer = code.AppendChecksum(core.Buffer[:0], c.Kind, next, s.Checksum())
		core.Out.Send(0, systems.Reliable, core.Buffer)
		core.Counted.Hashes++
	}
}
