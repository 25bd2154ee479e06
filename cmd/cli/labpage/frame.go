package labpage

import (
	"encoding/json"
	"errors"
	"slices"
	"time"

	"tendon/ecs"
	"tendon/net/cost/traffic"
	"tendon/net/lab"
	"tendon/net/session"
	"tendon/net/simnet"
	"tendon/systems"
)

// panel is the part of a message for one match: the picture, the ghosts, the newest shown key press, and the enabled views.
type panel struct {
	Seen    uint64         `json:"seen"`
	After   float64        `json:"after"`
	Reading *lab.Reading   `json:"reading,omitempty"`
	Bytes   *traffic.Bytes `json:"bytes,omitempty"` // with Reading: the largest rows first, at most byteRows

	picture, ghosts, server, other []byte // JSON; nil if absent
}

// byteRows is the maximum number of rows of panel.Bytes.
const byteRows = 10

// encode returns a message with pictures as JSON. The pictures are copied, since encoding/json would scan each byte of them.
func encode(message map[string]any, panels []panel) ([]byte, error) {
	text, err := json.Marshal(message)
	if err != nil {
		return nil, err
	}
	text = append(text[:len(text)-1], `,"panels":[`...)
	for i := range panels {
		p := &panels[i]
		fields, err := json.Marshal(p)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, fields[:len(fields)-1]...)
		for _, x := range [...]struct {
			key     string
			picture []byte
		}{{`,"picture":`, p.picture}, {`,"ghosts":`, p.ghosts}, {`,"server":`, p.server}, {`,"other":`, p.other}} {
			if x.picture != nil {
				text = append(append(text, x.key...), x.picture...)
			}
		}
		text = append(text, '}')
	}
	return append(text, "]}"...), nil
}

// pictures returns the next message and the panels in it. It has readings too, if they are new to the page. readings is their
// number.
func (s *viewer) pictures() (message map[string]any, panels []panel, readings uint64) {
	message = map[string]any{"k": "frame", "epoch": s.epoch, "at": s.live.Now() / time.Millisecond}
	_, readings = s.live.Readings(0)
	full := readings != s.sent
	if full {
		message["pace"], message["link"] = s.live.Pace(), s.live.Link()
	}
	panels = make([]panel, s.live.Len())
	var cameras []camera
	for i := range panels {
		p := &panels[i]
		reading, _ := s.live.Readings(i)
		p.Seen, p.After = reading.Seen, reading.SeenAfter
		if full {
			bytes := s.live.Bytes(i)
			bytes.Rows = bytes.Rows[:min(len(bytes.Rows), byteRows)]
			p.Reading, p.Bytes = &reading, &bytes
		}
		view := s.live.View(i)
		if view == nil {
			continue
		}
		p.picture = s.paint(view)
		cameras = append(cameras, s.ghost.camera)
		s.ghost.beginGhosts()
		if server := s.live.ServerView(i); server != nil {
			s.config.Game.Screen.Draw(s.ghost, server)
		}
		p.ghosts = s.ghost.Append(nil)
	}
	clear(s.ghost.Clicks) // only the own pictures take orders
	for i := range panels {
		if s.have.Server {
			panels[i].server = s.paint(s.live.ServerView(i))
		}
		if s.have.Other {
			panels[i].other = s.paint(s.live.OtherView(i))
		}
	}
	s.ghost.common, message["apart"] = common(cameras)
	return message, panels, readings
}

// paint returns a picture without ghosts, or nil without a view.
func (s *viewer) paint(v *ecs.View) []byte {
	if v == nil {
		return nil
	}
	s.ghost.begin()
	s.config.Game.Screen.Draw(s.ghost, v)
	return s.ghost.Append(nil)
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
	"P0":  {"Perfect", "Nothing takes any time and nothing is lost. Every strategy looks the same here."},
	"P1":  {"Same room", "A cable in one room: two thousandths of a second."},
	"P2":  {"Good line", "A good line to a server in the same country."},
	"P3":  {"Typical", "A usual connection: a tenth of a second there and back, now and then a packet is lost."},
	"P4":  {"Other continent", "A quarter of a second there and back, perfectly steady."},
	"P5":  {"Bad Wi-Fi", "A quarter of a second, uneven, and every twentieth packet is lost."},
	"P6":  {"Slow upload", "Your packets take ten times as long to the server as back."},
	"P7":  {"Train ride", "Between a fifth of a second and two seconds, always wandering."},
	"P8":  {"Short outages", "A fair line that is gone altogether for a quarter of a second now and then."},
	"P9":  {"Hopeless", "Two seconds there and back, and every fourth packet is lost."},
	"P10": {"Slow line", "A line of 300 kbit/s that stores a whole second of packets before it drops one."},
	"P11": {"Shared line", "All players share 1 Mbit/s with downloads that come and go."},
	"P12": {"Fading Wi-Fi", "A good line on which, every two seconds, most packets are lost for a sixth of a second."},
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
