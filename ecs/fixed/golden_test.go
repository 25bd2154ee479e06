package fixed_test

import (
	_ "embed"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"os"
	"strings"
	"testing"

	"tendon/ecs/fixed"
)

//go:embed testdata/golden.txt
var golden string

const (
	goldenSpelled = 5      // lines per operation with arguments and results written out
	goldenHashed  = 65_536 // seeded calls per operation in its hash
)

// goldenOps are the operations by name. Each draws its arguments and returns them
// with its results.
var goldenOps = []struct {
	name string
	call func(g *args) (in, out []fixed.Num)
}{
	{"mul", binary2(fixed.Num.Mul)},
	{"div", binary2(fixed.Num.Div)},
	{"mod", binary2(fixed.Num.Mod)},
	{"neg", unary(fixed.Num.Neg)},
	{"floor", unary(fixed.Num.Floor)},
	{"ceil", unary(fixed.Num.Ceil)},
	{"round", unary(fixed.Num.Round)},
	{"int", unary(func(a fixed.Num) fixed.Num { return fixed.Num(a.Int()) })},
	{"float", unary(func(a fixed.Num) fixed.Num { return fixed.FromFloat(a.Float()) })},
	{"text", unary(func(a fixed.Num) fixed.Num { return fixed.MustParse(a.String()) })},
	{"sqrt", unary(fixed.Num.Sqrt)},
	{"sin", unary(fixed.Sin)},
	{"cos", unary(fixed.Cos)},
	{"atan", unary(fixed.Atan)},
	{"atan2", binary2(fixed.Atan2)},
	{"hypot", binary2(fixed.Hypot)},
	{"lerp", func(g *args) (in, out []fixed.Num) {
		a, b, t := g.num(), g.num(), g.num()
		return []fixed.Num{a, b, t}, []fixed.Num{a.Lerp(b, t)}
	}},
	{"dot", vector2(func(v, w fixed.Vec2) fixed.Vec2 { return fixed.Vec2{X: v.Dot(w), Y: v.Cross(w)} })},
	{"dist", vector2(func(v, w fixed.Vec2) fixed.Vec2 { return fixed.Vec2{X: v.Dist(w), Y: v.LenSq()} })},
	{"normalize", vector2(func(v, _ fixed.Vec2) fixed.Vec2 { return v.Normalize() })},
	{"limit", vector2(func(v, w fixed.Vec2) fixed.Vec2 { return v.Limit(w.X) })},
	{"rotate", vector2(func(v, w fixed.Vec2) fixed.Vec2 { return v.Rotate(w.X) })},
	{"fromangle", vector2(func(v, _ fixed.Vec2) fixed.Vec2 { return fixed.FromAngle(v.X, v.Y) })},
	{"cross3", vector3(fixed.Vec3.Cross)},
	{"normalize3", vector3(func(v, w fixed.Vec3) fixed.Vec3 {
		n := v.Normalize()
		return fixed.Vec3{X: n.X, Y: n.Y ^ n.Z, Z: v.Dot(w) ^ v.Len()}
	})},
}

func unary(f func(fixed.Num) fixed.Num) func(*args) (in, out []fixed.Num) {
	return func(g *args) (in, out []fixed.Num) {
		a := g.num()
		return []fixed.Num{a}, []fixed.Num{f(a)}
	}
}

func binary2(f func(a, b fixed.Num) fixed.Num) func(*args) (in, out []fixed.Num) {
	return func(g *args) (in, out []fixed.Num) {
		a, b := g.num(), g.num()
		return []fixed.Num{a, b}, []fixed.Num{f(a, b)}
	}
}

func vector2(f func(v, w fixed.Vec2) fixed.Vec2) func(*args) (in, out []fixed.Num) {
	return func(g *args) (in, out []fixed.Num) {
		v, w := g.vec2(), g.vec2()
		r := f(v, w)
		return []fixed.Num{v.X, v.Y, w.X, w.Y}, []fixed.Num{r.X, r.Y}
	}
}

func vector3(f func(v, w fixed.Vec3) fixed.Vec3) func(*args) (in, out []fixed.Num) {
	return func(g *args) (in, out []fixed.Num) {
		v, w := g.vec3(), g.vec3()
		r := f(v, w)
		return []fixed.Num{v.X, v.Y, v.Z, w.X, w.Y, w.Z}, []fixed.Num{r.X, r.Y, r.Z}
	}
}

func goldenText() string {
	var b strings.Builder
	b.WriteString("# Bits that every target must compute. Per operation: some calls as raw hexadecimal\n" +
		"# numbers, arguments = results, then the FNV-1a hash of many. Written by\n" +
		"# go test -run Golden -update .\n")
	for i, op := range goldenOps {
		g := args{uint64(i) << 32}
		hash := fnv.New64a()
		for n := range goldenHashed {
			in, out := op.call(&g)
			if n < goldenSpelled {
				fmt.Fprintf(&b, "%s%s =%s\n", op.name, hexes(in), hexes(out))
			}
			var buf [8]byte
			for _, list := range [][]fixed.Num{in, out} {
				for _, a := range list {
					binary.LittleEndian.PutUint64(buf[:], uint64(a))
					hash.Write(buf[:])
				}
			}
		}
		fmt.Fprintf(&b, "%s #%d %016x\n", op.name, goldenHashed, hash.Sum64())
	}
	fmt.Fprintf(&b, "orbit #%d%s\n", goldenHashed, hexes(orbit(goldenHashed)))
	return b.String()
}

// orbit is a small simulation of a body that falls round a centre. Each tick
// computes on the bits of the last, so one wrong bit changes the final place.
func orbit(ticks int) []fixed.Num {
	dt := fixed.FromRatio(1, 60)
	p, v := fixed.Vec2{X: fixed.FromInt(10)}, fixed.FromAngle(fixed.MustParse("1.2"), 3*fixed.One)
	for range ticks {
		pull := fixed.FromInt(90).Div(p.LenSq() + fixed.One)
		v = v.Sub(p.Normalize().Scale(pull.Mul(dt))).Limit(fixed.FromInt(20))
		turn := fixed.Sin(v.Angle()).Mul(dt)
		p, v = p.Add(v.Scale(dt)).Rotate(turn), v.Rotate(turn)
	}
	return []fixed.Num{p.X, p.Y, v.X, v.Y}
}

func hexes(list []fixed.Num) string {
	var b strings.Builder
	for _, a := range list {
		fmt.Fprintf(&b, " %016x", uint64(a))
	}
	return b.String()
}

// Peers on different targets play together only if they compute the same bits. The
// file is embedded, so that the same binary runs in Node and in an emulator.
func TestGoldenVectorsAreTheSameOnEveryTarget(t *testing.T) {
	text := goldenText()
	if *update {
		if err := os.WriteFile("testdata/golden.txt", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, want := strings.Split(text, "\n"), strings.Split(golden, "\n")
	if len(got) != len(want) {
		t.Fatalf("%d lines of golden vectors, want %d", len(got), len(want))
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("line %d:\n got %s\nwant %s", i+1, got[i], want[i])
		}
	}
}
