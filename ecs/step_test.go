//go:build moving

package ecs

import (
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"tendon/ecs/fixed"
)

type tGrain struct {
	Pos   fixed.Vec2 `tendon:"step=1/512"`
	Third fixed.Num  `tendon:"step=0.3"`
	Hue   float32    `tendon:"step=0.25"`
	_     uint32
	Fine  float64                       `tendon:"step=1/1024"`
	Path  List[fixed.Num, [2]fixed.Num] `tendon:"step=1/2"`
	Plain fixed.Num
}

type tLevel struct {
	Height fixed.Num `tendon:"step=1"`
}

var (
	cGrain = NewComponent[tGrain]("grain")
	rLevel = NewResource[tLevel]("level")
	cRound = NewComponent[tPos]("round", Roles[tPos]{Quantise: func(p *tPos) { p.X = p.X.Floor() }})
	qGrain = NewQuery1(Write(cGrain))
	qRound = NewQuery1(Write(cRound))
)

func grainGame() *Game {
	g := &Game{Name: "grain", TickRate: 60, MaxPlayers: 2, Input: tInput,
		Components: Components(cGrain, cRound), Resources: Resources(rLevel)}
	g.Setup = func(w *World) {
		e := w.Spawn(OwnedByWorld, cGrain, cRound)
		cGrain.Put(w, e, ungrained())
		cRound.Put(w, e, tPos{X: fixed.MustParse("7.9")})
		rLevel.Write(w).Height = fixed.MustParse("2.6")
	}
	g.Systems = Systems(func(w *World) {
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

// A wire carries how many steps a number is. If the simulation went on with more than that, a client could never hold
// what the server holds.
func TestNumbersAreMultiplesOfTheirStepsWhenATickIsOver(t *testing.T) {
	w := newWorld(t, grainGame())
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
			saved(w)
		}
		w.Step(TickInputs{})
	}
}

func firstEntity(w *World) (e Entity, ok bool) {
	for e := range saved(w).Entities {
		return e, true
	}
	return e, false
}

// Rounding twice must not move anything, at the ends of the range either, or a state would not survive a round trip.
func TestRoundingWhatIsRoundedChangesNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	values := []int64{0, 1, -1, math.MaxInt64, math.MinInt64, math.MaxInt64 - 1, math.MinInt64 + 1, 1 << 62}
	for range 2000 {
		values = append(values, int64(r.Uint64())>>r.IntN(64))
	}
	l, err := layoutOf("component", "grain", reflect.TypeFor[tGrain]())
	if err != nil {
		t.Fatal(err)
	}
	floats := []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64, math.Copysign(0, -1), 1 << 53, 0.49999999999999994}
	for _, step := range []string{"1/512", "0.3", "1/3", "1000", "2147483647"} {
		text, ok := parseStep(step)
		if !ok {
			t.Fatal(step)
		}
		s := l.scalars[0]
		s.step, s.half, s.shift = int64(text), int64(text)/2, uint8(trailing(int64(text)))
		for _, v := range values {
			n := s.count(v)
			if !s.fits(uint64(n)) || s.count(n*s.step) != n {
				t.Fatalf("%d in steps of %s is %d, and then %d", v, step, n, s.count(n*s.step))
			}
			if off := uint64(v) - uint64(n*s.step); min(off, -off) > uint64(s.step) {
				t.Fatalf("%d in steps of %s is %d, which is another number", v, step, n)
			}
		}
	}
	for _, s := range l.scalars {
		for range 500 {
			floats = append(floats, math.Ldexp(r.Float64()*2-1, r.IntN(300)-150))
		}
		for _, v := range floats {
			switch s.form {
			case formSteps64:
				n := s.countFloat(v)
				if again := float64(n) * s.unit; !s.fits(uint64(n)) || s.countFloat(again) != n {
					t.Fatalf("%v is %d steps, and then %d", v, n, s.countFloat(again))
				}
			case formSteps32:
				n := s.countFloat(float64(float32(v)))
				if again := float32(float64(n) * s.unit); !s.fits(uint64(n)) || s.countFloat(float64(again)) != n {
					t.Fatalf("%v is %d steps, and then %d", float32(v), n, s.countFloat(float64(again)))
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

// A step that could not be kept is refused where it is declared, with what to write instead.
func TestStepsThatCannotBeKeptAreRefused(t *testing.T) {
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
		_, err := layoutOf("component", "thing", c.typ)
		if e, ok := err.(*RegistrationError); !ok || e.Field != c.field || !strings.Contains(e.Problem, c.want) {
			t.Errorf("%v: %v, want field %q and %q", c.typ, err, c.field, c.want)
		}
	}
	if _, err := layoutOf("input", "pad", reflect.TypeFor[tLevel]()); err == nil {
		t.Error("an input may have a step, which nobody keeps")
	}
}

// Two builds that round differently are two games.
func TestStepsArePartOfTheFingerprint(t *testing.T) {
	type other struct {
		Height fixed.Num `tendon:"step=2"`
	}
	type none struct{ Height fixed.Num }
	seen := map[uint64]bool{}
	for _, typ := range []reflect.Type{reflect.TypeFor[tLevel](), reflect.TypeFor[other](), reflect.TypeFor[none]()} {
		l, err := layoutOf("component", "level", typ)
		if err != nil || seen[l.fingerprint] {
			t.Errorf("%v: %v, fingerprint %x", typ, err, l.fingerprint)
		}
		seen[l.fingerprint] = true
	}
}
