package session

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// The bytes of a piece come back from the order in which they are compressed, whatever its length.
func TestAPieceComesBackFromItsOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{1, imageRow - 1, imageRow, imageRow + 1, 5*imageRow - 1, 5 * imageRow, imagePiece} {
		raw, ordered, back := make([]byte, n), make([]byte, n), make([]byte, n)
		for i := range raw {
			raw[i] = byte(r.Uint32())
		}
		order(ordered, raw)
		if restore(back, ordered); !bytes.Equal(back, raw) {
			t.Errorf("%d bytes did not come back", n)
		}
		if n == 5*imageRow && (ordered[1] != raw[imageRow] || ordered[5] != raw[1]) {
			t.Error("the first bytes of the rows are not the first ones")
		}
	}
}
