package client

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/link"
	"tendon/net/netcode"
	"tendon/net/session"
	"tendon/systems"
)

// Client is a Core with a UDP socket and a clock: a whole client in three calls, SetInput, Frame and View.
//
// Everything happens in the caller's Frame, but for one goroutine that waits at the socket. A connection that broke is
// made again by itself, from a new socket, with the reconnect token that the server handed out last; what is shown
// stays until the new state is there. Its methods are for one goroutine.
type Client struct {
	core   *Core
	config DialConfig
	epoch  time.Time // of systems.Time
	now    time.Time // of the Frame under way

	netcode  netcode.Client
	link     *link.Link
	mailbox  *mailbox // nil: there is no connection, nor one being made
	emptied  arrived
	out      netcode.Outbox
	emit     func([]byte) // seals a packet, bound once
	tokens   [][]byte     // not used for a connection yet, in the order in which they are presented
	present  []byte       // the token of the present connection, or of the last one
	greeted  bool         // the present connection was made
	everLive bool
	fatal    error // found while the core was asking for a connection: it is to end
	closed   bool
}

// DialConfig describes a client on UDP.
type DialConfig struct {
	// Config is the client's. Its Dial is the Client's own and must be nil.
	Config
	// Token is the connect token that a backend, or the server's token verb, made for this client: netcode.TokenSize
	// bytes. It names the server. Required.
	Token []byte
	// Spare are further tokens of the same player. They are presented in this order after Token has failed. Optional.
	Spare [][]byte
	// StoreTokens stores the reconnect tokens for the next process of this client. It receives all that are not used yet,
	// in the order in which they are to be presented, whenever the server sends new ones and when one was used. Frame
	// calls it before it sends anything, so that a killed process leaves a file that is up to date. Optional.
	StoreTokens func(tokens [][]byte)
	// Listen opens the socket of one connection. nil: a UDP socket of the system on any port.
	Listen func() (Socket, error)
	// BytesPerSecond bounds what is sent, before sealing; 0: 262144.
	BytesPerSecond int
}

// Errors of a connection. Those that end a client are sentences for its player.
var (
	// ErrToken ends a client whose token is none, or whose tokens are all past their time.
	ErrToken = errors.New("client: the invitation to this server is not valid or no longer so: ask for a new one")
	// ErrFull ends a client that the server had no place for.
	ErrFull = errors.New("client: the server is full or shutting down: try again later")
	// ErrSilent is why a connection is given up on which nothing came for the token's timeout.
	ErrSilent = errors.New("client: the server does not answer")
	// ErrDropped is why a connection is given up that the server closed without saying why.
	ErrDropped = errors.New("client: the server closed the connection")
	// ErrClosed is returned after Close.
	ErrClosed = errors.New("client: closed")
)

// tokensKept is how many reconnect tokens are kept: as many as the server sends at once. The older ones serve when the
// newest was used for a connection that broke before the server sent another.
const tokensKept = 4

// Dial returns a client that begins to connect in its first Frame.
func Dial(c DialConfig) (*Client, error) {
	if c.Config.Dial != nil {
		return nil, fmt.Errorf("%w: Dial is set: leave it to the Client, or use NewCore", ErrConfig)
	}
	if _, err := netcode.ParseConnectToken(c.Token); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrToken, err)
	}
	for i, token := range c.Spare {
		if _, err := netcode.ParseConnectToken(token); err != nil {
			return nil, fmt.Errorf("%w: Spare[%d]: %w", ErrToken, i, err)
		}
	}
	if c.Listen == nil {
		c.Listen = listenUDP
	}
	if _, err := link.New(link.Config{BytesPerSecond: c.BytesPerSecond}); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	k := &Client{config: c, tokens: [][]byte{bytes.Clone(c.Token)}}
	for _, token := range c.Spare {
		k.tokens = append(k.tokens, bytes.Clone(token))
	}
	k.emit = func(packet []byte) { _ = k.netcode.Send(&k.out, packet, k.now) } // while it is not connected, Flush is not called
	c.Config.Dial = k.connect
	if c.Elapsed == nil {
		c.Elapsed = func() systems.Time { return systems.Time(time.Since(k.now)) }
	}
	var err error
	k.core, err = NewCore(c.Config)
	return k, err
}

// connect begins a connection with one of the tokens; the core asks for it.
func (k *Client) connect(_ []byte) (session.Transport, error) {
	k.hangUp()
	token := k.nextToken()
	if token == nil {
		k.fatal = ErrToken
		return nil, ErrToken
	}
	socket, err := k.config.Listen()
	if err != nil {
		return nil, fmt.Errorf("client: no socket: %w", err)
	}
	if err := k.netcode.Connect(token, k.now); err != nil {
		_ = socket.Close()
		return nil, err
	}
	if k.link, err = link.New(link.Config{BytesPerSecond: k.config.BytesPerSecond}); err != nil {
		panic(fmt.Sprintf("client: DialConfig.BytesPerSecond was checked by Dial: %v", err))
	}
	k.mailbox, k.greeted, k.present = newMailbox(socket), false, token
	return (*transport)(k.link), nil
}

// nextToken returns the token of the next attempt and moves it behind the others. Without any it returns the last one
// that was used, which a server that was restarted accepts. It returns nil if none is valid any more.
func (k *Client) nextToken() []byte {
	for range len(k.tokens) {
		token := k.tokens[0]
		k.tokens = append(slices.Delete(k.tokens, 0, 1), token)
		if k.valid(token) {
			return token
		}
	}
	if len(k.tokens) == 0 && k.valid(k.present) {
		return k.present
	}
	return nil
}

// valid reports whether a token has not expired.
func (k *Client) valid(token []byte) bool {
	t, err := netcode.ParseConnectToken(token)
	return err == nil && uint64(max(k.now.Unix(), 0)) < t.Expires
}

// hangUp gives up the connection that there is, without a word: the server keeps the seat for a client that comes back.
func (k *Client) hangUp() {
	if k.mailbox == nil {
		return
	}
	k.write()
	k.mailbox.close()
	k.mailbox, k.link = nil, nil
}

// Frame lets time go by: it takes what arrived, connects if it must, computes the ticks that are due and sends what is
// to be sent. Call it once per frame of the display, at least ten times a second. The error is Err's.
func (k *Client) Frame(now time.Time) error {
	if k.closed {
		return ErrClosed
	}
	if k.epoch.IsZero() {
		k.epoch = now
	}
	k.now = now
	k.receive()
	k.watch()
	err := k.core.Frame(k.at(now))
	if k.fatal != nil {
		k.core.end(k.fatal)
		err = k.core.Err()
	}
	k.keepTokens()
	k.send()
	return err
}

// at is a moment as the core knows it. Those of the future, which a socket's goroutine may have seen, are now.
func (k *Client) at(t time.Time) systems.Time {
	return systems.Time(min(t.Sub(k.epoch), k.now.Sub(k.epoch)))
}

// receive takes what arrived since the last Frame.
func (k *Client) receive() {
	if k.mailbox == nil {
		return
	}
	filled := k.mailbox.take(k.emptied)
	start := 0
	for i := range filled.list {
		a := &filled.list[i]
		packet := filled.bytes[start:a.end]
		start = a.end
		image.SectionOpen.Enter(k.config.Observer)
		payload := k.netcode.Receive(packet, a.from, a.at)
		good := len(payload) > 0 && k.link.Receive(payload) == nil
		image.SectionOpen.Leave(k.config.Observer)
		if !good {
			continue
		}
		for ch, message, ok := k.link.Next(); ok; ch, message, ok = k.link.Next() {
			k.core.Receive(ch, message, k.at(a.at))
		}
	}
	k.emptied = filled
}

// watch acts on what became of the connection.
func (k *Client) watch() {
	if k.mailbox == nil {
		return
	}
	k.netcode.Update(&k.out, k.now)
	state := k.netcode.State()
	if state == netcode.StateConnected && !k.greeted {
		k.greeted = true
		k.tokens = slices.DeleteFunc(k.tokens, func(t []byte) bool { return bytes.Equal(t, k.present) })
		k.storeTokens()
	}
	switch {
	case k.link.Dead():
		k.lose(k.link.Err())
	case state > netcode.StateDisconnected:
	case state == netcode.StateDisconnected:
		k.lose(ErrDropped)
	case state == netcode.StateDenied && !k.everLive:
		k.core.end(ErrFull)
	case state == netcode.StateDenied:
		k.lose(ErrFull)
	default:
		k.lose(fmt.Errorf("%w (%v)", ErrSilent, state))
	}
	k.everLive = k.everLive || k.core.State() == Live
}

// lose tells the core that the connection is gone; it will ask for another one.
func (k *Client) lose(why error) {
	k.hangUp()
	k.core.Lost(why, k.at(k.now))
}

// keepTokens keeps the newest of the reconnect tokens that the core received.
func (k *Client) keepTokens() {
	received := k.core.takeHanded()
	if len(received) == 0 {
		return
	}
	for _, token := range received {
		k.tokens = slices.Insert(k.tokens, 0, token)
	}
	k.tokens = k.tokens[:min(len(k.tokens), tokensKept)]
	k.storeTokens()
}

func (k *Client) storeTokens() {
	if k.config.StoreTokens != nil {
		k.config.StoreTokens(k.tokens)
	}
}

// send seals and writes what there is to be sent.
func (k *Client) send() {
	if k.mailbox == nil {
		return
	}
	image.SectionSend.Enter(k.config.Observer)
	defer image.SectionSend.Leave(k.config.Observer)
	k.netcode.Update(&k.out, k.now)
	if k.netcode.State() == netcode.StateConnected {
		k.link.Flush(k.now.Sub(k.epoch), k.emit)
	}
	k.write()
}

// write writes what is sealed to the socket. What the system does not take is lost, as on any network.
func (k *Client) write() {
	for i := range k.out.Len() {
		to, packet := k.out.At(i)
		_, _ = k.mailbox.socket.WriteToUDPAddrPort(packet, to)
	}
	k.out.Reset()
}

// Close leaves the match, tells the server, and frees the socket and its goroutine.
func (k *Client) Close() {
	if k.closed {
		return
	}
	k.closed = true
	k.core.Leave()
	k.send()
	k.netcode.Disconnect(&k.out, k.now)
	k.hangUp()
}

// transport is a link as the session knows it.
type transport link.Link

// Send queues a message for the next Frame's packets.
func (t *transport) Send(ch systems.Channel, message []byte) error {
	if ch == systems.Reliable {
		return (*link.Link)(t).SendReliable(message)
	}
	return (*link.Link)(t).SendDatagram(message)
}

// Room is what link's default queue has left; a message's length takes at most three bytes more.
func (t *transport) Room() int { return max(160<<10-3-(*link.Link)(t).Pending(), 0) }

// Core is the client without its socket, for tests and tools.
func (k *Client) Core() *Core { return k.core }

// SetInput is what the player does from now on.
func (k *Client) SetInput(in ecs.InputBytes) { k.core.SetInput(in) }

// View brings the view up to date with the moment and returns it. Before there is a state it shows nothing.
func (k *Client) View(now time.Time) *ecs.View { return k.core.View(systems.Time(now.Sub(k.epoch))) }

// Effects drains the news of events.
func (k *Client) Effects(f func(systems.Effect)) { k.core.Effects(f) }

// Order asks the server to stamp an order of the player's, at most image.MaxOrderBytes of payload: see [Core.Order].
func (k *Client) Order(target ecs.Entity, payload []byte) error { return k.core.Order(target, payload) }

// Chat says something to the others.
func (k *Client) Chat(text string) { k.core.Chat(text) }

// State returns where the client stands.
func (k *Client) State() State { return k.core.State() }

// Err returns why the client has ended, or nil.
func (k *Client) Err() error { return k.core.Err() }

// Progress returns the share of the state that has arrived, in [0, 1], while the client is loading.
func (k *Client) Progress() float64 { return k.core.Progress() }

// Seat returns the player's seat, −1 for a spectator and before the Welcome.
func (k *Client) Seat() int { return k.core.Seat() }

// Stats returns what was counted.
func (k *Client) Stats() Stats { return k.core.Stats() }
