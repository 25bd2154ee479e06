package journal

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"sort"

	"tendon/ecs"
	"tendon/rollback"
)

// Journal is a journal that was read, every byte of it checked. It keeps the bytes, reads ticks out of them as they
// are asked for, and never changes.
//
// Ticks (Start, Last] are in it.
type Journal struct {
	game   *ecs.Game
	codec  *Codec
	header Header
	data   []byte // to the end of the last whole block
	last   Position
	seats  []Seat // ascending by player
	image  record // the newest, if images
	first  record // the oldest, if images
	images bool
	checks []record // since the image, ascending
	check  ecs.Tick // of the newest check, if any ever was
	proved bool     // there was one
	marks  []mark
	reach  ecs.Tick // how many ticks a player's view looks back at most
	torn   *DamageError
}

// mark is a block to begin reading with. The first is that behind the header.
type mark struct {
	offset int
	at     Position
}

// markTicks is how many ticks lie at least between two marks, so that they take less memory than a few times the file.
const markTicks = 1024

// Errors about the content of a journal.
var (
	ErrTorn    = errors.New("journal: the end was cut off while it was written")
	ErrCorrupt = errors.New("journal: damaged")
	// ErrNoState says that a journal of a later part of a match was torn before its image was whole.
	ErrNoState = errors.New("journal: it has no state to start from")
	// ErrDiverged says that the ticks do not lead to the states that the journal has the checksums of.
	ErrDiverged = errors.New("journal: the ticks lead to another state")
)

// A DamageError says where a journal is damaged or torn. It is ErrTorn or ErrCorrupt.
type DamageError struct {
	Kind   error    // ErrTorn or ErrCorrupt
	Offset int      // where the damage begins, in bytes: the block before it is whole
	Bytes  int      // from there to the end
	Last   ecs.Tick // the last tick before it
	Why    string
}

// Error says where the damage is, and what is whole.
func (e *DamageError) Error() string {
	if e.Kind == ErrTorn {
		return fmt.Sprintf("%v: %s at byte %d; the last %d bytes are left out, ticks to %d are whole", e.Kind, e.Why, e.Offset, e.Bytes, e.Last)
	}
	return fmt.Sprintf("%v: %s at byte %d of %d, after tick %d", e.Kind, e.Why, e.Offset, e.Offset+e.Bytes, e.Last)
}

// Unwrap returns ErrTorn or ErrCorrupt.
func (e *DamageError) Unwrap() error { return e.Kind }

// Open reads a journal of g, which keeps data; build is this program's, see Header.Check.
//
// A journal whose last block is not whole was torn while it was written. It is opened without that block, see Torn.
// Damage before the last block is an error, ErrCorrupt, and so is a journal of another game or build. If not even the
// header is whole the error is ErrTorn: nothing that was written into the file was ever promised to anybody.
func Open(data []byte, g *ecs.Game, build string) (*Journal, error) {
	h, at, err := readHeader(data)
	if err != nil {
		return nil, err
	}
	if err := h.Check(g, build); err != nil {
		return nil, err
	}
	j := &Journal{game: g, codec: NewCodec(g), header: h}
	r := newReader(j.codec, h.Start)
	for at < len(data) {
		payload, next, f := nextBlock(data, at)
		if f != faultNone {
			damage := damageAt(data, at, f)
			damage.Last = r.at.Tick
			if damage.Kind == ErrCorrupt {
				return nil, damage
			}
			j.torn = damage
			break
		}
		if len(j.marks) == 0 || r.at.Tick-j.marks[len(j.marks)-1].at.Tick >= markTicks {
			j.marks = append(j.marks, mark{at, r.at.clone()})
		}
		if why := j.addBlock(&r, payload); why != "" {
			return nil, &DamageError{Kind: ErrCorrupt, Offset: at, Bytes: len(data) - at, Last: r.at.Tick, Why: why}
		}
		at = next
	}
	j.data, j.last = data[:at:at], r.at
	return j, nil
}

// addBlock takes in the records of a block and returns what is wrong with them, or "".
func (j *Journal) addBlock(r *reader, payload []byte) string {
	p, rec := parser{rest: payload}, record{}
	for len(p.rest) > 0 {
		if r.next(&p, &rec); p.why == "" {
			j.add(r, &p, &rec)
		}
		if p.why != "" {
			return fmt.Sprintf("a block makes no sense after tick %d: %s", r.at.Tick, p.why)
		}
	}
	return ""
}

func (j *Journal) add(r *reader, p *parser, rec *record) {
	switch rec.kind {
	case kindTick:
		if j.header.Start.Tick > 0 && !j.images {
			p.fail("there is no image to start from")
		}
		j.reach = max(j.reach, rollback.LookBack(r.tick.Tick, r.tick.Orders))
	case kindSeat:
		s := rec.asSeat()
		at := sort.Search(len(j.seats), func(i int) bool { return j.seats[i].Player >= s.Player })
		if at < len(j.seats) && j.seats[at].Player == s.Player {
			j.seats[at] = s
		} else {
			j.seats = slices.Insert(j.seats, at, s)
		}
	case kindCheck:
		if rec.tick < j.header.Start.Tick || j.proved && rec.tick <= j.check {
			p.fail("a checksum of a tick before that of the last one")
		}
		j.check, j.proved = rec.tick, true
		if !j.images || rec.tick >= j.image.tick {
			j.checks = append(j.checks, *rec)
		}
	case kindImage:
		if rec.tick < j.header.Start.Tick || j.images && rec.tick <= j.image.tick {
			p.fail("an image of a tick before that of the last one")
		}
		if !j.images {
			j.first = *rec
		}
		j.image, j.images = *rec, true
		j.checks = slices.DeleteFunc(j.checks, func(c record) bool { return c.tick < rec.tick })
	}
}

// Header returns what the journal is of.
func (j *Journal) Header() Header { return j.header }

// Start returns the tick whose state the journal begins with.
func (j *Journal) Start() ecs.Tick { return j.header.Start.Tick }

// Last returns where the journal ends. It shares nothing with the journal.
func (j *Journal) Last() Position { return j.last.clone() }

// Valid returns the bytes of the journal that are whole. The file must be cut there before more is written to it.
func (j *Journal) Valid() int { return len(j.data) }

// Torn returns what was left out at the end and why, nil if nothing was.
func (j *Journal) Torn() *DamageError { return j.torn }

// Seats returns every seat that was ever taken, as it stands at the end, ascending by player.
func (j *Journal) Seats() []Seat { return slices.Clone(j.seats) }

// Resume returns a writer that goes on where the journal ends. What it writes belongs at byte Valid of the file.
func (j *Journal) Resume(to io.Writer) *Writer {
	w := newWriter(to, j.codec, j.last)
	w.start, w.size = j.header.Start.Tick, uint64(len(j.data))
	w.image, w.images = j.image.tick, j.images
	w.check, w.checks = j.check, j.proved
	return w
}

// Ticks returns the ticks from the given one, or from the first that there is, to the last. A tick is valid until the
// next; the payloads of its orders alias the journal.
func (j *Journal) Ticks(from ecs.Tick) iter.Seq[*Tick] {
	return func(yield func(*Tick) bool) {
		for r := range j.read(from) {
			if r.at.Tick >= from && !yield(&r.tick) {
				return
			}
		}
	}
}

// Seatings returns every change of a seat, in order, each with the last tick before it.
func (j *Journal) Seatings() iter.Seq2[ecs.Tick, Seat] {
	return func(yield func(ecs.Tick, Seat) bool) {
		if len(j.marks) == 0 {
			return
		}
		for r, rec := range j.records(&j.marks[0]) {
			if rec.kind == kindSeat && !yield(r.at.Tick, rec.asSeat()) {
				return
			}
		}
	}
}

// Chain returns the chain at tick f; ok is false if the journal has no such tick.
func (j *Journal) Chain(f ecs.Tick) (chain Chain, ok bool) {
	at, ok := j.position(f)
	return at.Chain, ok
}

// position returns where the journal stands after tick f.
func (j *Journal) position(f ecs.Tick) (at Position, ok bool) {
	if f == j.header.Start.Tick {
		at.set(j.header.Start, j.codec.players)
		return at, true
	}
	for r := range j.read(f) {
		if r.at.Tick == f {
			return r.at.clone(), true
		}
	}
	return at, false
}

// read returns the reader after each tick from a mark before tick f.
func (j *Journal) read(f ecs.Tick) iter.Seq[*reader] {
	return func(yield func(*reader) bool) {
		after := sort.Search(len(j.marks), func(i int) bool { return j.marks[i].at.Tick >= f })
		if len(j.marks) == 0 || f > j.last.Tick {
			return
		}
		for r, rec := range j.records(&j.marks[max(after-1, 0)]) {
			if rec.kind == kindTick && !yield(r) {
				return
			}
		}
	}
}

// records returns the records from a mark on, with the reader after each.
func (j *Journal) records(m *mark) iter.Seq2[*reader, *record] {
	return func(yield func(*reader, *record) bool) {
		r, rec := newReader(j.codec, m.at), record{}
		for at := m.offset; at < len(j.data); {
			from, to, _ := blockHead(j.data, at)
			p := parser{rest: j.data[from:to]}
			for len(p.rest) > 0 {
				if r.next(&p, &rec); !yield(&r, &rec) {
					return
				}
			}
			at = to
		}
	}
}
