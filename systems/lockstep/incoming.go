package lockstep

import "tendon/ecs"

// incoming assembles the frames of syncs and of operations that come by themselves.
type incoming struct {
	recent  recent           // inputs of the last complete frames
	tail    frame            // the frame that is read
	before  []ecs.InputBytes // inputs of the frame before it
	held    []stamped        // operations of incomplete frames
	key     []ecs.InputBytes // the inputs of a sync's key
	blocked []byte           // the last sync that lacked operations; empty: none did
	again   []byte           // scratch: blocked, while it is received again
}

func (in *incoming) init(game *ecs.Game) {
	in.tail, in.before = newFrame(game), make([]ecs.InputBytes, game.MaxPlayers)
	in.recent.init(game)
}

// reset starts after frame f.
func (in *incoming) reset(f ecs.Tick, inputs []ecs.InputBytes) {
	in.recent.reset()
	in.recent.put(f, inputs)
	in.held, in.blocked = in.held[:0], in.blocked[:0]
}

// dropThrough drops the operations of the frames ≤ f.
func (in *incoming) dropThrough(f ecs.Tick) {
	if len(in.held) == 0 {
		return
	}
	kept := in.held[:0]
	for _, o := range in.held {
		if o.tick > f {
			kept = append(kept, o)
		}
	}
	in.held = kept
}

// recent keeps the inputs of the last complete frames, which syncs are coded against. Those of frame f are in slot
// f % remembered, which stores its frame.
type recent struct {
	ticks   [remembered]ecs.Tick // + 1; 0: none
	inputs  []ecs.InputBytes
	players int
}

// remembered is the number of frames in recent. Datagrams may bring a client half of them beyond the frame after which the
// server began to send on the reliable channel.
const remembered = 2 * redundant

func (r *recent) init(game *ecs.Game) {
	r.players = game.MaxPlayers
	r.inputs = make([]ecs.InputBytes, remembered*r.players)
}

func (r *recent) reset() { clear(r.ticks[:]) }

func (r *recent) slot(f ecs.Tick) []ecs.InputBytes {
	at := int(f%remembered) * r.players
	return r.inputs[at : at+r.players]
}

func (r *recent) put(f ecs.Tick, inputs []ecs.InputBytes) {
	r.ticks[f%remembered] = f + 1
	copy(r.slot(f), inputs)
}

// at returns the inputs of frame f, nil if they are not kept.
func (r *recent) at(f ecs.Tick) []ecs.InputBytes {
	if r.ticks[f%remembered] != f+1 {
		return nil
	}
	return r.slot(f)
}
