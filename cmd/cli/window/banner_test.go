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

// A reason for the wait may be long. Each line fits the window.
func TestALongStatusHasSeveralLines(t *testing.T) {
	for text, want := range map[string][]string{
		"loading [##                  ] 10 %": {"loading [##                  ] 10 %"},
		"queued, 1 waiting, 12 s; the backend does not answer: dial tcp 127.0.0.1:8080: connect: connection refused": {
			"queued, 1 waiting, 12 s; the backend does not", "answer: dial tcp 127.0.0.1:8080: connect:", "connection refused"},
	} {
		p := page.NewPicture()
		p.Reset(1.6)
		paintWait(p, text)
		got := string(p.Append(nil))
		for _, line := range want {
			if !strings.Contains(got, line) {
				t.Errorf("%q is painted as %q, without the line %q", text, got, line)
			}
		}
		if len(want) > 1 && strings.Contains(got, want[0]+" ") {
			t.Errorf("%q is painted as one line", text)
		}
	}
}

// A press of a mouse button is reported where it was in the world and on the HUD, by the camera of each.
func TestAClickIsReportedInWorldUnits(t *testing.T) {
	clicks := new(clicks)
	c := &canvas{originX: 10, originY: -20, scale: 4, clicks: clicks, hud: &canvas{scale: 50, clicks: clicks}}
	if _, _, ok := c.Clicked("mouse1"); ok {
		t.Error("a press before there was one")
	}
	clicks[1] = click{pressed: true, x: 100, y: 200}
	if x, y, ok := c.Clicked("mouse2"); !ok || x != 35 || y != 30 {
		t.Error(x, y, ok)
	}
	if x, y, ok := c.Hud().Clicked("mouse2"); !ok || x != 2 || y != 4 {
		t.Error(x, y, ok)
	}
	if _, _, ok := c.Clicked("mouse1"); ok {
		t.Error("the other button was pressed")
	}
}
