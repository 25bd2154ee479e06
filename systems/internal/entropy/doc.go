// Package entropy is an adaptive binary range coder. Likely values cost a fraction of a bit, and both sides learn the
// probabilities on the way. It carries the small numbers and the many zeros of state that changes little.
//
// A code is one message. Both sides must begin it with equal models. Models learn fast: after a dozen bits of a kind they are
// near their final value. They need not start at even odds: [Expect] makes the models of numbers whose distribution both sides
// know.
//
//	var e entropy.Encoder
//	e.Reset(dst)
//	e.Bit(&more, true)
//	e.Number(&size, 17)
//	message := e.Finish()
//
// The decoder never reads past its bytes, never allocates and never panics. Damaged bytes decode to some values;
// [Decoder.Close] reports whether a code has the length of its values. The caller must bound the number of values: a likely
// one takes about a two-hundredth of a bit.
package entropy
