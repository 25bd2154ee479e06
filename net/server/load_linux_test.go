package server

import (
	"encoding/hex"
	"encoding/json"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"tendon/net/client"
	"tendon/net/netcode"
	"tendon/systems"
	"tendon/systems/relay"
)

// load describes the clients of another process, so that the processor time of the server can be measured alone. The process
// is this test binary with loadVariable set.
type load struct {
	Server   netip.AddrPort
	Rooms    int // of two players each
	Rate     int
	Idle     int // clients that only keep their connections alive
	Duration time.Duration
	Key      string
}

const loadVariable = "TENDON_SERVER_LOAD"

func init() {
	if what := os.Getenv(loadVariable); what != "" {
		os.Exit(beLoad(what))
	}
}

// start runs the load in another process.
func (l load) start(tb testing.TB) (wait func()) {
	tb.Helper()
	l.Key = hex.EncodeToString(testKey[:])
	what, err := json.Marshal(l)
	if err != nil {
		tb.Fatal(err)
	}
	c := exec.Command(os.Args[0], "-test.run=^$")
	c.Env = append(os.Environ(), loadVariable+"="+string(what), "GOMAXPROCS=1")
	c.Stderr = os.Stderr
	if err := c.Start(); err != nil {
		tb.Fatal(err)
	}
	return func() {
		if err := c.Wait(); err != nil {
			tb.Errorf("the load: %v", err)
		}
	}
}

// beLoad is the main function of the other process.
func beLoad(what string) int {
	var l load
	if err := json.Unmarshal([]byte(what), &l); err != nil {
		panic(err)
	}
	key, _ := parseKey([]byte(l.Key))
	end := time.Now().Add(l.Duration)
	if l.Idle > 0 {
		return l.idle(key, end)
	}
	var clients []*client.Client
	for i := range 2 * l.Rooms {
		c, err := client.Dial(client.DialConfig{Token: l.token(key, i, i/2), Config: client.Config{Game: raceGame(l.Rate),
			Strategies: []systems.Strategy{relay.Strategy}, Bot: true, BotSeed: uint64(i)}})
		if err != nil {
			panic(err)
		}
		clients = append(clients, c)
	}
	frame := time.Second / time.Duration(l.Rate)
	for next := time.Now(); next.Before(end); next = next.Add(frame / 8) {
		time.Sleep(time.Until(next))
		phase := int(next.UnixNano()/int64(frame/8)) % 8
		for i := phase; i < len(clients); i += 8 {
			_ = clients[i].Frame(time.Now())
		}
	}
	live := 0
	for _, c := range clients {
		if c.State() == client.Live {
			live++
		}
	}
	if live < len(clients) {
		println("live at the end:", live, "of", len(clients), clients[0].State().String())
		return 1
	}
	return 0
}

func (l load) token(key netcode.Key, id, room int) []byte {
	token, err := Mint(Ticket{ProtocolID: ProtocolID("race"), Key: key, ClientID: uint64(id + 1), Addresses: []netip.AddrPort{l.Server},
		Pass:     Pass{Room: "r" + string(rune('a'+room/676%26)) + string(rune('a'+room/26%26)) + string(rune('a'+room%26)), Seat: AnySeat},
		Lifetime: time.Minute}, time.Now())
	if err != nil {
		panic(err)
	}
	return token
}

// idle connects clients that only keep their connections alive. Their sockets are outside the poller of the runtime, so that
// the server does not pay for waking this process at each packet.
func (l load) idle(key netcode.Key, end time.Time) int {
	type peer struct {
		netcode.Client
		fd int
	}
	peers := make([]peer, l.Idle)
	for i := range peers {
		p := &peers[i]
		fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_NONBLOCK, 0)
		if err == nil {
			err = syscall.Connect(fd, &syscall.SockaddrInet4{Port: int(l.Server.Port()), Addr: l.Server.Addr().As4()})
		}
		if err == nil {
			err = p.Connect(l.token(key, i, i/16), time.Now())
		}
		if err != nil {
			panic(err)
		}
		p.fd = fd
	}
	var out netcode.Outbox
	var buffer [2048]byte
	for next := time.Now(); next.Before(end); next = next.Add(10 * time.Millisecond) {
		time.Sleep(time.Until(next))
		now := time.Now()
		for i := range peers {
			p := &peers[i]
			for n, err := syscall.Read(p.fd, buffer[:]); err == nil; n, err = syscall.Read(p.fd, buffer[:]) {
				p.Receive(buffer[:n], l.Server, now)
			}
			p.Update(&out, now)
			for j := range out.Len() {
				_, packet := out.At(j)
				_, _ = syscall.Write(p.fd, packet)
			}
			out.Reset()
		}
	}
	connected := 0
	for i := range peers {
		if peers[i].State() == netcode.StateConnected {
			connected++
		}
	}
	if connected < l.Idle {
		println("connected at the end:", connected, "of", l.Idle)
		return 1
	}
	return 0
}

// processorTime returns the processor time of this process, in user and system mode.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// heap returns the size of the heap after a collection.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
