package wire_test

import (
	"fmt"

	"tendon/net/wire"
)

// A reader reads the values of a writer. A cut or padded message is one error at the end.
func Example() {
	w := wire.NewWriter(nil, 16)
	w.U16(7)
	w.Uvarint(300)
	message := w.Bytes()
	fmt.Printf("% x, error %v\n", message, w.Err())

	r := wire.NewReader(message)
	sequence, sent := r.U16(), r.Uvarint()
	fmt.Println(sequence, sent, "error", r.Close())

	r = wire.NewReader(message[:2])
	r.U16()
	r.Uvarint()
	fmt.Println(r.Close())
	// Output:
	// 07 00 ac 02, error <nil>
	// 7 300 error <nil>
	// wire: short: the bytes end before the value does
}
