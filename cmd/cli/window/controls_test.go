//go:build !headless

package window

import (
	"strings"
	"testing"

	"github.com/hajimehoshi/ebiten/v2"

	"tendon/cmd/cli/internal/keys"
)

// A game can ask for every key of Ebitengine that the window does not use, by Ebitengine's name and in lower case.
func TestEveryKeyHasEbitenginesName(t *testing.T) {
	used := " F1 F2 F3 F11 Tab Escape "
	for k := range ebiten.KeyMax + 1 {
		var r keys.Reader
		name := k.String()
		one, other := r.Find(name), r.Find(strings.ToLower(name))
		var found ebiten.Key
		if strings.Contains(used, " "+name+" ") {
			if r.Err == nil {
				t.Errorf("%s is a key of the window", name)
			}
		} else if r.Err != nil || one != other || found.UnmarshalText([]byte(one)) != nil || found != k {
			t.Errorf("%s is found as %q, %v: %v", name, one, found, r.Err)
		}
	}
	if n := int(ebiten.StandardGamepadButtonMax) + 1; len(keys.Buttons) != n {
		t.Errorf("%d buttons have names, want %d", len(keys.Buttons), n)
	}
}
