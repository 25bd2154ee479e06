package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"tendon/ecs"
	"tendon/net/client"
	"tendon/net/cost"
	"tendon/systems"
)

// player runs a client without a window: a bot, or somebody who only looks on. One goroutine owns the client; line
// may be asked for from any.
type player struct {
	name   string
	client *client.Client
	truth  *truth // nil: checksums cannot be compared here
	bot    bool   // it is to play: a spectator's token is of no use to it
	game   *ecs.Game

	compared ecs.Tick                // last tick whose checksum was compared
	sums     [2][]ecs.Checksum       // scratch: the client's and the server's
	untold   []bool                  // scratch
	cost     *hdrhistogram.Histogram // of a Frame, in µs
	ledger   *cost.Ledger            // set where the match tells of costs

	mu    sync.Mutex
	shown line
}

// line is one row of the live table.
type line struct {
	Name       string  `json:"name"`
	State      string  `json:"state"`
	Waiting    bool    `json:"waiting,omitempty"` // live, and the server is silent
	Tick       uint64  `json:"tick"`
	Confirmed  uint64  `json:"confirmed"`
	RTTMs      float64 `json:"rtt_ms"`
	Rollbacks  uint64  `json:"rollbacks"`
	PerSecond  float64 `json:"rollbacks_per_s"`
	Depth      float64 `json:"mean_depth"`
	Deepest    uint64  `json:"max_depth"`
	Corrected  uint64  `json:"corrections"`
	Stalls     uint64  `json:"stalled_frames"`
	UpBps      float64 `json:"up_bytes_per_s"`
	DownBps    float64 `json:"down_bytes_per_s"`
	FrameP50Us float64 `json:"frame_p50_us"`
	FrameP99Us float64 `json:"frame_p99_us"`
	Agreed     uint64  `json:"checksums_equal"`
	Differed   uint64  `json:"checksums_different"`
	Resyncs    uint64  `json:"resyncs"`
	Reconnects uint64  `json:"reconnects"`
	Stalled    string  `json:"stalled,omitempty"` // why it cannot go on now
	Progress   float64 `json:"progress"`          // of loading and catching up, in [0, 1]
	Desync     string  `json:"desync,omitempty"`

	up, down uint64 // bytes so far
}

func newPlayer(name string, c *client.Client, g *ecs.Game, t *truth) *player {
	return &player{name: name, client: c, game: g, truth: t, cost: hdrhistogram.New(1, int64(10*time.Second/time.Microsecond), 3),
		shown: line{Name: name, Progress: 1}}
}

// errDesynced ends a player whose states are compared, once it is known where they differed.
var errDesynced = errors.New("the states differ")

// errSilent ends a client that no server lets in. Who answers and refuses says why; a token that is not good is not
// answered.
var errSilent = errors.New("no server answers: check the address, that a server runs there and that UDP reaches it, and take a token made with the server's key, not used before and, if the player of that --client-id is connected already, made since")

// errWatches ends a bot that has nothing to play with.
var errWatches = errors.New("the token is a spectator's, so there is nothing for a bot to play: leave --bot out, or take a token for a player")

// watches reports whether the server let a client in as a spectator.
func watches(c *client.Client) bool {
	return c.Core().World() != nil && c.Seat() < 0
}

// patience is how many attempts to connect a client has before it gives up on a server of which nothing was heard. Each
// lasts as long as the token's timeout, 5 s by default.
const patience = 2

// silent reports whether to give up.
func silent(c *client.Client) bool {
	return c.State() == client.Connecting && c.Stats().Reconnects >= patience
}

// run lets the client play until the context is done or it ends by itself, whose reason it returns.
func (p *player) run(ctx context.Context) error {
	ticker := time.NewTicker(time.Second / time.Duration(p.game.TickRate))
	defer ticker.Stop()
	defer p.client.Close()
	publish, progress := time.Now(), time.Now()
	for {
		select {
		case <-ctx.Done():
			p.publish(time.Since(publish))
			return nil
		case now := <-ticker.C:
			if err := p.frame(now); err != nil {
				p.publish(now.Sub(publish))
				return err
			}
			if now.Sub(progress) >= time.Second/10 {
				p.advance()
				progress = now
			}
			if now.Sub(publish) >= time.Second {
				p.publish(now.Sub(publish))
				publish = now
			}
		}
	}
}

// frame is one frame of the client, with what it cost and a look at the checksums.
func (p *player) frame(now time.Time) error {
	start := time.Now()
	err := p.client.Frame(now)
	_ = p.cost.RecordValue(max(int64(time.Since(start)/time.Microsecond), 1))
	p.client.Effects(func(systems.Effect) {})
	p.compare()
	switch {
	case err == nil && silent(p.client):
		return errSilent
	case err == nil && p.bot && watches(p.client):
		return errWatches
	case err == nil && p.truth != nil && len(p.client.Core().Desyncs()) > 0:
		return errDesynced
	}
	return err
}

// advance publishes how far loading and catching up are.
func (p *player) advance() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shown.State, p.shown.Progress = p.client.State().String(), p.client.Progress()
}

// compare checks the newest confirmed state against the server's.
func (p *player) compare() {
	if p.truth == nil {
		return
	}
	_, _, confirmed, _ := p.client.Core().Snapshots(0) // the confirmed state does not depend on the moment
	if confirmed.Empty() || confirmed.Tick() <= p.compared {
		return
	}
	want, known := p.truth.appendAt(p.sums[1][:0], confirmed.Tick())
	if !known {
		return
	}
	have := confirmed.ComponentChecksums(p.sums[0][:0])
	p.sums[0], p.sums[1], p.compared = have, want, confirmed.Tick()
	if half, ok := p.client.Core().Strategy().(systems.Replicated); ok {
		if _, whole := half.Replica(); !whole {
			return
		}
		p.untold = systems.Untold(p.untold[:0], p.game, half)
		for i, untold := range p.untold {
			if untold {
				have[i] = want[i]
			}
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if slices.Equal(have, want) {
		p.shown.Agreed++
		return
	}
	p.shown.Differed++
	if p.shown.Desync == "" {
		p.shown.Desync = fmt.Sprintf("tick %d: %s", confirmed.Tick(), differing(p.game.Columns(), have, want))
	}
}

// differing lists the components whose checksums differ.
func differing(names []string, have, want []ecs.Checksum) string {
	var list []string
	for i := range names {
		if have[i] != want[i] {
			list = append(list, names[i])
		}
	}
	return strings.Join(list, ", ") + " differ"
}

// publish brings the line up to date; elapsed is the time since the last call.
func (p *player) publish(elapsed time.Duration) {
	s := p.client.Stats()
	st := s.Strategy
	p.mu.Lock()
	defer p.mu.Unlock()
	l := &p.shown
	seconds := max(elapsed.Seconds(), 1e-3)
	l.Waiting = s.Waiting
	l.State, l.Tick, l.Confirmed, l.RTTMs = s.State.String(), uint64(st.Present), uint64(st.Confirmed), float64(s.RTT)/1e6
	l.PerSecond = float64(st.Rollbacks-l.Rollbacks) / seconds
	if st.Rollbacks > 0 {
		l.Depth = float64(st.Resimulated) / float64(st.Rollbacks)
	}
	l.Rollbacks, l.Deepest, l.Corrected, l.Stalls = st.Rollbacks, st.Deepest, st.Corrections, st.Stalls
	l.UpBps, l.DownBps = float64(s.Session.BytesSent-l.up)/seconds, float64(s.Session.BytesReceived-l.down)/seconds
	l.up, l.down = s.Session.BytesSent, s.Session.BytesReceived
	l.FrameP50Us, l.FrameP99Us = float64(p.cost.ValueAtQuantile(50)), float64(p.cost.ValueAtQuantile(99))
	l.Resyncs, l.Reconnects, l.Stalled, l.Progress = s.Resyncs, s.Reconnects, st.Stalled.String(), p.client.Progress()
	if d := p.client.Core().Desyncs(); len(d) > 0 {
		l.Desync = d[len(d)-1].String()
	}
}

// line returns the row as it was published last.
func (p *player) line() line {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.shown
}
