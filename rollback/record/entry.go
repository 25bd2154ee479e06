package record

import (
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/wire"
)

// kind is the first byte of an entry. A tick begins with its flags instead, which are below the other kinds.
type kind byte

const (
	kindTick  kind = 0 // to tickFlags
	kindSeat  kind = tickFlags + 1
	kindImage kind = tickFlags + 2
	kindEnd   kind = tickFlags + 3
	kindPast  kind = tickFlags + 4
)

// Seat is the assignment of a player's seat to a client.
type Seat struct {
	Player ecs.Player
	Client uint64 // identity of the client
	Name   string // at most image.MaxCardName bytes
	Held   bool   // the client holds the seat; otherwise it has left
}

// storedImage is an image as it lies in the file, with the states of the ticks before it.
type storedImage struct {
	tick  ecs.Tick
	state packed
	count int    // of the states before it; 0: there are none
	past  packed // those states
}

// oldest returns the tick of the oldest stored state.
func (m *storedImage) oldest() ecs.Tick { return m.tick - ecs.Tick(m.count) }

// packed is compressed bytes.
type packed struct {
	bytes int // unpacked
	data  []byte
}

// The bounds of an image and of the states before it, so that a few bytes of a file cannot request any amount of memory. Both
// fit into a block.
const (
	maxImageBytes = 128 << 20
	maxPastBytes  = 64 << 20
)

// maxPastPages bounds the pages of the states before an image, in bytes: a short delta can change many pages.
var maxPastPages = 1 << 30

// entries reads the entries of a record in their order. at moves with the ticks that it reads.
type entries struct {
	codec *Codec
	at    Position
	tick  Tick        // the last one; Inputs are those of at
	seat  Seat        // the last one
	image storedImage // the last one
}

func newEntries(c *Codec, at Position) entries {
	e := entries{codec: c}
	e.at.set(at, c.players)
	return e
}

// next reads an entry. On failure r has an error.
func (e *entries) next(r *wire.Reader) kind {
	switch first := r.U8(); kind(first) {
	case kindSeat:
		e.seat = Seat{Held: r.Bool(), Player: ecs.Player(r.U8()), Client: r.U64(), Name: string(r.Blob(image.MaxCardName))}
		if int(e.seat.Player) >= e.codec.players {
			r.Fail(errors.New("a seat that the game does not have"))
		}
		return kindSeat
	case kindPast:
		m := storedImage{tick: e.at.Tick, count: r.Count(image.MaxViewTicks, 0), past: packed{r.Count(maxPastBytes, 0), r.Blob(maxBlockBytes)}}
		if m.count == 0 || ecs.Tick(m.count) > m.tick {
			r.Fail(errors.New("no past, or more than there is"))
		}
		if kind(r.U8()) != kindImage {
			r.Fail(errors.New("a past without its image"))
		}
		e.readImage(r, m)
		return kindImage
	case kindImage:
		e.readImage(r, storedImage{tick: e.at.Tick})
		return kindImage
	case kindEnd:
		if Chain(r.U64()) != e.at.Chain || r.Len() > 0 {
			r.Fail(errors.New("an end mark that does not fit the ticks"))
		}
		return kindEnd
	default:
		if first > tickFlags {
			r.Fail(errors.New("an entry of unknown kind"))
		}
		e.readTick(r, first)
		return kindTick
	}
}

// readImage reads an image behind its kind. m has the states before it.
func (e *entries) readImage(r *wire.Reader, m storedImage) {
	m.state = packed{r.Count(maxImageBytes, 0), r.Blob(maxBlockBytes)}
	e.image = m
}

// readTick reads a tick behind its flags.
func (e *entries) readTick(r *wire.Reader, flags byte) {
	before := *r
	e.codec.read(r, flags, e.at.Inputs, &e.tick)
	code := before.Bytes(before.Len() - r.Len())
	e.tick.Late, e.tick.Checksum = 0, 0
	if flags&flagLate != 0 {
		e.tick.Late = image.PlayerSet(r.Uvarint())
		if players := image.PlayerSet(1)<<e.codec.players - 1; e.tick.Late == 0 || e.tick.Late&^players != 0 {
			r.Fail(errors.New("no late players, or more than there are"))
		}
	}
	if flags&flagChecksum != 0 {
		if e.tick.Checksum = image.Checksum(r.U64()); e.tick.Checksum == 0 {
			r.Fail(errors.New("a checksum of 0"))
		}
	}
	if e.at.Tick >= maxTick {
		r.Fail(errors.New("a tick number above the maximum"))
	}
	if r.Err() == nil {
		e.at.Tick, e.at.Chain = e.at.Tick+1, e.at.Chain.next(flags, code)
		e.tick.Tick, e.tick.Inputs = e.at.Tick, e.at.Inputs
	}
}

// unpack returns the bytes of an image.
func (m *storedImage) unpack() ([]byte, error) {
	data, err := m.state.unpack()
	if err != nil {
		return nil, fmt.Errorf("%w: the image of tick %d: %w", ErrCorrupt, m.tick, err)
	}
	return data, nil
}

// load puts a world into each of the states before the image, ascending, and calls f after each. The error wraps ErrCorrupt.
func (m *storedImage) load(w *ecs.World, f func()) error {
	if m.count == 0 {
		return nil
	}
	data, err := m.past.unpack()
	r := wire.NewReader(data)
	for i := 0; i < m.count && err == nil; i++ {
		b := r.Blob(maxPastBytes)
		if err = r.Err(); err != nil {
			break
		}
		if i == 0 {
			err = w.Image().Load(b)
		} else {
			err = w.Image().ApplyDelta(b)
		}
		switch want := m.oldest() + ecs.Tick(i); {
		case err != nil:
		case w.Tick() != want:
			err = fmt.Errorf("a state of tick %d, want %d", w.Tick(), want)
		case w.Image().PageBytes() > maxPastPages:
			err = fmt.Errorf("more than %d bytes of pages", maxPastPages)
		default:
			f()
		}
	}
	if err == nil {
		err = r.Close()
	}
	if err != nil {
		return fmt.Errorf("%w: the past of tick %d: %w", ErrCorrupt, m.tick, err)
	}
	return nil
}

// unpack returns the bytes. It allocates no more than they claim, or 1 MiB, which the encoder's window needs.
func (p *packed) unpack() ([]byte, error) {
	unzip, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(uint64(max(p.bytes, 1<<20))))
	if err != nil {
		return nil, err
	}
	defer unzip.Close()
	data, err := unzip.DecodeAll(p.data, nil)
	if err == nil && len(data) != p.bytes {
		err = fmt.Errorf("it has %d bytes", len(data))
	}
	if err != nil {
		return nil, fmt.Errorf("it does not unpack to %d bytes: %w", p.bytes, err)
	}
	return data, nil
}
