package session

import (
	"errors"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/wire"
)

var errValue = errors.New("session: a field is outside its interval")

// coder encodes or decodes the fields of a message. Each method writes a value, or reads it and checks its interval.
type coder struct {
	w       wire.Writer
	r       wire.Reader
	decodes bool
}

func (c *coder) encode(dst []byte, m message) []byte {
	c.w, c.decodes = wire.NewWriter(dst, MaxMessage), false
	c.w.U8(uint8(m.kind))
	m.fields(c)
	return c.w.Bytes()
}

// decode returns the message of some bytes, which its data aliases.
func (c *coder) decode(b []byte) (m message, err error) {
	c.r, c.decodes = wire.NewReader(b), true
	m.kind = kind(c.r.U8())
	m.fields(c)
	return m, c.r.Close()
}

func code[T any](c *coder, v *T, write func(*wire.Writer, T), read func(*wire.Reader) T) {
	if c.decodes {
		*v = read(&c.r)
	} else {
		write(&c.w, *v)
	}
}

func (c *coder) u8(v *uint8)       { code(c, v, (*wire.Writer).U8, (*wire.Reader).U8) }
func (c *coder) u16(v *uint16)     { code(c, v, (*wire.Writer).U16, (*wire.Reader).U16) }
func (c *coder) u32(v *uint32)     { code(c, v, (*wire.Writer).U32, (*wire.Reader).U32) }
func (c *coder) u64(v *uint64)     { code(c, v, (*wire.Writer).U64, (*wire.Reader).U64) }
func (c *coder) uvarint(v *uint64) { code(c, v, (*wire.Writer).Uvarint, (*wire.Reader).Uvarint) }
func (c *coder) flag(v *bool)      { code(c, v, (*wire.Writer).Bool, (*wire.Reader).Bool) }
func (c *coder) tick(v *ecs.Tick)  { c.uvarint((*uint64)(v)) }

// check fails a decoder if a rule is broken.
func (c *coder) check(ok bool) {
	if c.decodes && !ok {
		c.r.Fail(errValue)
	}
}

func (c *coder) integer(v *int, low, high uint64) {
	n := uint64(*v)
	c.uvarint(&n)
	c.check(n >= low && n <= high)
	*v = int(n)
}

// seat codes a seat as one more: 0 is none.
func (c *coder) seat(v *int) {
	n := uint8(*v + 1)
	c.u8(&n)
	c.check(n <= image.MaxPlayers)
	*v = int(n) - 1
}

func (c *coder) blob(v *[]byte, limit int) {
	if c.decodes {
		*v = c.r.Blob(limit)
	} else {
		c.w.Blob(*v)
	}
}

// rest codes the bytes up to the end of the message.
func (c *coder) rest(v *[]byte) {
	if c.decodes {
		*v = c.r.Rest()
	} else {
		c.w.Raw(*v)
	}
}

// text clips a text that is encoded, and refuses one that is not clean.
func (c *coder) text(v *string, limit int) {
	if !c.decodes {
		c.w.Blob([]byte(wire.Clip(*v, limit)))
		return
	}
	b := c.r.Blob(limit)
	*v = wire.Clip(string(b), limit)
	c.check(len(*v) == len(b))
}
