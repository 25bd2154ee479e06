package web

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"tendon/cmd/arena/rules"
	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/host"
	"tendon/cmd/cli/internal/player"
	"tendon/cmd/cli/internal/syncflags"
	"tendon/cmd/cli/page/pagetest"
	"tendon/cmd/cli/playpage"
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/client"
	"tendon/net/netcode"
	"tendon/net/room"
	"tendon/net/server"
	"tendon/net/simnet"
	"tendon/net/web"
	"tendon/systems/relay"
)

// stand is a server with a room, and its clients: bots with UDP sockets, and browsers. Each has a simulated network of its own.
type stand struct {
	*host.Host
	t            testing.TB
	game         *ecs.Game
	listener     *web.Listener
	certificates *web.Certificates
	pages        *httptest.Server
	profiles     []func(simnet.Profile) error // of the networks
	bots         []*player.Player
	browsers     []*browser
}

const standRoom = "mixed"

var standKey = netcode.Key{1}

var (
	mixedTime = flag.Duration("mixed", 0, "play for this time with each strategy on the networks of mixed.net, such as 60s; 0: some seconds on P3")
	mixedNets = flag.String("mixed.net", "P1,P3,P5", "the networks of a longer match")
)

// newStand starts a server with bots. It serves the page in a directory.
func newStand(t testing.TB, game *ecs.Game, bots int, dir string) *stand {
	t.Helper()
	certificates, err := web.SelfSigned(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &stand{t: t, game: game, certificates: certificates, pages: httptest.NewServer(http.FileServer(http.Dir(dir)))}
	t.Cleanup(s.pages.Close)
	if s.listener, err = web.Listen(web.Config{Address: ":0", Certificates: certificates, Origins: []string{s.pages.URL}}); err != nil {
		t.Fatal(err)
	}
	socket, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	public := []netip.AddrPort{socket.LocalAddr().(*net.UDPAddr).AddrPort()}
	for range bots {
		public = append(public, s.proxy(public[0]))
	}
	s.Host, err = host.Start(app.New(t.Context(), game, io.Discard, os.Stderr), host.Config{Flags: &host.Flags{}, Strategy: relay.Strategy, Seed: 7, Compare: true, Watched: true,
		Config: server.Config{Socket: socket, Public: public, Web: s.listener, MaxRooms: 1, Workers: 1, Keys: []netcode.Key{standKey}}})
	if err != nil {
		t.Fatal(errors.Join(err, s.listener.Close()))
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	var running sync.WaitGroup
	t.Cleanup(running.Wait)
	for i := range bots {
		c, err := s.Dial(public[1+i], standRoom, server.AnySeat, client.Config{Name: "UDP", Bot: true, BotSeed: uint64(i)})
		if err != nil {
			t.Fatal(err)
		}
		p := player.New("UDP", c, game)
		p.Server = s.Checksums
		s.bots = append(s.bots, p)
		running.Go(func() {
			if err := p.Run(t.Context()); err != nil && t.Context().Err() == nil {
				t.Errorf("bot %d: %v", i, err)
			}
		})
	}
	return s
}

// proxy opens an ideal network before a UDP socket of the server.
func (s *stand) proxy(to netip.AddrPort) netip.AddrPort {
	s.t.Helper()
	p, err := simnet.NewProxy(to, simnet.Profile{}, uint64(len(s.profiles)))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { p.Close() })
	s.profiles = append(s.profiles, p.SetProfile)
	return p.Addr()
}

// setProfile changes the networks of all clients.
func (s *stand) setProfile(p simnet.Profile) {
	s.t.Helper()
	for _, set := range s.profiles {
		if err := set(p); err != nil {
			s.t.Fatal(err)
		}
	}
}

// fork opens a network before the UDP socket of the listener, for the browser of one page. A page opens a connection before it ends
// another one, so each has a proxy of its own.
func (s *stand) fork() netip.AddrPort {
	s.t.Helper()
	front, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		s.t.Fatal(err)
	}
	var mu sync.Mutex
	var profile simnet.Profile
	proxies, sockets := map[netip.AddrPort]*simnet.Proxy{}, map[netip.AddrPort]*net.UDPConn{}
	var running sync.WaitGroup
	running.Go(func() {
		buffer := make([]byte, 2048)
		for {
			n, from, err := front.ReadFromUDPAddrPort(buffer)
			if err != nil {
				return
			}
			mu.Lock()
			if sockets[from] == nil {
				proxy, err := simnet.NewProxy(netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), s.webPort()), profile, uint64(len(proxies)))
				if err != nil {
					mu.Unlock()
					return
				}
				socket, err := net.DialUDP("udp4", nil, net.UDPAddrFromAddrPort(proxy.Addr()))
				if err != nil {
					proxy.Close()
					mu.Unlock()
					return
				}
				proxies[from], sockets[from] = proxy, socket
				running.Go(func() {
					buffer := make([]byte, 2048)
					for {
						n, err := socket.Read(buffer)
						if err != nil {
							return
						}
						front.WriteToUDPAddrPort(buffer[:n], from)
					}
				})
			}
			sockets[from].Write(buffer[:n])
			mu.Unlock()
		}
	})
	s.profiles = append(s.profiles, func(p simnet.Profile) (err error) {
		mu.Lock()
		defer mu.Unlock()
		profile = p
		for _, proxy := range proxies {
			err = errors.Join(err, proxy.SetProfile(p))
		}
		return err
	})
	s.t.Cleanup(func() {
		front.Close()
		mu.Lock()
		for from, proxy := range proxies {
			sockets[from].Close()
			proxy.Close()
		}
		mu.Unlock()
		running.Wait()
	})
	return front.LocalAddr().(*net.UDPAddr).AddrPort()
}

// webPort is the port of the listener.
func (s *stand) webPort() uint16 {
	return netip.MustParseAddrPort(s.listener.LocalAddr().String()).Port()
}

// link returns the link of a page that joins by one URL.
func (s *stand) link(url string, bot bool) string {
	s.t.Helper()
	token, err := s.Token(s.PublicAddr, server.Pass{Room: standRoom, Seat: server.AnySeat, Bot: bot})
	if err != nil {
		s.t.Fatal(err)
	}
	i := playpage.Invitation{Token: token, URLs: []string{url}, Bot: bot}
	for _, h := range s.certificates.Hashes() {
		i.Hashes = append(i.Hashes, h[:])
	}
	return s.pages.URL + "/#join=" + i.Text()
}

// webTransport returns the URL of WebTransport over a network of its own.
func (s *stand) webTransport() string {
	return fmt.Sprintf("https://%s%s", s.fork(), web.Path)
}

// webSocket returns the URL of a WebSocket. Its TCP has a network of its own where tunnels can be made.
func (s *stand) webSocket() string {
	far := "127.0.0.1"
	tunnel, err := simnet.NewTunnel(s.webPort(), simnet.Profile{}, uint64(len(s.profiles)))
	if err != nil {
		s.t.Logf("the WebSocket has an ideal network: %v", err)
	} else {
		s.t.Cleanup(func() { tunnel.Close() })
		s.profiles = append(s.profiles, tunnel.SetProfile)
		far = tunnel.Far().String()
	}
	return fmt.Sprintf("wss://%s:%d%s", far, s.webPort(), web.Path)
}

// browser is a page that plays.
type browser struct {
	name string
	tab  interface {
		Eval(expression string, into any)
		WaitFor(expression string)
	}
	equal, different int // checksums
	last             ecs.Tick
	least, most      int // entities
}

func (s *stand) add(name string, tab interface {
	Eval(expression string, into any)
	WaitFor(expression string)
}) *browser {
	b := &browser{name: name, tab: tab, least: 1 << 30}
	s.browsers = append(s.browsers, b)
	return b
}

// pageStats are the figures that the page publishes.
type pageStats struct {
	State, Strategy                                                   string
	Tick, Confirmed, Rollbacks, Resyncs, Reconnects, Entities, Stalls int
	RTT                                                               float64
}

func (b *browser) stats() (st pageStats) {
	b.tab.Eval("window.tendonStats ?? {}", &st)
	return st
}

// compare compares the newest confirmed state of the page with the server's.
func (s *stand) compare(b *browser) {
	s.t.Helper()
	var page struct {
		Seat int
		Tick ecs.Tick
		Sums []string
	}
	b.tab.Eval("window.tendonChecksums ? tendonChecksums() : null", &page)
	st := b.stats()
	b.least, b.most = min(b.least, st.Entities), max(b.most, st.Entities)
	want := s.Checksums.At(page.Tick, page.Seat)
	if len(page.Sums) == 0 || want == nil || page.Tick == b.last {
		return
	}
	b.last = page.Tick
	for i, text := range page.Sums {
		sum, err := strconv.ParseUint(text, 16, 64)
		if have := image.Checksum(sum); err != nil || have != want[i] && have != 0 {
			s.t.Errorf("%s under %s: column %s of tick %d differs", b.name, st.Strategy, s.game.Schema().Columns()[i], page.Tick)
			b.different++
			return
		}
	}
	b.equal++
}

// A room has bots with UDP sockets, a Chromium with WebTransport, one with a WebSocket, and a Firefox. The match changes from strategy
// to strategy. All confirmed states equal the server's, and there are rollbacks and new entities in each browser.
func TestAllTransportsPlayInOneRoom(t *testing.T) {
	pagetest.Chromium(t)
	dir, _ := site(t, "arena")
	s := newStand(t, rules.Game(), 2, dir)
	for _, way := range [][2]string{{"Chromium, WebTransport", s.webTransport()}, {"Chromium, WebSocket", s.webSocket()}} {
		name, url := way[0], way[1]
		tab := open(t, chromedp.Flag("ignore-certificate-errors", true))
		tab.Go(s.link(url, true))
		s.add(name, tab)
	}
	if url := s.webTransport(); pagetest.HasFirefox() {
		s.add("Firefox, WebTransport", pagetest.OpenFirefox(t, s.link(url, true)))
	}
	for _, b := range s.browsers {
		t.Log(b.name, s.listener.Stats())
		b.tab.WaitFor(`window.tendonStats && tendonStats.state === "live" && tendonStats.confirmed > 60`)
	}
	profiles, each, checks := []string{"P3"}, 2*time.Second, 5
	if *mixedTime > 0 {
		profiles, each = strings.Split(*mixedNets, ","), *mixedTime
	}
	for _, name := range profiles {
		profile, _ := simnet.ByName(name)
		s.setProfile(profile)
		for _, strategy := range syncflags.All {
			if err := s.Switch(t.Context(), standRoom, strategy.Name); err != nil && !errors.Is(err, room.ErrSwitch) {
				t.Fatal(err)
			}
			s.play(strategy.Name, each, checks)
			s.report(name + " " + strategy.Name)
		}
	}
	for _, b := range s.browsers {
		if st := b.stats(); st.Rollbacks == 0 || b.least == b.most {
			t.Errorf("%s had no rollbacks or no new entities: the test proves nothing: %+v", b.name, st)
		}
	}
	peers, err := s.Peers(standRoom)
	if err != nil || len(peers) != len(s.bots)+len(s.browsers) {
		t.Errorf("%d clients at the end, %v", len(peers), err)
	}
}

// play plays for a time with a strategy. It goes on until each client has been compared often enough.
func (s *stand) play(strategy string, each time.Duration, checks int) {
	s.t.Helper()
	for _, b := range s.browsers {
		b.tab.WaitFor(fmt.Sprintf(`tendonStats.strategy === %q && tendonStats.state === "live"`, strategy))
		b.equal = 0
	}
	agreed := make([]uint64, len(s.bots))
	for i, p := range s.bots {
		agreed[i] = p.Line().Agreed
	}
	done := func() bool {
		for i, p := range s.bots {
			if p.Line().Agreed < agreed[i]+uint64(checks) {
				return false
			}
		}
		return !slices.ContainsFunc(s.browsers, func(b *browser) bool { return b.equal < checks })
	}
	for start := time.Now(); time.Since(start) < each || !done(); time.Sleep(50 * time.Millisecond) {
		for _, b := range s.browsers {
			s.compare(b)
		}
		if time.Since(start) > each+time.Minute {
			s.report(strategy)
			s.t.Fatalf("%s: not all clients were compared %d times", strategy, checks)
		}
	}
	for i, p := range s.bots {
		if l := p.Line(); l.Differed > 0 || l.Resyncs > 0 {
			s.t.Errorf("%s: bot %d: %+v", strategy, i, l)
		}
	}
}

// report logs the figures of all clients.
func (s *stand) report(title string) {
	s.t.Helper()
	for i, p := range s.bots {
		l := p.Line()
		s.t.Logf("%s: UDP %d: %d states equal, %d differ, %d rollbacks, %d stalls, RTT %.0f ms", title, i, l.Agreed, l.Differed, l.Rollbacks, l.Stalls, l.RTTMs)
	}
	for _, b := range s.browsers {
		s.t.Logf("%s: %s: %d states equal, %d differ, %d to %d entities, %+v", title, b.name, b.equal, b.different, b.least, b.most, b.stats())
	}
	peers, _ := s.Peers(standRoom)
	for _, p := range peers {
		s.t.Logf("%s: seat %d %s: %d checksums compared by the server, %d differed, %d inputs substituted", title, p.Seat, p.State, p.Strategy.Checked, p.Strategy.Desyncs, p.Strategy.Substituted)
	}
	s.t.Logf("%s: %+v", title, s.listener.Stats())
}

// tick returns the last tick of the server.
func (s *stand) tick() (now ecs.Tick) {
	s.t.Helper()
	if err := s.Do(s.t.Context(), standRoom, func(r *room.Room) { now = r.Tick() }); err != nil {
		s.t.Fatal(err)
	}
	return now
}

// until waits until a condition is true.
func (s *stand) until(what string, ok func() bool) {
	s.t.Helper()
	for end := time.Now().Add(90 * time.Second); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("not within 90 s: %s", what)
		}
	}
}

// seat returns the seat of a page's player.
func (b *browser) seat() (seat int) {
	b.tab.Eval(`tendonChecksums()?.seat ?? -1`, &seat)
	return seat
}

// input returns the input of a page's player in the newest tick of the server.
func (s *stand) input(b *browser) rules.Pad {
	s.t.Helper()
	var in ecs.InputBytes
	seat := b.seat()
	if err := s.Do(s.t.Context(), standRoom, func(r *room.Room) { in = r.World().Image().Input(ecs.Player(max(seat, 0))) }); err != nil {
		s.t.Fatal(err)
	}
	return s.game.Input.(*ecs.Input[rules.Pad]).Unpack(in)
}

// gave reports whether a page's player gave an input in one of the last ticks.
func (s *stand) gave(b *browser, want func(rules.Pad) bool) bool {
	s.t.Helper()
	recent, err := s.Recent(s.t.Context(), standRoom)
	if err != nil {
		s.t.Fatal(err)
	}
	seat := b.seat()
	for tick := range recent.Ticks(recent.Start(), recent.Last().Tick) {
		if seat >= 0 && seat < len(tick.Inputs) && want(s.game.Input.(*ecs.Input[rules.Pad]).Unpack(tick.Inputs[seat])) {
			return true
		}
	}
	return false
}
