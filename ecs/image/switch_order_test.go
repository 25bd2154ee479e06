package image_test

import (
	"strings"
	"testing"

	"tendon/ecs/image"
)

// The payload of a change of the strategy has the name and the parameters. A payload without a whole name is refused.
func TestTheOrderOfAChangeHasNameAndParameters(t *testing.T) {
	for _, name := range []string{"x", "lockstep", strings.Repeat("n", 255)} {
		for _, params := range [][]byte{nil, {1, 2, 3}} {
			b := image.AppendSwitch([]byte("before"), name, params)
			if got, ok := image.ParseSwitch(b[6:]); !ok || got != name || !strings.HasSuffix(string(b), name+string(params)) {
				t.Errorf("%q with %x became %q, %v", name, params, got, ok)
			}
		}
	}
	for _, bad := range []string{"", "\x00", "\x00x", "\x05rela", "\xffrelay"} {
		if name, ok := image.ParseSwitch([]byte(bad)); ok {
			t.Errorf("%q names %q", bad, name)
		}
	}
}
