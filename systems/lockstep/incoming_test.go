package lockstep

import (
	"testing"

	"tendon/ecs"
)

// Datagrams may bring a client a whole window beyond the frame after which the server sends on the reliable channel.
// The client then still has the inputs that those frames are coded against.
func TestInputsBeforeReliableFramesAreKept(t *testing.T) {
	var in incoming
	in.init(testGame())
	for f := ecs.Tick(1000); f <= 1000+redundant+1; f++ {
		in.remember(f, []ecs.InputBytes{{byte(f)}, {}})
	}
	if kept, ok := in.recent.At(1000); !ok || (*kept)[0][0] != 1000%256 {
		t.Fatalf("inputs of frame 1000: %v", kept)
	}
}
