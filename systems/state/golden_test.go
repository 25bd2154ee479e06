package state

import (
	"encoding/hex"
	"hash/crc32"
	"testing"

	"tendon/net/wire"
)

// Two builds that write different deltas cannot play together. A number that changes here is a new version of the protocol,
// and of section 6 of net/wire/STANDARD.md.
func TestBytesOfBodiesAreUnchanged(t *testing.T) {
	_, deltas, acks := traffic(t, 60)
	sum := crc32.NewIEEE()
	for _, b := range deltas {
		sum.Write(b)
	}
	if got, want := sum.Sum32(), uint32(0x3b398c79); got != want {
		t.Errorf("sixty deltas have the checksum %#08x, want %#08x", got, want)
	}
	if got, want := hex.EncodeToString(acks[len(acks)-1]), "013c00ef65bfbf"; got != want {
		t.Errorf("the last acknowledgement is %s, want %s", got, want)
	}
	// One delta in full: deltas 1 and 2 are lost, tick 7 brings an entity of row 3, born in tick 5, with a delta and a tag.
	s, err := newSchema(testGame(&scene{}))
	if err != nil {
		t.Fatal(err)
	}
	one := delta(s, 3, 7, func(e *encoder) {
		var c coding
		e.end(listGlobals)
		e.end(listGone)
		e.element(listEntities, &c, 3)
		e.based(listEntities, &c, asWhole, 7, 0, false)
		e.identity(&c, 7, 5, 1|1<<4)
		e.entity(1|1<<4, asWhole, []uint64{512, ^uint64(0), 0, 3}, nil, nil)
		e.end(listEntities)
	})
	if got, want := hex.EncodeToString(one), "030007004001ab2a7163c201b2"; got != want {
		t.Errorf("the delta is %s, want %s", got, want)
	}
	w := wire.NewWriter(nil, 16)
	Ack{Any: true, Newest: 0x102, Older: 0x80000005, Lost: true, Refused: 0x304}.Append(&w)
	if got, want := hex.EncodeToString(w.Bytes()), "030201050000800403"; got != want {
		t.Errorf("the acknowledgement is %s, want %s", got, want)
	}
}
