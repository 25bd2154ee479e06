package client

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"tendon/net/netcode"
	"tendon/net/session"
	"tendon/systems"
)

// attempts makes the next connection, while there is none or while the present one is quiet. All attempts share one socket, as
// far as it reaches their servers. Each attempt presents one of the tokens. A token is used only when the server accepts the response to
// its challenge.
type attempts struct {
	conn      *connection    // nil: no attempt is under way
	token     *token         // that conn presents
	began     time.Time      // with this token
	next      time.Time      // when the next request is due
	wait      time.Duration  // until the one after it
	requests  int            // from this socket
	presented int            // tokens, since the last connection
	server    netip.AddrPort // of the last connection
	held      time.Time      // when the challenge arrived
	responded bool           // to the challenge
	doubtful  *token         // its response was not answered, so it may have been used
	why       error          // why the last attempt failed
}

const (
	// requestAfter is how long a connection may be quiet before the client requests another one. patience is how long it may be
	// quiet before the client answers the challenge, which replaces the first connection. The server sends a packet at least every
	// 100 ms. Each client adds up to patienceSpread to both, so that the requests of many clients do not arrive all at once.
	requestAfter   = 250 * time.Millisecond
	patience       = 400 * time.Millisecond
	patienceSpread = 100 * time.Millisecond
	// hold is how long a client waits for a packet on a quiet connection before it answers a challenge. A server that was
	// suspended answers requests first.
	hold = 100 * time.Millisecond
	// Requests are repeated after shortestWait, then after twice that time, and so on up to longestWait.
	shortestWait = 200 * time.Millisecond
	longestWait  = time.Second / 2
	tokenTime    = 2 * time.Second        // time for which a token is presented if there are others
	serverTime   = 500 * time.Millisecond // first time for which a token is presented to one of several servers; it doubles up to tokenTime
	responseTime = 2 * time.Second        // time for which a response is repeated
	mostRequests = 20                     // from one socket
)

// token is a connect token that had no connection. The server decides whether it is valid. The client presents it for its
// lifetime at most, counted from when it was received, since the clocks of the two hosts may differ.
type token struct {
	bytes   []byte
	since   systems.Time // when it was received; 0: before the first Frame
	life    systems.Time // its lifetime
	servers []netip.AddrPort
	share   float64 // in [0, 1), different for each token
	silent  int     // addresses at which the client did not reach the server to which the room moves
}

// longestLife bounds the lifetimes of tokens, which are in seconds and may not fit a systems.Time.
const longestLife = 100 * 365 * 24 * 3600

func newToken(b []byte, now systems.Time) (*token, error) {
	t, err := netcode.ParseConnectToken(b)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrToken, err)
	}
	const nonce = 13 + 3*8 // its place in the token
	life := systems.Time(min(t.Expires-t.Created, longestLife)) * systems.Second
	return &token{bytes: bytes.Clone(b), since: now, life: life, servers: slices.Clone(t.Servers()),
		share: float64(binary.LittleEndian.Uint16(b[nonce:])) / (1 << 16)}, nil
}

// left returns how long the token is presented from now on; 0 or less: it is not.
func (t *token) left(now systems.Time) systems.Time { return t.since + t.life - now }

func (t *token) shareOf(d time.Duration) time.Duration { return time.Duration(t.share * float64(d)) }

// attempt begins attempts if they are necessary, advances them, and uses the connection that they make. A connection that
// receives a packet again ends them, unless the server may have replaced it already. A connection to the server to which the room
// moves is used when the session on the present one has ended.
func (k *Client) attempt() {
	a := &k.attempts
	plays := k.conn != nil && !k.quiet(requestAfter)
	if plays && k.move != nil && a.token == k.move && k.over() { // the other server does not respond
		if k.move.silent++; k.move.silent >= len(k.move.servers) {
			k.move = nil
		}
	}
	if k.move != nil && a.token != k.move && !slices.Contains(k.tokens, k.move) { // it has expired, or newer tokens have replaced it
		k.move = nil
	}
	if k.Core.State() == Ended || plays && k.move == nil && !a.responded {
		a.stop()
		return
	}
	if k.over() || plays && k.move != nil && a.token != k.move {
		k.present(plays)
	}
	if a.conn == nil {
		return
	}
	a.advance(k.now, k.replaces)
	switch {
	case a.conn.netcode.State() != netcode.StateConnected:
	case plays && a.token == k.move && k.Core.session != nil: // until the room has moved
		a.conn.send(k.epoch)
	default:
		k.promote()
	}
}

// quiet reports whether the connection received nothing for longer than limit.
func (k *Client) quiet(limit time.Duration) bool {
	if len(k.tokens) > 0 {
		limit += k.tokens[0].shareOf(patienceSpread)
	}
	return k.conn.quiet >= limit
}

// replaces reports whether the attempt may replace the connection now. A connection to a process of the server that has ended is
// replaced at once.
func (k *Client) replaces() bool {
	a := &k.attempts
	return k.conn == nil || a.token == k.move || a.conn.netcode.Restarted(&k.conn.netcode) || k.quiet(patience) && k.now.Sub(a.held) >= hold
}

// over reports whether another token is to be presented.
func (k *Client) over() bool {
	a, now := &k.attempts, k.now
	if a.conn == nil {
		return !now.Before(a.next)
	}
	switch state := a.conn.netcode.State(); {
	case state == netcode.StateConnected:
		return false
	case state == netcode.StateResponding:
		return !a.held.IsZero() && now.Sub(a.held) >= responseTime
	case state == netcode.StateRequesting:
		return now.Sub(a.began) >= k.limit() || a.requests >= mostRequests || a.conn.broken && now.Sub(a.began) >= longestWait
	}
	return true
}

// limit returns the time in which the present server must answer the request. It grows with each round through the servers of a
// token, so that clients on slow lines connect too.
func (k *Client) limit() time.Duration {
	a := &k.attempts
	n := len(a.token.servers)
	if n == 1 || a.token == k.move {
		return tokenTime
	}
	return min(serverTime<<min((a.presented-1)/(perServer*n), 8), tokenTime)
}

// perServer is the number of tokens presented to a server before the next one: the newest token and an older one.
const perServer = 2

// target returns the server to which the next token is presented: first that of the last connection, then the others in turn.
func (k *Client) target(t *token) netip.AddrPort {
	a := &k.attempts
	if t == k.move {
		return t.servers[t.silent%len(t.servers)]
	}
	first := max(slices.Index(t.servers, a.server), 0)
	return t.servers[(first+a.presented/perServer)%len(t.servers)]
}

// present begins an attempt with the next token. While the client plays, it is that of the move.
func (k *Client) present(plays bool) {
	a := &k.attempts
	if a.conn != nil {
		if a.responded {
			a.doubtful = a.token
		}
		if a.why = fmt.Errorf("%w (%v)", ErrSilent, a.conn.netcode.State()); a.conn.netcode.State() == netcode.StateDenied {
			if a.why = k.denied(session.Code(a.conn.netcode.Reason())); k.Core.State() == Ended {
				return
			}
		}
		if a.conn.broken || a.requests >= mostRequests {
			a.closeConn()
		}
	}
	t := k.nextToken()
	if plays && k.move != nil {
		t = k.move
	}
	if t == nil {
		a.stop()
		return
	}
	to := k.target(t)
	a.presented++
	if a.conn != nil && !a.conn.reaches(to) {
		a.closeConn()
	}
	if a.conn == nil {
		socket, err := k.config.Listen(to)
		if err != nil {
			a.why, a.next = fmt.Errorf("client: no socket: %w", err), k.now.Add(longestWait)
			if t == k.move { // the room moves to a server that this client cannot reach
				k.move = nil
			}
			return
		}
		a.conn, a.requests = newConnection(socket, k.now), 0
	}
	if t == a.token && to == a.conn.netcode.First && a.conn.netcode.State() == netcode.StateRequesting {
		a.began = k.now
		return
	}
	if to != a.conn.netcode.First { // it has received no request
		a.next, a.wait = k.now, 0
	}
	a.token, a.began, a.responded, a.held = t, k.now, false, time.Time{}
	a.conn.netcode.First = to
	_ = a.conn.netcode.Connect(t.bytes, k.now) // newToken has parsed it
}

func (a *attempts) closeConn() {
	a.conn.close()
	a.conn = nil
}

// denied returns the error for a denial with this code. It ends a client that was never live, unless the server may accept the
// client later.
func (k *Client) denied(code session.Code) error {
	why := &session.Error{Code: code, Received: true}
	if code.Waits() {
		if last := k.Core.retries.refused; last == nil || *last != *why { // a server may send many equal denials
			k.Core.refused(why)
		}
		return why
	}
	if code == session.CodeReplaced || code == session.CodeKicked { // the token is revoked; a newer one, of another server, may not be
		k.tokens = slices.DeleteFunc(k.tokens, func(t *token) bool { return t == k.attempts.token })
		if len(k.tokens) == 0 {
			k.Core.end(why)
		}
		return why
	}
	err := ErrFull
	if code != 0 {
		err = fmt.Errorf("%w: %w", ErrFull, why)
	}
	if !k.everLive {
		k.Core.end(err)
	}
	return err
}

// nextToken returns the next token to present, or nil if none is valid. The newest is presented every other time, since the older
// ones may have expired for a server whose clock was set forward. A token that may have been used is presented only if there is no
// other.
func (k *Client) nextToken() *token {
	k.tokens = slices.DeleteFunc(k.tokens, func(t *token) bool { return t.left(k.at(k.now)) <= 0 })
	a, best := &k.attempts, (*token)(nil)
	if i := slices.Index(k.tokens, a.token); i > 0 { // an older one was presented: all others come before it again
		k.tokens = append(slices.Delete(k.tokens, i, i+1), a.token)
	}
	for _, t := range k.tokens {
		switch {
		case t != a.doubtful && t != a.token:
			return t
		case best == nil || best == a.doubtful:
			best = t
		}
	}
	return best
}

// advance sends a request or the response if it is due. The response waits until replace returns true, because it may replace a
// connection. If it is not answered, the request is sent again with it. The challenge may then be that of an earlier request: a
// server that was suspended answers all requests in their order.
func (a *attempts) advance(now time.Time, replace func() bool) {
	switch a.conn.netcode.State() {
	case netcode.StateRequesting:
		if now.Before(a.next) {
			return
		}
		a.requested(now)
	case netcode.StateResponding:
		if a.held.IsZero() {
			a.held, a.next, a.wait = now, now.Add(hold), 0
		}
		if !replace() {
			return
		}
		a.responded = true
		if !now.Before(a.next) {
			a.conn.netcode.Repeat(&a.conn.out)
			a.requested(now)
		}
	default:
		return
	}
	a.conn.netcode.Update(&a.conn.out, now)
	a.conn.write()
}

// requested sets when the next request is due.
func (a *attempts) requested(now time.Time) {
	a.wait = min(max(2*a.wait, shortestWait), longestWait)
	a.next = now.Add(a.wait - a.token.shareOf(a.wait/4))
	a.requests++
}

// promote makes the attempt the connection of the client. Its token is used now.
func (k *Client) promote() {
	a, old := &k.attempts, k.conn
	k.conn = a.conn
	k.conn.now, k.conn.quiet = k.now, 0
	k.tokens = slices.DeleteFunc(k.tokens, func(t *token) bool { return t == a.token })
	k.move = nil
	*a = attempts{server: k.conn.netcode.Server(), doubtful: a.doubtful}
	k.storeTokens()
	if old != nil {
		old.close()
		k.Core.Lost(ErrSilent, k.at(k.now))
	}
	k.Core.retries.at = min(k.Core.retries.at, k.at(k.now))
}

// stop ends the attempts.
func (a *attempts) stop() {
	if a.conn != nil {
		a.conn.close()
		*a = attempts{server: a.server, doubtful: a.doubtful, why: a.why}
	}
}
