//go:build unix

package main

import (
	"net"
	"net/netip"
	"sync/atomic"
	"syscall"

	"tendon/bench/internal/process"
)

// echoServer sends every datagram back.
func echoServer() error {
	socket, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return err
	}
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
	process.Serve(socket.LocalAddr().String(), func(u *process.Usage) { u.Served = int(served.Load()) })
	return nil
}

// pingBytes is the size of a sealed keep-alive.
const pingBytes = 33

// echoLoad sends as many datagrams as idleLoad.
func echoLoad() error {
	at, numbers, err := process.Load()
	if err != nil {
		return err
	}
	sockets := make([]int, numbers[0])
	for i := range sockets {
		if sockets[i], err = connected(at); err != nil {
			return err
		}
	}
	var buffer [2048]byte
	call := 0
	process.Every(100, func() {
		for i := call % 10; i < len(sockets); i += 10 {
			_, _ = syscall.Write(sockets[i], buffer[:pingBytes])
			_, _ = syscall.Read(sockets[i], buffer[:])
		}
		call++
	})
	return nil
}

// connected returns a UDP socket that is not in Go's poller, so that the server does not pay for waking this process at
// each packet.
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
