package record

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"sort"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/wire"
)

// Record is a record that was read and checked byte by byte. It keeps the bytes, reads ticks from them on request, and
// never changes: several goroutines may use it.
//
// It has the ticks (Start, Last].
type Record struct {
	game   *ecs.Game
	codec  *Codec
	header Header
	data   []byte // to the end of the last whole block
	last   Position
	images []storedImage // ascending
	index  []point
	reach  ecs.Tick // the farthest that a player's view looks back, in ticks
	torn   *DamageError
	ended  bool
	bare   bool // it may lack an image before its first tick
}

// point is a place in a block at which reading can begin, with the position there.
type point struct {
	from, to int // offset in the file, and the end of the block
	at       Position
}

// indexTicks is the minimum distance of two points, in ticks. It keeps the index smaller than a few times the file.
const indexTicks = 256

// Errors of reading.
var (
	// ErrRange is returned for a tick that the record does not have.
	ErrRange = errors.New("record: tick is not in the record")
	// ErrNoState is returned for a record with a later start that was torn before its first image was whole.
	ErrNoState = errors.New("record: it has no state to start from")
	// ErrDiverged is returned if the ticks do not lead to the recorded states.
	ErrDiverged = errors.New("record: the ticks lead to another state")
)

// Open reads a record of g and keeps data.
//
// A record whose last block is not whole was torn while it was written. It is opened without that block, see Torn. The
// error wraps ErrCorrupt if the record is damaged, ErrTorn if its header is not whole, or it is that of Header.Check.
func Open(data []byte, g *ecs.Game) (*Record, error) { return openRecord(data, g, false) }

// OpenTicks is Open for a record that NewTicksWriter wrote.
func OpenTicks(data []byte, g *ecs.Game) (*Record, error) { return openRecord(data, g, true) }

func openRecord(data []byte, g *ecs.Game, bare bool) (*Record, error) {
	h, at, err := readHeader(data)
	if err != nil {
		return nil, err
	}
	if err := h.Check(g); err != nil {
		return nil, err
	}
	r := &Record{game: g, codec: NewCodec(g), header: h, bare: bare}
	if err := r.scan(data, at); err != nil {
		return nil, err
	}
	return r, nil
}

// scan reads the blocks of a file from an offset.
func (r *Record) scan(data []byte, at int) error {
	read := newEntries(r.codec, r.header.Start)
	for at < len(data) {
		payload, next, fault := nextBlock(data, at)
		if fault != "" {
			r.torn = damageAt(data, at, fault)
			r.torn.Last = read.at.Tick
			if r.torn.Kind == ErrCorrupt || r.ended {
				r.torn.Kind = ErrCorrupt
				return r.torn
			}
			break
		}
		last := read.at.Tick
		if why := r.addBlock(&read, payload, next); why != nil {
			return &DamageError{Kind: ErrCorrupt, Offset: at, Bytes: len(data) - at, Last: last, Why: why.Error()}
		}
		at = next
	}
	r.data, r.last = data[:at:at], read.at
	return nil
}

// addBlock adds the entries of a block that ends at an offset of the file.
func (r *Record) addBlock(read *entries, payload []byte, to int) error {
	if r.ended {
		return errors.New("a block follows the end mark")
	}
	p := wire.NewReader(payload)
	for p.Len() > 0 {
		if n := len(r.index); n == 0 || read.at.Tick-r.index[n-1].at.Tick >= indexTicks {
			r.index = append(r.index, point{to - p.Len(), to, read.at.clone()})
		}
		switch read.next(&p) {
		case kindTick:
			if r.header.Start.Tick > 0 && len(r.images) == 0 && !r.bare {
				p.Fail(errors.New("a tick before the image to start from"))
			}
			r.reach = max(r.reach, LookBack(read.tick.Tick, read.tick.Orders))
		case kindImage:
			if n := len(r.images); n > 0 && r.images[n-1].tick == read.image.tick {
				p.Fail(errors.New("a second image of a tick"))
			}
			r.images = append(r.images, read.image)
		case kindEnd:
			r.ended = true
		}
		if err := p.Err(); err != nil {
			return fmt.Errorf("a block is malformed after tick %d: %w", read.at.Tick, err)
		}
	}
	return nil
}

// Game returns the game with which the record was opened.
func (r *Record) Game() *ecs.Game { return r.game }

// Header describes the match.
func (r *Record) Header() Header { return r.header }

// Start returns the tick of the record's first state.
func (r *Record) Start() ecs.Tick { return r.header.Start.Tick }

// Last returns the position at the end. It shares nothing with the record.
func (r *Record) Last() Position { return r.last.clone() }

// Ended reports whether the record has its end mark: the writer ended it, and nothing is missing.
func (r *Record) Ended() bool { return r.ended }

// Torn describes the end that was left out. It is nil if none was.
func (r *Record) Torn() *DamageError { return r.torn }

// Bytes returns the whole blocks of the file. A file must be truncated to their length before more is written to it.
func (r *Record) Bytes() []byte { return r.data }

// Reach returns how many ticks the views of players look back at most.
func (r *Record) Reach() ecs.Tick { return r.reach }

// Seats returns every seat that was ever assigned, as it is at the end, ascending by player.
func (r *Record) Seats() (seats []Seat) {
	for _, s := range r.Seatings() {
		at, held := slices.BinarySearchFunc(seats, s.Player, func(s Seat, p ecs.Player) int { return cmp.Compare(s.Player, p) })
		if !held {
			seats = slices.Insert(seats, at, s)
		}
		seats[at] = s
	}
	return seats
}

// Switches returns the changes of the strategy up to tick f, each with the tick of its order. The record
// contains only the last change up to Start, in its header.
func (r *Record) Switches(f ecs.Tick) iter.Seq2[ecs.Tick, string] {
	return func(yield func(ecs.Tick, string) bool) {
		if h := &r.header; h.Present != "" && h.Since <= f && !yield(h.Since, h.Present) {
			return
		}
		for t := range r.Ticks(r.Start()+1, f) {
			for i := range t.Orders {
				if name, ok := t.Orders[i].Strategy(); ok && !yield(t.Tick, name) {
					return
				}
			}
		}
	}
}

// StrategyAt returns the strategy after tick f and the tick of the order that chose it, or "" and 0 if the strategy was not changed.
func (r *Record) StrategyAt(f ecs.Tick) (name string, since ecs.Tick) {
	for at, strategy := range r.Switches(f) {
		name, since = strategy, at
	}
	return name, since
}

// Resume returns a writer that continues where the record ends. Its output belongs at byte len(Bytes) of the file. A
// record with an end mark refuses everything.
func (r *Record) Resume(to io.Writer) *Writer {
	w := newWriter(to, r.codec, r.last)
	w.start, w.size, w.ended = r.header.Start.Tick, uint64(len(r.data)), r.ended
	w.old = r.data[len(magic)] < version
	if n := len(r.images); n > 0 {
		w.image, w.images = r.images[n-1].tick, true
	}
	return w
}

// Ticks returns the ticks in [from, to]. A tick is valid until the next. The payloads of its orders alias the record.
func (r *Record) Ticks(from, to ecs.Tick) iter.Seq[*Tick] {
	return func(yield func(*Tick) bool) {
		for read, kind := range r.read(from) {
			if kind != kindTick || read.tick.Tick < from {
				continue
			}
			if read.tick.Tick > to || !yield(&read.tick) {
				return
			}
		}
	}
}

// Seatings returns every change of a seat, in order, each with the last tick before it.
func (r *Record) Seatings() iter.Seq2[ecs.Tick, Seat] {
	return func(yield func(ecs.Tick, Seat) bool) {
		for read, kind := range r.read(0) {
			if kind == kindSeat && !yield(read.at.Tick, read.seat) {
				return
			}
		}
	}
}

// Digest returns the digest of all ticks up to the last. ok is false if the record begins after tick 0
// and its header has no digest.
func (r *Record) Digest() (d Digest, ok bool) {
	h := &r.header
	if d = h.Digest; h.Start.Tick > 0 && d == (Digest{}) {
		return d, false
	}
	var code []byte
	var before Position
	before.set(h.Start, r.codec.players)
	for t := range r.Ticks(h.Start.Tick+1, r.last.Tick) {
		code = r.codec.AppendTick(code[:0], before.Inputs, t)
		d.Add(code)
		before.Advance(t, code)
	}
	return d, true
}

// Chain returns the hash chain at tick f. ok is false if the record has no such tick.
func (r *Record) Chain(f ecs.Tick) (chain Chain, ok bool) {
	at, ok := r.position(f)
	return at.Chain, ok
}

// position returns the position after tick f.
func (r *Record) position(f ecs.Tick) (at Position, ok bool) {
	if f == r.Start() {
		at.set(r.header.Start, r.codec.players)
		return at, true
	}
	for read, kind := range r.read(f) {
		if kind == kindTick && read.tick.Tick == f {
			return read.at.clone(), true
		}
	}
	return at, false
}

// read returns the reader after each entry, from a point before tick f.
func (r *Record) read(f ecs.Tick) iter.Seq2[*entries, kind] {
	return func(yield func(*entries, kind) bool) {
		if f > r.last.Tick || len(r.index) == 0 {
			return
		}
		after := sort.Search(len(r.index), func(i int) bool { return r.index[i].at.Tick >= f })
		p := &r.index[max(after-1, 0)]
		read, from, to := newEntries(r.codec, p.at), p.from, p.to
		for {
			for b := wire.NewReader(r.data[from:to]); b.Len() > 0; {
				if kind := read.next(&b); !yield(&read, kind) {
					return
				}
			}
			if to == len(r.data) {
				return
			}
			from, to, _ = blockHead(r.data, to)
		}
	}
}

// Images returns the ticks of which the record has an image, ascending.
func (r *Record) Images() []ecs.Tick {
	list := make([]ecs.Tick, len(r.images))
	for i := range r.images {
		list[i] = r.images[i].tick
	}
	return list
}

// State returns the state of tick f, of which the record has an image. Errors are those of LoadImage.
func (r *Record) State(f ecs.Tick) (*image.Snapshot, error) {
	w, err := ecs.NewWorld(r.game, r.header.Seed)
	if err != nil {
		return nil, err
	}
	if err := r.LoadImage(w, f); err != nil {
		return nil, err
	}
	state := new(image.Snapshot)
	w.Image().Save(state)
	return state, nil
}

// imageOf returns the image of tick f, or nil.
func (r *Record) imageOf(f ecs.Tick) *storedImage {
	i, ok := slices.BinarySearchFunc(r.images, f, func(m storedImage, f ecs.Tick) int { return cmp.Compare(m.tick, f) })
	if !ok {
		return nil
	}
	return &r.images[i]
}

// LoadPast puts a world of this game into each state of the past that is stored with the image of tick f, ascending, and calls add
// after each. There is none if the record has no image of f, or one without a past. The error wraps ErrCorrupt.
func (r *Record) LoadPast(w *ecs.World, f ecs.Tick, add func()) error {
	if m := r.imageOf(f); m != nil {
		return m.load(w, add)
	}
	return nil
}

// LoadImage puts a world of this game into the state of tick f. The error is ErrRange if the record has no image of f.
// An image that does not unpack or holds another tick is ErrCorrupt. One with other inputs than the ticks is ErrDiverged.
func (r *Record) LoadImage(w *ecs.World, f ecs.Tick) error {
	m := r.imageOf(f)
	if m == nil {
		return fmt.Errorf("%w: there is no image of tick %d", ErrRange, f)
	}
	data, err := m.unpack()
	if err != nil {
		return err
	}
	if err := w.Image().LoadOwned(data); err != nil {
		return fmt.Errorf("%w: the image of tick %d: %w", ErrCorrupt, f, err)
	}
	if w.Tick() != f {
		return fmt.Errorf("%w: the image of tick %d holds tick %d", ErrCorrupt, f, w.Tick())
	}
	at, ok := r.position(f)
	for p, in := range at.Inputs {
		if ok && f > r.Start() && w.Image().Input(ecs.Player(p)) != in {
			return fmt.Errorf("%w: the image of tick %d has another input of player %d than the tick", ErrDiverged, f, p)
		}
	}
	return nil
}
