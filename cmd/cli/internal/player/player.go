// Package player runs a client: a bot or a spectator without a window, or a person in a window.
package player

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"tendon/cmd/cli/internal/host"
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/client"
	"tendon/net/cost"
	"tendon/systems"
)

// Player runs a client without a window: a bot or a spectator. One goroutine owns the client; any may call line.
type Player struct {
	Name   string
	Client *client.Client
	server *host.ChecksumHistory // optional: of the server in this process
	Bot    bool                  // a spectator's token is an error
	Game   *ecs.Game

	compared ecs.Tick                // last tick whose checksum was compared
	sums     [2][]image.Checksum     // scratch: the client's and the server's
	skipped  []bool                  // scratch: components that are not replicated
	cost     *hdrhistogram.Histogram // of a Frame, in µs
	Ledger   *cost.Ledger            // optional

	mu    sync.Mutex
	shown Line
}

// Line is one row of the live table.
type Line struct {
	Name      string  `json:"name"`
	State     string  `json:"state"`
	Waiting   bool    `json:"waiting,omitempty"` // live, but nothing arrives from the server
	Tick      uint64  `json:"tick"`
	Confirmed uint64  `json:"confirmed"`
	Progress  float64 `json:"progress"` // of loading and catching up, in [0, 1]
	connectionFigures
	predictionFigures
	checkFigures
}

// connectionFigures describe a client's connection and its frames.
type connectionFigures struct {
	RTTMs      float64 `json:"rtt_ms"`
	UpBps      float64 `json:"up_bytes_per_s"`
	DownBps    float64 `json:"down_bytes_per_s"`
	FrameP50Us float64 `json:"frame_p50_us"`
	FrameP99Us float64 `json:"frame_p99_us"`
	Resyncs    uint64  `json:"resyncs"`
	Reconnects uint64  `json:"reconnects"`

	up, down uint64 // total bytes
}

// predictionFigures describe a client's prediction.
type predictionFigures struct {
	Rollbacks uint64  `json:"rollbacks"`
	PerSecond float64 `json:"rollbacks_per_s"`
	Depth     float64 `json:"mean_depth"`
	Deepest   uint64  `json:"max_depth"`
	Corrected uint64  `json:"corrections"`
	Stalls    uint64  `json:"stalled_frames"`
	Stalled   string  `json:"stalled,omitempty"` // reason of the current stall
}

// checkFigures count the comparisons with the server's checksums.
type checkFigures struct {
	Agreed   uint64 `json:"checksums_equal"`
	Differed uint64 `json:"checksums_different"`
	Desync   string `json:"desync,omitempty"` // the first
}

func New(name string, c *client.Client, g *ecs.Game, server *host.ChecksumHistory) *Player {
	return &Player{Name: name, Client: c, Game: g, server: server, cost: hdrhistogram.New(1, int64(10*time.Second/time.Microsecond), 3),
		shown: Line{Name: name, Progress: 1}}
}

// ErrDesynced ends a player whose state differed from the server's, once the difference is explained.
var ErrDesynced = errors.New("the states differ")

// ErrSilent ends a client that receives no response. A server that refuses a client says why; it does not respond to a
// token that is not valid.
var ErrSilent = errors.New("no server answers: check the address, that a server runs there and that UDP reaches it, and take a token made with the server's key, not used before and, if the player of that --client-id is connected already, made since")

// errSpectator ends a bot without a seat.
var errSpectator = errors.New("the token is a spectator's, so there is nothing for a bot to play: leave --bot out, or take a token for a player")

// isSpectator reports whether the server admitted a client as a spectator.
func isSpectator(c *client.Client) bool { return c.Core.World() != nil && c.Seat() < 0 }

// maxAttempts is how many attempts to connect a client makes while the server does not respond. Each lasts as long as the
// token's timeout, 5 s by default.
const maxAttempts = 2

// unanswered reports whether a client should stop connecting.
func unanswered(c *client.Client) bool {
	return c.State() == client.Connecting && c.Stats().Reconnects >= maxAttempts
}

// Run plays until the context is done, or returns the error that ended the client.
func (p *Player) Run(ctx context.Context) error {
	ticker := time.NewTicker(time.Second / time.Duration(p.Game.TickRate))
	defer ticker.Stop()
	defer p.Client.Close()
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
				p.publishProgress()
				progress = now
			}
			if now.Sub(publish) >= time.Second {
				p.publish(now.Sub(publish))
				publish = now
			}
		}
	}
}

// frame runs and times one frame of the client and compares checksums.
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
	case p.Bot && isSpectator(p.Client):
		return errSpectator
	case p.server != nil && len(p.Client.Core.Desyncs()) > 0:
		return ErrDesynced
	}
	return nil
}

// publishProgress publishes the progress of loading and catching up.
func (p *Player) publishProgress() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shown.State, p.shown.Progress = p.Client.State().String(), p.Client.Progress()
}

// compare compares the newest confirmed state with the server's checksums.
func (p *Player) compare() {
	if p.server == nil {
		return
	}
	_, _, confirmed, _ := p.Client.Core.Snapshots(0) // the confirmed state does not depend on the moment
	if confirmed.Empty() || confirmed.Tick() <= p.compared {
		return
	}
	want, known := p.server.AppendAt(p.sums[1][:0], confirmed.Tick())
	if !known {
		return
	}
	have := confirmed.ComponentChecksums(p.sums[0][:0])
	p.sums[0], p.sums[1], p.compared = have, want, confirmed.Tick()
	if half, ok := p.Client.Core.Strategy().(systems.Replicated); ok {
		if _, whole := half.Replica(); !whole {
			return
		}
		p.skipped = systems.Unreplicated(p.skipped[:0], p.Game, half)
		for i, skipped := range p.skipped {
			if skipped {
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
		p.shown.Desync = fmt.Sprintf("tick %d: %s", confirmed.Tick(), differing(p.Game.Schema().Columns(), have, want))
	}
}

// differing lists the components whose checksums differ.
func differing(names []string, have, want []image.Checksum) string {
	var list []string
	for i := range names {
		if have[i] != want[i] {
			list = append(list, names[i])
		}
	}
	return strings.Join(list, ", ") + " differ"
}

// publish updates the row. elapsed is the time since the last call.
func (p *Player) publish(elapsed time.Duration) {
	s := p.Client.Stats()
	st := s.Strategy
	p.mu.Lock()
	defer p.mu.Unlock()
	l := &p.shown
	seconds := max(elapsed.Seconds(), 1e-3)
	l.Waiting, l.Progress = s.Waiting, p.Client.Progress()
	l.State, l.Tick, l.Confirmed, l.RTTMs = s.State.String(), uint64(st.Present), uint64(st.Confirmed), float64(s.RTT)/1e6
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
