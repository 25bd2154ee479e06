package page

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// schemes returns the colours of page.css: the light ones, the dark ones by preference, and the dark ones by the switch.
func schemes(t *testing.T) (light, system, chosen map[string]string) {
	t.Helper()
	text, err := assets.ReadFile("assets/page.css")
	if err != nil {
		t.Fatal(err)
	}
	colours := func(selector string) map[string]string {
		_, rest, found := strings.Cut(string(text), selector+" {")
		block, _, closed := strings.Cut(rest, "}")
		if !found || !closed {
			t.Fatalf("page.css has no %s", selector)
		}
		m := map[string]string{}
		for _, p := range regexp.MustCompile(`--([a-z0-9-]+): ([^;]+);`).FindAllStringSubmatch(block, -1) {
			m[p[1]] = p[2]
		}
		return m
	}
	return colours(":root"), colours(`:root:not([data-theme="light"])`), colours(`:root[data-theme="dark"]`)
}

// luminance is the relative luminance of a colour, as WCAG 2.2 defines it.
func luminance(t *testing.T, color string) float64 {
	t.Helper()
	if len(color) != 7 || color[0] != '#' {
		t.Fatalf("%q is no colour of the form #rrggbb", color)
	}
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, err := strconv.ParseUint(color[1+2*i:3+2*i], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		c := float64(n) / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}

// contrast is the contrast of two colours, in [1, 21].
func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	x, y := luminance(t, a), luminance(t, b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// WCAG requires 4.5 for text and 3 for graphical objects. Both dark schemes are equal.
func TestColoursCanBeReadInBothSchemes(t *testing.T) {
	light, system, chosen := schemes(t)
	if fmt.Sprint(system) != fmt.Sprint(chosen) || len(system) < 15 {
		t.Errorf("the dark schemes differ:\n%v\n%v", system, chosen)
	}
	for name, scheme := range map[string]map[string]string{"light": light, "dark": system} {
		for _, ground := range []string{"ground", "surface", "raised"} {
			for _, text := range []string{"ink", "soft", "accent", "good", "warn", "bad"} {
				if c := contrast(t, scheme[text], scheme[ground]); c < 4.5 {
					t.Errorf("%s: %s on %s has a contrast of %.2f", name, text, ground, c)
				}
			}
		}
		for _, pair := range [][2]string{{"accent-ink", "accent"}, {"ink", "accent-soft"}, {"accent", "accent-soft"}} {
			if c := contrast(t, scheme[pair[0]], scheme[pair[1]]); c < 4.5 {
				t.Errorf("%s: %s on %s has a contrast of %.2f", name, pair[0], pair[1], c)
			}
		}
		for _, line := range []string{"line-strong", "series-1", "series-2", "series-3", "series-4", "series-5", "series-6"} {
			if c := contrast(t, scheme[line], scheme["surface"]); c < 3 {
				t.Errorf("%s: %s has a contrast of %.2f", name, line, c)
			}
		}
	}
}
