package rollback

import (
	"tendon/ecs"
	"tendon/ecs/image"
)

// FinalTick is one tick that cannot change any more: everything that entered it, and the checksum of the state after it.
// Sync strategies return final ticks; journals, recordings and histories store them.
type FinalTick struct {
	Tick     ecs.Tick
	Inputs   []ecs.InputBytes // index = Player; missing ones are zero
	Late     image.PlayerSet  // players whose input the server substituted
	Orders   []image.Order    // in stamped order
	Checksum image.Checksum   // of the state after the tick; 0 if unknown
}
