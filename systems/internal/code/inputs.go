package code

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/wire"
	"tendon/systems"
)

// Course holds a player's inputs of the two ticks before the one that is coded. Its zero value stands for inputs of zero bytes.
type Course struct{ Last, Before ecs.InputBytes }

// Next advances by one tick, whose input is in.
func (c *Course) Next(in ecs.InputBytes) { c.Before, c.Last = c.Last, in }

// Append codes the next input against the predicted one, and advances. It codes one bit if they are equal, else the difference of
// each number. The size of a number's last difference selects its code: a Golomb–Rice code whose parameter adapts, as in LOCO-I
// (Weinberger, Seroussi and Sapiro, 2000).
func (c *Course) Append(w *wire.BitWriter, in *ecs.InputBytes, game *ecs.Game) {
	if expected := game.Input.Predict(c.Last); !appendEqual(w, &expected, in) {
		var k orders
		k.from(game.Input.Numbers(), c)
		appendNumbers(w, &expected, in, game.Input.Numbers(), &k)
	}
	c.Next(*in)
}

// Read is the inverse of Append; the input is then c.Last. changed reports whether it differs from the predicted one. ok is
// false for a code that Append does not write.
func (c *Course) Read(r *wire.BitReader, game *ecs.Game) (changed, ok bool) {
	in := game.Input.Predict(c.Last)
	if changed = r.Bool(); changed {
		var k orders
		k.from(game.Input.Numbers(), c)
		ok = readNumbers(r, &in, game.Input.Numbers(), &k)
	}
	c.Next(in)
	return changed, ok || !changed
}

// AppendChange codes an input against an expected one, without a Course.
func AppendChange(w *wire.BitWriter, expected, in *ecs.InputBytes, game *ecs.Game) {
	if !appendEqual(w, expected, in) {
		appendNumbers(w, expected, in, game.Input.Numbers(), &orders{})
	}
}

// ReadChange is the inverse of AppendChange; in holds the expected input and becomes the real one. changed reports whether
// they differ. ok is false for a code that AppendChange does not write.
func ReadChange(r *wire.BitReader, in *ecs.InputBytes, game *ecs.Game) (changed, ok bool) {
	if !r.Bool() {
		return false, true
	}
	return true, readNumbers(r, in, game.Input.Numbers(), &orders{})
}

// appendEqual codes whether an input is the expected one, and returns it.
func appendEqual(w *wire.BitWriter, expected, in *ecs.InputBytes) bool {
	equal := *expected == *in
	w.Bool(!equal)
	return equal
}

// orders holds, by number of an input, 1 + the parameter of its Rice code, or 0 for a number that did not move.
type orders [image.MaxInputBytes]uint8

// from sets the orders for the input after c. An order is the mean of two sizes: that of the number's own last difference, and the
// largest of a number of equal width.
func (k *orders) from(numbers []image.InputNumber, c *Course) {
	if c.Last == c.Before {
		return
	}
	var most [9]int // by width in bytes
	for i, n := range numbers {
		if !n.Bool {
			size := bits.Len64(difference(n, &c.Before, &c.Last))
			k[i], most[n.Bytes] = uint8(size), max(most[n.Bytes], size)
		}
	}
	for i, n := range numbers {
		if k[i] > 0 {
			k[i] = uint8((int(k[i]) + most[n.Bytes] + 1) / 2)
		}
	}
}

// escape is the number of one bits that stand for a difference too large for its Rice code.
const escape = 4

// appendNumbers codes an input that is not the expected one. First come the numbers with an order, then the others that differ.
func appendNumbers(w *wire.BitWriter, expected, in *ecs.InputBytes, numbers []image.InputNumber, k *orders) {
	still := 0 // numbers without an order
	for i, n := range numbers {
		if k[i] == 0 {
			still++
			continue
		}
		u := difference(n, expected, in)
		if m := int(k[i]) - 1; u>>m < escape {
			q := int(u >> m)
			w.Bits(1<<q-1, q+1)
			w.Bits(u&(1<<m-1), m)
		} else {
			w.Bits(1<<escape-1, escape)
			appendSized(w, u, n.Bytes)
		}
	}
	flag := still < len(numbers) // a bit says whether another one differs; otherwise at least one must
	at, next := 0, 0             // position among the still numbers, and the first that was not coded
	for i, n := range numbers {
		if k[i] > 0 {
			continue
		}
		if u := difference(n, expected, in); u != 0 {
			if flag {
				w.Bool(true)
			}
			w.Bits(uint64(at-next), bits.Len(uint(still-next-1)))
			if !n.Bool {
				appendSized(w, u, n.Bytes)
			}
			flag, next = true, at+1
		}
		at++
	}
	if flag && next < still {
		w.Bool(false)
	}
}

// readNumbers is the inverse of appendNumbers; in holds the expected input and becomes the real one.
func readNumbers(r *wire.BitReader, in *ecs.InputBytes, numbers []image.InputNumber, k *orders) (ok bool) {
	still, changed := 0, false
	for i, n := range numbers {
		if k[i] == 0 {
			still++
			continue
		}
		u, q, m := uint64(0), 0, int(k[i])-1
		for q < escape && r.Bool() {
			q++
		}
		if q < escape {
			u = uint64(q)<<m | r.Bits(m)
		} else {
			u = readSized(r, n.Bytes)
		}
		if min(u>>m, escape) != uint64(q) || u>>1>>(8*n.Bytes-1) != 0 {
			return false
		}
		if u != 0 {
			changed = true
			add(n, in, u)
		}
	}
	at, next := 0, readNext(r, 0, still, still < len(numbers))
	for i, n := range numbers {
		if k[i] > 0 {
			continue
		}
		if at == next {
			u := uint64(1)
			if !n.Bool {
				u = readSized(r, n.Bytes)
			}
			changed = true
			add(n, in, u)
			next = readNext(r, at+1, still, true)
		}
		at++
	}
	return changed && next == still
}

// readNext returns the position, from at on, of the next still number that differs, or still if none does. With flag, it reads a
// bit for that first. A code for a number that does not exist gives a position > still.
func readNext(r *wire.BitReader, at, still int, flag bool) int {
	if at == still || flag && !r.Bool() {
		return still
	}
	if at += int(r.Bits(bits.Len(uint(still - at - 1)))); at >= still {
		return still + 1
	}
	return at
}

// appendSized codes u ≥ 1 of a number of this width in bytes: its length in bits less one, then its bits below the highest.
func appendSized(w *wire.BitWriter, u uint64, width int) {
	size := bits.Len64(u) - 1
	w.Bits(uint64(size), sizeBits(width))
	w.Bits(u&(1<<size-1), size)
}

// readSized is the inverse of appendSized.
func readSized(r *wire.BitReader, width int) uint64 {
	size := int(r.Bits(sizeBits(width)))
	return 1<<size | r.Bits(size)
}

// sizeBits returns the size of a coded length: 3 bits for a width of one byte, 6 for eight.
func sizeBits(width int) int { return 2 + bits.Len(uint(width)) }

// difference returns in − from of a number, folded: 0, −1, 1, −2, … are 0, 1, 2, 3, … . The difference of booleans is 0 or 1.
func difference(n image.InputNumber, from, in *ecs.InputBytes) uint64 {
	if n.Bool {
		return uint64(from[n.Offset] ^ in[n.Offset])
	}
	above := 64 - 8*n.Bytes
	d := int64((load(n, in)-load(n, from))<<above) >> above // with sign
	return uint64(d<<1^d>>63) << above >> above
}

// add adds a folded difference to a number.
func add(n image.InputNumber, in *ecs.InputBytes, u uint64) {
	p := in[n.Offset:]
	d := u>>1 ^ -(u & 1)
	switch n.Bytes {
	case 1:
		if n.Bool {
			p[0] ^= 1
		} else {
			p[0] += byte(d)
		}
	case 2:
		binary.LittleEndian.PutUint16(p, uint16(load(n, in)+d))
	case 4:
		binary.LittleEndian.PutUint32(p, uint32(load(n, in)+d))
	default:
		binary.LittleEndian.PutUint64(p, load(n, in)+d)
	}
}

func load(n image.InputNumber, in *ecs.InputBytes) uint64 {
	p := in[n.Offset:]
	switch n.Bytes {
	case 1:
		return uint64(p[0])
	case 2:
		return uint64(binary.LittleEndian.Uint16(p))
	case 4:
		return uint64(binary.LittleEndian.Uint32(p))
	}
	return binary.LittleEndian.Uint64(p)
}

// WorstChange returns the most bits of an input's code.
func WorstChange(game *ecs.Game) int {
	numbers := game.Input.Numbers()
	worst := 1
	for i, n := range numbers {
		most := 1 + bits.Len(uint(len(numbers)-i-1)) // flag and position
		if !n.Bool {
			most = max(most, escape) + sizeBits(n.Bytes) + 8*n.Bytes - 1
		}
		worst += most
	}
	return worst
}

// CheckTick returns an error for a game in which the inputs of one tick may not fit a datagram. bits is their maximum size.
// head is the size of the message before them, in bytes.
func CheckTick(strategy string, g *ecs.Game, head, bits int) error {
	if need := head + (bits+7)/8; need > systems.MaxDatagram {
		return fmt.Errorf("%s: %d players with inputs of %d bytes need %d bytes for one tick: a datagram holds %d",
			strategy, g.MaxPlayers, g.Input.Size(), need, systems.MaxDatagram)
	}
	return nil
}

// Predicted reports whether the inputs of a tick, by player, are all those predicted from the inputs of the tick before.
func Predicted(before, inputs []ecs.InputBytes, game *ecs.Game) bool {
	for p := range inputs {
		if inputs[p] != game.Input.Predict(before[p]) {
			return false
		}
	}
	return true
}

// AppendInputs codes the inputs of a tick against those predicted from the inputs of the tick before.
func AppendInputs(w *wire.BitWriter, before, inputs []ecs.InputBytes, game *ecs.Game) {
	for p := range inputs {
		expected := game.Input.Predict(before[p])
		AppendChange(w, &expected, &inputs[p], game)
	}
}

// ReadInputs is the inverse of AppendInputs; inputs holds the predicted inputs and becomes the real ones.
func ReadInputs(r *wire.BitReader, inputs []ecs.InputBytes, game *ecs.Game) (changed, ok bool) {
	for p := range inputs {
		differs, ok := ReadChange(r, &inputs[p], game)
		if !ok {
			return changed, false
		}
		changed = changed || differs
	}
	return changed, true
}

// StoredBits returns the size of a stored code, which is what a BitWriter wrote and behind it a set bit that marks its end.
func StoredBits(stored []byte) int { return len(stored)*8 - 9 + bits.Len8(stored[len(stored)-1]) }

// AppendWithout appends a stored code as AppendStored, but without bits [from, to).
func AppendWithout(w *wire.BitWriter, stored []byte, from, to int) {
	r := wire.NewBitReader(stored)
	w.Copy(&r, from)
	r.Skip(to - from)
	w.Copy(&r, StoredBits(stored)-to)
}

// AppendStored appends a stored code without the bit that marks its end.
func AppendStored(w *wire.BitWriter, stored []byte) {
	for n := StoredBits(stored); n > 0; n -= 64 {
		word := uint64(0)
		if len(stored) >= 8 {
			word, stored = binary.LittleEndian.Uint64(stored), stored[8:]
		} else {
			for i, b := range stored {
				word |= uint64(b) << (8 * i)
			}
		}
		now := min(n, 64)
		w.Bits(word&(1<<now-1), now)
	}
}
