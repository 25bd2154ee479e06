// Package entropy is an adaptive binary range coder: what is likely costs a fraction of a bit, and what is likely is
// learned on the way, by both sides alike. It carries the small numbers and the many zeros of state that changes
// little.
//
// A code is one message: models begin anew in each, since datagrams are lost and nothing may depend on one before. So
// models learn fast: after a dozen bits of a kind they are near what they will be. And they need not begin at even odds:
// [Expect] makes those of numbers of which both sides know something.
//
//	var e entropy.Encoder
//	e.Reset(dst)
//	e.Bit(&more, true)
//	e.Number(&size, 17)
//	message := e.Finish()
//
// The decoder never reads past its bytes, never allocates and never panics on what they say. Damaged bytes decode to
// something; [Decoder.Close] says whether a code has the length that its values have. How many values there may be is
// for the caller to bound: a likely one takes about a two-hundredth of a bit.
package entropy
