package wire

import "testing"

// Texts of players hold nothing that changes how the rest of a line is shown.
func TestInvisibleCharactersAreRemovedFromTexts(t *testing.T) {
	for _, c := range []struct{ in, out string }{
		{"Zoë 春 🙂", "Zoë 春 🙂"}, {"0123456789ab🙂", "0123456789ab"},
		{"a\x00b\x1b[2Jc\u0085", "ab[2Jc"},
		{"\u202eevil\u202c \u2066x\u2069 \u200f", "evil x "}, // directions
		{"a\u200bd\u200cm\u200di\ufeffn\u2060", "admin"},     // no width
		{"a\xffb\u2028c", "abc"}, {"\xe6\x98", ""}, {"0123456789a春", "0123456789a"}, {"01234567890123", "0123456789012"},
	} {
		if got := Clip(c.in, 13); got != c.out {
			t.Errorf("%q: %q, want %q", c.in, got, c.out)
		}
	}
}
