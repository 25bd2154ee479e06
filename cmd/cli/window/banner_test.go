//go:build !headless

package window

import (
	"strings"
	"testing"

	"tendon/cmd/cli/page"
)

func TestTheBannerIsPaintedOnlyWithAText(t *testing.T) {
	for _, text := range []string{"", "connection lost; reconnecting, 12 s left"} {
		p := page.NewPicture()
		p.Reset(1.6)
		empty := string(p.Append(nil))
		paintBanner(p, text)
		if got := string(p.Append(nil)); text == "" && got != empty || !strings.Contains(got, text) || text != "" && got == empty {
			t.Errorf("the banner %q is painted as %s", text, got)
		}
	}
}
