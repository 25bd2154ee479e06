package labpage

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"tendon/cmd/cli/page"
	"tendon/net/session"
	"tendon/net/simnet"
	"tendon/systems"
)

// aspect is the width of a picture by its height.
const aspect = 1.6

// frame is the buffer of a message with pictures.
type frame struct {
	picture, ghosts *page.Picture
	ghost           *ghost
	message         []byte
}

// picture returns the next message with the picture, the ghosts and the newest shown press of every match. It has readings
// too, if they are new to the page. readings is their number.
func (s *viewer) picture() (message []byte, readings uint64) {
	f := &s.frame
	b := fmt.Appendf(f.message[:0], `{"k":"frame","epoch":%d,"at":%d`, s.epoch, s.live.Now()/time.Millisecond)
	_, readings = s.live.Readings(0)
	full := readings != s.sent
	if full {
		b = fmt.Appendf(b, `,"pace":%.2f,"link":`, s.live.Pace())
		b = appendJSON(b, s.live.Link())
	}
	b = append(b, `,"panels":[`...)
	for i := range s.live.Len() {
		if i > 0 {
			b = append(b, ',')
		}
		b = s.panel(b, i, full)
	}
	f.message = append(b, "]}"...)
	return f.message, readings
}

// panel appends match i.
func (s *viewer) panel(b []byte, i int, full bool) []byte {
	f := &s.frame
	reading, _ := s.live.Readings(i)
	b = fmt.Appendf(b, `{"seen":%d,"after":%.1f`, reading.Seen, reading.SeenAfter)
	f.picture.Reset(aspect)
	f.ghost.begin(f.picture)
	if s.live.Draw(i, f.ghost) {
		b = append(b, `,"picture":`...)
		b = f.picture.Append(b)
		f.ghosts.Reset(aspect)
		f.ghost.beginGhosts(f.ghosts)
		s.live.DrawServer(i, f.ghost)
		b = append(b, `,"ghosts":`...)
		b = f.ghosts.Append(b)
	}
	if full {
		b = append(b, `,"reading":`...)
		b = appendJSON(b, reading)
	}
	return append(b, '}')
}

func appendJSON(b []byte, of any) []byte {
	text, err := json.Marshal(of)
	if err != nil { // a NaN, which no reading has
		text = []byte("null")
	}
	return append(b, text...)
}

// network is a standard profile of the page.
type network struct {
	Name      string  `json:"name"`
	Title     string  `json:"title"`
	Plain     string  `json:"plain"`
	RTT       float64 `json:"rtt"`
	Jitter    float64 `json:"jitter"`
	Loss      float64 `json:"loss"`
	Duplicate float64 `json:"duplicate"`
	Reorder   float64 `json:"reorder"`
}

// descriptions are the titles and descriptions of the standard profiles, for viewers who do not know their names.
var descriptions = map[string][2]string{
	"P0": {"Perfect", "Nothing takes any time and nothing is lost. Every method looks the same here."},
	"P1": {"Same room", "A cable in one room: two thousandths of a second."},
	"P2": {"Good line", "A good line to a server in the same country."},
	"P3": {"Typical", "A usual connection: a tenth of a second there and back, now and then a packet is lost."},
	"P4": {"Other continent", "A quarter of a second there and back, perfectly steady."},
	"P5": {"Bad Wi-Fi", "A quarter of a second, uneven, and every twentieth packet is lost."},
	"P6": {"Slow upload", "Your packets take ten times as long to the server as back."},
	"P7": {"Train ride", "Between a fifth of a second and two seconds, always wandering."},
	"P8": {"Short outages", "A fair line that is gone altogether for a quarter of a second now and then."},
	"P9": {"Hopeless", "Two seconds there and back, and every fourth packet is lost."},
}

func networks() (list []network) {
	for _, p := range simnet.Profiles() {
		milliseconds := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
		n := network{Name: p.Name, Title: descriptions[p.Name][0], Plain: descriptions[p.Name][1], RTT: milliseconds(p.Up.Delay + p.Down.Delay),
			Jitter: milliseconds(p.Up.Jitter.Size), Loss: p.Up.Loss * 100, Duplicate: p.Up.Duplicate * 100, Reorder: p.Up.Reorder * 100}
		if p.Up.Walk.Max > 0 {
			n.RTT = milliseconds(p.Up.Walk.Min + p.Down.Walk.Min)
		}
		list = append(list, n)
	}
	return list
}

// hello returns the first message to a page.
func (s *viewer) hello() map[string]any {
	g := s.config.Game
	ahead := slices.DeleteFunc(slices.Clone(s.config.Strategies), func(x systems.Strategy) bool { return !x.Predicts })
	return map[string]any{"k": "hello", "game": g.Name, "rate": g.TickRate, "controls": g.Screen.Controls != nil, "settings": s.want,
		"networks": networks(), "strategies": names(s.config.Strategies), "predict": names(ahead), "players": min(g.MaxPlayers, maxPlayers)}
}

// broken returns the reason of new matches, for the viewer.
func broken(err error) string {
	if errors.Is(err, &session.Error{Code: session.CodeDesync}) {
		return "The server removed this player: its state differed for the third time. New matches have begun."
	}
	return "A match broke off (" + err.Error() + "). New matches have begun."
}
