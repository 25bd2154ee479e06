package entropy

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"tendon/ecs/race"
)

// value is one value of a script that is coded and decoded.
type value struct {
	kind  byte // 0: Bit, 1: Bits, 2: Number, 3: NotZero, 4: Integer
	model byte
	v     uint64
	n     int
}

type models struct {
	bits    [4]Model
	numbers [4]Number
}

func (x value) encode(e *Encoder, m *models) {
	switch x.kind {
	case 0:
		e.Bit(&m.bits[x.model], x.v != 0)
	case 1:
		e.Bits(x.v, x.n)
	case 2:
		e.Number(&m.numbers[x.model], x.v)
	case 3:
		e.NotZero(&m.numbers[x.model], x.v)
	case 4:
		e.Integer(&m.numbers[x.model], int64(x.v))
	}
}

func (x value) decode(d *Decoder, m *models) uint64 {
	switch x.kind {
	case 0:
		if d.Bit(&m.bits[x.model]) {
			return 1
		}
		return 0
	case 1:
		return d.Bits(x.n)
	case 2:
		return d.Number(&m.numbers[x.model])
	case 4:
		return uint64(d.Integer(&m.numbers[x.model]))
	}
	return d.NotZero(&m.numbers[x.model])
}

// script draws values: skewed ones, so that carries run through long runs of 0xFF, and others.
func script(r *rand.Rand, length int) (list []value) {
	skew := r.Float64()
	for range length {
		x := value{kind: byte(r.IntN(5)), model: byte(r.IntN(4)), n: r.IntN(65)}
		x.v = r.Uint64() >> (64 - x.n)
		if x.n == 0 {
			x.v = 0
		}
		switch x.kind {
		case 0:
			x.v = 0
			if r.Float64() < skew {
				x.v = 1
			}
		case 1:
			if r.IntN(3) == 0 {
				x.v = math.MaxUint64 >> (64 - x.n)
				if x.n == 0 {
					x.v = 0
				}
			}
		case 3:
			x.v = max(x.v, 1)
		case 4:
			if x.v = -x.v; r.IntN(50) == 0 {
				x.v = 1 << 63
			}
		}
		list = append(list, x)
	}
	return list
}

// Coded values are decoded unchanged. A code that is a byte longer or shorter is refused, or is one of other values.
func TestValuesAreDecodedAndTheLengthIsChecked(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var e Encoder
	var d Decoder
	for i := range 3000 {
		list := script(r, r.IntN(200))
		var m models
		e.Reset([]byte("head"))
		for _, x := range list {
			x.encode(&e, &m)
		}
		guess := e.Len()
		code := e.Finish()[4:]
		if len(code) != guess {
			t.Fatalf("script %d: %d bytes, %d were reported", i, len(code), guess)
		}
		m = models{}
		d.Reset(code)
		for k, x := range list {
			if got := x.decode(&d, &m); got != x.v {
				t.Fatalf("script %d, value %d: %x, want %x", i, k, got, x.v)
			}
		}
		if d.Exhausted() || d.Close() != nil {
			t.Fatalf("script %d: %v", i, d.Close())
		}
		for _, damaged := range [][]byte{code[:len(code)-1], append(bytes.Clone(code), 0)} {
			m = models{}
			d.Reset(damaged)
			same := true
			for _, x := range list {
				same = x.decode(&d, &m) == x.v && same
			}
			if same && d.Close() == nil {
				t.Fatalf("script %d: %d bytes are taken for %d", i, len(damaged), len(code))
			}
		}
	}
}

// An encoder that is rewound must go on as if nothing had been coded since: that is how what does not fit is taken back.
func TestRewindingLeavesNoTrace(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var a, b Encoder
	for range 2000 {
		head, gone, tail := script(r, r.IntN(60)), script(r, r.IntN(60)), script(r, r.IntN(60))
		var x, y models
		a.Reset(nil)
		b.Reset(nil)
		for _, v := range head {
			v.encode(&a, &x)
			v.encode(&b, &y)
		}
		mark, kept := b.Mark(), y
		for _, v := range gone {
			v.encode(&b, &y)
		}
		b.Rewind(mark)
		y = kept
		for _, v := range tail {
			v.encode(&a, &x)
			v.encode(&b, &y)
		}
		if !bytes.Equal(a.Finish(), b.Finish()) {
			t.Fatal("the code differs from one that never held what was taken back")
		}
	}
}

// An adaptive coder is worth its time only near the entropy of its values.
func TestSkewedBitsCostLittleMoreThanTheirEntropy(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, p := range []float64{0.5, 0.2, 0.05, 0.01} {
		const n = 20000
		var e Encoder
		var m Model
		e.Reset(nil)
		for range n {
			e.Bit(&m, r.Float64() < p)
		}
		entropy := -(p*math.Log2(p) + (1-p)*math.Log2(1-p))
		got := float64(len(e.Finish())*8) / n
		if got > entropy*1.05+0.03 {
			t.Errorf("bits of which %v are set take %.3f bits each, their entropy is %.3f", p, got, entropy)
		}
	}
	// A dozen values in a model of their own must not cost much to learn.
	var e Encoder
	var m Number
	e.Reset(nil)
	for range 12 {
		e.Number(&m, 8+uint64(r.IntN(8)))
	}
	if got := len(e.Finish()) * 8; got > 12*4+24 {
		t.Errorf("twelve numbers of four bits take %d bits", got)
	}
}

// A model that were certain could not code the other bit: the interval would be empty, and the code lost.
func TestNoModelIsEverCertain(t *testing.T) {
	for start := range 1 << 16 {
		m := Model(start)
		if p := m.odds(); p == 0 {
			continue // not reached by learning
		}
		for _, set := range []bool{true, false} {
			if p := m.learn(set).odds(); p == 0 || p >= 1<<probabilityBits {
				t.Fatalf("model %x is certain after a bit", start)
			}
			if a, b := m.learn(set), m.learnBit(number(set)); a != b {
				t.Fatalf("model %x becomes %x and %x", start, a, b)
			}
		}
	}
}

// Expected values are cheap from the first number on. Others cost some bits more.
func TestExpectedValuesAreCheapFromTheStart(t *testing.T) {
	w := Weights{10: 100, 11: 100}
	bits := func(m Number, v int64) int {
		var e Encoder
		e.Reset(nil)
		for range 8 { // each by models that have not learned
			one := m
			e.Integer(&one, v)
		}
		code := e.Finish()
		var d Decoder
		d.Reset(code)
		for range 8 {
			one := m
			if got := d.Integer(&one); got != v {
				t.Fatalf("%d comes back as %d", v, got)
			}
		}
		return len(code) // bytes of eight, bits of one
	}
	for _, v := range []int64{512, -512, 2047, -1500} {
		if with, without := bits(Expect(&w), v), bits(Number{}, v); with > without-4 {
			t.Errorf("%d takes %d bits where it is expected and %d elsewhere", v, with, without)
		}
	}
	for _, v := range []int64{0, 1, -1, 1 << 40, math.MaxInt64, math.MinInt64} {
		if with, without := bits(Expect(&w), v), bits(Number{}, v); with > without+7*6 {
			t.Errorf("%d takes %d bits where it is not expected and %d elsewhere", v, with, without)
		}
	}
	if Cost(0) != 0 || Cost(255) != 10 {
		t.Error("numbers have another cost")
	}
}

// A tick codes for dozens of clients.
func TestCodingAllocatesNothing(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	list := script(rand.New(rand.NewPCG(7, 8)), 300)
	buf := make([]byte, 0, 4096)
	var e Encoder
	var d Decoder
	if n := testing.AllocsPerRun(100, func() {
		var m models
		e.Reset(buf)
		for _, x := range list {
			x.encode(&e, &m)
		}
		code := e.Finish()
		m = models{}
		d.Reset(code)
		for _, x := range list {
			x.decode(&d, &m)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzDecoder decodes any bytes without a panic. Decoded values, coded again, decode to the same values.
func FuzzDecoder(f *testing.F) {
	f.Add([]byte{}, uint64(1))
	f.Add([]byte{0xFF, 0xFF, 0xFF, 0xFF, 0xFF}, uint64(2))
	f.Fuzz(func(t *testing.T, code []byte, seed uint64) {
		list := script(rand.New(rand.NewPCG(seed, 0)), 100)
		var m, again models
		var d Decoder
		var e Encoder
		d.Reset(code)
		e.Reset(nil)
		for i := range list {
			list[i].v = list[i].decode(&d, &m)
			list[i].encode(&e, &again)
		}
		if d.Exhausted() {
			return
		}
		again = models{}
		d.Reset(e.Finish())
		for _, x := range list {
			if got := x.decode(&d, &again); got != x.v {
				t.Fatalf("%x, then %x", x.v, got)
			}
		}
		if d.Close() != nil {
			t.Fatal(d.Close())
		}
	})
}

func BenchmarkEncodeNumber(b *testing.B) {
	var e Encoder
	var m Number
	buf := make([]byte, 0, 1<<16)
	i := 0
	for b.Loop() {
		if i&4095 == 0 {
			e.Reset(buf)
		}
		e.Number(&m, uint64(i*7&127))
		i++
	}
}

func BenchmarkDecodeBit(b *testing.B) {
	var e Encoder
	var m Model
	e.Reset(nil)
	for i := range 1 << 16 {
		e.Bit(&m, i%7 == 0)
	}
	code := e.Finish()
	var d Decoder
	i := 0
	for b.Loop() {
		if i&(1<<16-1) == 0 {
			d.Reset(code)
			m = 0
		}
		d.Bit(&m)
		i++
	}
}
