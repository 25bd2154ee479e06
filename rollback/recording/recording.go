package recording

import (
	"fmt"
	"iter"
	"sort"

	"github.com/klauspost/compress/zstd"

	"tendon/ecs"
	"tendon/rollback"
)

// Recording is a recording that was read. Its blocks were checked; its ticks are parsed as they are asked for.
//
// Ticks (Start, Last] are recorded.
type Recording struct {
	header Header
	ticks  []ticksBlock // ascending, without gaps
	images []imageBlock // ascending
	last   ecs.Tick
	reach  ecs.Tick // how far back the farthest view of a player lies
}

// ticksBlock is a block of ticks [first, first+count).
type ticksBlock struct {
	first ecs.Tick
	count int
	body  []byte
}

type imageBlock struct {
	tick   ecs.Tick
	bytes  int
	packed []byte
}

// maxImageBytes bounds an image, so that a few bytes of a file cannot ask for any amount of memory.
const maxImageBytes = 256 << 20

// A DamageError says where a recording is damaged or torn, and what is left of it. It is ErrTorn or ErrCorrupt.
type DamageError struct {
	Kind   error    // ErrTorn or ErrCorrupt
	Offset int      // where the damage begins, in bytes
	Lost   int      // bytes from there to the end
	Last   ecs.Tick // the last tick that can be replayed
	Why    string
}

// Error says where the damage is, and what is whole.
func (e *DamageError) Error() string {
	return fmt.Sprintf("%v: %s at byte %d; the last %d bytes are left out, ticks to %d can be replayed", e.Kind, e.Why, e.Offset, e.Lost, e.Last)
}

// Unwrap returns ErrTorn or ErrCorrupt.
func (e *DamageError) Unwrap() error { return e.Kind }

// Open reads a recording, which keeps data. With an error that is ErrTorn or ErrCorrupt the recording is what stands
// before the damage; it is nil if not even the header could be read.
func Open(data []byte) (*Recording, error) {
	head := min(len(data), len(magic))
	if len(data) == 0 || string(data[:head]) != magic[:head] {
		return nil, ErrNotRecording
	}
	if len(data) <= len(magic) {
		return nil, &DamageError{Kind: ErrTorn, Lost: len(data), Why: "the file ends"}
	}
	if data[len(magic)] != version {
		return nil, fmt.Errorf("%w: version %d, this build knows %d", ErrVersion, data[len(magic)], version)
	}
	var r *Recording
	at := len(magic) + 1
	damage := func(kind error, why string) (*Recording, error) {
		e := &DamageError{Kind: kind, Offset: at, Lost: len(data) - at, Why: why}
		if r != nil {
			e.Last = r.last
		}
		return r, e
	}
	for at < len(data) || r == nil {
		k, payload, size, fault := nextBlock(data[at:])
		switch {
		case fault == faultShort:
			return damage(ErrTorn, "a block is not complete")
		case fault == faultHeader:
			return damage(ErrCorrupt, "a block's header has the wrong checksum")
		case fault == faultPayload && at+size == len(data):
			return damage(ErrTorn, "the last block has the wrong checksum")
		case fault == faultPayload:
			return damage(ErrCorrupt, "a block has the wrong checksum")
		case r == nil:
			h, ok := parseHeader(payload)
			if k != kindHeader || !ok {
				return damage(ErrCorrupt, "the header makes no sense")
			}
			r = &Recording{header: h, last: h.Start}
		default:
			if why := r.add(k, payload); why != "" {
				return damage(ErrCorrupt, why)
			}
		}
		at += size
	}
	return r, nil
}

// add takes in a block and returns what is wrong with it, or "".
func (r *Recording) add(k kind, payload []byte) string {
	p := parser{rest: payload}
	switch k {
	case kindTicks:
		b := ticksBlock{first: ecs.Tick(p.varint()), count: p.small(), body: p.rest}
		if p.bad || b.count < 1 || b.count > len(p.rest)/minEntryBytes {
			return "a block of ticks makes no sense"
		}
		if b.first != r.last+1 {
			return fmt.Sprintf("a block begins with tick %d after tick %d", b.first, r.last)
		}
		if r.header.Start > 0 && len(r.images) == 0 {
			return "there is no image to start from"
		}
		if !r.parses(&b) {
			return fmt.Sprintf("the ticks from %d make no sense", b.first)
		}
		r.ticks = append(r.ticks, b)
		r.last += ecs.Tick(b.count)
	case kindImage:
		b := imageBlock{tick: ecs.Tick(p.varint()), bytes: p.small(), packed: p.rest}
		if p.bad || b.bytes > maxImageBytes || b.tick != r.last {
			return fmt.Sprintf("an image after tick %d makes no sense", r.last)
		}
		r.images = append(r.images, b)
	default:
		return fmt.Sprintf("a block of unknown kind %d", k)
	}
	return ""
}

// parses reports whether a block's body is exactly its ticks.
func (r *Recording) parses(b *ticksBlock) bool {
	codec, p, e := newEntryCodec(&r.header), parser{rest: b.body}, Entry{}
	for i := range b.count {
		if codec.parse(&p, &e); p.bad {
			return false
		}
		e.Tick = b.first + ecs.Tick(i)
		r.reach = max(r.reach, rollback.LookBack(e.Tick, e.Orders))
	}
	return len(p.rest) == 0
}

// Header returns what the recording is of.
func (r *Recording) Header() Header { return r.header }

// Start returns the tick whose state the recording begins with.
func (r *Recording) Start() ecs.Tick { return r.header.Start }

// Last returns the last recorded tick.
func (r *Recording) Last() ecs.Tick { return r.last }

// Images returns the ticks of which the recording holds an image.
func (r *Recording) Images() []ecs.Tick {
	list := make([]ecs.Tick, len(r.images))
	for i := range r.images {
		list[i] = r.images[i].tick
	}
	return list
}

// Entries returns the recorded ticks in [from, to]. An entry's slices are valid until the next.
func (r *Recording) Entries(from, to ecs.Tick) iter.Seq[*Entry] {
	return func(yield func(*Entry) bool) {
		codec, e := newEntryCodec(&r.header), Entry{}
		at := sort.Search(len(r.ticks), func(i int) bool { return r.ticks[i].first > from })
		for i := max(at-1, 0); i < len(r.ticks) && r.ticks[i].first <= to; i++ {
			p := parser{rest: r.ticks[i].body}
			codec.reset()
			for k := range r.ticks[i].count {
				codec.parse(&p, &e)
				e.Tick = r.ticks[i].first + ecs.Tick(k)
				if e.Tick > to {
					return
				}
				if e.Tick >= from && !yield(&e) {
					return
				}
			}
		}
	}
}

// unpack returns the bytes of an image.
func (b *imageBlock) unpack() ([]byte, error) {
	limit := uint64(max(b.bytes, 1<<20)) // the encoder's window fits
	unzip, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(limit))
	if err != nil {
		return nil, err
	}
	defer unzip.Close()
	image, err := unzip.DecodeAll(b.packed, nil)
	if err != nil || len(image) != b.bytes {
		return nil, fmt.Errorf("%w: the image of tick %d does not unpack to %d bytes: %v", ErrCorrupt, b.tick, b.bytes, err)
	}
	return image, nil
}

// Image returns the image of tick f as image.Snapshot.AppendImage wrote it. It is ErrRange if the recording has none of
// that tick.
func (r *Recording) Image(f ecs.Tick) ([]byte, error) {
	for i := range r.images {
		if r.images[i].tick == f {
			return r.images[i].unpack()
		}
	}
	return nil, fmt.Errorf("%w: there is no image of tick %d", ErrRange, f)
}
