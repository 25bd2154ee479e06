package journal

import (
	"encoding/binary"

	"github.com/klauspost/compress/zstd"

	"tendon/ecs"
	"tendon/ecs/image"
)

// recordKind says what a record of a block is: its first byte. A tick's record is its code, which begins with flags.
type recordKind byte

const (
	kindTick  recordKind = 0 // to knownFlags
	kindSeat  recordKind = knownFlags + 1
	kindCheck recordKind = knownFlags + 2
	kindImage recordKind = knownFlags + 3
)

// record is one record of a block. Its bytes alias the journal.
type record struct {
	kind recordKind
	tick ecs.Tick // of a check or an image, at most the last one before it

	seat ecs.Player
	who  uint64
	name []byte
	held bool

	sum image.Checksum

	bytes  int // of an image, unpacked
	packed []byte
}

// asSeat returns what a record of a seat says.
func (r *record) asSeat() Seat {
	return Seat{Player: r.seat, Client: r.who, Name: string(r.name), Held: r.held}
}

// maxImageBytes bounds an image, so that a few bytes of a file cannot ask for any amount of memory. One that is packed
// badly fits a block with everything else that may wait.
const maxImageBytes = 128 << 20

// reader reads the records of a journal in their order. at moves with the ticks that it reads.
type reader struct {
	codec *Codec
	at    Position
	tick  Tick // the last one that was read; Inputs are those of at
}

func newReader(c *Codec, at Position) reader {
	r := reader{codec: c}
	r.at.set(at, c.players)
	return r
}

// code takes the code of the next tick off p. If it fails, p says why.
func (r *reader) code(p *parser) {
	code := p.rest
	r.codec.read(p, r.at.Inputs, &r.tick)
	if r.at.Tick >= maxTick {
		p.fail("more ticks than can be counted")
	}
	if p.why != "" {
		return
	}
	code = code[:len(code)-len(p.rest)]
	r.at.Tick, r.at.Chain = r.at.Tick+1, r.at.Chain.Next(code)
	r.tick.Tick, r.tick.Inputs = r.at.Tick, r.at.Inputs
}

// next takes a record off p. If it fails, p says why.
func (r *reader) next(p *parser, rec *record) {
	if len(p.rest) > 0 && p.rest[0] <= knownFlags {
		rec.kind = kindTick
		r.code(p)
		return
	}
	switch rec.kind = recordKind(p.byte()); rec.kind {
	case kindSeat:
		held := p.byte()
		rec.seat, rec.held, rec.who, rec.name = ecs.Player(p.byte()), held == 1, p.uint64(), p.bytes(MaxNameBytes)
		if int(rec.seat) >= r.codec.players || held > 1 {
			p.fail("a seat that the game does not have")
		}
	case kindCheck:
		rec.tick, rec.sum = ecs.Tick(p.varint()), image.Checksum(p.uint64())
	case kindImage:
		rec.tick, rec.bytes, rec.packed = ecs.Tick(p.varint()), p.upTo(maxImageBytes), p.bytes(maxBlockBytes)
	default:
		p.fail("a record of unknown kind")
	}
	if rec.tick > r.at.Tick && (rec.kind == kindCheck || rec.kind == kindImage) {
		p.fail("a checksum or an image of a tick that is not there yet")
	}
}

func appendSeat(b []byte, s *Seat) []byte {
	held := byte(0)
	if s.Held {
		held = 1
	}
	b = append(b, byte(kindSeat), held, byte(s.Player))
	b = binary.LittleEndian.AppendUint64(b, s.Client)
	return appendString(b, s.Name)
}

func appendCheck(b []byte, f ecs.Tick, sum image.Checksum) []byte {
	b = binary.AppendUvarint(append(b, byte(kindCheck)), uint64(f))
	return binary.LittleEndian.AppendUint64(b, uint64(sum))
}

func appendImage(b []byte, f ecs.Tick, bytes int, packed []byte) []byte {
	b = binary.AppendUvarint(append(b, byte(kindImage)), uint64(f))
	b = binary.AppendUvarint(b, uint64(bytes))
	return appendString(b, packed)
}

// newPacker returns an encoder that lives without a goroutine and with little memory.
func newPacker() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(128<<10))
}

// unpack returns the bytes of an image, at most size.
func unpack(packed []byte, size int) ([]byte, error) {
	limit := uint64(max(size, 1<<20)) // the encoder's window fits
	unzip, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(limit))
	if err != nil {
		return nil, err
	}
	defer unzip.Close()
	return unzip.DecodeAll(packed, nil)
}
