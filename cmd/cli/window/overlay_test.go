//go:build !headless

package window

import (
	"bytes"
	"compress/gzip"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hajimehoshi/ebiten/v2"
	"golang.org/x/image/font/sfnt"

	"tendon/cmd/cli/page"
	"tendon/ecs"
	"tendon/net/client"
	"tendon/systems"
)

// overlayTest is an overlay whose actions are recorded.
type overlayTest struct {
	overlay
	did  []string
	chat chan string
	now  time.Time
}

func newOverlayTest() *overlayTest {
	o := &overlayTest{chat: make(chan string, 9), now: time.Unix(1000, 0)}
	do := func(name string) func() { return func() { o.did = append(o.did, name) } }
	g := &ecs.Game{TickRate: 50, Screen: ecs.Screen{Chat: true, Keys: []ecs.KeyHelp{{Key: "Space", Meaning: "dash"}},
		Score: func(_ *ecs.View, p ecs.Player) string { return strings.Repeat("9", int(p)+1) }}}
	o.overlay = overlay{fullscreen: do("fullscreen"), config: &Config{Game: g, Title: "the title", Pause: do("pause"), Next: do("next"),
		Network: func() string { do("network")(); return "P5 bad" }, Stats: func() client.Stats { return client.Stats{} },
		Say: func(text string) { o.did = append(o.did, "say "+text) }, Chat: o.chat}}
	return o
}

// press sends keys, one after the other.
func (o *overlayTest) press(t *testing.T, list ...ebiten.Key) (err error) {
	for _, one := range list {
		if err = o.update(o.now, 1.6, presses{key: func(k ebiten.Key) bool { return k == one }}); err != nil {
			return err
		}
	}
	return nil
}

func (o *overlayTest) picture(v *ecs.View) string {
	p := page.NewPicture()
	p.Reset(1.6)
	o.paint(p, v, o.now)
	return string(p.Append(nil))
}

func TestEveryKeyShowsItsPanel(t *testing.T) {
	v := &ecs.View{Seat: 2, Roster: []ecs.Seated{{Name: "帧同步", Ping: 31 * time.Millisecond, Connected: true}, {}, {Name: "bob"}, {Name: "b", Bot: true, Connected: true}}}
	for _, c := range []struct {
		key  ebiten.Key
		tab  bool
		want []string
	}{
		{ebiten.KeyF1, false, []string{`"Space"`, `"dash"`, `"full screen"`, `"chat"`}},
		{ebiten.KeyF2, false, []string{`"network: P5 bad"`}},
		{ebiten.KeyF3, false, []string{`"RTT"`, `"lead"`, `"rollbacks"`, `"corrections"`, `"traffic"`}},
		{ebiten.KeyTab, true, []string{`"帧同步"`, `"31 ms"`, `"reconnecting"`, `"bot"`, `"9"`, `"999"`}},
		{ebiten.KeyEscape, false, []string{`"the title"`, `"continue"`, `"leave"`, `"next sync strategy"`}},
	} {
		o := newOverlayTest()
		if empty := o.picture(v); empty != "[]" {
			t.Errorf("without a key the overlay is %s", empty)
		}
		err := o.update(o.now, 1.6, presses{tab: c.tab, key: func(k ebiten.Key) bool { return k == c.key }})
		for _, want := range c.want {
			if got := o.picture(v); err != nil || !strings.Contains(got, want) {
				t.Errorf("%v: %v, no %s in %s", c.key, err, want, got)
			}
		}
	}
	o := newOverlayTest()
	if o.press(t, ebiten.KeyF11); !slices.Equal(o.did, []string{"fullscreen"}) {
		t.Errorf("F11 did %q", o.did)
	}
}

// The menu mutes the game. Keys and the mouse choose the same rows.
func TestTheMenuActsOnKeysAndMouse(t *testing.T) {
	for i, want := range []string{"", "pause", "next", "network", "", "", "fullscreen", "leave"} {
		keyed, clicked := newOverlayTest(), newOverlayTest()
		keyed.press(t, ebiten.KeyEscape)
		clicked.press(t, ebiten.KeyEscape)
		if !keyed.muted() {
			t.Fatal("the game gets keys while the menu is open")
		}
		for range i {
			keyed.press(t, ebiten.KeyArrowDown)
		}
		err := keyed.press(t, ebiten.KeyEnter)
		err2 := clicked.update(clicked.now, 1.6, presses{key: func(ebiten.Key) bool { return false }, click: true, x: 12.8, y: itemsTop + menuRow*(float64(i)+0.5)})
		for name, o := range map[string]*overlayTest{"key": keyed, "mouse": clicked} {
			if done := strings.Join(o.did, ","); want != "leave" && done != want || (err == ErrClosed) != (want == "leave") || err != err2 {
				t.Errorf("row %d by %s: did %q, %v, want %q", i, name, done, err, want)
			}
		}
	}
}

// The line of the chat takes the keys until Enter sends it. Lines disappear after some seconds.
func TestTheChatLine(t *testing.T) {
	o := newOverlayTest()
	o.press(t, ebiten.KeyEnter)
	none := func(ebiten.Key) bool { return false }
	o.update(o.now, 1.6, presses{key: none, typed: []rune("你好!?")})
	o.press(t, ebiten.KeyBackspace, ebiten.KeyF1, ebiten.KeyF2)
	if got := o.picture(nil); !o.muted() || o.help || !strings.Contains(got, "你好!_") {
		t.Errorf("while typing: muted %t, help %t, %s", o.muted(), o.help, got)
	}
	o.update(o.now, 1.6, presses{key: none, typed: []rune(strings.Repeat("界", 400))})
	if n := len(string(o.typed)); n > 256 {
		t.Errorf("%d bytes are typed", n)
	}
	o.typed = []rune("hi")
	o.press(t, ebiten.KeyEnter)
	o.press(t, ebiten.KeyEnter, ebiten.KeyEscape) // an empty line, dropped
	if o.muted() || !slices.Equal(o.did, []string{"say hi"}) {
		t.Errorf("did %q", o.did)
	}
	for range 9 {
		o.chat <- "ann: 帧同步"
	}
	o.update(o.now, 1.6, presses{key: none})
	if n := strings.Count(o.picture(nil), "帧同步"); n != maxLines {
		t.Errorf("%d lines are shown, want %d", n, maxLines)
	}
	if o.now = o.now.Add(lineTime); strings.Contains(o.picture(nil), "帧同步") {
		t.Error("an old line is shown")
	}
}

// The figures of the graph are those of the last second.
func TestTheNetGraphShowsTheLastSecond(t *testing.T) {
	var s samples
	for i := range 400 { // ten pictures a second
		x := client.Stats{Strategy: systems.ClientStats{}}
		if i >= 390 {
			n := uint64(i - 389)
			x.Strategy.Rollbacks, x.Strategy.Resimulated, x.Strategy.Corrections = n, 4*n, 2*n
			x.Link.BytesSent, x.Link.PacketsSent, x.Link.PacketsExpected, x.Link.PacketsReceived = 950*n, n, 4*n, 3*n
		}
		s.add(time.Unix(0, int64(i)*1e8), x)
	}
	if r := s.rates(); r != (rates{rollbacks: 10, depth: 4, corrections: 20, up: 80, down: 12, lost: 0.25}) {
		t.Errorf("%+v", r)
	}
}

// The fonts of a window have glyphs for Latin and CJK.
func TestTheWindowsFontsHaveCJK(t *testing.T) {
	f, err := newFonts(&ecs.Game{})
	if err != nil || len(f.sources) != 2 {
		t.Fatal(err)
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(cjk))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(unpacked)
	if err != nil {
		t.Fatal(err)
	}
	font, err := sfnt.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range "帧同步日本語か한" {
		if glyph, err := font.GlyphIndex(nil, r); err != nil || glyph == 0 {
			t.Errorf("no glyph for %c: %v", r, err)
		}
	}
	if _, err = newFonts(&ecs.Game{Screen: ecs.Screen{Font: "runes"}}); err == nil || !strings.Contains(err.Error(), `"runes"`) {
		t.Errorf("a missing font: %v", err)
	}
}
