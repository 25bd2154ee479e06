package relay

import "tendon/ecs"

// hashes remembers the server's checksums of the last ticks that were checked. The check of tick f lies in slot
// (f / checkEvery) % len, which stores its tick.
type hashes struct {
	ticks [hashesKept]ecs.Tick
	sums  [hashesKept]ecs.Checksum
}

// hashesKept is how many checks are remembered: a client may be 64 seconds behind at 60 ticks per second.
const hashesKept = 64

type hashVerdict uint8

const (
	hashUnknown hashVerdict = iota // too old, in the future, or not a tick that is checked
	hashEqual
	hashDiffers
)

func (h *hashes) add(f ecs.Tick, sum ecs.Checksum) {
	i := f / checkEvery % hashesKept
	h.ticks[i], h.sums[i] = f, sum
}

func (h *hashes) compare(f ecs.Tick, sum ecs.Checksum) hashVerdict {
	i := f / checkEvery % hashesKept
	switch {
	case f == 0 || h.ticks[i] != f:
		return hashUnknown
	case h.sums[i] == sum:
		return hashEqual
	}
	return hashDiffers
}
