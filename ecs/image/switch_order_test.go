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
			o := image.Order{Kind: image.OrderSwitch, Payload: b[6:]}
			if got, ok := o.Strategy(); !ok || got != name || !strings.HasSuffix(string(b), name+string(params)) {
				t.Errorf("%q with %x became %q, %v", name, params, got, ok)
			}
		}
	}
	for _, bad := range []string{"", "\x00", "\x00x", "\x05rela", "\xffrelay"} {
		o := image.Order{Kind: image.OrderSwitch, Payload: []byte(bad)}
		if name, ok := o.Strategy(); ok {
			t.Errorf("%q names %q", bad, name)
		}
	}
	other := image.Order{Kind: image.OrderGame, Payload: image.AppendSwitch(nil, "relay", nil)}
	if name, ok := other.Strategy(); ok {
		t.Errorf("an order of the game names %q", name)
	}
}
