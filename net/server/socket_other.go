//go:build !linux

package server

import "net"

func newReceiver(socket endpoint) receiver { return plainSocket{socket.(Socket)} }

func newSender(socket endpoint) sender { return plainSocket{socket.(Socket)} }

func withoutPoller(conn *net.UDPConn) endpoint { return conn }
