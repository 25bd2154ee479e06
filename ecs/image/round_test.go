package image_test

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/ecs/internal/sample"
)

type tGrain struct {
	Pos   fixed.Vec2 `tendon:"step=1/512"`
	Third fixed.Num  `tendon:"step=0.3"`
	Hue   float32    `tendon:"step=0.25"`
	_     uint32
	Fine  float64                           `tendon:"step=1/1024"`
	Path  ecs.List[fixed.Num, [2]fixed.Num] `tendon:"step=1/2"`
	Plain fixed.Num
}

type tLevel struct {
	Height fixed.Num `tendon:"step=1"`
}

var (
	cGrain = ecs.NewComponent[tGrain]("grain")
	rLevel = ecs.NewResource[tLevel]("level")
	cRound = ecs.NewComponent[sample.Pos]("round", ecs.Roles[sample.Pos]{Quantise: func(p *sample.Pos) { p.X = p.X.Floor() }})
	qGrain = ecs.NewQuery1(ecs.Write(cGrain))
	qRound = ecs.NewQuery1(ecs.Write(cRound))
)

func grainGame() *ecs.Game {
	g := &ecs.Game{Name: "grain", TickRate: 60, MaxPlayers: 2, Input: sample.Pads,
		Components: ecs.Components(cGrain, cRound), Resources: ecs.Resources(rLevel)}
	g.Setup = func(w *ecs.World) {
		e := w.Spawn(ecs.OwnedByWorld, cGrain, cRound)
		cGrain.Put(w, e, ungrained())
		cRound.Put(w, e, sample.Pos{X: fixed.MustParse("7.9")})
		rLevel.Write(w).Height = fixed.MustParse("2.6")
	}
	g.Systems = ecs.Systems(func(w *ecs.World) {
		for e := range qGrain.All(w) {
			*e.A = ungrained()
		}
		for e := range qRound.All(w) {
			e.A.X += fixed.MustParse("0.9")
		}
		rLevel.Write(w).Height += fixed.MustParse("0.6")
	})
	return g
}

func ungrained() (g tGrain) {
	g = tGrain{Pos: fixed.Vec2{X: 1<<23 + 1, Y: -(1<<23 + 1)}, Third: fixed.MustParse("1"), Hue: 0.4, Fine: -0.3, Plain: 1<<23 + 1}
	g.Path.Append(fixed.MustParse("1.3"))
	return g
}

func grained() (g tGrain) {
	third := fixed.MustParse("0.3")
	g = tGrain{Pos: fixed.Vec2{X: 1 << 23, Y: -(1 << 23)}, Third: 3 * third, Hue: 0.5, Fine: -307.0 / 1024, Plain: 1<<23 + 1}
	g.Path.Append(fixed.MustParse("1.5"))
	return g
}

// A wire carries the number of steps. If the simulation used more precision, a client could never have the server's
// state.
func TestNumbersAreMultiplesOfTheirStepsWhenATickIsOver(t *testing.T) {
	w := sample.NewWorld(t, grainGame())
	e, _ := firstEntity(w)
	for tick := range 3 {
		if got, _ := cGrain.Read(w, e); got != grained() {
			t.Errorf("in tick %d %+v, want %+v", tick, got, grained())
		}
		if got := rLevel.Read(w).Height; got != got.Round() {
			t.Errorf("in tick %d the resource is %v, no whole number", tick, got)
		}
		if got, _ := cRound.Read(w, e); got.X != fixed.FromInt(7) {
			t.Errorf("in tick %d Quantise leaves %v", tick, got.X)
		}
		if tick == 1 { // after a save, too, a page that is written is rounded
			sample.Saved(w)
		}
		w.Step(ecs.TickInputs{})
	}
}

func firstEntity(w *ecs.World) (e ecs.Entity, ok bool) {
	for e := range sample.Saved(w).Entities {
		return e, true
	}
	return e, false
}

// Rounding twice must equal rounding once, also at the ends of the range.
func TestRoundingTwiceChangesNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	values := []int64{0, 1, -1, math.MaxInt64, math.MinInt64, math.MaxInt64 - 1, math.MinInt64 + 1, 1 << 62}
	for range 2000 {
		values = append(values, int64(r.Uint64())>>r.IntN(64))
	}
	l, err := image.LayoutOf("component", "grain", reflect.TypeFor[tGrain]())
	if err != nil {
		t.Fatal(err)
	}
	floats := []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64, math.Copysign(0, -1), 1 << 53, 0.49999999999999994}
	for _, step := range []string{"1/512", "0.3", "1/3", "1000", "2147483647"} {
		text, ok := image.ParseStep(step)
		if !ok {
			t.Fatal(step)
		}
		s := l.Scalars()[0]
		s.SetStep(int64(text), uint8(trailing(int64(text))))
		for _, v := range values {
			n := s.Count(v)
			if !s.Fits(uint64(n)) || s.Count(n*s.Step()) != n {
				t.Fatalf("%d in steps of %s is %d, and then %d", v, step, n, s.Count(n*s.Step()))
			}
			if off := uint64(v) - uint64(n*s.Step()); min(off, -off) > uint64(s.Step()) {
				t.Fatalf("%d in steps of %s is %d, which is another number", v, step, n)
			}
		}
	}
	for _, s := range l.Scalars() {
		for range 500 {
			floats = append(floats, math.Ldexp(r.Float64()*2-1, r.IntN(300)-150))
		}
		for _, v := range floats {
			switch s.Form() {
			case image.FormSteps64:
				n := s.CountFloat(v)
				if again := float64(n) * s.Unit(); !s.Fits(uint64(n)) || s.CountFloat(again) != n {
					t.Fatalf("%v is %d steps, and then %d", v, n, s.CountFloat(again))
				}
			case image.FormSteps32:
				n := s.CountFloat(float64(float32(v)))
				if again := float32(float64(n) * s.Unit()); !s.Fits(uint64(n)) || s.CountFloat(float64(again)) != n {
					t.Fatalf("%v is %d steps, and then %d", float32(v), n, s.CountFloat(float64(again)))
				}
			}
		}
	}
}

func trailing(v int64) (n int) {
	for ; v&1 == 0; v >>= 1 {
		n++
	}
	return n
}

// A step that cannot be applied is refused at its declaration, with an alternative.
func TestStepsThatCannotBeAppliedAreRefused(t *testing.T) {
	cases := []struct {
		typ         reflect.Type
		field, want string
	}{
		{reflect.TypeFor[struct {
			N int32 `tendon:"step=2"`
		}](), "N", "only fixed.Num"},
		{reflect.TypeFor[struct {
			N fixed.Num `tendon:"step=0"`
		}](), "N", "positive"},
		{reflect.TypeFor[struct {
			N fixed.Num `tendon:"step=1/0"`
		}](), "N", "positive"},
		{reflect.TypeFor[struct {
			N fixed.Num `tendon:"step=-1"`
		}](), "N", "positive"},
		{reflect.TypeFor[struct {
			N fixed.Num `tendon:"step=1/99999999999999"`
		}](), "N", "positive"},
		{reflect.TypeFor[struct {
			N fixed.Num `tendon:"step=fine"`
		}](), "N", "positive"},
		{reflect.TypeFor[struct {
			F float32 `tendon:"step=0.1"`
		}](), "F", "power of two"},
		{reflect.TypeFor[struct {
			A [2]struct{ N int8 } `tendon:"step=1"`
		}](), "A[0].N", "only fixed.Num"},
	}
	for _, c := range cases {
		_, err := image.LayoutOf("component", "thing", c.typ)
		if !refuses(err, "component", c.typ, c.field, c.want) {
			t.Errorf("%v: %v, want field %q and %q", c.typ, err, c.field, c.want)
		}
	}
	if _, err := image.LayoutOf("input", "pad", reflect.TypeFor[tLevel]()); err == nil {
		t.Error("an input may have a step, which is not applied")
	}
}

// A rotation is three integers after the index of the fourth part.
func TestRotationsThatHaveNoMeaningAreRefused(t *testing.T) {
	type good struct {
		Left uint8
		_    uint8
		Turn [3]int16 `tendon:"rotation=256"`
	}
	l, err := image.LayoutOf("component", "thing", reflect.TypeFor[good]())
	if err != nil {
		t.Fatal(err)
	}
	type other struct {
		Left uint8
		_    uint8
		Turn [3]int16 `tendon:"rotation=128"`
	}
	if o, err := image.LayoutOf("component", "thing", reflect.TypeFor[other]()); err != nil || o.Fingerprint() == l.Fingerprint() {
		t.Errorf("another rotation: %v, fingerprint %x", err, o.Fingerprint())
	}
	for _, c := range []struct {
		typ         reflect.Type
		field, want string
	}{
		{reflect.TypeFor[struct {
			Turn [3]int16 `tendon:"rotation=256"`
		}](), "Turn", "uint8 before it"},
		{reflect.TypeFor[struct {
			Left uint8
			Turn [4]int16 `tendon:"rotation=256"`
		}](), "Turn", "[3]int16"},
		{reflect.TypeFor[struct {
			Left uint8
			Turn int16 `tendon:"rotation=256"`
		}](), "Turn", "[3]int16"},
		{reflect.TypeFor[struct {
			Left uint8
			Turn [3]int16 `tendon:"rotation=0"`
		}](), "Turn", "from 1 to"},
		{reflect.TypeFor[struct {
			Left uint8
			Turn [3]int32 `tendon:"rotation=1000000"`
		}](), "Turn", "from 1 to"},
	} {
		_, err := image.LayoutOf("component", "thing", c.typ)
		if !refuses(err, "component", c.typ, c.field, c.want) {
			t.Errorf("%v: %v, want field %q and %q", c.typ, err, c.field, c.want)
		}
	}
}

// Two builds that round differently are different games.
func TestStepsArePartOfTheFingerprint(t *testing.T) {
	type wide struct {
		Height fixed.Num `tendon:"step=2"`
	}
	type none struct{ Height fixed.Num }
	seen := map[uint64]bool{}
	for _, typ := range []reflect.Type{reflect.TypeFor[tLevel](), reflect.TypeFor[wide](), reflect.TypeFor[none]()} {
		l, err := image.LayoutOf("component", "level", typ)
		if err != nil || seen[l.Fingerprint()] {
			t.Errorf("%v: %v, fingerprint %x", typ, err, l.Fingerprint())
		}
		seen[l.Fingerprint()] = true
	}
}
