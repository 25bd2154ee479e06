//go:build !js

package link

import "github.com/xtaci/kcp-go/v5"

// process is a KCP core that reads the clock of the process.
type process struct{ *kcp.KCP }

func (p process) Input(part []byte) { p.KCP.Input(part, kcp.IKCP_PACKET_REGULAR, false) }

// newCore returns a KCP core that reads the clock of the process.
func newCore(output func(segments []byte, size int)) core {
	c := kcp.NewKCP(conversation, output)
	// No-delay mode, retransmission after two later acknowledgements, no congestion window.
	c.NoDelay(1, interval, fastResend, 1)
	c.WndSize(window, window)
	c.SetMtu(segmentMTU)
	return process{c}
}
