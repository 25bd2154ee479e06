//go:build !headless

package playpage

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"syscall/js"
	"time"

	"tendon/cmd/cli/internal/keys"
	"tendon/cmd/cli/window"
	"tendon/ecs"
	"tendon/net/client"
	"tendon/net/netcode"
	"tendon/net/session"
	"tendon/net/web"
	"tendon/systems"
	"tendon/systems/lockstep"
	"tendon/systems/predict"
	"tendon/systems/reckon"
	"tendon/systems/relay"
	"tendon/systems/verify"
)

const (
	chatLines   = 16                     // lines of the chat that wait to be shown
	hiddenAfter = 500 * time.Millisecond // without a picture, the page is hidden
	silentAfter = 20 * time.Second       // without an answer to the first connection; the page then gives up
	hiddenFrame = 250 * time.Millisecond // interval of the frames then; browsers make it a second
)

// Play joins with the invitation of the page, and plays in its canvas until the match ends. If the page has the address of a
// broadcast, Play shows the broadcast instead.
func Play(game *ecs.Game) {
	var err error
	if address := js.Global().Get("tendonWatch").String(); address != "" {
		err = watch(game, address)
	} else {
		err = play(game)
	}
	if err != nil {
		show(err.Error(), true)
		select {} // the browser may still call functions of the program
	}
}

// strategies are those that a server may use.
var strategies = []systems.Strategy{relay.Strategy, lockstep.Strategy, predict.Strategy, verify.Strategy, reckon.Strategy}

// show shows a line on the page instead of the game.
func show(text string, bad bool) { js.Global().Call("tendonState", text, js.Undefined(), bad) }

func play(game *ecs.Game) error {
	invitation, err := ParseInvitation(js.Global().Get("tendonJoin").String())
	if err != nil {
		return err
	}
	store := js.Global().Get("sessionStorage")
	dialer := invitation.Dialer()
	endpoints, _ := base64.StdEncoding.DecodeString(stored(store, endpointsKey))
	_ = dialer.AddEndpoints(endpoints) // an error means that none are stored
	tokens := append(storedTokens(store), invitation.Token)
	chat := make(chan string, chatLines)
	config := client.DialConfig{Token: tokens[0], Spare: tokens[1:],
		StoreTokens: func(tokens [][]byte) { storeTokens(store, tokens) },
		Listen:      func(server netip.AddrPort) (client.Socket, error) { return dialer.Dial(server) },
		Config: client.Config{ReceiveEndpoints: func(list []byte) { addEndpoints(dialer, store, list) }, Game: game, Strategies: strategies, Bot: invitation.Bot, BotSeed: uint64(time.Now().UnixNano()),
			Chat: func(line session.ChatLine) {
				select {
				case chat <- line.Name + ": " + line.Text:
				default: // nothing is drawn
				}
			}}}
	c, err := client.Dial(config)
	if err != nil {
		return err
	}
	defer c.Close()
	p := &player{game: game, client: c, chat: chat, scope: js.Global()}
	p.scope.Set("tendonChecksums", js.FuncOf(p.checksums))
	go p.whileHidden()
	return p.run()
}

// errSilent ends a page that receives no answer.
var errSilent = errors.New("No server answers. The link may be used or too old, or the server does not accept this page. Ask for another link.")

// player is a client with the canvas of the page.
type player struct {
	game   *ecs.Game
	client *client.Client
	chat   <-chan string
	scope  js.Value
	touch  keys.Touch

	mu      sync.Mutex   // of all below, and of the client
	last    time.Time    // of the last Frame
	view    *ecs.View    // of the last picture. Optional
	state   client.State // that was announced
	started bool         // the game is shown
	ended   bool
}

// frame advances the client.
func (p *player) frame(now time.Time) error {
	p.last = now
	return p.client.Frame(now)
}

// whileHidden calls frame while the browser paints no pictures, so that the connection stays open.
func (p *player) whileHidden() {
	for range time.Tick(hiddenFrame) {
		p.mu.Lock()
		if p.ended {
			p.mu.Unlock()
			return
		}
		if now := time.Now(); !p.last.IsZero() && now.Sub(p.last) >= hiddenAfter {
			_ = p.frame(now) // the next picture's frame returns the error again
		}
		p.mu.Unlock()
	}
}

func (p *player) run() error {
	err := window.Run(window.Config{
		Title: p.game.Name, Game: p.game, Touch: &p.touch,
		Frame: func(now time.Time, in ecs.InputBytes) error {
			p.mu.Lock()
			defer p.mu.Unlock()
			if s := p.client.Stats(); s.Unanswered(silentAfter) {
				return errSilent
			}
			p.client.SetInput(in)
			return p.frame(now)
		},
		Stats: p.client.Stats, Say: p.client.Chat, Chat: p.chat,
		Report: func(err error) { p.scope.Get("console").Call("warn", err.Error()) },
		View: func(now time.Time, effect func(*ecs.View, ecs.Effect)) *ecs.View {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.report()
			if p.client.Core.World() == nil {
				return nil
			}
			view := p.client.View(now)
			p.view = view
			p.client.Effects(func(e systems.Effect) {
				effect(view, e)
			})
			return view
		},
		Status: func() string {
			s := p.client.Stats()
			if s.State != client.Live {
				return s.State.String() + "…"
			}
			return fmt.Sprintf("%s · RTT %d ms · %d ticks ahead", p.client.Playing(), s.RTT/1e6, s.Strategy.Present-s.Strategy.Confirmed)
		},
		Banner: func(now time.Time) string {
			if s := p.client.Stats(); s.State == client.Reconnecting && s.Away >= client.ShownAway {
				if s.AwaitsMatch() {
					return "connected again; waiting for the match"
				}
				return fmt.Sprintf("connection lost; reconnecting, %d s left", (p.client.Left(now)+time.Second-1)/time.Second)
			}
			return ""
		},
	})
	p.mu.Lock()
	p.ended = true
	p.mu.Unlock()
	if errors.Is(err, client.ErrClosed) {
		return nil
	}
	return err
}

// report shows the game once it can be played, and publishes the client's figures for the page as tendonStats.
func (p *player) report() {
	s := p.client.Stats()
	if !p.started && p.client.Core.World() != nil {
		p.started = true
		p.showControls()
		show("", false)
	}
	if s.State != p.state && (s.State != client.Reconnecting || s.Away >= client.ShownAway) {
		p.state = s.State
		p.scope.Call("tendonNews", map[client.State]string{client.Live: "in the match", client.Reconnecting: "connection lost; reconnecting"}[s.State])
	}
	entities := 0
	if v := p.view; v != nil {
		entities = v.World.Len()
	}
	p.scope.Set("tendonStats", map[string]any{"entities": entities, "stalls": float64(s.Strategy.Stalls), "behind": float64(s.Strategy.ServerTick) - float64(s.Strategy.Present),
		"state": s.State.String(), "tick": float64(s.Strategy.Present), "confirmed": float64(s.Strategy.Confirmed),
		"rollbacks": float64(s.Strategy.Rollbacks), "resyncs": float64(s.Resyncs), "reconnects": float64(s.Reconnects), "rtt": float64(s.RTT) / 1e6, "strategy": p.client.Playing()})
}

// checksums returns the seat, the newest confirmed tick and the checksums of its state, for tests. It returns null if there are none.
func (p *player) checksums(js.Value, []js.Value) any {
	if !p.mu.TryLock() {
		return nil
	}
	defer p.mu.Unlock()
	tick, sums := p.client.Core.ConfirmedChecksums(0)
	if sums == nil {
		return nil
	}
	var list []any
	for _, sum := range sums {
		list = append(list, fmt.Sprintf("%x", uint64(sum)))
	}
	return map[string]any{"seat": p.client.Core.Seat(), "tick": float64(tick), "sums": list}
}

// showControls shows the controls of a touch screen.
func (p *player) showControls() {
	var list []any
	for _, t := range p.game.Screen.Touch {
		list = append(list, map[string]any{"key": t.Key, "stick": keys.Stick(t.Key), "label": t.Meaning})
	}
	p.scope.Call("tendonKeys", list, js.FuncOf(func(_ js.Value, args []js.Value) any { // (key, down), or (stick, x, y)
		if len(args) == 3 {
			p.touch.Move(args[0].Int(), args[1].Float(), args[2].Float())
		} else {
			p.touch.Hold(args[0].String(), args[1].Bool())
		}
		return nil
	}))
}

// The keys of the session's storage, for a reload of the page. play.js removes both for another invitation.
const (
	tokensKey    = "tendon-tokens"
	endpointsKey = "tendon-endpoints"
)

// addEndpoints adds the endpoints that a server has sent to those of the dialer, and stores them.
func addEndpoints(dialer *web.Dialer, store js.Value, list []byte) {
	if err := dialer.AddEndpoints(list); err == nil {
		store.Call("setItem", endpointsKey, base64.StdEncoding.EncodeToString(web.AppendEndpoints(nil, dialer.Endpoints())))
	}
}

// stored returns the text with a key, "" if there is none.
func stored(store js.Value, key string) string {
	if text := store.Call("getItem", key); text.Type() == js.TypeString {
		return text.String()
	}
	return ""
}

// storedTokens returns the reconnect tokens that an earlier run of the page has stored.
func storedTokens(store js.Value) (tokens [][]byte) {
	for one := range strings.FieldsSeq(stored(store, tokensKey)) {
		if token, err := base64.StdEncoding.DecodeString(one); err == nil && len(token) == netcode.TokenSize {
			tokens = append(tokens, token)
		}
	}
	return tokens
}

func storeTokens(store js.Value, tokens [][]byte) {
	text := make([]string, len(tokens))
	for i, token := range tokens {
		text[i] = base64.StdEncoding.EncodeToString(token)
	}
	store.Call("setItem", tokensKey, strings.Join(text, " "))
}
