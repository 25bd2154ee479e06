package journal

import (
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"tendon/ecs"
	"tendon/ecs/image"
)

// Writer appends to a journal. What it is told waits until Flush, which hands it to the destination in one Write.
//
// The writer knows how much of the file is certain. A Write that failed or fell short is taken up again by the next
// Flush where it stopped, so that a disk that was full and has room again holds a whole journal.
type Writer struct {
	to     io.Writer
	codec  *Codec
	rate   int
	start  ecs.Tick
	at     Position
	image  ecs.Tick // tick of the last image
	images bool     // there is one
	check  ecs.Tick // tick of the last check
	checks bool     // there is one

	open   []byte // records of the block that is still open
	sealed []byte // blocks
	sent   int    // bytes of sealed that are written
	size   uint64 // of the file with all of sealed

	zip         *zstd.Encoder // made for the first image
	raw, packed []byte        // scratch: an image
}

// Seat is who has a player's place in the match.
type Seat struct {
	Player ecs.Player
	Client uint64 // identity of the client
	Name   string // at most MaxNameBytes
	Held   bool   // the client has the seat; if not, it had it
}

// MaxNameBytes bounds the name of a seat.
const MaxNameBytes = 32

// ImageSeconds is the time between two images: what a recovery replays at most.
const ImageSeconds = 30

// MaxWaitingBytes is what may wait to be written. A writer that cannot write refuses more.
const MaxWaitingBytes = 64 << 20

// Errors of a Writer. Those of the destination come from Flush only, wrapped.
var (
	// ErrWriter is wrapped by errors about wrong use of a Writer.
	ErrWriter = errors.New("journal: bad write")
	// ErrWaiting says that MaxWaitingBytes wait: Flush has to succeed first.
	ErrWaiting = errors.New("journal: too much waits to be written")
)

// NewWriter returns a writer of a new journal: its header waits for the first Flush. The file must be empty.
func NewWriter(to io.Writer, g *ecs.Game, h Header) (*Writer, error) {
	if why := h.fault(g); why != "" {
		return nil, fmt.Errorf("%w: Header: %s", ErrWriter, why)
	}
	w := newWriter(to, NewCodec(g), h.Start)
	w.start = h.Start.Tick
	w.sealed = append(w.sealed, magic...)
	w.sealed = append(w.sealed, version)
	w.sealed = appendBlock(w.sealed, uint64(len(w.sealed)), h.append(nil))
	w.size = uint64(len(w.sealed))
	return w, nil
}

func newWriter(to io.Writer, c *Codec, at Position) *Writer {
	w := &Writer{to: to, codec: c, rate: c.game.TickRate}
	w.at.set(at, c.players)
	return w
}

// Last returns the last tick that the writer was told of.
func (w *Writer) Last() ecs.Tick { return w.at.Tick }

// Chain returns the chain at that tick.
func (w *Writer) Chain() Chain { return w.at.Chain }

// Waiting returns the bytes that wait to be written, the block around the newest of them not counted.
func (w *Writer) Waiting() int { return len(w.open) + len(w.sealed) - w.sent }

// Tick appends the next tick. t's slices are copied.
func (w *Writer) Tick(t Tick) error {
	if t.Tick != w.at.Tick+1 {
		return fmt.Errorf("%w: tick %d does not follow %d", ErrWriter, t.Tick, w.at.Tick)
	}
	if w.start > 0 && !w.images {
		return fmt.Errorf("%w: a journal from tick %d begins with its Image", ErrWriter, w.start)
	}
	if w.Waiting() > MaxWaitingBytes {
		return ErrWaiting
	}
	if err := w.codec.Check(&t); err != nil {
		return fmt.Errorf("%w: %w", ErrWriter, err)
	}
	from := len(w.open)
	w.open = w.codec.AppendTick(w.open, w.at.Inputs, &t)
	w.at.Tick, w.at.Chain = t.Tick, w.at.Chain.Next(w.open[from:])
	clear(w.at.Inputs)
	copy(w.at.Inputs, t.Inputs)
	return nil
}

// Seat appends that a seat was taken or given up.
func (w *Writer) Seat(s Seat) error {
	if int(s.Player) >= w.codec.players || len(s.Name) > MaxNameBytes {
		return fmt.Errorf("%w: Seat of player %d with a name of %d bytes, of %d players and at most %d", ErrWriter, s.Player, len(s.Name), w.codec.players, MaxNameBytes)
	}
	if w.Waiting() > MaxWaitingBytes {
		return ErrWaiting
	}
	w.open = appendSeat(w.open, &s)
	return nil
}

// Check appends the checksum of the state after tick f, so that a recovery can prove what it computes. Once a second
// is enough. f is the last tick or one before it, and later than that of the last Check.
func (w *Writer) Check(f ecs.Tick, sum image.Checksum) error {
	if f < w.start || f > w.at.Tick || w.checks && f <= w.check {
		return fmt.Errorf("%w: Check of tick %d after one of %d, in a journal of ticks %d to %d", ErrWriter, f, w.check, w.start, w.at.Tick)
	}
	if w.Waiting() > MaxWaitingBytes {
		return ErrWaiting
	}
	w.open = appendCheck(w.open, f, sum)
	w.check, w.checks = f, true
	return nil
}

// ImageDue reports whether a state should be stored by Image.
func (w *Writer) ImageDue() bool {
	if !w.images {
		return w.start > 0 || w.at.Tick >= ecs.Tick(ImageSeconds*w.rate)
	}
	return w.at.Tick-w.image >= ecs.Tick(ImageSeconds*w.rate)
}

// Image appends a state of this match, that of the last tick or of one before it, and later than that of the last
// Image. It is compressed here and now.
func (w *Writer) Image(s *image.Snapshot) error {
	f := s.Tick()
	if s.Empty() || f < w.start || f > w.at.Tick || w.images && f <= w.image {
		return fmt.Errorf("%w: Image of tick %d after one of %d, in a journal of ticks %d to %d", ErrWriter, f, w.image, w.start, w.at.Tick)
	}
	if w.Waiting() > MaxWaitingBytes {
		return ErrWaiting
	}
	w.raw = s.AppendImage(w.raw[:0])
	if len(w.raw) > maxImageBytes {
		return fmt.Errorf("%w: an image of %d bytes, at most %d can be read back", ErrWriter, len(w.raw), maxImageBytes)
	}
	if w.zip == nil {
		var err error
		if w.zip, err = newPacker(); err != nil {
			return err
		}
	}
	w.packed = w.zip.EncodeAll(w.raw, w.packed[:0])
	w.open = appendImage(w.open, f, len(w.raw), w.packed)
	w.image, w.images = f, true
	return nil
}

// Flush writes everything that waits, in exactly one Write, or in none if nothing waits. When it returns nil, all that
// the writer was told is written; what that is worth after a power cut is the destination's. After an error nothing is
// lost: make room and call Flush again.
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
		return fmt.Errorf("journal: %d of %d bytes were written: %w", n, len(rest), err)
	}
	return nil
}
