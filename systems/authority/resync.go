package authority

// Resync is whether a peer needs an image. It changes from InSync to Needed to Reported, and back to InSync when the peer
// is opened again.
type Resync uint8

// The states of a Resync.
const (
	InSync   Resync = iota
	Needed          // the peer's state differs, it asked for an image, or it is too far behind
	Reported        // the room was informed
)

// Request makes a peer that is in sync need an image.
func (r *Resync) Request() {
	if *r == InSync {
		*r = Needed
	}
}

// Report reports whether the room must be informed now. It returns true once for each request.
func (r *Resync) Report() bool {
	if *r != Needed {
		return false
	}
	*r = Reported
	return true
}
