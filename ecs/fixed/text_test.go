package fixed_test

import (
	"errors"
	"math/big"
	"regexp"
	"strings"
	"testing"

	"tendon/ecs/fixed"
)

var decimal = regexp.MustCompile(`^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)$`)

// checkParse holds Parse to math/big for any text: what it accepts, what it refuses
// and to the last bit what it reads.
func checkParse(t *testing.T, s string) {
	t.Helper()
	got, err := fixed.Parse(s)
	if !decimal.MatchString(s) {
		if !errors.Is(err, fixed.ErrSyntax) {
			t.Errorf("Parse(%q) = %d, %v, want ErrSyntax", s, got, err)
		}
		return
	}
	exact, ok := new(big.Rat).SetString(s)
	if !ok {
		t.Fatalf("math/big does not read %q", s)
	}
	n := refRound(new(big.Int).Lsh(exact.Num(), 32), exact.Denom())
	switch {
	case !n.IsInt64() && (!errors.Is(err, fixed.ErrRange) || got != 0):
		t.Errorf("Parse(%q) = %d, %v, want ErrRange", s, got, err)
	case n.IsInt64() && (err != nil || int64(got) != n.Int64()):
		t.Errorf("Parse(%q) = %d, %v, want %d", s, got, err, n)
	}
}

var texts = []string{
	"", "+", "-", ".", "-.", "1", "-1", "+1", "0.5", ".5", "3.", "-.25", "00012.50", "-0",
	"1.2.3", "1e3", " 1", "1 ", "0x10", "1_000", "--1", "1-", "∞", "NaN", "1,5",
	"2147483647", "2147483648", "-2147483648", "-2147483648.0000000001", "-2147483648.0000000002",
	"2147483647.9999999997", "2147483647.9999999999", "-2147483649", "4294967296", "4294967297",
	"18446744073709551616", "99999999999999999999999999999999999999999",
	"3.14159265358979323846264338327950288419716939937510582097494459",
	"0.00000000011641532182693481445312499999999999999999999999999999",
	"0.000000000116415321826934814453125",
	"0.00000000011641532182693481445312500000000000000000000000000001",
	"-0.000000000116415321826934814453125",
	"0." + strings.Repeat("9", 100), "0." + strings.Repeat("0", 100) + "1", strings.Repeat("0", 100) + "7",
}

func TestParseAgreesWithMathBig(t *testing.T) {
	for _, s := range texts {
		checkParse(t, s)
	}
	g := args{31}
	for range rounds / 4 {
		checkParse(t, g.num().String())
		// Exact halves of a step and their neighbours, where rounding decides.
		tie := new(big.Rat).SetFrac(big.NewInt(int64(g.num()>>1)|1), new(big.Int).Lsh(big.NewInt(1), 33))
		checkParse(t, tie.FloatString(33))
		checkParse(t, tie.FloatString(33)+"0000001")
		checkParse(t, tie.FloatString(10))
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range texts {
		f.Add(s)
	}
	f.Fuzz(checkParse)
}

// A text in a log or a golden file must name exactly one number.
func TestStringIsTheShortestDecimalThatParsesBack(t *testing.T) {
	check := func(a fixed.Num) {
		t.Helper()
		s := a.String()
		if b, err := fixed.Parse(s); err != nil || b != a {
			t.Fatalf("Num(%d) prints as %s, which reads as %d, %v", a, s, b, err)
		}
		point := strings.IndexByte(s, '.')
		if point < 0 {
			return
		}
		digits := len(s) - point - 1
		exact := new(big.Rat).SetFrac(integer(a), integer(fixed.One))
		if b, err := fixed.Parse(exact.FloatString(digits - 1)); digits > 10 || err == nil && b == a {
			t.Fatalf("Num(%d) prints as %s, which is longer than it need be", a, s)
		}
		if near := exact.FloatString(digits); near != s {
			t.Fatalf("Num(%d) prints as %s, though %s is nearer", a, s, near)
		}
	}
	for _, a := range edges {
		check(a)
	}
	g := args{32}
	for range rounds / 4 {
		check(g.num())
	}
}

func TestMustParsePanicsOnATypo(t *testing.T) {
	defer func() {
		if message, _ := recover().(string); !strings.Contains(message, `"1.O"`) {
			t.Errorf("panic %q does not show the text", message)
		}
	}()
	fixed.MustParse("1.O")
}
