//go:build !linux

package server

import "net"

func newDatagrams(socket endpoint) datagrams { return plainSocket{socket.(Socket)} }

func withoutPoller(conn *net.UDPConn) endpoint { return conn }
