package client

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tendon/ecs"
	"tendon/net/netcode"
	"tendon/net/session"
	"tendon/net/simnet"
	"tendon/systems"
	"tendon/systems/relay"
)

var (
	dialServer = netip.MustParseAddrPort("10.0.0.1:7777")
	dialInput  = ecs.NewInput[uint8]()
	dialGame   = &ecs.Game{Name: "dial", TickRate: 30, MaxPlayers: 2, Input: dialInput, Systems: ecs.Systems(func(*ecs.World) {})}
)

func dialToken(t *testing.T, lifetime time.Duration) []byte {
	t.Helper()
	return tokenOf(t, lifetime, 0)
}

// tokenOf returns a token made by a host whose clock is ahead.
func tokenOf(t *testing.T, lifetime, ahead time.Duration) []byte {
	t.Helper()
	token, err := netcode.GenerateToken(netcode.TokenRequest{Key: netcode.Key{1}, ClientID: 1, Servers: []netip.AddrPort{dialServer},
		Lifetime: lifetime, Timeout: 5 * time.Second}, time.Now().Add(ahead))
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// dialed returns a client on a network without a server, and the number of sockets it opened.
func dialed(t *testing.T, lifetime, giveUp time.Duration) (c *Client, net *simnet.DatagramNet, opened *int) {
	t.Helper()
	net, opened = simnet.NewDatagramNet(simnet.Config{Seed: 1}), new(int)
	c, err := Dial(DialConfig{Token: dialToken(t, lifetime), Config: Config{Game: dialGame, Strategies: []systems.Strategy{relay.Strategy}, GiveUp: giveUp},
		Listen: func(netip.AddrPort) (Socket, error) {
			*opened++
			return net.Listen(netip.MustParseAddrPort("10.0.0.2:0"))
		}})
	if err != nil {
		t.Fatal(err)
	}
	return c, net, opened
}

// frames calls Frame until the client has ended or the time is over.
func frames(c *Client, d time.Duration) (err error) {
	for end := time.Now().Add(d); err == nil && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		err = c.Frame(time.Now())
	}
	return err
}

// A client without a server tries for Config.GiveUp, and then ends with a sentence for the player. It changes its socket now
// and then, in case the network has lost the address of the old one.
func TestAClientEndsIfTheServerDoesNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, net, opened := dialed(t, time.Hour, 40*time.Second)
		defer net.Close()
		defer c.Close()
		start := time.Now()
		err := frames(c, time.Minute)
		if !errors.Is(err, ErrUnreachable) || !errors.Is(err, ErrSilent) || c.State() != Ended {
			t.Errorf("after %v: %v, state %v", time.Since(start), err, c.State())
		}
		if took := time.Since(start); *opened < 4 || *opened > 6 || took < 40*time.Second || took > 41*time.Second {
			t.Errorf("%d sockets in %v, want one each 10 requests", *opened, took)
		}
	})
}

// A client whose only token has expired ends.
func TestAClientWhoseTokenExpiresEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, net, _ := dialed(t, 3*time.Second, 0)
		defer net.Close()
		defer c.Close()
		if err := frames(c, 8*time.Second); !errors.Is(err, ErrToken) || c.State() != Ended {
			t.Errorf("%v, state %v", err, c.State())
		}
	})
}

// A client presents each token for its lifetime, from when it received it. So it does not matter how the clock of its host is set,
// nor that it is set anew.
func TestATokenLastsByTheClockOfNoHost(t *testing.T) {
	for _, ahead := range []time.Duration{-time.Hour, 0, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			c, net, _ := dialed(t, 3*time.Second, 0)
			defer net.Close()
			defer c.Close()
			c.tokens[0], _ = newToken(tokenOf(t, 3*time.Second, ahead), 0)
			err := frames(c, 2*time.Second)
			c.keepToken(tokenOf(t, 5*time.Second, ahead)) // a reconnect token
			if left := c.Left(time.Now()); err != nil || left < 4900*time.Millisecond || left > 5*time.Second {
				t.Errorf("the clock of the server is %v ahead: %v, and %v are left", ahead, err, left)
			}
			if err := frames(c, 4*time.Second); err != nil {
				t.Errorf("the clock of the server is %v ahead: the client ended before its token: %v", ahead, err)
			}
			if err := frames(c, 2*time.Second); !errors.Is(err, ErrToken) {
				t.Errorf("the clock of the server is %v ahead: after the token has expired: %v", ahead, err)
			}
		})
	}
}

// Close releases the socket and its goroutine, at any time and more than once. The bubble fails the test otherwise.
func TestCloseReleasesTheSocketAtAnyTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, after := range []time.Duration{0, 20 * time.Millisecond, time.Second, 6 * time.Second} {
			c, net, _ := dialed(t, time.Hour, 0)
			frames(c, after)
			c.Close()
			c.Close()
			if err := c.Frame(time.Now()); !errors.Is(err, ErrClosed) {
				t.Errorf("closed after %v: Frame returned %v", after, err)
			}
			net.Close()
		}
	})
}

// A reader keeps the oldest packets and drops later ones. Its bound includes the memory of each packet's entry.
func TestTheSocketReaderIsBounded(t *testing.T) {
	var m socketReader
	packet := make([]byte, 1200)
	for range 2000 {
		m.add(packet, dialServer)
	}
	got := m.swap(packets{})
	if size := len(packet) + arrivalSize; len(got.list) != readerBytes/size || len(got.bytes) != len(got.list)*len(packet) {
		t.Errorf("%d bytes, %d packets", len(got.bytes), len(got.list))
	}
	for range readerBytes { // from any host, since the socket is not connected
		m.add(nil, dialServer)
		m.add(packet[:1], dialServer)
	}
	if got = m.swap(got); len(got.list) != readerBytes/(arrivalSize+1) || len(got.bytes) != len(got.list) {
		t.Errorf("of small packets %d bytes are kept, %d packets", len(got.bytes), len(got.list))
	}
	m.add(nil, dialServer)
	if got = m.swap(got); len(got.list) != 0 {
		t.Error("an empty packet was kept")
	}
	m.add(packet, dialServer)
	if got = m.swap(got); len(got.list) != 1 {
		t.Errorf("%d packets after the swap", len(got.list))
	}
}

// Dial refuses a bad configuration.
func TestDialRefusesABadConfig(t *testing.T) {
	good := Config{Game: dialGame, Strategies: []systems.Strategy{relay.Strategy}}
	own := good
	own.Dial = new(Client).connect
	for name, c := range map[string]DialConfig{
		"Token": {Config: good, Token: []byte("no token")},
		"Dial":  {Config: own, Token: dialToken(t, time.Minute)},
		"Game":  {Token: dialToken(t, time.Minute)},
	} {
		_, err := Dial(c)
		if err == nil || name == "Token" != errors.Is(err, ErrToken) || name != "Token" && (!errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), name)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The error of a client that lost the server and gave up has the time since it was in the match.
func TestTheErrorHasTheTimeWithoutAnAnswer(t *testing.T) {
	refused := &session.Error{Code: session.CodeStorage, Received: true}
	for _, c := range []struct {
		why  error
		d    systems.Time
		want string
	}{
		{errConnecting, 125 * systems.Second, "client: the server has not answered for 2m5s"},
		{fmt.Errorf("%w (%w)", ErrToken, ErrSilent), 118 * systems.Second, "client: the server has not answered for 1m58s"},
		{fmt.Errorf("%w (%w)", ErrToken, refused), 118 * systems.Second, "client: the server has refused this client for 1m58s: " + refused.Error()},
		{errors.New("no route"), 3 * systems.Second, "client: the server cannot be reached for 3s: no route"},
		{errors.New("no route"), 0, "client: the server cannot be reached: no route"},
	} {
		core := Core{state: Reconnecting, retries: retries{since: systems.Second}}
		err := core.unreachable(c.why, systems.Second+c.d)
		if err.Error() != c.want || !errors.Is(err, ErrUnreachable) || !errors.Is(err, c.why) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

// A client without a further token ends with the reason why it lost the connection.
func TestTheErrorOfAUsedTokenHasTheReason(t *testing.T) {
	c, net, _ := dialed(t, time.Hour, 0)
	defer net.Close()
	c.lose(ErrDropped)
	c.tokens = nil
	if _, err := c.connect(); !errors.Is(err, ErrToken) || !errors.Is(err, ErrDropped) {
		t.Errorf("%v", err)
	}
}

// A server whose clock was set forward accepts the newest token only. The client does not present all others before it again.
func TestTheNewestTokenIsPresentedEveryOtherTime(t *testing.T) {
	k := &Client{now: time.Unix(0, 0), epoch: time.Unix(0, 0)}
	for range tokensKept {
		k.tokens = append(k.tokens, &token{life: systems.Second})
	}
	newest, shown := k.tokens[0], map[*token]bool{}
	for i := range 2 * tokensKept {
		next := k.nextToken()
		if (next == newest) != (i%2 == 0) {
			t.Errorf("attempt %d: the newest token: %v", i, next == newest)
		}
		k.attempts.token, shown[next] = next, true
	}
	k.attempts.doubtful = newest
	for range tokensKept {
		if k.attempts.token = k.nextToken(); k.attempts.token == newest {
			t.Error("a token that may have been used is presented, and there are others")
		}
	}
	if len(shown) != tokensKept || len(k.tokens) != tokensKept {
		t.Errorf("%d of %d tokens were presented", len(shown), tokensKept)
	}
}

// Another connection ends a move. A newer token for other servers replaces the move; one for the same servers does not begin it again.
func TestAMoveEndsWithAnotherConnection(t *testing.T) {
	c, net, _ := dialed(t, time.Hour, 0)
	defer net.Close()
	c.now, c.epoch = time.Unix(1, 0), time.Unix(0, 0)
	connect := func() *connection {
		socket, err := c.config.Listen(dialServer)
		if err != nil {
			t.Fatal(err)
		}
		return newConnection(socket, c.now)
	}
	other := func(host byte) []byte {
		token, err := netcode.GenerateToken(netcode.TokenRequest{Key: netcode.Key{1}, ClientID: 1, Lifetime: time.Hour, Timeout: 5 * time.Second,
			Servers: []netip.AddrPort{netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, host}), 7777)}}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	c.conn = connect()
	defer c.Close()
	c.keepToken(other(3))
	if c.move == nil || c.move != c.tokens[0] {
		t.Fatal("the room does not move")
	}
	c.attempts.conn, c.attempts.token = connect(), c.tokens[1]
	c.promote()
	if c.move != nil {
		t.Error("the former move is kept with another connection")
	}
	c.keepToken(other(3))
	c.keepToken(other(3))
	if c.move != c.tokens[1] {
		t.Error("a second token for the same server begins the move again")
	}
	c.attempts.conn, c.attempts.token = connect(), c.move
	c.keepToken(other(4))
	if c.move != c.tokens[0] || c.attempts.conn != nil {
		t.Error("the newest move is not used")
	}
	c.tokens = c.tokens[1:]
	if c.attempt(); c.move != nil {
		t.Error("a move without its token is kept")
	}
}
