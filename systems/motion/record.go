package motion

import (
	"errors"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/net/wire"
	"tendon/systems"
)

// Record is the motion of an entity from a moment on. Every record has the position, so that each one replaces those that
// were lost.
//
// A record with Anchor 0 is absolute. Any other is relative to a position that both sides know: Pos is then an offset, and
// Entity.Born is not known.
type Record struct {
	Entity ecs.Entity
	Stamp  Stamp        // when it is true, on the sender's clock
	Age    systems.Time // age of its content at Stamp; on the wire in steps of 160 ms, up to 2.4 s
	Mode   Mode
	Flags  Flags
	Action uint8 // the game's number of the action that begins at Stamp, with FlagCast
	Anchor uint8 // number of the anchor that Pos is relative to, [1, 15]; 0: none
	Sets   uint8 // number of the anchor that Pos becomes, [1, 15]; 0: none. Absolute records only

	Pos fixed.Vec3 // world units; relative to Parent with Attached; not with Scripted
	Vel fixed.Vec3 // world units per second; zero with FlagStop

	Parent ecs.Entity // Attached only: the entity that it stands on
	Path   uint32     // Scripted only: the game's number of a path
	Along  fixed.Num  // Scripted only: world units along it
	Speed  fixed.Num  // Scripted only: world units per second along it
}

// Mode is the rule by which a record is extrapolated.
type Mode uint8

// The modes. A change of mode, such as a jump or a landing, is sent at once.
const (
	Ground    Mode = iota // straight on
	Ballistic             // falling
	Attached              // on something that moves
	Scripted              // along a path that both sides know
	modes
)

// Flags are why a record was sent.
type Flags uint8

// The flags.
const (
	FlagStop     Flags = 1 << iota // it stands
	FlagTurn                       // it turned
	FlagCast                       // it begins Action
	FlagTeleport                   // it was moved at once: show no motion in between
	flags
)

// ErrRecord is the error of a malformed record.
var ErrRecord = errors.New("motion: malformed record")

const (
	// MaxRecord bounds a record on the wire, in bytes.
	MaxRecord = 64
	// MaxVelocity bounds a coordinate of a velocity, in world units per second.
	MaxVelocity = fixed.One << 15
	// MaxAnchor is the largest number of an anchor.
	MaxAnchor = 15

	maxCoordinate = fixed.One << 24 // of a position, in world units
	maxOffset     = 14 * fixed.One  // of a relative record per axis, in world units
	fullBits      = 8               // fractional bits of absolute positions and velocities
	compactBits   = 3               // of relative ones: 5.3 signed
)

// steps returns n in steps of 1/2^bits, rounded to the nearest.
func steps(n fixed.Num, bits int) int64 {
	shift := 32 - bits
	return (int64(n) + 1<<(shift-1)) >> shift
}

func unsteps(v int64, bits int) fixed.Num { return fixed.Num(v << (32 - bits)) }

// encode53 returns n in 5.3 signed fixed point, [−16, 15.875] in steps of 1/8.
func encode53(n fixed.Num) int8 {
	return int8(steps(n.Clamp(-16*fixed.One, 16*fixed.One-fixed.One/8), compactBits))
}

func decode53(v int8) fixed.Num { return unsteps(int64(v), compactBits) }

// Anchor is a position of an entity that both sides know: the other side has acknowledged its absolute record.
type Anchor struct {
	Number uint8 // [1, 15]
	Entity ecs.Entity
	Pos    fixed.Vec3
}

// Against makes an absolute record relative to an anchor. ok is false if it does not fit. The mode must be Ground, the
// offset and the velocity in the range of 5.3, and the height within a sixteenth of a unit.
func (r Record) Against(a Anchor) (relative Record, ok bool) {
	d := r.Pos.Sub(a.Pos)
	fits := a.Number != 0 && a.Number <= MaxAnchor && r.Anchor == 0 && r.Sets == 0 && r.Mode == Ground && r.Entity == a.Entity &&
		steps(d.Z, compactBits) == 0 && steps(r.Vel.Z, compactBits) == 0
	if !fits || max(d.X.Abs(), d.Y.Abs()) > maxOffset || max(r.Vel.X.Abs(), r.Vel.Y.Abs()) >= 16*fixed.One {
		return r, false
	}
	r.Anchor, r.Pos, r.Vel.Z = a.Number, fixed.Vec3{X: d.X, Y: d.Y}, 0
	return r, true
}

// On makes a relative record absolute again. a must be the anchor of number r.Anchor, of the entity in r's row.
func (r Record) On(a Anchor) Record {
	if r.Anchor == 0 || r.Anchor != a.Number || r.Entity.Row != a.Entity.Row {
		panic("motion: a relative record needs the anchor that it names, of the same row")
	}
	r.Anchor, r.Entity, r.Pos = 0, a.Entity, r.Pos.Add(a.Pos)
	return r
}

// Append writes a record in the layout of net/wire/STANDARD.md. Positions and velocities are rounded to the units of the
// wire. A stamp is cut to its low bits: the reader must know the time to 20 s.
func (r *Record) Append(w *wire.Writer) {
	if r.Anchor > MaxAnchor || r.Sets > MaxAnchor || r.Mode >= modes || r.Flags >= flags {
		panic("motion: a record is out of range: anchors lie in [1, 15], modes and flags are those of this package")
	}
	age := min((max(r.Age, 0)+ageUnit/2)/ageUnit, ageMost)
	AppendRow(w, r.Entity.Row)
	w.U16(uint16(uint64(r.Stamp)&(1<<stampBits-1)) | uint16(age)<<stampBits)
	w.U8(uint8(r.Flags) | r.Anchor<<4)
	if r.Anchor != 0 {
		w.U8(uint8(encode53(r.Pos.X.Clamp(-maxOffset, maxOffset))))
		w.U8(uint8(encode53(r.Pos.Y.Clamp(-maxOffset, maxOffset))))
		if r.Flags&FlagStop == 0 {
			w.U8(uint8(encode53(r.Vel.X)))
			w.U8(uint8(encode53(r.Vel.Y)))
		}
	} else {
		r.appendFull(w)
	}
	if r.Flags&FlagCast != 0 {
		w.U8(r.Action)
	}
}

func (r *Record) appendFull(w *wire.Writer) {
	w.Uvarint(uint64(r.Entity.Born))
	w.U8(uint8(r.Mode) | r.Sets<<2)
	switch r.Mode {
	case Scripted:
		w.Uvarint(uint64(r.Path))
		appendNum(w, r.Along, maxCoordinate)
		appendNum(w, r.Speed, MaxVelocity)
		return
	case Attached:
		AppendRow(w, r.Parent.Row)
		w.Uvarint(uint64(r.Parent.Born))
	}
	appendVec(w, r.Pos, maxCoordinate)
	if r.Flags&FlagStop == 0 {
		appendVec(w, r.Vel, MaxVelocity)
	}
}

func appendNum(w *wire.Writer, n, most fixed.Num) { w.Varint(steps(n.Clamp(-most, most), fullBits)) }

func appendVec(w *wire.Writer, v fixed.Vec3, most fixed.Num) {
	appendNum(w, v.X, most)
	appendNum(w, v.Y, most)
	appendNum(w, v.Z, most)
}

// Read reads a record. near is a stamp within 20 s of the record's: without the sender's clock a record cannot be read.
// After a malformed record, reader has the error ErrRecord or one of package wire.
func (r *Record) Read(reader *wire.Reader, near Stamp) {
	*r = Record{}
	r.Entity.Row = ReadRow(reader)
	when := reader.U16()
	r.Stamp = expand(near, when&(1<<stampBits-1))
	r.Age = systems.Time(when>>stampBits) * ageUnit
	bits := reader.U8()
	r.Flags, r.Anchor = Flags(bits)&(flags-1), bits>>4
	if r.Anchor != 0 {
		r.readCompact(reader)
	} else {
		r.readFull(reader)
	}
	if r.Flags&FlagCast != 0 {
		r.Action = reader.U8()
	}
}

func (r *Record) readCompact(reader *wire.Reader) {
	r.Pos.X, r.Pos.Y = decode53(int8(reader.U8())), decode53(int8(reader.U8()))
	if r.Flags&FlagStop == 0 {
		r.Vel.X, r.Vel.Y = decode53(int8(reader.U8())), decode53(int8(reader.U8()))
	}
	if r.Pos.X.Abs() > maxOffset || r.Pos.Y.Abs() > maxOffset {
		reader.Fail(ErrRecord)
	}
}

func (r *Record) readFull(reader *wire.Reader) {
	r.Entity.Born = ecs.Tick(reader.Uvarint())
	bits := reader.U8()
	r.Mode, r.Sets = Mode(bits)&(modes-1), bits>>2
	if r.Sets > MaxAnchor {
		reader.Fail(ErrRecord)
	}
	switch r.Mode {
	case Scripted:
		path := reader.Uvarint()
		if path > 1<<32-1 {
			reader.Fail(ErrRecord)
		}
		r.Path = uint32(path)
		r.Along, r.Speed = readNum(reader, maxCoordinate), readNum(reader, MaxVelocity)
		return
	case Attached:
		r.Parent.Row = ReadRow(reader)
		r.Parent.Born = ecs.Tick(reader.Uvarint())
	}
	r.Pos = readVec(reader, maxCoordinate)
	if r.Flags&FlagStop == 0 {
		r.Vel = readVec(reader, MaxVelocity)
	}
}

// A row is coded as its place in the owner's region, with the owner below it: avatars stand first in their regions.
const (
	regionBits = 20 // of a row, below the owner
	ownerBits  = 7
)

// AppendRow writes a row of a game with at most 128 owners.
func AppendRow(w *wire.Writer, row uint32) {
	owner, place := row>>regionBits, row&(1<<regionBits-1)
	if owner >= 1<<ownerBits {
		panic("motion: no game has the owner of this row")
	}
	w.Uvarint(uint64(place)<<ownerBits | uint64(owner))
}

// ReadRow reads a row that AppendRow wrote. The reader's error is ErrRecord for another number.
func ReadRow(reader *wire.Reader) uint32 {
	code := reader.Uvarint()
	if code >= 1<<(regionBits+ownerBits) {
		reader.Fail(ErrRecord)
		return 0
	}
	return uint32(code&(1<<ownerBits-1))<<regionBits | uint32(code>>ownerBits)
}

func readNum(reader *wire.Reader, most fixed.Num) fixed.Num {
	v, bound := reader.Varint(), steps(most, fullBits)
	if v > bound || v < -bound {
		reader.Fail(ErrRecord)
		return 0
	}
	return unsteps(v, fullBits)
}

func readVec(reader *wire.Reader, most fixed.Num) (v fixed.Vec3) {
	v.X, v.Y, v.Z = readNum(reader, most), readNum(reader, most), readNum(reader, most)
	return v
}

// OnWire returns a position as an absolute record carries it.
func OnWire(p fixed.Vec3) fixed.Vec3 {
	round := func(n fixed.Num) fixed.Num {
		return unsteps(steps(n.Clamp(-maxCoordinate, maxCoordinate), fullBits), fullBits)
	}
	return fixed.Vec3{X: round(p.X), Y: round(p.Y), Z: round(p.Z)}
}

// Stamp is a moment on the wire, in units of 10 ms of its sender's clock (Cloud Wu). Closer moments count as one.
type Stamp int64

// StampUnit is the unit of a stamp.
const StampUnit = systems.Second / 100

// StampOf returns the stamp nearest to t.
func StampOf(t systems.Time) Stamp {
	t += StampUnit / 2
	if t < 0 {
		t -= StampUnit - 1
	}
	return Stamp(t / StampUnit)
}

// Time returns the moment of a stamp.
func (s Stamp) Time() systems.Time { return systems.Time(s) * StampUnit }

const (
	stampBits = 12 // of a stamp on the wire: 41 s
	ageBits   = 4
	ageUnit   = 16 * StampUnit
	ageMost   = 1<<ageBits - 1
)

// MaxAge bounds the age that a record is extrapolated over.
const MaxAge = 60 * systems.Second

// expand returns the stamp nearest to near with the given low bits.
func expand(near Stamp, low uint16) Stamp {
	const spare = 64 - stampBits
	return near + (Stamp(low)-near)<<spare>>spare
}

// Seconds returns a time in seconds.
func Seconds(t systems.Time) fixed.Num { return fixed.FromRatio(int64(t), int64(systems.Second)) }
