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
	"tendon/ecs"
	"tendon/ecs/image"
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
	// Verdict receives every verdict on a match. Optional.
	Verdict func(*image.Verdict)
	// Discarded receives each system and component whose writes were discarded, once. Optional.
	Discarded func(ecs.DiscardedWrites)

	discards  discards
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
	Waiting    bool    `json:"waiting,omitempty"`   // live, but nothing arrives from the server
	Paused     bool    `json:"paused,omitempty"`    // the match is paused
	WaitsFor   string  `json:"waits_for,omitempty"` // see waitsFor
	Tick       uint64  `json:"tick"`
	Confirmed  uint64  `json:"confirmed"`
	Progress   float64 `json:"progress"` // of loading and catching up, in [0, 1]
	RTTMs      float64 `json:"rtt_ms"`
	UpBps      float64 `json:"up_bytes_per_s"`
	DownBps    float64 `json:"down_bytes_per_s"`
	FrameP50Us float64 `json:"frame_p50_us"`
	FrameP99Us float64 `json:"frame_p99_us"`
	RingBytes  int     `json:"ring_bytes"` // memory of the saved states, see ecs.Screen.History
	Resyncs    uint64  `json:"resyncs"`
	Reconnects uint64  `json:"reconnects"`
	figures

	up, down uint64 // total bytes
}

// Status returns the state as text. Without a connection it is not known whether the match is still paused.
func (l *Line) Status() string {
	status := l.State
	if l.Paused && status != client.Reconnecting.String() {
		status = "paused"
	}
	if l.WaitsFor != "" {
		status += ", waiting for " + l.WaitsFor
	}
	return status
}

// waitsFor returns what a client waits for while it is not in the match or receives nothing, "" if it does not wait. refused is
// the client's Refusal.
func waitsFor(s client.Stats, refused error) string {
	switch {
	case s.Waiting:
		return "the server"
	case s.State == client.Connecting && refused != nil:
		return "a server that accepts it"
	case s.AwaitsMatch():
		return "the match: the server has answered"
	case s.State == client.Connecting:
		return "an answer of the server"
	}
	return ""
}

// figures describe a client's prediction, and count the comparisons with the server's checksums.
type figures struct {
	Rollbacks uint64  `json:"rollbacks"`
	PerSecond float64 `json:"rollbacks_per_s"`
	Depth     float64 `json:"mean_depth"`
	Deepest   uint64  `json:"max_depth"`
	Corrected uint64  `json:"corrections"`
	Predicted uint64  `json:"events_predicted"`
	Cancelled uint64  `json:"events_cancelled"` // of those predicted
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
var ErrSilent = errors.New("no server responds: check the address, that a server runs there and that UDP reaches it. The token must be unused, not expired and minted with the server's key. Without --journal, it must be minted after the server's start. If the player of that --client-id was connected, mint a new token")

// firstTime is the time after which a client without an answer stops connecting for the first time.
const firstTime = 11 * time.Second

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
	p.Client.Effects(func(e systems.Effect) {
		if e.Verdict != nil && p.Verdict != nil {
			p.Verdict(e.Verdict)
		}
	})
	p.compare()
	if p.Discarded != nil {
		p.discards.report(p.Client.Core.World(), p.Discarded)
	}
	switch s := p.Client.Stats(); {
	case err != nil:
		return err
	case s.Unanswered(firstTime):
		return cmp.Or(p.Client.Refusal(), ErrSilent)
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
	tick, have := p.Client.Core.ConfirmedChecksums(p.compared)
	want := p.Server.At(tick, p.Client.Core.Seat())
	if have == nil || want == nil {
		return
	}
	p.compared = tick
	var differ []string
	for i, name := range p.Game.Schema().Columns() {
		if have[i] != want[i] && have[i] != 0 {
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
	p.shown.Desync = cmp.Or(p.shown.Desync, fmt.Sprintf("tick %d: %s differ", tick, strings.Join(differ, ", ")))
}

// publish updates the progress of loading and catching up and, once a second or if all is set, the other figures.
func (p *Player) publish(now time.Time, all bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := &p.shown
	l.State, l.Progress = p.Client.State().String(), p.Client.Progress()
	s := p.Client.Stats()
	l.Paused, l.Waiting, l.WaitsFor = p.Client.Paused().On, s.Waiting, waitsFor(s, p.Client.Refusal())
	elapsed := now.Sub(p.published)
	if !all && elapsed < time.Second {
		return
	}
	p.published = now
	st, seconds := s.Strategy, max(elapsed.Seconds(), 1e-3)
	l.Tick, l.Confirmed, l.RTTMs = uint64(st.Present), uint64(st.Confirmed), float64(s.RTT)/1e6
	l.PerSecond = float64(st.Rollbacks-l.Rollbacks) / seconds
	if st.Rollbacks > 0 {
		l.Depth = float64(st.Resimulated) / float64(st.Rollbacks)
	}
	l.Rollbacks, l.Deepest, l.Corrected, l.Stalls, l.Stalled = st.Rollbacks, st.Deepest, st.Corrections, st.Stalls, st.Stalled.String()
	l.Predicted, l.Cancelled = st.EventsPredicted, st.EventsCancelled
	l.UpBps, l.DownBps = float64(s.Session.BytesSent-l.up)/seconds, float64(s.Session.BytesReceived-l.down)/seconds
	l.up, l.down = s.Session.BytesSent, s.Session.BytesReceived
	l.FrameP50Us, l.FrameP99Us = float64(p.cost.ValueAtQuantile(50)), float64(p.cost.ValueAtQuantile(99))
	l.RingBytes = st.RingBytes
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

// Notices returns a client.Config.Notice, which logs the texts of the server. The channel receives those that InWindow shows.
func Notices(a *app.App) (notice func(seconds int, text string), notices <-chan string) {
	shown := make(chan string, 1)
	return func(seconds int, text string) {
		if seconds != 0 {
			text = fmt.Sprintf("in %d s: %s", seconds, text)
		}
		a.Logf("%s", text)
		select {
		case shown <- text:
		default: // nothing is drawn
		}
	}, shown
}

// Refused returns a client.Config.Refused that passes each refusal to a Notice as a sentence.
func Refused(notice func(seconds int, text string)) func(client.Refusal) {
	return func(r client.Refusal) { notice(0, r.String()) }
}

// Chat returns a client.Config.Chat, which logs the lines of the chat. The channel receives those that a window shows.
func Chat(a *app.App) (receive func(session.ChatLine), lines <-chan string) {
	shown := make(chan string, 8)
	return func(l session.ChatLine) {
		text := app.Printable(l.Name) + ": " + app.Printable(l.Text)
		a.Logf("%s", text)
		select {
		case shown <- text:
		default: // nothing is drawn
		}
	}, shown
}

// VerdictText describes the verdict on a match in a line.
func VerdictText(v *image.Verdict) string {
	how := "computed by the server"
	if v.Voted != 0 || v.How != systems.ByServer.String() {
		how = fmt.Sprintf("%s, %d of %d players voted", v.How, v.Voted.Len(), v.Registered.Len())
	}
	if v.Dissented != 0 {
		how += fmt.Sprintf(", %d for another result", v.Dissented.Len())
	}
	return fmt.Sprintf("result %s, %s", app.Printable(string(v.Result)), how)
}

// ShowVerdict prints the verdict on a match.
func ShowVerdict(a *app.App, v *image.Verdict) {
	seats := func(set image.PlayerSet) []int {
		list := []int{}
		for p := range set.All() {
			list = append(list, int(p))
		}
		return list
	}
	a.Logf("the match ended in tick %d: %s", v.Tick, VerdictText(v))
	a.Emit("verdict", app.Fields{"tick": v.Tick, "result": string(v.Result), "verdict": v.How, "registered": seats(v.Registered),
		"voted": seats(v.Voted), "dissented": seats(v.Dissented)})
}

// discards is the number of systems and components whose discarded writes were reported.
type discards int

// report calls f for each system and component of which the world has discarded writes since.
func (n *discards) report(w *ecs.World, f func(ecs.DiscardedWrites)) {
	if w == nil || len(w.Image().DiscardedWrites()) == int(*n) {
		return
	}
	list := w.DiscardedWrites()
	for _, d := range list[min(int(*n), len(list)):] {
		f(d)
	}
	*n = discards(len(list))
}

// ShowDiscarded prints that writes of a system are discarded.
func ShowDiscarded(a *app.App, d ecs.DiscardedWrites) {
	by := "an order or a hook"
	if d.System != "" {
		by = "system " + d.System
	}
	a.Logf("%s writes component %s of entities that this client does not predict: these writes are discarded; test World.MayWrite first, or use GetValue to read", by, d.Component)
	a.Emit("discarded_writes", app.Fields{"system": d.System, "component": d.Component})
}

// PlayError adds advice to the error that ended a client. Leaving is no error.
func PlayError(err error) error {
	switch {
	case errors.Is(err, client.ErrClosed):
		return nil
	case errors.Is(err, client.ErrUnreachable):
		return fmt.Errorf("%w: see whether the server still runs and whether UDP reaches it", err)
	case errors.Is(err, &session.Error{Code: session.CodeGame}):
		return fmt.Errorf("%w; it may also be that the server runs at another --tick-rate: give the same", err)
	}
	return err
}
