package image_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"unsafe"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/ecs/internal/sample"
)

// A refused type's error must name the type, the field and an alternative.
func TestRegistrationErrorsNameTheFieldAndAnAlternative(t *testing.T) {
	cases := []struct {
		typ         reflect.Type
		field, want string
	}{
		{reflect.TypeFor[struct{ N int }](), "N", "use int32"},
		{reflect.TypeFor[struct{ N uint }](), "N", "use int32"},
		{reflect.TypeFor[struct{ N uintptr }](), "N", "use int32"},
		{reflect.TypeFor[struct{ S []byte }](), "S", "ecs.List"},
		{reflect.TypeFor[struct{ S string }](), "S", "Game.Assets"},
		{reflect.TypeFor[struct{ M map[int32]int32 }](), "M", "ecs.Derived"},
		{reflect.TypeFor[struct{ P *int32 }](), "P", "ecs.Entity"},
		{reflect.TypeFor[struct{ P unsafe.Pointer }](), "P", "ecs.Entity"},
		{reflect.TypeFor[struct{ F func() }](), "F", "selects it"},
		{reflect.TypeFor[struct{ C chan int32 }](), "C", "selects it"},
		{reflect.TypeFor[struct{ I any }](), "I", "selects it"},
		{reflect.TypeFor[struct{ C complex64 }](), "C", "plain data"},
		{reflect.TypeFor[struct {
			A struct{ B [2]struct{ C []int32 } }
		}](), "A.B[0].C", "ecs.List"},
		{reflect.TypeFor[struct{ Z [0]func() }](), "Z[0]", "selects it"},
		{reflect.TypeFor[struct{ _ *int32 }](), "_", "ecs.Entity"},
		{reflect.TypeFor[struct{ L ecs.List[int32, int32] }](), "L", "ecs.List[int32, [8]int32]"},
		{reflect.TypeFor[struct{ L ecs.List[int32, [4]int64] }](), "L", "ecs.List[int32, [8]int32]"},
		{reflect.TypeFor[struct{ L ecs.List[int32, [0]int32] }](), "L", "ecs.List[int32, [8]int32]"},
		{reflect.TypeFor[struct {
			L ecs.List[struct{}, [4]struct{}]
		}](), "L", "array type"},
		{reflect.TypeFor[struct{ L ecs.List[string, [4]string] }](), "L[0]", "Game.Assets"},
		{reflect.TypeFor[[image.MaxRowBytes + 1]byte](), "", "split it"},
		{reflect.TypeFor[[1 << 30]byte](), "", "split it"}, // and must not walk a gigabyte
	}
	for _, c := range cases {
		for _, what := range []string{"component", "resource", "event"} {
			_, err := image.LayoutOf(what, "thing", c.typ)
			if !refuses(err, what, c.typ, c.field, c.want) {
				t.Errorf("%v: %v, want field %q and %q", c.typ, err, c.field, c.want)
			}
		}
	}
}

// refuses reports whether err names the declaration, its type and the field, and has want in the sentence after them.
func refuses(err error, kind string, typ reflect.Type, field, want string) bool {
	at := typ.String()
	if field != "" {
		at += "." + field
	}
	problem, ok := strings.CutPrefix(fmt.Sprint(err), fmt.Sprintf("ecs: %s %q: %s: ", kind, "thing", at))
	return ok && strings.Contains(problem, want)
}

// Every accepted kind, and the limits of Go's type system.
func TestPlainTypesAreAccepted(t *testing.T) {
	type all struct {
		A bool
		B int8
		C int16
		D int32
		E int64
		F uint8
		G uint16
		H uint32
		I uint64
		J float32
		_ uint32
		K float64
		L [2][3]int8
		M ecs.Entity
		N ecs.List[ecs.Entity, [3]ecs.Entity]
		O struct{}
		P [0]int64
		_ [3]byte
		Q [1 << 30]struct{}
		_ [4]byte
	}
	for _, typ := range []reflect.Type{reflect.TypeFor[all](), reflect.TypeFor[struct{}](), reflect.TypeFor[[image.MaxRowBytes]byte](), reflect.TypeFor[int32](), reflect.TypeFor[struct{ sample.Items }]()} {
		if _, err := image.LayoutOf("component", "all", typ); err != nil {
			t.Error(err)
		}
	}
}

// Leaves, padding and blank fields must cover every byte once: scrub, checkRow and reports depend on it.
func TestLeavesAndPaddingCoverEveryByteOnce(t *testing.T) {
	for _, typ := range []reflect.Type{reflect.TypeFor[sample.Mixed](), reflect.TypeFor[sample.Bag](), reflect.TypeFor[sample.Pad](), reflect.TypeFor[image.Core](),
		reflect.TypeFor[ecs.Entity](), reflect.TypeFor[struct {
			A uint8
			B [3]struct {
				C uint16
				D uint8
			}
			E uint64
			F bool
			_ uint32
		}]()} {
		l, err := image.LayoutOf("input", "c", typ)
		if err != nil {
			t.Fatal(err)
		}
		covered := make([]int, l.Size())
		for _, f := range l.Fields() {
			if f.Path() == "" || strings.HasPrefix(f.Path(), ".") {
				t.Errorf("%v: path %q", typ, f.Path())
			}
			for i := f.Offset(); i < f.Offset()+f.Size(); i++ {
				covered[i]++
			}
		}
		for _, p := range l.Padding() {
			for i := p.From(); i < p.To(); i++ {
				covered[i]++
			}
		}
		for i, n := range covered {
			if n != 1 {
				t.Errorf("%v: byte %d is covered %d times", typ, i, n)
			}
		}
	}
}

// Paths are part of reports: an author finds the field by them.
func TestPathsReadLikeGo(t *testing.T) {
	l, err := image.LayoutOf("component", "c", reflect.TypeFor[struct {
		In   struct{ Cells [2][2]int8 }
		List ecs.List[sample.Item, [2]sample.Item]
	}]())
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, f := range l.Fields() {
		paths = append(paths, f.Path())
	}
	const want = "In.Cells[0][0] In.Cells[0][1] In.Cells[1][0] In.Cells[1][1] List.Len List[0].Kind List[0].Count List[1].Kind List[1].Count"
	if got := strings.Join(paths, " "); got != want {
		t.Error(got)
	}
}

// This package's rules for alignment must be the compiler's, on each target that runs the test.
func TestTargetRulesAgreeWithTheCompiler(t *testing.T) {
	type inner struct {
		A uint8
		B uint64
	}
	for _, typ := range []reflect.Type{reflect.TypeFor[sample.Mixed](), reflect.TypeFor[sample.Bag](), reflect.TypeFor[sample.Pad](), reflect.TypeFor[ecs.Entity](),
		reflect.TypeFor[inner](), reflect.TypeFor[[3]inner](),
		reflect.TypeFor[struct {
			A uint16
			B inner
			C uint8
		}](),
		reflect.TypeFor[struct {
			A uint32
			_ uint64
			B uint8
		}](),
		reflect.TypeFor[struct {
			A uint64
			B struct{}
		}](),
		reflect.TypeFor[struct {
			A uint32
			B [0]uint64
		}](),
		reflect.TypeFor[struct{ A struct{} }](),
	} {
		if align := image.AlignOf(typ, image.NativeAlign); int(align) != typ.Align() {
			t.Errorf("%v: align %d, the compiler has %d", typ, align, typ.Align())
		}
	}
}

// The tests of a game must report, on a 64-bit machine, each type that a 32-bit target would refuse.
func TestPortableNamesFieldsThatMoveOn32Bits(t *testing.T) {
	type deep struct {
		X uint32
		Y uint64
	}
	cases := []struct {
		typ         reflect.Type
		field, want string
	}{
		{reflect.TypeFor[struct {
			A uint32
			B uint64
		}](), "B", "at byte 8 on 64-bit targets and at 4"},
		{reflect.TypeFor[struct {
			A uint64
			B uint32
		}](), "", "is 16 bytes on 64-bit targets and 12"},
		{reflect.TypeFor[struct { // a field without bytes at the end takes padding
			A uint64
			B struct{}
		}](), "", "is 16 bytes on 64-bit targets and 12"},
		{reflect.TypeFor[struct{ A [2]deep }](), "A[0].Y", "before it"},
		{reflect.TypeFor[struct {
			A uint32
			D deep
		}](), "D", "before it"},
		{reflect.TypeFor[struct {
			A uint32
			_ float64
		}](), "_", "before it"},
		{reflect.TypeFor[struct {
			D struct {
				A uint64
				B bool
			}
		}](), "D", "at its end"},
	}
	for _, c := range cases {
		if field, problem := image.MisplacedIn(c.typ, "", 0); field != c.field || !strings.Contains(problem, c.want) {
			t.Errorf("%v: %s %s, want %q in %q", c.typ, field, problem, c.want, c.field)
		}
		if _, err := image.LayoutOf("component", "c", c.typ); (err != nil) != (image.NativeAlign != 8) {
			t.Errorf("%v on a target that aligns to %d: %v", c.typ, image.NativeAlign, err)
		}
	}
	for _, typ := range []reflect.Type{reflect.TypeFor[sample.Mixed](), reflect.TypeFor[sample.Bag](), reflect.TypeFor[ecs.Entity](), reflect.TypeFor[image.Core]()} {
		if field, problem := image.MisplacedIn(typ, "", 0); problem != "" {
			t.Errorf("%v: %s %s", typ, field, problem)
		}
	}
	if image.NativeAlign != 8 {
		return // the types below have no layout here
	}
	if err := sample.Busy().Schema().Portable(); err != nil {
		t.Error(err)
	}
	type crooked struct {
		A uint32
		B uint64
	}
	g := sample.Busy()
	g.Components = append(g.Components, ecs.NewComponent[crooked]("c1"))
	g.Resources = append(g.Resources, ecs.NewResource[crooked]("r1"))
	g.Events = append(g.Events, ecs.NewEvent[crooked]("e1"))
	g.Input = ecs.NewInput[crooked]()
	err := g.Schema().Portable()
	for _, want := range []string{`component "c1"`, `resource "r1"`, `event "e1"`, `input "crooked"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
}

// Programs do not see the bytes of padding, so checksums must not depend on them.
func TestPaddingNeverReachesTheImage(t *testing.T) {
	dirty := func(seed uint64) sample.Mixed {
		var v sample.Mixed
		raw := unsafe.Slice((*byte)(unsafe.Pointer(&v)), unsafe.Sizeof(v))
		r := rand.New(rand.NewPCG(seed, seed))
		for i := range raw {
			raw[i] = byte(r.Uint32())
		}
		clean := sample.Mixed{Alive: true, Lives: 3}
		for _, f := range sample.Declared(sample.Mixtures).Layout().Fields() {
			copy(raw[f.Offset():f.Offset()+f.Size()], unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(&clean), f.Offset())), f.Size()))
		}
		return v
	}
	var sums [2]image.Checksum
	var images [2][]byte
	for k := range sums {
		w := sample.NewWorld(t, sample.Bare())
		sample.InSystem(w, func() {
			e := w.Spawn(ecs.OwnedByWorld, sample.Mixtures)
			raw := dirty(uint64(k))
			// Field by field assignment would keep the garbage out; bytes do not.
			copy(unsafe.Slice((*byte)(unsafe.Pointer(sample.Mixtures.Write(w, e))), unsafe.Sizeof(raw)), unsafe.Slice((*byte)(unsafe.Pointer(&raw)), unsafe.Sizeof(raw)))
		})
		s := sample.Saved(w)
		sums[k], images[k] = s.Checksum(), s.AppendImage(nil)
	}
	if a, b := dirty(0), dirty(1); len(sample.Declared(sample.Mixtures).Layout().Padding()) == 0 ||
		string(unsafe.Slice((*byte)(unsafe.Pointer(&a)), unsafe.Sizeof(a))) == string(unsafe.Slice((*byte)(unsafe.Pointer(&b)), unsafe.Sizeof(b))) {
		t.Fatal("the two values have the same padding: the test shows nothing")
	}
	if sums[0] != sums[1] || string(images[0]) != string(images[1]) {
		t.Error("padding is part of the state")
	}
}

// Two layouts of the same size that differ in any of these must have different fingerprints.
func TestLayoutFingerprintDistinguishesFields(t *testing.T) {
	seen := map[uint64]reflect.Type{}
	for _, typ := range []reflect.Type{
		reflect.TypeFor[struct{ A, B uint32 }](), reflect.TypeFor[struct{ B, A uint32 }](), reflect.TypeFor[struct{ A, B int32 }](),
		reflect.TypeFor[struct{ A uint64 }](), reflect.TypeFor[struct{ A [2]uint32 }](), reflect.TypeFor[struct{ A, B float32 }](),
		reflect.TypeFor[struct {
			A uint32
			_ uint32
		}](), reflect.TypeFor[struct{ A bool }](), reflect.TypeFor[struct {
			A bool `tendon:"press"`
		}](),
	} {
		l, err := image.LayoutOf("input", "c", typ)
		if err != nil {
			t.Fatal(err)
		}
		if other, ok := seen[l.Fingerprint()]; ok {
			t.Errorf("%v and %v have one fingerprint", typ, other)
		}
		seen[l.Fingerprint()] = typ
	}
}
