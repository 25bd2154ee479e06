package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"tendon/ecs"
	"tendon/ecs/image"
)

// Writer appends to a record. Entries wait until Flush, which passes them to the destination as one block in one Write.
//
// The writer counts the bytes that the destination took. After a Write that failed or was short, the next Flush continues
// where it stopped. A disk that was full and has room again then holds a whole record.
type Writer struct {
	to     io.Writer
	codec  *Codec
	start  ecs.Tick
	at     Position
	image  ecs.Tick // tick of the last image
	images bool     // there is one
	ended  bool
	bare   bool // ticks may precede the first image
	old    bool // the file is of a version whose images have no past

	open   []byte // entries of the block that is still open
	code   []byte // of the last tick, in open
	sealed []byte // blocks
	sent   int    // bytes of sealed that are written
	size   uint64 // of the file with all of sealed

	zip         *zstd.Encoder // made for the first image
	raw, packed []byte        // scratch: an image, or the states before it
	one         []byte        // scratch: one of these states
}

const (
	// RecordingImages is the usual distance of images in a recording, in seconds. It bounds the ticks that a seek simulates.
	RecordingImages = 5
	// JournalImages is the usual distance of images in a journal, in seconds. It bounds the ticks that a recovery simulates.
	JournalImages = 30
	// maxWaitingBytes bounds the bytes that wait to be written. A writer that cannot write refuses more.
	maxWaitingBytes = 64 << 20
)

// Errors of a Writer. Those of the destination come from Flush and End only, wrapped.
var (
	// ErrUse is wrapped by errors about arguments that a record cannot have.
	ErrUse = errors.New("record: bad use")
	// errWaiting is returned while maxWaitingBytes wait: Flush has to succeed first.
	errWaiting = errors.New("record: too many bytes wait to be written: Flush until it succeeds")
)

// NewWriter returns a writer of a new record of g. The header waits for the first Flush. The file must be empty.
func NewWriter(to io.Writer, g *ecs.Game, h Header) (*Writer, error) {
	if why := h.fault(g); why != "" {
		return nil, fmt.Errorf("%w: Header: %s", ErrUse, why)
	}
	w := newWriter(to, NewCodec(g), h.Start)
	w.start = h.Start.Tick
	w.sealed = append(w.sealed, magic...)
	w.sealed = append(w.sealed, h.version())
	w.sealed = appendBlock(w.sealed, uint64(len(w.sealed)), h.append(nil))
	w.size = uint64(len(w.sealed))
	return w, nil
}

// Reset begins another record with the memory of w, which may be the zero Writer.
func (w *Writer) Reset(to io.Writer, g *ecs.Game, h Header) error {
	next, err := NewWriter(to, g, h)
	if err == nil {
		next.zip, next.raw, next.packed, next.one = w.zip, w.raw, w.packed, w.one
		if len(w.open) == 0 {
			next.open = w.open
		}
		*w = *next
	}
	return err
}

// NewTicksWriter returns a writer of a record that may have ticks and no image: the reader has the state of h.Start.
// OpenTicks opens it.
func NewTicksWriter(to io.Writer, g *ecs.Game, h Header) (*Writer, error) {
	w, err := NewWriter(to, g, h)
	if err == nil {
		w.bare = true
	}
	return w, err
}

func newWriter(to io.Writer, c *Codec, at Position) *Writer {
	w := &Writer{to: to, codec: c}
	w.at.set(at, c.players)
	return w
}

// Last returns the last tick that was appended.
func (w *Writer) Last() ecs.Tick { return w.at.Tick }

// Chain returns the hash chain at that tick.
func (w *Writer) Chain() Chain { return w.at.Chain }

// Waiting returns the number of bytes that wait to be written, without the head of the open block.
func (w *Writer) Waiting() int { return len(w.open) + len(w.sealed) - w.sent }

// takes returns why the writer accepts no entry now, or nil.
func (w *Writer) takes() error {
	switch {
	case w.ended:
		return fmt.Errorf("%w: the record has its end mark", ErrUse)
	case w.Waiting() > maxWaitingBytes:
		return errWaiting
	}
	return nil
}

// Tick appends the next tick. t's slices are copied. A recording has the checksum of every tick, a journal one a second.
func (w *Writer) Tick(t Tick) error {
	if err := w.takes(); err != nil {
		return err
	}
	if t.Tick != w.at.Tick+1 {
		return fmt.Errorf("%w: tick %d does not follow %d", ErrUse, t.Tick, w.at.Tick)
	}
	if w.start > 0 && !w.images && !w.bare {
		return fmt.Errorf("%w: a record from tick %d begins with its Image", ErrUse, w.start)
	}
	players, err := w.codec.check(w.at.Inputs, &t)
	if err != nil {
		return err
	}
	from, code := len(w.open), 0
	w.open, code = w.codec.appendEntry(w.open, players, w.at.Inputs, &t)
	w.code = w.open[from : from+code]
	w.at.Advance(&t, w.code)
	return nil
}

// Code returns the code of the last tick: see Codec.AppendTick. It is valid until the next call of a method.
func (w *Writer) Code() []byte { return w.code }

// Seat appends that a seat was taken or left.
func (w *Writer) Seat(s Seat) error {
	if err := w.takes(); err != nil {
		return err
	}
	if int(s.Player) >= w.codec.players || len(s.Name) > image.MaxCardName {
		return fmt.Errorf("%w: Seat of player %d with a name of %d bytes, there are %d players and at most %d bytes", ErrUse, s.Player, len(s.Name), w.codec.players, image.MaxCardName)
	}
	held := byte(0)
	if s.Held {
		held = 1
	}
	w.open = binary.LittleEndian.AppendUint64(append(w.open, byte(kindSeat), held, byte(s.Player)), s.Client)
	w.open = appendBlob(w.open, s.Name)
	return nil
}

// ImageDue reports whether so many seconds have passed since the last image, or since the start. It is true at a start
// above 0, since such a record begins with an image.
func (w *Writer) ImageDue(seconds int) bool {
	if !w.images && w.start > 0 {
		return true
	}
	return w.at.Tick-max(w.image, w.start) >= ecs.Tick(seconds*w.codec.rate)
}

// Image appends the state of the last tick. past is the states of the ticks directly before it, ascending, at most
// image.MaxViewTicks. A replay can then begin with the image, although views of later ticks look back at these states. A file that
// was begun with an older version of the format does not get past.
func (w *Writer) Image(s *image.Snapshot, past ...*image.Snapshot) error {
	if s.Empty() || s.Tick() != w.at.Tick {
		return fmt.Errorf("%w: the state is not that of tick %d", ErrUse, w.at.Tick)
	}
	from := len(w.open)
	if len(past) > 0 && !w.old {
		if err := w.past(past); err != nil {
			return err
		}
	}
	w.raw = s.AppendImage(w.raw[:0])
	err := w.ImageBytes(w.raw)
	if err != nil {
		w.open = w.open[:from]
	}
	return err
}

// past appends the states before the image that follows.
func (w *Writer) past(states []*image.Snapshot) error {
	if len(states) > image.MaxViewTicks {
		return fmt.Errorf("%w: a past of %d states, want at most %d", ErrUse, len(states), image.MaxViewTicks)
	}
	w.raw = w.raw[:0]
	for i, s := range states {
		if want := w.at.Tick - ecs.Tick(len(states)-i); s.Empty() || want > w.at.Tick || s.Tick() != want {
			return fmt.Errorf("%w: state %d of %d in the past is not that of tick %d", ErrUse, i, len(states), want)
		}
		if i == 0 {
			w.one = s.AppendImage(w.one[:0])
		} else {
			w.one = s.AppendDelta(w.one[:0], states[i-1])
		}
		w.raw = appendBlob(w.raw, w.one)
	}
	if len(w.raw) > maxPastBytes {
		return fmt.Errorf("%w: a past of %d bytes, want at most %d", ErrUse, len(w.raw), maxPastBytes)
	}
	w.open = binary.AppendUvarint(append(w.open, byte(kindPast)), uint64(len(states)))
	return w.appendPacked(w.raw)
}

// appendPacked appends the size of bytes, and then the bytes, compressed.
func (w *Writer) appendPacked(b []byte) error {
	if w.zip == nil { // without a goroutine and with little memory
		var err error
		w.zip, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
			zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(128<<10))
		if err != nil {
			return err
		}
	}
	w.packed = w.zip.EncodeAll(b, w.packed[:0])
	w.open = appendBlob(binary.AppendUvarint(w.open, uint64(len(b))), w.packed)
	return nil
}

// ImageBytes appends the state of the last tick as image.Snapshot.AppendImage writes it. It is compressed during the call.
func (w *Writer) ImageBytes(encoded []byte) error {
	if err := w.takes(); err != nil {
		return err
	}
	if w.images && w.image == w.at.Tick {
		return fmt.Errorf("%w: a second image of tick %d", ErrUse, w.image)
	}
	if len(encoded) > maxImageBytes {
		return fmt.Errorf("%w: an image of %d bytes, want at most %d", ErrUse, len(encoded), maxImageBytes)
	}
	w.open = append(w.open, byte(kindImage))
	if err := w.appendPacked(encoded); err != nil {
		return err
	}
	w.image, w.images = w.at.Tick, true
	return nil
}

// Flush writes everything that waits, in exactly one Write, or in none if nothing waits. After it returned nil, the
// destination has every entry. After an error no entry is lost: make room and call Flush again.
func (w *Writer) Flush() error {
	if len(w.open) > 0 {
		from := len(w.sealed)
		w.sealed = appendBlock(w.sealed, w.size, w.open)
		w.size += uint64(len(w.sealed) - from)
		w.open = w.open[:0]
	}
	rest := w.sealed[w.sent:]
	if len(rest) == 0 {
		return nil
	}
	n, err := w.to.Write(rest)
	n = min(max(n, 0), len(rest))
	if w.sent += n; w.sent == len(w.sealed) {
		w.sealed, w.sent = w.sealed[:0], 0
	} else if err == nil {
		err = io.ErrShortWrite
	}
	if err != nil {
		return fmt.Errorf("record: %d of %d bytes were written: %w", n, len(rest), err)
	}
	return nil
}

// End appends the end mark, which shows that nothing is missing, and flushes. From then on the writer refuses entries.
func (w *Writer) End() error {
	if !w.ended {
		w.open = binary.LittleEndian.AppendUint64(append(w.open, byte(kindEnd)), uint64(w.at.Chain))
		w.ended = true
	}
	return w.Flush()
}
