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
)

// Seat is the assignment of a player's seat to a client.
type Seat struct {
	Player ecs.Player
	Client uint64 // identity of the client
	Name   string // at most image.MaxCardName bytes
	Held   bool   // the client holds the seat; otherwise it has left
}

// storedImage is an image as it lies in the file.
type storedImage struct {
	tick   ecs.Tick
	bytes  int // unpacked
	packed []byte
}

// maxImageBytes bounds an image, so that a few bytes of a file cannot request any amount of memory.
const maxImageBytes = 128 << 20

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
	case kindImage:
		e.image = storedImage{tick: e.at.Tick, bytes: r.Count(maxImageBytes, 0), packed: r.Blob(maxBlockBytes)}
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

// unpack returns the bytes of an image. It allocates no more than the image claims, or 1 MiB, which the encoder's window
// needs.
func (m *storedImage) unpack() ([]byte, error) {
	unzip, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(uint64(max(m.bytes, 1<<20))))
	if err != nil {
		return nil, err
	}
	defer unzip.Close()
	data, err := unzip.DecodeAll(m.packed, nil)
	if err != nil || len(data) != m.bytes {
		return nil, fmt.Errorf("%w: the image of tick %d does not unpack to %d bytes: %v", ErrCorrupt, m.tick, m.bytes, err)
	}
	return data, nil
}
