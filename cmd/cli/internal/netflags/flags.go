// Package netflags has the flags that select a simulated network, and opens that network in front of a server of this process.
package netflags

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"slices"
	"time"

	"tendon/cmd/cli/internal/app"
	"tendon/net/client"
	"tendon/net/simnet"
)

// NetFlags choose the network between each player and the server. A struct that embeds them sets the variables rtt, jitter and
// loss, the defaults in the help.
type NetFlags struct {
	Net    string         `help:"Network profile between each player and the server: P0 to P12, or a title such as typical. Not with --rtt, --jitter and --loss."`
	RTT    *time.Duration `name:"rtt" help:"Round trip time between each player and the server. Default: ${rtt}."`
	Jitter *time.Duration `help:"Largest deviation of a packet's delay, either way. Default: ${jitter}."`
	Loss   *float64       `help:"Packets lost each way, in percent. Default: ${loss}."`
}

// Profile returns the network that the flags describe. usual has the values of flags that are left out. It fails if a flag is
// out of range, or if --net is given together with another of the flags.
func (f *NetFlags) Profile(usual simnet.Path) (simnet.Profile, error) {
	if f.Net != "" {
		if f.RTT != nil || f.Jitter != nil || f.Loss != nil {
			return simnet.Profile{}, errors.New("--net sets the whole network: leave out --rtt, --jitter and --loss, or leave out --net")
		}
		return Named(f.Net)
	}
	rtt, jitter, loss := valueOr(f.RTT, 2*usual.Delay), valueOr(f.Jitter, usual.Jitter.Size), valueOr(f.Loss, 100*usual.Loss)
	path := simnet.Path{Delay: rtt / 2, Jitter: simnet.Jitter{Kind: simnet.Uniform, Size: jitter}, Loss: loss / 100}
	return simnet.Symmetric("", "", path), cmp.Or(app.InRange("--loss", loss, 0, 100), app.InRange("--rtt", rtt, 0, 2*time.Minute),
		app.InRange("--jitter", jitter, 0, time.Minute))
}

func valueOr[T any](given *T, usual T) T {
	if given != nil {
		return *given
	}
	return usual
}

// Named returns a standard profile by its name or title.
func Named(name string) (simnet.Profile, error) {
	p, ok := simnet.ByName(name)
	if !ok {
		return p, fmt.Errorf("--net %s: there is no such profile: choose one of P0 to P12", name)
	}
	return p, nil
}

// Text describes a network that Profile returned.
func Text(p simnet.Profile) string {
	if p.Name != "" {
		return p.Name + " " + p.Title
	}
	return fmt.Sprintf("%v RTT, ±%v jitter, %g %% loss", RTT(p), p.Up.Jitter.Size, Loss(p))
}

// RTT returns the round trip time without jitter. If the delay changes with time, it is the shortest one.
func RTT(p simnet.Profile) time.Duration {
	return max(p.Up.Delay, p.Up.Walk.Min) + max(p.Down.Delay, p.Down.Walk.Min)
}

// Loss returns the packets lost on the way to the server, in percent.
func Loss(p simnet.Profile) float64 { return math.Round(p.Up.Loss*1e8) / 1e6 }

// Arguments returns the flags that are given, for another command line.
func (f *NetFlags) Arguments() (args []string) {
	if f.Net != "" {
		args = append(args, "--net", f.Net)
	}
	for name, d := range map[string]*time.Duration{"--rtt": f.RTT, "--jitter": f.Jitter} {
		if d != nil {
			args = append(args, name, d.String())
		}
	}
	if f.Loss != nil {
		args = append(args, "--loss", fmt.Sprint(*f.Loss))
	}
	return args
}

// Given reports whether a flag is given.
func (f *NetFlags) Given() bool {
	return f.Net != "" || f.RTT != nil || f.Jitter != nil || f.Loss != nil
}

// Listen returns the function client.DialConfig.Listen of a client that reaches a server over the network of the flags. It
// is nil without flags: such a client uses a socket of the system.
func (f *NetFlags) Listen(server netip.AddrPort, seed uint64) (func(netip.AddrPort) (client.Socket, error), error) {
	profile, err := f.Profile(simnet.Path{})
	if err != nil || !f.Given() {
		return nil, err
	}
	return func(netip.AddrPort) (client.Socket, error) {
		socket, err := net.ListenUDP("udp", nil)
		if err != nil {
			return nil, err
		}
		proxy, err := simnet.NewProxy(server, profile, seed)
		if err != nil {
			return nil, errors.Join(err, socket.Close())
		}
		seed++
		return &routed{UDPConn: socket, proxy: proxy, server: server}, nil
	}, nil
}

// routed is a socket whose packets to and from a server pass a simulated network.
type routed struct {
	*net.UDPConn
	proxy  *simnet.Proxy
	server netip.AddrPort
}

// WriteToUDPAddrPort sends a packet, to the server through the network.
func (r *routed) WriteToUDPAddrPort(b []byte, to netip.AddrPort) (int, error) {
	if to == r.server {
		to = r.proxy.Addr()
	}
	return r.UDPConn.WriteToUDPAddrPort(b, to)
}

// ReadFromUDPAddrPort receives a packet. One of the network is the server's.
func (r *routed) ReadFromUDPAddrPort(b []byte) (n int, from netip.AddrPort, err error) {
	n, from, err = r.UDPConn.ReadFromUDPAddrPort(b)
	if netip.AddrPortFrom(from.Addr().Unmap(), from.Port()) == r.proxy.Addr() {
		from = r.server
	}
	return n, from, err
}

// Close closes the socket and the network.
func (r *routed) Close() error { return errors.Join(r.UDPConn.Close(), r.proxy.Close()) }

// Network is a simulated network on the loopback interface, in front of a server that is started later.
type Network struct {
	Socket *net.UDPConn     // of the server, which closes it
	Public []netip.AddrPort // the address at which each player reaches the server

	proxies []*simnet.Proxy
	profile int // index in simnet.Profiles of that which Next chose
}

// Open opens a network for a number of players. It opens the addresses in Public before the server starts, because tokens
// contain them.
func Open(profile simnet.Profile, players int, seed uint64) (*Network, error) {
	socket, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, fmt.Errorf("no socket on the loopback interface: %w", err)
	}
	n := &Network{Socket: socket, profile: slices.IndexFunc(simnet.Profiles(), func(p simnet.Profile) bool { return p.Name == profile.Name })}
	for i := range players {
		p, err := simnet.NewProxy(socket.LocalAddr().(*net.UDPAddr).AddrPort(), profile, seed+uint64(i))
		if err != nil {
			socket.Close()
			n.Close()
			return nil, err
		}
		n.proxies, n.Public = append(n.proxies, p), append(n.Public, p.Addr())
	}
	return n, nil
}

// Next changes the network of all players to the standard profile after the last one, and returns its name.
func (n *Network) Next() string {
	list := simnet.Profiles()
	n.profile = (n.profile + 1) % len(list)
	for _, p := range n.proxies {
		if err := p.SetProfile(list[n.profile]); err != nil {
			return err.Error()
		}
	}
	p := list[n.profile]
	return fmt.Sprintf("%s, %v RTT, %g %% loss", Text(p), RTT(p), Loss(p))
}

// Close ends the network and leaves the server's socket open.
func (n *Network) Close() {
	for _, p := range n.proxies {
		p.Close()
	}
}
