package state

import "tendon/ecs/image"

// sizes counts the bytes of a delta by kind and column. Amounts are in units of image.ByteUnits. Nil counts nothing.
type sizes struct {
	list []size // of the delta, in the order of its code
	at   uint64 // the amount that list accounts
	sums []size // of the delta, one for each kind and column
}

// size is an amount of a column in entities of a kind.
type size struct {
	kind   image.ComponentSet
	column int
	amount uint64
}

// count counts the code since the last call.
func (e *encoder) count(kind image.ComponentSet, column int) {
	b := e.sizes
	if b == nil {
		return
	}
	now := e.Information()
	b.list = append(b.list, size{kind, column, now - b.at})
	b.at = now
}

// counted returns the number of calls of count so far, for uncount.
func (e *encoder) counted() int {
	if e.sizes == nil {
		return 0
	}
	return len(e.sizes.list)
}

// uncount removes the counts after the first n, because the code was rewound to that position.
func (e *encoder) uncount(n int) {
	if b := e.sizes; b != nil {
		b.list, b.at = b.list[:n], e.Information()
	}
}

// reset begins a delta.
func (b *sizes) reset(e *encoder) {
	if b != nil {
		b.list, b.at = b.list[:0], e.Information()
	}
}

// sum returns the sizes of a delta with a length in bytes.
func (b *sizes) sum(bytes int) []size {
	if b == nil {
		return nil
	}
	b.sums = append(b.sums[:0], size{0, image.PartTick, uint64(bytes) * image.ByteUnits})
	hint := 0
	for i := range b.list {
		x := &b.list[i]
		if hint++; hint >= len(b.sums) || b.sums[hint].kind != x.kind || b.sums[hint].column != x.column { // components are usually in order
			for hint = 0; hint < len(b.sums) && (b.sums[hint].kind != x.kind || b.sums[hint].column != x.column); hint++ {
			}
		}
		if hint == len(b.sums) {
			b.sums = append(b.sums, size{kind: x.kind, column: x.column})
		}
		b.sums[hint].amount += x.amount
		b.sums[0].amount -= min(x.amount, b.sums[0].amount) // the rest is the head and the end of the code
	}
	return b.sums
}
