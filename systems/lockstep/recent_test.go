package lockstep

import (
	"testing"

	"tendon/ecs"
)

// Datagrams may bring a client a whole window beyond the frame after which the server sends on the reliable channel.
// The client then still has the inputs that those frames are coded against.
func TestInputsBeforeReliableFramesAreKept(t *testing.T) {
	var r recent
	game := &ecs.Game{MaxPlayers: 2}
	r.init(game)
	for f := ecs.Tick(1000); f <= 1000+redundant+1; f++ {
		r.put(f, []ecs.InputBytes{{byte(f)}, {}})
	}
	if in := r.at(1000); in == nil || in[0][0] != 1000%256 {
		t.Fatalf("inputs of frame 1000: %v", in)
	}
}
