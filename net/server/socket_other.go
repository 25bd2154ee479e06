//go:build !linux

package server

func newReceiver(socket Socket) receiver { return plainReceiver{socket} }

func newSender(socket Socket) sender { return plainSender{socket} }
