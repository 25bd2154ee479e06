package simnet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"sync"

	"golang.org/x/sys/unix"
)

// Tunnel is a network interface of this host with a simulated route behind it, in real time. A client that connects to Far
// reaches the server at the same port of this host. The TCP of the system is on both ends, so a TCP connection has the delays, losses
// and retransmissions of the route. A Tunnel needs root.
type Tunnel struct {
	route  *DatagramNet
	client *PacketConn
	server *PacketConn
	device *os.File
	far    netip.Addr
	done   sync.WaitGroup
}

// tunnelMTU is the MTU of the interface. IPv4 packets are not fragmented.
const tunnelMTU = 1400

// ErrTunnel is wrapped by the error of NewTunnel on a host that does not support tunnels.
var ErrTunnel = errors.New("simnet: cannot make a tunnel: it needs root and /dev/net/tun")

// NewTunnel makes an interface for the server at a port. seed determines all random numbers. Close removes the interface.
func NewTunnel(port uint16, profile Profile, seed uint64) (*Tunnel, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTunnel, err)
	}
	request, err := unix.NewIfreq("tendon%d")
	if err == nil {
		request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, request)
	}
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("%w: %w", ErrTunnel, err)
	}
	t := &Tunnel{route: NewDatagramNet(Config{Seed: seed}), device: os.NewFile(uintptr(fd), "tun")}
	// The addresses are those of tests of networks (RFC 2544), two for each port.
	base := [4]byte{198, 18 + byte(port>>15)}
	binary.BigEndian.PutUint16(base[2:], port<<1)
	near, far := base, base
	far[3]++
	t.far = netip.AddrFrom4(far)
	t.client, _ = t.route.Listen(nearClient) // the route is empty, so both are free
	t.server, _ = t.route.Listen(nearServer)
	if err = t.SetProfile(profile); err == nil {
		for _, args := range [][]string{{"address", "add", netip.AddrFrom4(near).String(), "peer", t.far.String(), "dev", request.Name()},
			{"link", "set", request.Name(), "up", "mtu", fmt.Sprint(tunnelMTU)}} {
			if output, failed := exec.Command("ip", args...).CombinedOutput(); failed != nil {
				err = errors.Join(err, fmt.Errorf("%w: ip %v: %w: %s", ErrTunnel, args, failed, output))
			}
		}
	}
	if err != nil {
		t.Close()
		return nil, err
	}
	t.done.Go(func() { t.send(port) })
	t.done.Go(func() { t.receive(t.client) })
	t.done.Go(func() { t.receive(t.server) })
	return t, nil
}

// Far returns the address that a client connects to.
func (t *Tunnel) Far() netip.Addr { return t.far }

// SetProfile changes the route while packets are on it.
func (t *Tunnel) SetProfile(profile Profile) error {
	if err := profile.Validate(); err != nil {
		return err
	}
	return t.route.Route(nearClient.Addr(), nearServer.Addr(), profile)
}

// send sends the packets of the interface over the route. Those to the port are of a client.
func (t *Tunnel) send(port uint16) {
	const header, ports = 20, 4 // of IPv4 without options
	buffer := make([]byte, MaxPacket)
	for {
		n, err := t.device.Read(buffer)
		if err != nil {
			return
		}
		packet := buffer[:n]
		if n < header+ports || packet[0] != 0x45 {
			continue
		}
		var near [4]byte
		copy(near[:], packet[12:16])
		copy(packet[12:16], packet[16:20]) // swap the two addresses, which keeps the checksums
		copy(packet[16:20], near[:])
		if binary.BigEndian.Uint16(packet[header+2:]) == port {
			t.client.WriteToUDPAddrPort(packet, nearServer)
		} else {
			t.server.WriteToUDPAddrPort(packet, nearClient)
		}
	}
}

// receive passes the packets that arrive at one end of the route to the system.
func (t *Tunnel) receive(end *PacketConn) {
	buffer := make([]byte, MaxPacket)
	for {
		n, _, err := end.ReadFromUDPAddrPort(buffer)
		if err != nil {
			return
		}
		t.device.Write(buffer[:n]) // a packet that the system does not accept is lost
	}
}

// Close removes the interface. Packets on the route are lost.
func (t *Tunnel) Close() error {
	err := t.device.Close()
	t.route.Close()
	t.done.Wait()
	return err
}
