package labpage

import (
	"context"
	"encoding/json"
	"time"

	"tendon/cmd/cli/page"
	"tendon/net/lab"
)

// visit is one page that is open, with its matches. want is what the page asked for last, have what runs. Both are
// clamped.
type visit struct {
	config Config
	to     *page.Conn
	start  time.Time
	live   *lab.Live // nil before the first, and if none can be made
	epoch  int       // counts the Lives
	want   Settings
	have   Settings
	again  bool // new matches are asked for
	asked  bool // the page has said what it wants
	number int  // of what it said last of that
	paused bool
	passed time.Duration // of real time, while not paused
	last   time.Time
	hands  hands
	press  uint64
	hand   bool // a person plays
	frame  frame
	told   uint64 // the last reading that was sent
}

// frameRate is how many pictures a second are sent at most.
const frameRate = 30

func newVisit(c Config, to *page.Conn) *visit {
	now := time.Now()
	return &visit{config: c, to: to, start: now, last: now, want: c.Begin.clamped(c.Game)}
}

// run talks with the page until it is gone.
func (s *visit) run(ctx context.Context) error {
	if err := s.say(s.hello()); err != nil {
		return nil // it is gone
	}
	ticker := time.NewTicker(time.Second / frameRate)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case m, ok := <-s.to.Messages():
			if !ok {
				return nil
			}
			s.take(m)
		case now := <-ticker.C:
			if len(s.to.Messages()) > 0 {
				continue // first all that the page said
			}
			if s.asked && s.step(now) != nil {
				return nil // it is gone
			}
		}
	}
}

// said is what a page says.
type said struct {
	Kind     string          `json:"k"`
	Settings json.RawMessage `json:"settings"`
	Number   int             `json:"number"` // counts the settings that a page has said
	Keys     []string        `json:"keys"`
	X        float64         `json:"x"`
	Y        float64         `json:"y"`
	Pointed  bool            `json:"pointed"`
	Press    uint64          `json:"press"`
	On       bool            `json:"on"`
}

// take does what the page says. What is not understood is passed over.
func (s *visit) take(message []byte) {
	var m said
	if json.Unmarshal(message, &m) != nil {
		return
	}
	switch m.Kind {
	case "set":
		want := s.want // what is not named stays
		if json.Unmarshal(m.Settings, &want) == nil {
			s.want, s.asked, s.number = want.clamped(s.config.Game), true, m.Number
		}
	case "hands":
		s.hands.take(m.Keys, m.X, m.Y, m.Pointed)
		s.press, s.hand = min(max(s.press, m.Press), mostSeed), true
	case "auto":
		s.hand = false
	case "again":
		s.again = true
	case "pause":
		s.paused = m.On
	case "desync":
		if s.live != nil {
			s.live.Desync()
		}
	}
}

// step lets time go by and sends what there is to see. An error says that the page is gone.
func (s *visit) step(now time.Time) error {
	if !s.paused {
		s.passed += now.Sub(s.last)
	}
	s.last = now
	if err := s.apply(); err != nil {
		return err
	}
	if s.live == nil {
		return nil
	}
	s.play()
	if err := s.live.Advance(s.passed); err != nil {
		s.again = true
		return s.say(map[string]any{"k": "note", "text": broken(err)})
	}
	message, readings := s.picture()
	if s.to.Offer(message) { // a page that is behind misses a picture, and has the readings with the next
		s.told = readings
	}
	return nil
}

// apply makes what runs what is wanted.
func (s *visit) apply() error {
	old := s.have
	fresh := s.live == nil && s.epoch == 0 || s.again || !s.want.sameMatch(&old)
	s.have = s.want
	s.again = false
	if fresh {
		return s.begin()
	}
	if s.live == nil {
		return nil
	}
	if !s.have.sameNetwork(&old) {
		if err := s.live.SetProfile(s.have.profile()); err != nil {
			return s.refuse(err)
		}
	}
	for i, name := range s.have.Sync {
		if !s.have.sameOwn(&old, name) {
			if err := s.live.SetOwn(i, s.have.own(name)); err != nil {
				return s.refuse(err)
			}
		}
	}
	return nil
}

// begin begins new matches.
func (s *visit) begin() error {
	s.epoch++
	live, err := lab.NewLive(lab.LiveConfig{Game: s.config.Game, Entries: s.have.entries(), Profile: s.have.profile(), Players: s.have.Players,
		Seed: s.have.Seed, Clock: func() time.Duration { return time.Since(s.start) }})
	s.live, s.told = live, 0
	if err != nil {
		s.live = nil
		return s.refuse(err)
	}
	s.last = time.Now() // making them took a while, which is not made up for
	return s.say(map[string]any{"k": "begin", "epoch": s.epoch, "settings": s.have, "number": s.number})
}

// refuse says why something that was asked for is not so.
func (s *visit) refuse(err error) error {
	return s.say(map[string]any{"k": "note", "text": err.Error(), "bad": true})
}

// play gives the matches what the hands do.
func (s *visit) play() {
	controls := s.config.Game.Screen.Controls
	if !s.hand || controls == nil {
		s.live.Autoplay()
		return
	}
	s.hands.aim(s.live.Avatar(0))
	s.live.Input(controls(&s.hands), s.press)
}

func (s *visit) say(m any) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return s.to.Send(text)
}
