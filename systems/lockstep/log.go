package lockstep

import (
	"slices"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/wire"
)

// log keeps the stored codes of the frames (first − 1, last], in blocks. Blocks are dropped from the front.
type log struct {
	game   *ecs.Game
	first  ecs.Tick // the first frame that is kept, last + 1 if none is
	last   ecs.Tick
	blocks []*block
	spare  *block // may be nil
	bytes  int    // of codes, and what keeping them takes
}

const (
	blockFrames = 256 // most frames in a block
	endBytes    = 8   // of an entry of block.ends
)

// block is a run of frames of a log. The code of frame i is codes[ends[i−1]:ends[i]].
type block struct {
	first ecs.Tick
	key   []ecs.InputBytes // inputs of frame first − 1
	codes []byte
	ends  []int
}

// newLog returns an empty log. Its first frame is the one after f.
func newLog(f ecs.Tick, game *ecs.Game) *log { return &log{game: game, first: f + 1, last: f} }

// reset empties the log; what follows frame f comes next.
func (l *log) reset(f ecs.Tick) {
	l.blocks, l.bytes = l.blocks[:0], 0
	l.first, l.last = f+1, f
}

// add appends frame last + 1; before are the inputs of frame last.
func (l *log) add(f *frame, before []ecs.InputBytes) {
	b := l.tail(before)
	n := len(b.codes)
	w := wire.NewBitWriter(b.codes, worstCode(l.game))
	f.append(&w, before, l.game)
	w.Bool(true)
	b.codes = w.Bytes()
	b.ends = append(b.ends, len(b.codes))
	l.bytes += len(b.codes) - n + endBytes
	l.last++
}

// tail returns the block that frame last + 1 goes into.
func (l *log) tail(before []ecs.InputBytes) *block {
	if n := len(l.blocks); n > 0 && len(l.blocks[n-1].ends) < blockFrames {
		return l.blocks[n-1]
	}
	b := l.spare
	l.spare = nil
	if b == nil {
		b = &block{key: make([]ecs.InputBytes, len(before)), ends: make([]int, 0, blockFrames)}
	}
	b.first, b.codes, b.ends = l.last+1, b.codes[:0], b.ends[:0]
	copy(b.key, before)
	l.blocks = append(l.blocks, b)
	l.bytes += len(b.key) * image.MaxInputBytes
	return b
}

// dropThrough drops the blocks whose frames are all ≤ f; a few frames ≤ f may stay.
func (l *log) dropThrough(f ecs.Tick) {
	n := 0
	for ; n < len(l.blocks) && l.blocks[n].last() <= f; n++ {
		b := l.blocks[n]
		l.bytes -= len(b.codes) + endBytes*len(b.ends) + len(b.key)*image.MaxInputBytes
		l.first, l.spare = b.last()+1, b
	}
	l.blocks = slices.Delete(l.blocks, 0, n)
}

func (b *block) last() ecs.Tick { return b.first + ecs.Tick(len(b.ends)) - 1 }

func (l *log) blockOf(f ecs.Tick) *block {
	return l.blocks[(f-l.blocks[0].first)/blockFrames] // all but the last are full
}

// code returns the stored code of a frame that is kept.
func (l *log) code(f ecs.Tick) []byte {
	b := l.blockOf(f)
	i, from := int(f-b.first), 0
	if i > 0 {
		from = b.ends[i-1]
	}
	return b.codes[from:b.ends[i]]
}

// worstCode returns the most bytes that the code of a frame takes.
func worstCode(g *ecs.Game) int {
	return (worstInputs(g)+6+maxOrders*(16+32+4+64+11))/8 + maxOrderPayload + 2
}

// cursor reads a log frame by frame. frame is that of tick at.
type cursor struct {
	at ecs.Tick
	frame
}

// seek puts the cursor on frame f, of which at least the inputs are read; f + 1 must be kept, or f be the last.
func (c *cursor) seek(l *log, f ecs.Tick) {
	b := l.blocks[0]
	if f >= l.first {
		b = l.blockOf(f)
	}
	copy(c.inputs, b.key)
	for c.at = b.first - 1; c.at < f; {
		c.next(l)
	}
}

// next goes on to the next frame, which must be kept.
func (c *cursor) next(l *log) {
	r := wire.NewBitReader(l.code(c.at + 1))
	c.frame.read(&r, c.inputs, l.game)
	c.at++
}
