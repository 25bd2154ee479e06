package state

// index says where in some slice the record of a row stands. Rows lie close together, so it is kept by blocks of 64.
type index struct {
	blocks map[uint32]*[blockRows]int32 // 1 more than the place; 0: none
	key    uint32                       // of the last block that was asked for
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

// at returns the place of a row, −1 for none.
func (x *index) at(row uint32) int {
	if b := x.block(row / blockRows); b != nil {
		return int(b[row%blockRows]) - 1
	}
	return -1
}

// put says where a row's record stands; −1: nowhere.
func (x *index) put(row uint32, place int) {
	b := x.block(row / blockRows)
	if b == nil {
		if x.blocks == nil {
			x.blocks = map[uint32]*[blockRows]int32{}
		}
		b = new([blockRows]int32)
		x.blocks[row/blockRows] = b
	}
	b[row%blockRows] = int32(place + 1)
}

func (x *index) clear() {
	clear(x.blocks)
	x.last = nil
}
