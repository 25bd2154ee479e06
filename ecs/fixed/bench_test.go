package fixed_test

import (
	"testing"

	"tendon/ecs/fixed"
)

// benchArgs are numbers of a game's size: coordinates, speeds and angles.
func benchArgs() (list [256]fixed.Num) {
	g := args{41}
	for i := range list {
		list[i] = g.upTo(fixed.FromInt(1000)) | 1
	}
	return list
}

func benchmark(b *testing.B, f func(x, y fixed.Num) fixed.Num) {
	list := benchArgs()
	var sink fixed.Num
	for i := 0; b.Loop(); i++ {
		sink += f(list[i&255], list[(i+1)&255])
	}
	_ = sink
}

// BenchmarkMul is inlined, as it is in a system; the others are called.
func BenchmarkMul(b *testing.B) {
	list := benchArgs()
	var sink fixed.Num
	for i := 0; b.Loop(); i++ {
		sink += list[i&255].Mul(list[(i+1)&255])
	}
	_ = sink
}

func BenchmarkDiv(b *testing.B) { benchmark(b, fixed.Num.Div) }

func BenchmarkSqrt(b *testing.B) {
	benchmark(b, func(x, _ fixed.Num) fixed.Num { return x.Abs().Sqrt() })
}

func BenchmarkSin(b *testing.B) {
	benchmark(b, func(x, _ fixed.Num) fixed.Num { return fixed.Sin(x) })
}

func BenchmarkAtan2(b *testing.B) { benchmark(b, fixed.Atan2) }

func BenchmarkVec2Len(b *testing.B) { benchmark(b, fixed.Hypot) }

func BenchmarkVec2Normalize(b *testing.B) {
	benchmark(b, func(x, y fixed.Num) fixed.Num { return fixed.Vec2{X: x, Y: y}.Normalize().X })
}

func BenchmarkVec2Rotate(b *testing.B) {
	benchmark(b, func(x, y fixed.Num) fixed.Num { return fixed.Vec2{X: x, Y: y}.Rotate(y).X })
}
