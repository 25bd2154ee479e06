//go:build !linux

package server

import "net"

func newReceiver(socket endpoint) receiver { return plainReceiver{socket.(Socket)} }

func newSender(socket endpoint) sender { return plainSender{socket.(Socket)} }

func withoutPoller(conn *net.UDPConn) endpoint { return conn }
