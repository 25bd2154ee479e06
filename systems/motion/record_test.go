package motion

import (
	"bytes"
	"encoding/hex"
	"math/rand/v2"
	"testing"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/net/wire"
	"tendon/systems"
)

const (
	ms  = systems.Second / 1000
	sec = systems.Second
)

var num = fixed.MustParse

func vec(x, y, z string) fixed.Vec3 { return fixed.Vec3{X: num(x), Y: num(y), Z: num(z)} }

// coded returns a record on the wire, and the record that a reader decodes with the time near.
func coded(t testing.TB, r Record, near Stamp) (b []byte, back Record) {
	t.Helper()
	w := wire.NewWriter(nil, MaxRecord)
	r.Append(&w)
	if w.Err() != nil {
		t.Fatalf("%+v: %v", r, w.Err())
	}
	reader := wire.NewReader(w.Bytes())
	back.Read(&reader, near)
	if err := reader.Close(); err != nil {
		t.Fatalf("%+v: %x: %v", r, w.Bytes(), err)
	}
	return w.Bytes(), back
}

// CW-ENC and DR-05: 3.7, −3.7, 0.06, 15.9 and −16 in 5.3 are 3.75, −3.75, 0, 15.875 and −16. An offset of 14.1 does
// not fit, and the record is sent as absolute.
func TestCWENCDR05FiveThreeFixedPoint(t *testing.T) {
	for n, want := range map[string]string{"3.7": "3.75", "-3.7": "-3.75", "0.06": "0", "15.9": "15.875", "-16": "-16", "-40": "-16"} {
		if got := decode53(encode53(num(n))); got != num(want) {
			t.Errorf("%s is %v, want %s", n, got, want)
		}
	}
	anchor := Anchor{Number: 3, Entity: ecs.Entity{Row: 9, Born: 70}, Pos: vec("100", "-50", "2")}
	for _, v := range []struct {
		dx, dy string
		fits   bool
	}{{"14", "-14", true}, {"14.1", "0", false}, {"0", "-14.1", false}} {
		r := Record{Entity: anchor.Entity, Stamp: 1000, Pos: anchor.Pos.Add(vec(v.dx, v.dy, "0"))}
		if _, fits := r.Against(anchor); fits != v.fits {
			t.Errorf("an offset of %s, %s fits: %v", v.dx, v.dy, fits)
		}
	}
	// A reader refuses an offset that no writer encodes: 14.125 in eighths is 113.
	reader := wire.NewReader([]byte{9, 0, 0, 0x30, 113, 0, 0, 0})
	var r Record
	if r.Read(&reader, 0); reader.Err() != ErrRecord {
		t.Errorf("an offset of 14.125 was read: %+v, %v", r, reader.Err())
	}
}

// A whole movement record is shorter than 10 bytes in the first 128 rows of a region. Stops, turns and casts carry
// the position.
func TestAMovementRecordIsShorterThanTenBytes(t *testing.T) {
	anchor := Anchor{Number: 15, Entity: ecs.Entity{Row: 64<<20 | 127, Born: 1 << 30}, Pos: vec("1000", "2000", "3")}
	for _, v := range []struct {
		flags  Flags
		vel    fixed.Vec3
		action uint8
		length int
	}{
		{FlagTurn, vec("3.5", "-4.125", "0"), 0, 9}, {FlagStop, fixed.Vec3{}, 0, 7}, {FlagStop | FlagCast, fixed.Vec3{}, 7, 8}, {FlagTurn | FlagCast, vec("1", "0", "0"), 255, 10},
	} {
		r := Record{Entity: anchor.Entity, Stamp: 123456, Age: 320 * ms, Flags: v.flags, Action: v.action, Pos: vec("1003.75", "1990.25", "3"), Vel: v.vel}
		relative, ok := r.Against(anchor)
		if !ok {
			t.Fatal("does not fit")
		}
		b, back := coded(t, relative, 123456+2000)
		if len(b) != v.length {
			t.Errorf("flags %b: %d bytes", v.flags, len(b))
		}
		if back = back.On(anchor); back != r {
			t.Errorf("flags %b: came back as\n%+v, was\n%+v", v.flags, back, r)
		}
	}
}

// A record of any mode decodes as it was, up to the steps of the wire, also at the bounds.
func TestARecordComesBackInEveryMode(t *testing.T) {
	e, parent := ecs.Entity{Row: 1<<27 - 1, Born: 1<<63 + 5}, ecs.Entity{Row: 65 << 20, Born: 1 << 63}
	far := fixed.Vec3{X: maxCoordinate, Y: -maxCoordinate, Z: fixed.One / 256}
	fast := fixed.Vec3{X: -MaxVelocity, Y: MaxVelocity, Z: -fixed.One / 256}
	for _, r := range []Record{
		{Entity: e, Stamp: -5, Sets: 15, Pos: far, Vel: fast, Age: 2400 * ms},
		{Entity: e, Stamp: 40, Mode: Ballistic, Flags: FlagTeleport | FlagCast, Action: 200, Pos: far, Vel: fast},
		{Entity: e, Stamp: -2000, Mode: Attached, Parent: parent, Pos: far, Vel: fast, Flags: FlagCast, Action: 1, Age: 2400 * ms},
		{Entity: e, Stamp: 2000, Mode: Scripted, Path: 1<<32 - 1, Along: maxCoordinate, Speed: -MaxVelocity},
		{Entity: e, Flags: FlagStop, Pos: far},
	} {
		if b, back := coded(t, r, 0); back != r || len(b) > MaxRecord {
			t.Errorf("%x came back as\n%+v, was\n%+v", b, back, r)
		}
	}
	// Values beyond the bounds are clamped, and so is an age.
	r := Record{Entity: e, Pos: fixed.Vec3{X: fixed.Max, Y: fixed.Min}, Vel: fixed.Vec3{X: fixed.Min}, Age: 60 * sec}
	if _, back := coded(t, r, 0); back.Pos.X != maxCoordinate || back.Pos.Y != -maxCoordinate || back.Vel.X != -MaxVelocity || back.Age != 2400*ms {
		t.Errorf("%+v", back)
	}
}

// A record that does not fit 5.3, or would lose more than the plane, stays absolute.
func TestOnlyFittingRecordsAreRelative(t *testing.T) {
	anchor := Anchor{Number: 1, Entity: ecs.Entity{Row: 1, Born: 1}, Pos: vec("0", "0", "10")}
	good := Record{Entity: anchor.Entity, Pos: vec("1", "1", "10.05")}
	if _, ok := good.Against(anchor); !ok {
		t.Fatal("does not fit")
	}
	for name, spoil := range map[string]func(r *Record, a *Anchor){
		"no anchor":        func(_ *Record, a *Anchor) { a.Number = 0 },
		"anchor 16":        func(_ *Record, a *Anchor) { a.Number = 16 },
		"another entity":   func(r *Record, _ *Anchor) { r.Entity.Born++ },
		"a height":         func(r *Record, _ *Anchor) { r.Pos.Z += fixed.One / 8 },
		"a climb":          func(r *Record, _ *Anchor) { r.Vel.Z = fixed.One },
		"too fast":         func(r *Record, _ *Anchor) { r.Vel.Y = -16 * fixed.One },
		"falling":          func(r *Record, _ *Anchor) { r.Mode = Ballistic },
		"a new anchor":     func(r *Record, _ *Anchor) { r.Sets = 2 },
		"relative already": func(r *Record, _ *Anchor) { r.Anchor = 1 },
	} {
		r, a := good, anchor
		if spoil(&r, &a); true {
			if _, ok := r.Against(a); ok {
				t.Errorf("%s: made relative", name)
			}
		}
	}
}

// The low bits of a stamp suffice while the reader knows the time to 20 s.
func TestStampsExpandToTheNearest(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for range 10_000 {
		near := Stamp(r.Int64N(1<<40)) - 1<<39
		s := near + Stamp(r.Int64N(1<<stampBits)) - 1<<(stampBits-1)
		if got := expand(near, uint16(uint64(s)&(1<<stampBits-1))); got != s {
			t.Fatalf("%d near %d became %d", s, near, got)
		}
	}
	for at, want := range map[systems.Time]Stamp{0: 0, 4: 0, 5: 1, 14: 1, 15: 2, -5: 0, -6: -1, -15: -1, -16: -2} {
		if got := StampOf(at * ms); got != want {
			t.Errorf("%d ms is stamp %d, want %d", at, got, want)
		}
	}
}

// Records of each form are these bytes.
func TestTheRecordsAreTheseBytes(t *testing.T) {
	for _, v := range []struct {
		r     Record
		bytes string
	}{
		{Record{Entity: ecs.Entity{Row: 5}, Stamp: 0x123, Age: 160 * ms, Anchor: 2, Flags: FlagTurn, Pos: vec("3.75", "-3.75", "0"), Vel: vec("1", "-1", "0")}, "80052311221ee208f8"},
		{Record{Entity: ecs.Entity{Row: 300}, Stamp: 0x123, Anchor: 15, Flags: FlagStop | FlagCast, Action: 7, Pos: vec("14", "-14", "0")}, "80ac022301f5709007"},
		{Record{Entity: ecs.Entity{Row: 5, Born: 9}, Stamp: 1, Sets: 3, Pos: vec("1", "-1", "0.5"), Vel: vec("0", "2", "0")}, "8005010000090c8004ff0380020080080" + "0"},
		{Record{Entity: ecs.Entity{Row: 5, Born: 9}, Stamp: 1, Mode: Attached, Parent: ecs.Entity{Row: 6, Born: 2}, Flags: FlagStop, Pos: vec("0", "1", "0")}, "80050100010902800602008004" + "00"},
		{Record{Entity: ecs.Entity{Row: 5, Born: 9}, Stamp: 1, Mode: Scripted, Path: 4, Along: num("2"), Speed: num("-1")}, "8005010000090304" + "8008" + "ff03"},
		{Record{Entity: ecs.Entity{Row: 5, Born: 9}, Stamp: 1, Mode: Ballistic, Flags: FlagTeleport, Pos: vec("0", "0", "1"), Vel: vec("0", "0", "-1")}, "80050100080901" + "00008004" + "0000ff03"},
	} {
		b, back := coded(t, v.r, 0)
		if hex.EncodeToString(b) != v.bytes || back != v.r {
			t.Errorf("%+v\nis %x, want %s, and came back as\n%+v", v.r, b, v.bytes, back)
		}
	}
}

// Malformed records are refused: numbers out of bounds, invalid anchors and rows, missing and trailing bytes.
func TestMalformedRecordsAreRefused(t *testing.T) {
	over := func(steps int64) string { // a standing record at x
		w := wire.NewWriter(nil, MaxRecord)
		w.Varint(steps)
		return "0501000109" + "00" + hex.EncodeToString(w.Bytes()) + "0000"
	}
	bound := steps(maxCoordinate, fullBits)
	for bytes, good := range map[string]bool{
		over(bound): true, over(-bound): true, over(bound + 1): false, over(-bound - 1): false, over(1<<63 - 1): false, over(-1 << 63): false,
		"050100010940000000": false, "808080801001000109000000" + "00": false, "05010001090000000": false, "05010001090000000000": false, "05010001": false, "": false,
		"8005010000090304000": false, "05010000090380808080100000": false,
	} {
		b, _ := hex.DecodeString(bytes)
		var r Record
		reader := wire.NewReader(b)
		if r.Read(&reader, 0); (reader.Close() == nil) != good {
			t.Errorf("%s: %+v, %v", bytes, r, reader.Err())
		}
	}
}

// A record that decodes is encoded to the same bytes, and extrapolates without overflow. Any other is an error.
func FuzzRecord(f *testing.F) {
	for _, s := range []string{"80052311221ee208f8", "80ac022301f5709007", "8005010000090c8004ff03800200800800", "80050100010902800602008004" + "00", "80050100000903048008ff03", "8005010008090100008004" + "0000ff03"} {
		b, _ := hex.DecodeString(s)
		f.Add(b)
	}
	rules := Rules{Gravity: num("9.8"), Floor: func(_, _ fixed.Num) fixed.Num { return 0 }, Parent: func(ecs.Entity) (ecs.Motion, bool) { return ecs.Motion{}, true }}
	config := RemoteConfig{Rules: rules}
	if err := config.Validate(); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var r Record
		reader := wire.NewReader(b)
		if r.Read(&reader, 1000); reader.Close() != nil {
			return
		}
		w := wire.NewWriter(nil, MaxRecord)
		if r.Append(&w); w.Err() != nil || !bytes.Equal(w.Bytes(), b) {
			t.Fatalf("%x became %x", b, w.Bytes())
		}
		for _, n := range [...]fixed.Num{r.Pos.X, r.Pos.Y, r.Pos.Z} {
			if n.Abs() > maxCoordinate {
				t.Fatalf("%+v", r)
			}
		}
		var g Remote
		g.Receive(&config, Record{Stamp: r.Stamp - 1}, 0, 0)
		g.Receive(&config, r, sec, sec)
		m, _ := g.Shown(&config, 1000*sec)
		// 60 s at the highest speed, a fall of 60 s and a correction stay far inside a Num.
		if m.Pos.X.Abs() > fixed.One<<30 || m.Pos.Z.Abs() > fixed.One<<30 {
			t.Fatalf("%+v leads to %v", r, m)
		}
	})
}
