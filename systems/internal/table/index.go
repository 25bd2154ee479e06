package table

// index maps rows to slots. Rows in use lie close together, so they are mapped in blocks of 64, and the block that was
// used last is found without a map access.
type index struct {
	blocks map[uint32]*[blockRows]int32 // 1 + slot; 0: none
	key    uint32                       // of last
	last   *[blockRows]int32
}

const blockRows = 64

func (x *index) block(key uint32) *[blockRows]int32 {
	if x.last == nil || x.key != key {
		b := x.blocks[key]
		if b == nil {
			return nil
		}
		x.key, x.last = key, b
	}
	return x.last
}

// at returns the slot of a row, −1 for none.
func (x *index) at(row uint32) int {
	if b := x.block(row / blockRows); b != nil {
		return int(b[row%blockRows]) - 1
	}
	return -1
}

// put sets the slot of a row, −1 for none.
func (x *index) put(row uint32, slot int) {
	b := x.block(row / blockRows)
	if b == nil {
		if x.blocks == nil {
			x.blocks = map[uint32]*[blockRows]int32{}
		}
		b = new([blockRows]int32)
		x.blocks[row/blockRows] = b
	}
	b[row%blockRows] = int32(slot + 1)
}

func (x *index) clear() {
	clear(x.blocks)
	x.last = nil
}
