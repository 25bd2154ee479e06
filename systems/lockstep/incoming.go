package lockstep

import (
	"slices"

	"tendon/ecs"
	"tendon/rollback"
)

// incoming assembles the frames of syncs and of operations that come by themselves.
type incoming struct {
	recent  rollback.Ring[[]ecs.InputBytes] // inputs of the last complete frames, which syncs are coded against
	tail    frame                           // the frame that is read
	before  []ecs.InputBytes                // inputs of the frame before it
	held    []stamped                       // operations of incomplete frames
	key     []ecs.InputBytes                // the inputs of a sync's key
	blocked []byte                          // the last sync that lacked operations; empty: none did
	again   []byte                          // scratch: blocked, while it is received again
}

// remembered is the number of frames in recent. Datagrams may bring a client half of them beyond the frame after which the
// server began to send on the reliable channel.
const remembered = 2 * redundant

func (in *incoming) init(game *ecs.Game) {
	in.tail, in.recent = newFrame(game), rollback.NewRing[[]ecs.InputBytes](remembered)
	in.before, in.key = make([]ecs.InputBytes, game.MaxPlayers), make([]ecs.InputBytes, game.MaxPlayers)
	for f := range ecs.Tick(remembered) {
		in.recent.Put(f, make([]ecs.InputBytes, game.MaxPlayers))
	}
}

// reset starts after frame f.
func (in *incoming) reset(f ecs.Tick, inputs []ecs.InputBytes) {
	in.recent.Clear()
	in.remember(f, inputs)
	in.held, in.blocked = in.held[:0], in.blocked[:0]
}

// remember keeps the inputs of frame f.
func (in *incoming) remember(f ecs.Tick, inputs []ecs.InputBytes) {
	slot, _ := in.recent.Slot(f)
	copy(*slot, inputs)
}

// dropThrough drops the operations of the frames ≤ f.
func (in *incoming) dropThrough(f ecs.Tick) {
	in.held = slices.DeleteFunc(in.held, func(o stamped) bool { return o.tick <= f })
}
