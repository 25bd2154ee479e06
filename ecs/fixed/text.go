package fixed

import (
	"errors"
	"fmt"
	"strconv"
)

// Errors of [Parse], wrapped with the text that was refused.
var (
	ErrSyntax = errors.New("fixed: not a decimal number")
	ErrRange  = errors.New("fixed: outside [-2^31, 2^31)")
)

// parseDigits is the number of digits after the point that decide a rounding. Every multiple of half an Epsilon, 2^-33, has
// at most that many. So further digits cannot carry a number to or past the next tie.
const parseDigits = 33

// Parse reads a decimal number: an optional sign, digits, and optionally a point and more digits ("2", "-0.125", "+.5",
// "3."). It has no exponent, no spaces and no separators. The result is rounded to nearest, ties away from zero, however
// many digits there are.
func Parse(s string) (Num, error) {
	digits := s
	negative := false
	if digits != "" && (digits[0] == '-' || digits[0] == '+') {
		negative = digits[0] == '-'
		digits = digits[1:]
	}
	var whole uint64
	var fraction [parseDigits]byte
	count, point := 0, -1
	for i := 0; i < len(digits); i++ {
		d := digits[i] - '0'
		switch {
		case digits[i] == '.' && point < 0:
			point = i
			continue
		case d > 9:
			return 0, fmt.Errorf("%w: %q", ErrSyntax, s)
		case point < 0:
			whole = min(whole*10+uint64(d), 1<<32) // out of range, and stays so
		case i-point <= parseDigits:
			fraction[i-point-1] = d
		}
		count++
	}
	if count == 0 {
		return 0, fmt.Errorf("%w: %q", ErrSyntax, s)
	}
	m := whole<<fracBits + (binary33(&fraction)+1)/2
	switch {
	case whole > 1<<31, m > 1<<63, m == 1<<63 && !negative:
		return 0, fmt.Errorf("%w: %q", ErrRange, s)
	case negative:
		return -Num(m), nil
	}
	return Num(m), nil
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

// binary33 returns the fraction's first 33 binary digits: doubling the decimal fraction carries them out one by one. It
// overwrites the fraction.
func binary33(fraction *[parseDigits]byte) uint64 {
	var n uint64
	for range fracBits + 1 {
		carry := byte(0)
		for i := parseDigits - 1; i >= 0; i-- {
			d := fraction[i]*2 + carry
			carry = d / 10
			fraction[i] = d % 10
		}
		n = n<<1 | uint64(carry)
	}
	return n
}
