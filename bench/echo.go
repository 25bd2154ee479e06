//go:build unix

package main

import (
	"net"
	"net/netip"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"tendon/bench/internal/process"
)

// beEcho sends every datagram back.
func beEcho() error {
	socket, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.MustParseAddrPort("127.0.0.1:0")))
	if err != nil {
		return err
	}
	process.Say(socket.LocalAddr().String())
	var served atomic.Int64
	go func() {
		var buffer [2048]byte
		for {
			n, from, err := socket.ReadFromUDPAddrPort(buffer[:])
			if err != nil {
				return
			}
			_, _ = socket.WriteToUDPAddrPort(buffer[:n], from)
			served.Add(1)
		}
	}()
	process.Answer(func() int { return int(served.Load()) })
	return nil
}

// pingBytes is the size of a sealed keep-alive.
const pingBytes = 33

// bePingers sends as many datagrams as idlers do.
func bePingers() error {
	address, err := netip.ParseAddrPort(os.Args[1])
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(os.Args[2])
	if err != nil {
		return err
	}
	sockets := make([]int, n)
	for i := range sockets {
		if sockets[i], err = connected(address); err != nil {
			return err
		}
	}
	var buffer [2048]byte
	stopped, k := process.UntilStopped(), 0
	for ticker := time.NewTicker(10 * time.Millisecond); ; k++ {
		select {
		case <-stopped:
			return nil
		case <-ticker.C:
			for i := k % 10; i < n; i += 10 {
				_, _ = syscall.Write(sockets[i], buffer[:pingBytes])
				_, _ = syscall.Read(sockets[i], buffer[:])
			}
		}
	}
}

// connected returns a UDP socket that Go's poller does not know, so that the server does not pay for waking this
// process at each packet.
func connected(to netip.AddrPort) (int, error) {
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM, 0)
	if err != nil {
		return 0, err
	}
	if err := syscall.SetNonblock(socket, true); err != nil {
		return 0, err
	}
	return socket, syscall.Connect(socket, &syscall.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()})
}
