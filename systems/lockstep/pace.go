package lockstep

import (
	"cmp"
	"slices"

	"tendon/ecs"
	"tendon/systems"
)

// margin is M, the number of frames that a client must have buffered when the next sync is due. It is chosen from the lateness
// of the syncs of the last ten seconds, against the earliest of them, so that 98 % of them cause no stall.
type margin struct {
	frames int
	fixed  bool
	tick   systems.Time // length of a tick

	samples []sample // of the last seconds, oldest first
	chosen  systems.Time
	late    []systems.Time // for choosing

	dues   int               // ticks that were due
	stalls [stallSeconds]int // ticks that stalled, by second
}

// sample is the arrival of a frame that ended an interval. offset is the arrival less the frame's time on a clock with an
// unknown constant offset.
type sample struct{ came, offset systems.Time }

const (
	marginWindow  = 10 * systems.Second
	marginSamples = 600 // as many as intervals of one frame at 60 a second
	marginLeast   = 2 * systems.Second
	stallSeconds  = 5
)

func newMargin(c *Config, ticksPerSecond int) margin {
	return margin{fixed: c.Margin != 0, frames: max(cmp.Or(c.Margin, defaultMargin), 0), tick: systems.Second / systems.Time(ticksPerSecond)}
}

// arrived notes that the frames (before, last] became complete. Those that come while the client catches up are not
// measured.
func (m *margin) arrived(before, last ecs.Tick, interval int, now systems.Time, catching bool) {
	if m.fixed || catching {
		return
	}
	for f := last; f > before; f -= min(f, ecs.Tick(interval)) {
		if len(m.samples) == marginSamples {
			m.samples = slices.Delete(m.samples, 0, 1)
		}
		m.samples = append(m.samples, sample{now, now - systems.Time(f)*m.tick})
	}
}

// choose updates the margin, twice a second.
func (m *margin) choose(now systems.Time) {
	if m.fixed || now-m.chosen < systems.Second/2 && now >= m.chosen {
		return
	}
	m.chosen = now
	m.late = m.late[:0]
	oldest := now
	for _, s := range m.samples {
		if now-s.came <= marginWindow {
			m.late = append(m.late, s.offset)
			oldest = min(oldest, s.came)
		}
	}
	if now-oldest < marginLeast {
		return
	}
	slices.Sort(m.late)
	late := m.late[(len(m.late)-1)*98/100] - m.late[0]
	m.frames = int(min((late+m.tick-1)/m.tick, maxMargin))
}

// due counts a tick that was due, and whether it stalled.
func (m *margin) due(stalled bool, ticksPerSecond int) {
	second := &m.stalls[m.dues/ticksPerSecond%stallSeconds]
	if m.dues%ticksPerSecond == 0 {
		*second = 0
	}
	m.dues++
	if stalled {
		*second++
	}
}

// share returns the share of the last seconds' ticks that stalled, in 1/10000.
func (m *margin) share(ticksPerSecond int) int {
	past := max(0, (m.dues-1)/ticksPerSecond-stallSeconds+1) // seconds that are not counted any more
	stalled := 0
	for _, n := range m.stalls {
		stalled += n
	}
	return stalled * shares / max(1, m.dues-past*ticksPerSecond)
}
