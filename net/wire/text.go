package wire

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clip removes bytes that are not UTF-8, U+FFFD, and the characters of the Unicode categories Cc, Cf, Zl and Zp. These are
// controls, line breaks, characters without width, and those that change the direction of writing. Clip returns the longest
// beginning of the rest that has at most limit bytes.
func Clip(s string, limit int) string {
	s = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			return -1
		}
		return r
	}, s)
	if len(s) > limit {
		s = strings.ToValidUTF8(s[:limit], "")
	}
	return s
}
