package labpage

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"time"

	"tendon/cmd/cli/internal/keys"
	"tendon/cmd/cli/page"
	"tendon/ecs"
	"tendon/net/lab"
	"tendon/net/simnet"
)

// viewer is one open page, with its matches.
type viewer struct {
	config Config
	conn   *page.Conn
	live   *lab.Live // nil before the first, and if the settings allow none
	epoch  int       // number of the Live
	want   Settings  // the newest from the page, clamped
	have   Settings  // of the Live
	number int       // of want, by the page's count
	fresh  bool      // the page asks for new matches
	ready  bool      // the page has sent its settings

	last   time.Time // of the last step
	paused bool
	swaps  bool // the page has requested a swap

	controls controls
	press    uint64
	manual   bool // the viewer plays
	ghost    *ghost
	sent     uint64 // number of the last readings that were sent
}

const frameRate = 30 // most pictures per second

func newViewer(c Config, conn *page.Conn) *viewer {
	return &viewer{config: c, conn: conn, last: time.Now(), want: c.Begin.clamped(&c), ghost: newGhost()}
}

// run serves the page until it is closed.
func (s *viewer) run(ctx context.Context) error {
	if s.send(s.hello()) != nil {
		return nil // the page was closed
	}
	ticker := time.NewTicker(time.Second / frameRate)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case m, ok := <-s.conn.Messages():
			if !ok {
				return nil
			}
			s.receive(m)
		case now := <-ticker.C:
			if len(s.conn.Messages()) > 0 {
				continue // the page's messages come first
			}
			if s.ready && s.step(now) != nil {
				return nil
			}
		}
	}
}

// request is a message from the page.
type request struct {
	Kind     string          `json:"k"`
	Settings json.RawMessage `json:"settings"`
	Number   int             `json:"number"` // of the settings, by the page's count
	hands
	Press uint64 `json:"press"`
	On    bool   `json:"on"`
}

// receive carries out a message from the page. A malformed message is ignored.
func (s *viewer) receive(message []byte) {
	var m request
	if json.Unmarshal(message, &m) != nil {
		return
	}
	switch m.Kind {
	case "set":
		want := s.want // fields that are not in the message stay
		want.Sync = slices.Clone(want.Sync)
		if json.Unmarshal(m.Settings, &want) == nil {
			s.want, s.ready, s.number = want.clamped(&s.config), true, m.Number
		}
	case "hands":
		s.controls.set(&m.hands)
		s.click(m.Clicks)
		s.press, s.manual = min(max(s.press, m.Press), maxSeed), true
	case "auto":
		s.manual = false
	case "again":
		s.fresh = true
	case "pause":
		s.paused = m.On
	case "swap":
		s.swaps = true
	}
	if s.live == nil {
		return
	}
	switch m.Kind {
	case "desync":
		s.live.Desync()
	case "spike":
		s.live.Spike()
	case "unplug":
		s.live.Unplug()
	}
}

// click keeps the presses of the mouse buttons for the next pictures.
func (s *viewer) click(at map[string]ecs.Point) {
	for _, button := range keys.Mouse {
		if p, ok := at[button]; ok && usable(p.X, p.Y) {
			s.ghost.Clicks[button] = p
		}
	}
}

// step advances the matches and sends their pictures. An error reports that the page was closed.
func (s *viewer) step(now time.Time) error {
	passed := now.Sub(s.last)
	s.last = now
	if s.paused {
		passed = 0
	}
	if err := s.apply(); err != nil || s.live == nil {
		return err
	}
	s.play()
	if err := s.live.Advance(passed); err != nil {
		s.fresh = true
		return s.send(map[string]any{"k": "note", "text": broken(err)})
	}
	message, panels, readings := s.pictures()
	text, err := encode(message, panels)
	if err != nil {
		return err
	}
	if s.conn.Offer(text) { // a slow page misses the picture and receives the readings later
		s.sent = readings
	}
	return nil
}

// apply applies the wanted settings, to the running matches or to new ones.
func (s *viewer) apply() error {
	old := s.have
	s.have = s.want
	if s.live == nil && s.epoch == 0 || s.fresh || !s.want.sameMatch(&old) {
		s.fresh = false
		return s.begin()
	}
	if s.live == nil {
		return nil
	}
	if !reflect.DeepEqual(s.have.profile(), old.profile()) {
		if err := s.live.SetProfile(s.have.profile()); err != nil {
			return s.refuse(err)
		}
	}
	if s.swaps {
		err := s.live.Swap()
		if s.swaps = errors.Is(err, lab.ErrBusy); err != nil && !s.swaps {
			return s.refuse(err)
		}
	}
	for i := range s.live.Len() {
		x := s.live.Strategy(i)
		if c := s.have.client(&x); c != old.client(&x) {
			if err := s.live.SetOwn(i, c.own()); err != nil {
				return s.refuse(err)
			}
		}
	}
	return nil
}

// newLive returns running matches with these settings.
func newLive(c *Config, s *Settings) (*lab.Live, error) {
	start := time.Now()
	strategies, own := s.matches(c.Strategies)
	return lab.NewLive(lab.Config{Game: c.Game, Strategies: strategies, Profiles: []simnet.Profile{s.profile()},
		Players: s.Players, Seed: s.Seed, Clock: func() time.Duration { return time.Since(start) }}, own)
}

// begin begins new matches.
func (s *viewer) begin() error {
	s.epoch++
	live, err := newLive(&s.config, &s.have)
	if err != nil {
		s.live = nil
		return s.refuse(err)
	}
	s.live, s.sent, s.ghost.common = live, 0, camera{}
	s.last = time.Now() // the time that NewLive took does not count
	return s.send(map[string]any{"k": "begin", "epoch": s.epoch, "settings": s.have, "number": s.number})
}

// refuse sends the reason why settings could not be applied.
func (s *viewer) refuse(err error) error {
	return s.send(map[string]any{"k": "note", "text": err.Error(), "bad": true})
}

// play passes the viewer's input to the matches.
func (s *viewer) play() {
	input := s.config.Game.Screen.Controls
	if !s.manual || input == nil {
		s.live.Autoplay()
		return
	}
	s.controls.aim(avatar(s.live.View(0)))
	if s.controls.orders == nil {
		s.controls.orders = ecs.NewOrderQueue(s.config.Game)
	}
	s.live.Input(input(&s.controls), s.press)
	s.controls.seen()
	s.controls.orders.Drain(s.live.Order)
}

// avatar returns the position of player 0's avatar in a view. ok is false if there is none.
func avatar(v *ecs.View) (x, y float64, ok bool) {
	if v == nil {
		return 0, 0, false
	}
	v.Sim.Image().Motions(func(e ecs.Entity, m ecs.Motion) bool {
		if ok = e.Owner() == ecs.OwnedBy(0); ok {
			x, y = m.Pos.X.Float(), m.Pos.Y.Float()
		}
		return !ok
	})
	return x, y, ok
}

func (s *viewer) send(m any) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return s.conn.Send(text)
}
