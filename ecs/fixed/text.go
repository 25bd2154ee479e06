package fixed

import (
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// Errors of [Parse], wrapped with the text that was refused.
var (
	ErrSyntax = errors.New("fixed: not a decimal number")
	ErrRange  = errors.New("fixed: outside [-2^31, 2^31)")
)

// Parse reads a decimal number: an optional sign, digits, and optionally a point and more digits ("2", "-0.125", "+.5",
// "3."). It has no exponent, no spaces and no separators. The result is rounded to nearest, ties away from zero, however
// many digits there are.
func Parse(s string) (Num, error) {
	if strings.Trim(s, "+-.0123456789") != "" { // Rat has more forms: exponents, prefixes, ratios
		return 0, fmt.Errorf("%w: %q", ErrSyntax, s)
	}
	exact, ok := new(big.Rat).SetString(s)
	if !ok {
		return 0, fmt.Errorf("%w: %q", ErrSyntax, s)
	}
	n := new(big.Int).Lsh(exact.Num(), fracBits+1) // twice the result
	n.Quo(n, exact.Denom())
	n.Add(n, big.NewInt(int64(n.Sign())))
	if n.Quo(n, big.NewInt(2)); !n.IsInt64() {
		return 0, fmt.Errorf("%w: %q", ErrRange, s)
	}
	return Num(n.Int64()), nil
}

// MustParse is [Parse] for constants in the program: it panics on an error.
func MustParse(s string) Num {
	a, err := Parse(s)
	if err != nil {
		panic("fixed: MustParse(" + strconv.Quote(s) + "): write a decimal number in [-2^31, 2^31)")
	}
	return a
}

// String returns the shortest decimal that Parse reads back as a; it has at most ten digits after the point.
func (a Num) String() string {
	m := magnitude(a)
	buf := make([]byte, 0, 24)
	if a < 0 {
		buf = append(buf, '-')
	}
	buf = strconv.AppendUint(buf, m>>fracBits, 10)
	rest := m & uint64(fracMask)
	if rest == 0 {
		return string(buf)
	}
	buf = append(buf, '.')
	// In units of 2^-33, scaled by ten with each digit: what is left to print, and the half Epsilon within which Parse
	// finds the way back.
	const unit = 1 << (fracBits + 1)
	left, reach := 2*rest, uint64(1)
	for {
		left, reach = left*10, reach*10
		digit := byte(left / unit)
		left %= unit
		last := left < reach || unit-left < reach
		if last && left > unit/2 {
			digit++
		}
		buf = append(buf, '0'+digit)
		if last {
			return string(buf)
		}
	}
}
