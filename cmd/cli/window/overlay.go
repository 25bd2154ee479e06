//go:build !headless

package window

import (
	"fmt"
	"time"

	"github.com/hajimehoshi/ebiten/v2"

	"tendon/ecs"
	"tendon/net/session"
)

// overlay paints the window's own lists and menus over a game, on the HUD. F1 shows the keys, F3 the net graph, Tab the players,
// Escape the menu and Enter the chat. F2 changes to the next simulated network, and F11 to the full screen.
type overlay struct {
	config     *Config
	fullscreen func()

	help, graph, players, menu bool
	row                        int // of the menu
	typing                     bool
	typed                      []rune
	lines                      []line
	note                       line // name of the network that F2 chose
	samples                    samples
}

// line is a text with the moment when it disappears.
type line struct {
	text string
	end  time.Time
}

const (
	lineTime = 8 * time.Second // how long a window shows a line of the chat
	noteTime = 3 * time.Second
	maxLines = 6
)

// presses are the keys and the mouse since the last picture. The pointer is in units of the HUD.
type presses struct {
	key   func(ebiten.Key) bool // went down, or repeats
	tab   bool                  // Tab is held
	typed []rune
	x, y  float64
	click bool
}

// muted reports whether the game gets no keys.
func (o *overlay) muted() bool { return o.typing || o.menu }

// update follows the keys. The error is ErrClosed if the player leaves.
func (o *overlay) update(now time.Time, aspect float64, p presses) error {
	for done := false; !done && o.config.Chat != nil; {
		select {
		case text := <-o.config.Chat:
			o.lines = append(o.lines, line{text, now.Add(lineTime)})
			o.lines = o.lines[max(len(o.lines)-maxLines, 0):]
		default:
			done = true
		}
	}
	if p.key(ebiten.KeyF11) {
		o.fullscreen()
	}
	if o.typing {
		o.edit(p)
		return nil
	}
	o.players = p.tab
	if p.key(ebiten.KeyF1) {
		o.help = !o.help
	}
	if p.key(ebiten.KeyF3) {
		o.graph = !o.graph
	}
	if p.key(ebiten.KeyF2) {
		o.changeNetwork(now)
	}
	switch {
	case p.key(ebiten.KeyEscape):
		o.menu, o.row = !o.menu, 0
	case o.menu:
		return o.choose(now, aspect, p)
	case p.key(ebiten.KeyEnter) && o.chats():
		o.typing, o.typed = true, nil
	}
	return nil
}

func (o *overlay) chats() bool { return o.config.Game.Screen.Chat && o.config.Say != nil }

// edit follows the keys in the line of the chat. Enter sends it, and Escape drops it.
func (o *overlay) edit(p presses) {
	for _, r := range p.typed {
		if len(string(o.typed))+len(string(r)) <= session.MaxChat {
			o.typed = append(o.typed, r)
		}
	}
	if n := len(o.typed); n > 0 && p.key(ebiten.KeyBackspace) {
		o.typed = o.typed[:n-1]
	}
	switch {
	case p.key(ebiten.KeyEnter):
		o.typing = false
		if len(o.typed) > 0 {
			o.config.Say(string(o.typed))
		}
	case p.key(ebiten.KeyEscape):
		o.typing = false
	}
}

func (o *overlay) changeNetwork(now time.Time) {
	if o.config.Network != nil {
		o.note = line{"network: " + o.config.Network(), now.Add(noteTime)}
	}
}

// item is a row of the menu.
type item struct {
	text string
	do   func(now time.Time) error
}

// items are the rows of the menu that the window has.
func (o *overlay) items() []item {
	closing := func(do func()) func(time.Time) error {
		return func(time.Time) error {
			o.menu = false
			do()
			return nil
		}
	}
	list := []item{{"continue", closing(func() {})}}
	if o.config.Pause != nil {
		list = append(list, item{"pause or resume the match", closing(o.config.Pause)})
	}
	if o.config.Next != nil {
		list = append(list, item{"next sync strategy", closing(o.config.Next)})
	}
	if o.config.Network != nil {
		list = append(list, item{"next network (F2)", func(now time.Time) error { o.changeNetwork(now); return nil }})
	}
	return append(list,
		item{"keys (F1)", closing(func() { o.help = true })},
		item{"net graph (F3)", closing(func() { o.graph = !o.graph })},
		item{"full screen (F11)", closing(o.fullscreen)},
		item{"leave", func(time.Time) error { return ErrClosed }})
}

const (
	menuTop, menuRow, menuWidth = 3.4, 0.95, 9.5
	itemsTop                    = menuTop + 1.5
)

// choose follows the keys and the mouse in the menu.
func (o *overlay) choose(now time.Time, aspect float64, p presses) error {
	list := o.items()
	if p.key(ebiten.KeyArrowDown) {
		o.row++
	}
	if p.key(ebiten.KeyArrowUp) {
		o.row += len(list) - 1
	}
	o.row %= len(list)
	inside := max(p.x-8*aspect, 8*aspect-p.x) < menuWidth/2
	if row := int((p.y - itemsTop) / menuRow); p.click && inside && p.y > itemsTop && row < len(list) {
		o.row = row
		return list[row].do(now)
	}
	if p.key(ebiten.KeyEnter) || p.key(ebiten.KeySpace) {
		return list[o.row].do(now)
	}
	return nil
}

var (
	panelColor = ecs.Color{R: 12, G: 14, B: 20, A: 225}
	rowColor   = ecs.Color{R: 90, G: 160, B: 255, A: 110}
	textColor  = ecs.Color{R: 240, G: 242, B: 248, A: 255}
	dimColor   = ecs.Color{R: 160, G: 168, B: 188, A: 255}
	lineColor  = ecs.Color{R: 111, G: 208, B: 140, A: 255}
)

// paint paints what is shown on a canvas of height 16. v may be nil.
func (o *overlay) paint(c ecs.Canvas, v *ecs.View, now time.Time) {
	middle := 8 * c.Aspect()
	if o.config.Stats != nil {
		o.samples.add(now, o.config.Stats())
		if o.graph {
			o.samples.paint(c, o.config.Game.TickRate)
		}
	}
	if now.Before(o.note.end) {
		c.Rectangle(middle-6, 2.2, 12, 1, panelColor)
		c.Text(middle, 2.4, 0.55, 0, o.note.text, textColor)
	}
	o.paintChat(c, now)
	switch {
	case o.menu:
		o.paintMenu(c, middle)
	case o.help:
		o.paintHelp(c, middle)
	case o.players && v != nil:
		o.paintPlayers(c, v, middle)
	}
}

func (o *overlay) paintMenu(c ecs.Canvas, middle float64) {
	list := o.items()
	c.Rectangle(middle-menuWidth/2, menuTop, menuWidth, 1.8+menuRow*float64(len(list)), panelColor)
	c.Text(middle, menuTop+0.35, 0.75, 0, o.config.Title, textColor)
	for i, one := range list {
		y := itemsTop + menuRow*float64(i)
		if i == o.row {
			c.Rectangle(middle-menuWidth/2+0.2, y, menuWidth-0.4, menuRow-0.08, rowColor)
		}
		c.Text(middle, y+0.16, 0.55, 0, one.text, textColor)
	}
}

// paintHelp lists the keys of the game, then those of the window.
func (o *overlay) paintHelp(c ecs.Canvas, middle float64) {
	list := append([]ecs.KeyHelp{}, o.config.Game.Screen.Keys...)
	for _, own := range []struct {
		shown bool
		help  ecs.KeyHelp
	}{
		{o.chats(), ecs.KeyHelp{Key: "Enter", Meaning: "chat"}}, {true, ecs.KeyHelp{Key: "Tab", Meaning: "players"}},
		{true, ecs.KeyHelp{Key: "Esc", Meaning: "menu"}}, {true, ecs.KeyHelp{Key: "F1", Meaning: "these keys"}},
		{o.config.Network != nil, ecs.KeyHelp{Key: "F2", Meaning: "next network"}}, {o.config.Stats != nil, ecs.KeyHelp{Key: "F3", Meaning: "net graph"}},
		{true, ecs.KeyHelp{Key: "F11", Meaning: "full screen"}},
	} {
		if own.shown {
			list = append(list, own.help)
		}
	}
	row := min(0.75, 12/float64(len(list)))
	height := 1.6 + row*float64(len(list))
	top := (16 - height) / 2
	c.Rectangle(middle-5.5, top, 11, height, panelColor)
	c.Text(middle, top+0.25, 0.7, 0, "keys", textColor)
	for i, k := range list {
		y := top + 1.3 + row*float64(i)
		c.Text(middle-0.6, y, row*0.66, 1, k.Key, textColor)
		c.Text(middle, y, row*0.66, -1, k.Meaning, dimColor)
	}
}

// paintPlayers lists the players with their pings and scores.
func (o *overlay) paintPlayers(c ecs.Canvas, v *ecs.View, middle float64) {
	rows, score := 0, o.config.Game.Screen.Score
	for _, s := range v.Roster {
		if s != (ecs.Seated{}) {
			rows++
		}
	}
	row := min(0.75, 12/float64(max(rows, 1)))
	height := 1.6 + row*float64(rows)
	top, left, right := (16-height)/2, middle-6, middle+6
	c.Rectangle(left, top, right-left, height, panelColor)
	heads := []struct {
		x     float64
		align int
		text  string
	}{{left + 0.5, -1, "player"}, {right - 3.5, 1, "ping"}, {right - 0.5, 1, "score"}}
	for _, h := range heads {
		if h.text != "score" || score != nil {
			c.Text(h.x, top+0.35, 0.5, h.align, h.text, dimColor)
		}
	}
	y := top + 1.3
	for p, s := range v.Roster {
		if s == (ecs.Seated{}) {
			continue
		}
		if p == v.Seat {
			c.Rectangle(left+0.2, y-0.1, right-left-0.4, row, rowColor)
		}
		name, ping := s.Name, fmt.Sprintf("%d ms", s.Ping.Milliseconds())
		if name == "" {
			name = fmt.Sprintf("P%d", p)
		}
		switch {
		case s.Bot && s.Ping == 0:
			ping = "bot"
		case !s.Connected:
			ping = "reconnecting"
		case s.Ping == 0:
			ping = "…"
		}
		c.Text(left+0.5, y, row*0.66, -1, name, textColor)
		c.Text(right-3.5, y, row*0.66, 1, ping, textColor)
		if score != nil {
			c.Text(right-0.5, y, row*0.66, 1, score(v, ecs.Player(p)), textColor)
		}
		y += row
	}
}

// paintChat paints the last lines and the line that is typed.
func (o *overlay) paintChat(c ecs.Canvas, now time.Time) {
	const left, bottom, row = 0.2, 14.6, 0.62
	shown := o.lines[:0:0]
	for _, l := range o.lines {
		if o.typing || now.Before(l.end) {
			shown = append(shown, l)
		}
	}
	for i, l := range shown {
		y := bottom - row*float64(len(shown)-i)
		c.Rectangle(left, y, 13, row, ecs.Color{A: 110})
		c.Text(left+0.2, y+0.06, 0.42, -1, l.text, textColor)
	}
	if o.typing {
		c.Rectangle(left, bottom+0.05, 13, 0.7, panelColor)
		c.Text(left+0.2, bottom+0.16, 0.42, -1, string(o.typed)+"_", textColor)
	}
}
