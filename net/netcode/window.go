package netcode

// windowSize is the number of sequence numbers before the newest that are checked for replays: four seconds at 60 Hz.
const windowSize = 256

// window is a replay window. It records which of the last windowSize sequence numbers were received. The bit of a
// sequence number is at sequence % windowSize. The zero value has received nothing.
type window struct {
	newest   uint64 // largest received
	accepted uint64 // numbers marked
	bits     [windowSize / 64]uint64
}

// seen reports whether a sequence number must be refused: it was received before, or is too old.
func (w *window) seen(sequence uint64) bool {
	if sequence > w.newest {
		return false
	}
	// Subtraction cannot wrap here; an addition would, for the topmost sequence numbers.
	if w.newest-sequence >= windowSize {
		return true
	}
	return w.bits[sequence%windowSize/64]&(1<<(sequence%64)) != 0
}

// mark records a sequence number that was authenticated and was not seen.
func (w *window) mark(sequence uint64) {
	w.accepted++
	if sequence > w.newest {
		if sequence-w.newest >= windowSize {
			w.bits = [windowSize / 64]uint64{}
		} else {
			for s := w.newest + 1; s < sequence; s++ {
				w.bits[s%windowSize/64] &^= 1 << (s % 64)
			}
		}
		w.newest = sequence
	}
	w.bits[sequence%windowSize/64] |= 1 << (sequence % 64)
}
