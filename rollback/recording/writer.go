package recording

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"tendon/ecs"
	"tendon/ecs/image"
)

// Writer records a match. It gathers at most a second of ticks before it writes a block; each block is one Write, and
// nothing that was written is touched again.
//
// The first error of the destination sticks, since a block may be half written then.
type Writer struct {
	to     io.Writer
	header Header
	codec  entryCodec
	last   ecs.Tick // last tick that was given
	image  ecs.Tick // tick of the last image
	images bool     // there is one
	first  ecs.Tick // of the open block
	ticks  []byte   // the open block's ticks
	block  []byte   // scratch: a whole block
	raw    []byte   // scratch: an image
	zip    *zstd.Encoder
	err    error
}

// ImageSeconds is the time between two images: what a seek replays at most. The images of a match of the arena are a
// fifth of its recording.
const ImageSeconds = 5

// maxOpenBytes is what an open block may hold before it is written, however short.
const maxOpenBytes = 1 << 20

// NewWriter writes the header and returns a writer for the ticks after h.Start. A recording that does not start with
// tick 0 needs an Image before its first tick.
func NewWriter(to io.Writer, h Header) (*Writer, error) {
	if !h.valid() {
		return nil, fmt.Errorf("%w: Header %+v: take HeaderOf", ErrWriter, h)
	}
	zip, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(512<<10))
	if err != nil {
		return nil, err
	}
	w := &Writer{to: to, header: h, codec: newEntryCodec(&h), last: h.Start, zip: zip}
	w.block = append(w.block, magic...)
	w.block = append(w.block, version)
	opening := len(w.block)
	w.block = append(w.block, make([]byte, blockHeaderBytes)...)
	w.block = h.append(w.block)
	sealBlock(w.block[opening:], kindHeader)
	return w, w.write(w.block)
}

// Tick records the next tick. e's slices are copied.
func (w *Writer) Tick(e Entry) error {
	switch {
	case w.err != nil:
		return w.err
	case e.Tick != w.last+1:
		return fmt.Errorf("%w: tick %d does not follow %d", ErrWriter, e.Tick, w.last)
	case w.last == w.header.Start && w.header.Start > 0 && !w.images:
		return fmt.Errorf("%w: a recording from tick %d begins with its Image", ErrWriter, w.last)
	}
	for i := range e.Orders {
		if o := &e.Orders[i]; len(o.Payload) > image.MaxOrderBytes || !o.Kind.Valid() || int(o.Player) >= w.header.Players {
			return fmt.Errorf("%w: order of kind %d, player %d, %d bytes", ErrWriter, o.Kind, o.Player, len(o.Payload))
		}
	}
	if len(w.ticks) == 0 {
		w.first = e.Tick
		w.codec.reset()
	}
	w.ticks = w.codec.append(w.ticks, &e)
	w.last = e.Tick
	if e.Tick+1-w.first >= ecs.Tick(w.header.TickRate) || len(w.ticks) >= maxOpenBytes {
		return w.Flush()
	}
	return nil
}

// ImageDue reports whether the state of the last tick should be stored by Image.
func (w *Writer) ImageDue() bool {
	return !w.images || w.last-w.image >= ecs.Tick(ImageSeconds*w.header.TickRate)
}

// Image stores the state of the last tick.
func (w *Writer) Image(s *image.Snapshot) error {
	if s.Tick() != w.last {
		return fmt.Errorf("%w: Image of tick %d after tick %d", ErrWriter, s.Tick(), w.last)
	}
	w.raw = s.AppendImage(w.raw[:0])
	return w.ImageBytes(w.raw)
}

// ImageBytes stores the state of the last tick as image.Snapshot.AppendImage wrote it.
func (w *Writer) ImageBytes(encoded []byte) error {
	if err := w.Flush(); err != nil {
		return err
	}
	if len(encoded) > maxImageBytes {
		return fmt.Errorf("%w: an image of %d bytes, at most %d can be read back", ErrWriter, len(encoded), maxImageBytes)
	}
	w.open()
	w.block = binary.AppendUvarint(w.block, uint64(w.last))
	w.block = binary.AppendUvarint(w.block, uint64(len(encoded)))
	w.block = w.zip.EncodeAll(encoded, w.block)
	w.images, w.image = true, w.last
	return w.close(kindImage)
}

// Flush writes the ticks that wait.
func (w *Writer) Flush() error {
	if w.err != nil || len(w.ticks) == 0 {
		return w.err
	}
	w.open()
	w.block = binary.AppendUvarint(w.block, uint64(w.first))
	w.block = binary.AppendUvarint(w.block, uint64(w.last+1-w.first))
	w.block = append(w.block, w.ticks...)
	w.ticks = w.ticks[:0]
	return w.close(kindTicks)
}

// Close writes the ticks that wait and lets go of the encoder. The destination stays the caller's.
func (w *Writer) Close() error {
	err := w.Flush()
	if w.err == nil {
		w.err = fmt.Errorf("%w: it is closed", ErrWriter)
	}
	w.zip.Close()
	return err
}

// open begins a block.
func (w *Writer) open() {
	w.block = w.block[:0]
	for range blockHeaderBytes {
		w.block = append(w.block, 0)
	}
}

// close writes the block.
func (w *Writer) close(k kind) error {
	sealBlock(w.block, k)
	return w.write(w.block)
}

func (w *Writer) write(b []byte) error {
	if _, err := w.to.Write(b); err != nil {
		w.err = fmt.Errorf("recording: %w", err)
	}
	return w.err
}
