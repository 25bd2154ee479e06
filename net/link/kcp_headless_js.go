//go:build headless

package link

import "time"

// newCore returns the core of simulated links. Programs of pages have no other links, and kcp-go would take a sixth of their size.
func newCore(output func(segments []byte, size int)) core {
	start := time.Now()
	return newSimulated(func() time.Duration { return time.Since(start) }, output)
}
