// Package player runs a client: a bot or a spectator without a window, or a person in a window.
package player

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/host"
	"tendon/cmd/cli/window"
	"tendon/ecs"
	"tendon/net/client"
	"tendon/net/cost"
	"tendon/net/session"
	"tendon/systems"
)

// Player runs a client without a window: a bot or a spectator. One goroutine owns the client; any may call Line.
type Player struct {
	Name   string
	Client *client.Client
	Game   *ecs.Game
	Server *host.ChecksumHistory // of the server in this process; optional
	Bot    bool                  // a spectator's token is an error
	Ledger *cost.Ledger          // optional

	compared  ecs.Tick                // last tick whose checksum was compared
	cost      *hdrhistogram.Histogram // of a Frame, in µs
	published time.Time               // time of the last rates

	mu    sync.Mutex
	shown Line
}

// Line is one row of the live table.
type Line struct {
	Name       string  `json:"name"`
	State      string  `json:"state"`
	Waiting    bool    `json:"waiting,omitempty"` // live, but nothing arrives from the server
	Tick       uint64  `json:"tick"`
	Confirmed  uint64  `json:"confirmed"`
	Progress   float64 `json:"progress"` // of loading and catching up, in [0, 1]
	RTTMs      float64 `json:"rtt_ms"`
	UpBps      float64 `json:"up_bytes_per_s"`
	DownBps    float64 `json:"down_bytes_per_s"`
	FrameP50Us float64 `json:"frame_p50_us"`
	FrameP99Us float64 `json:"frame_p99_us"`
	Resyncs    uint64  `json:"resyncs"`
	Reconnects uint64  `json:"reconnects"`
	figures

	up, down uint64 // total bytes
}

// figures describe a client's prediction, and count the comparisons with the server's checksums.
type figures struct {
	Rollbacks uint64  `json:"rollbacks"`
	PerSecond float64 `json:"rollbacks_per_s"`
	Depth     float64 `json:"mean_depth"`
	Deepest   uint64  `json:"max_depth"`
	Corrected uint64  `json:"corrections"`
	Stalls    uint64  `json:"stalled_frames"`
	Stalled   string  `json:"stalled,omitempty"` // reason of the current stall
	Agreed    uint64  `json:"checksums_equal"`
	Differed  uint64  `json:"checksums_different"`
	Desync    string  `json:"desync,omitempty"` // the first
}

// New returns a player of a client.
func New(name string, c *client.Client, g *ecs.Game) *Player {
	return &Player{Name: name, Client: c, Game: g, cost: hdrhistogram.New(1, int64(10*time.Second/time.Microsecond), 3), shown: Line{Name: name, Progress: 1}}
}

// ErrDesynced ends a player whose state differed from the server's, once the difference is explained.
var ErrDesynced = errors.New("the states differ")

// ErrSilent ends a client that receives no response, as to a token that is not valid.
var ErrSilent = errors.New("no server answers: check the address, that a server runs there and that UDP reaches it. Take a token made with the server's key and not used before. If the player of that --client-id is connected already, take one made since")

// unanswered reports whether a client should stop connecting: after two attempts without a response.
func unanswered(c *client.Client) bool {
	return c.State() == client.Connecting && c.Stats().Reconnects >= 2
}

// Run plays until the context is done, or returns the error that ended the client.
func (p *Player) Run(ctx context.Context) error {
	ticker := time.NewTicker(time.Second / time.Duration(p.Game.TickRate))
	defer ticker.Stop()
	defer p.Client.Close()
	p.published = time.Now()
	next := p.published
	for {
		select {
		case <-ctx.Done():
			p.publish(time.Now(), true)
			return nil
		case now := <-ticker.C:
			err := p.frame(now)
			if err != nil || !now.Before(next) {
				p.publish(now, err != nil)
				next = now.Add(time.Second / 10)
			}
			if err != nil {
				return err
			}
		}
	}
}

func (p *Player) frame(now time.Time) error {
	start := time.Now()
	err := p.Client.Frame(now)
	_ = p.cost.RecordValue(max(int64(time.Since(start)/time.Microsecond), 1))
	p.Client.Effects(func(systems.Effect) {})
	p.compare()
	switch {
	case err != nil:
		return err
	case unanswered(p.Client):
		return ErrSilent
	case p.Bot && p.Client.Core.World() != nil && p.Client.Seat() < 0:
		return errors.New("the token is a spectator's, so there is nothing for a bot to play: leave --bot out, or take a token for a player")
	case p.Server != nil && len(p.Client.Core.Desyncs()) > 0:
		return ErrDesynced
	}
	return nil
}

// compare compares the newest confirmed state with the server's checksums.
func (p *Player) compare() {
	if p.Server == nil {
		return
	}
	_, _, confirmed, _ := p.Client.Core.Snapshots(0) // the confirmed state does not depend on the moment
	if confirmed.Empty() || confirmed.Tick() <= p.compared {
		return
	}
	want := p.Server.At(confirmed.Tick())
	if want == nil {
		return
	}
	p.compared = confirmed.Tick()
	have, skipped := confirmed.ComponentChecksums(nil), make([]bool, len(want))
	if half, ok := p.Client.Core.Strategy().(systems.Replicated); ok {
		if _, whole := half.Replica(); !whole {
			return
		}
		skipped = systems.Unreplicated(skipped[:0], p.Game, half)
	}
	var differ []string
	for i, name := range p.Game.Schema().Columns() {
		if have[i] != want[i] && !skipped[i] {
			differ = append(differ, name)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(differ) == 0 {
		p.shown.Agreed++
		return
	}
	p.shown.Differed++
	p.shown.Desync = cmp.Or(p.shown.Desync, fmt.Sprintf("tick %d: %s differ", confirmed.Tick(), strings.Join(differ, ", ")))
}

// publish updates the progress of loading and catching up and, once a second or if all is set, the other figures.
func (p *Player) publish(now time.Time, all bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := &p.shown
	l.State, l.Progress = p.Client.State().String(), p.Client.Progress()
	elapsed := now.Sub(p.published)
	if !all && elapsed < time.Second {
		return
	}
	p.published = now
	s := p.Client.Stats()
	st, seconds := s.Strategy, max(elapsed.Seconds(), 1e-3)
	l.Waiting, l.Tick, l.Confirmed, l.RTTMs = s.Waiting, uint64(st.Present), uint64(st.Confirmed), float64(s.RTT)/1e6
	l.PerSecond = float64(st.Rollbacks-l.Rollbacks) / seconds
	if st.Rollbacks > 0 {
		l.Depth = float64(st.Resimulated) / float64(st.Rollbacks)
	}
	l.Rollbacks, l.Deepest, l.Corrected, l.Stalls, l.Stalled = st.Rollbacks, st.Deepest, st.Corrections, st.Stalls, st.Stalled.String()
	l.UpBps, l.DownBps = float64(s.Session.BytesSent-l.up)/seconds, float64(s.Session.BytesReceived-l.down)/seconds
	l.up, l.down = s.Session.BytesSent, s.Session.BytesReceived
	l.FrameP50Us, l.FrameP99Us = float64(p.cost.ValueAtQuantile(50)), float64(p.cost.ValueAtQuantile(99))
	l.Resyncs, l.Reconnects = s.Resyncs, s.Reconnects
	if d := p.Client.Core.Desyncs(); len(d) > 0 {
		l.Desync = d[len(d)-1].String()
	}
}

// Line returns the row that was published last.
func (p *Player) Line() Line {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.shown
}

// InWindow plays in a window. An error from lost ends it early. lost is optional.
func InWindow(ctx context.Context, a *app.App, c *client.Client, title string, lost <-chan error) error {
	defer c.Close()
	err := window.Run(window.Config{
		Title: title, Game: a.Game,
		Frame: func(now time.Time, in ecs.InputBytes) error {
			select {
			case <-ctx.Done():
				return window.ErrClosed
			case err := <-lost:
				return err
			default:
			}
			if unanswered(c) {
				return ErrSilent
			}
			c.SetInput(in)
			return c.Frame(now)
		},
		View: func(now time.Time) *ecs.View {
			if c.Core.World() == nil {
				return nil
			}
			view := c.View(now)
			c.Effects(func(e systems.Effect) {
				if a.Game.Screen.Effect != nil {
					a.Game.Screen.Effect(view, e)
				}
			})
			return view
		},
		Status: func() string {
			s := c.Stats()
			switch s.State {
			case client.Live:
				return fmt.Sprintf("RTT %d ms · %d ticks ahead · input delay %d", s.RTT/1e6, s.Strategy.Present-s.Strategy.Confirmed, s.Strategy.InputDelay)
			case client.Loading, client.CatchingUp:
				return fmt.Sprintf("%v [%-20s] %.0f %%", s.State, strings.Repeat("#", int(20*c.Progress())), 100*c.Progress())
			}
			return s.State.String() + "…"
		},
	})
	return PlayError(err)
}

// PlayError adds advice to the error that ended a client. Leaving is no error.
func PlayError(err error) error {
	switch {
	case errors.Is(err, client.ErrClosed):
		return nil
	case errors.Is(err, client.ErrUnreachable):
		return fmt.Errorf("%w; see whether the server still runs, and whether the same player has joined from elsewhere", err)
	case errors.Is(err, &session.Error{Code: session.CodeGame}):
		return fmt.Errorf("%w; it may also be that the server runs at another --tick-rate: give the same", err)
	}
	return err
}
