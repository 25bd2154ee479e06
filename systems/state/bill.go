package state

import "tendon/ecs/image"

// bill counts the bytes of a delta by kind and column. Amounts are in units of image.SpentByte. A nil bill counts nothing.
type bill struct {
	list []spent // of the delta, in the order of its code
	at   uint64  // the amount that list accounts
	sums []spent // of the delta, one for each kind and column
}

// spent is an amount of a column in entities of a kind.
type spent struct {
	kind   image.ComponentSet
	column int
	amount uint64
}

// charge counts the code since the last call.
func (e *encoder) charge(kind image.ComponentSet, column int) {
	b := e.bill
	if b == nil {
		return
	}
	now := e.Spent()
	b.list = append(b.list, spent{kind, column, now - b.at})
	b.at = now
}

// charges returns the number of charges so far, for refund.
func (e *encoder) charges() int {
	if e.bill == nil {
		return 0
	}
	return len(e.bill.list)
}

// refund removes the charges after the first n, because the code was rewound to that position.
func (e *encoder) refund(n int) {
	if b := e.bill; b != nil {
		b.list, b.at = b.list[:n], e.Spent()
	}
}

// reset begins the bill of a delta.
func (b *bill) reset(e *encoder) {
	if b != nil {
		b.list, b.at = b.list[:0], e.Spent()
	}
}

// settle sums the charges of a delta with a length in bytes.
func (b *bill) settle(bytes int) []spent {
	if b == nil {
		return nil
	}
	b.sums = append(b.sums[:0], spent{0, image.SpentTick, uint64(bytes) * image.SpentByte})
	hint := 0
	for i := range b.list {
		x := &b.list[i]
		if hint++; hint >= len(b.sums) || b.sums[hint].kind != x.kind || b.sums[hint].column != x.column { // components are usually in order
			for hint = 0; hint < len(b.sums) && (b.sums[hint].kind != x.kind || b.sums[hint].column != x.column); hint++ {
			}
		}
		if hint == len(b.sums) {
			b.sums = append(b.sums, spent{kind: x.kind, column: x.column})
		}
		b.sums[hint].amount += x.amount
		b.sums[0].amount -= min(x.amount, b.sums[0].amount) // the rest is the head and the end of the code
	}
	return b.sums
}
