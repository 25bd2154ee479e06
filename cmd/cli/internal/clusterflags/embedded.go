//go:build !nonats

package clusterflags

import (
	"github.com/nats-io/nats.go"

	"tendon/net/cluster/jetstream/embedded"
)

// startEmbedded runs NATS in this process.
func startEmbedded(dir string, always bool) (*nats.Conn, func() error, error) {
	s, err := embedded.Start(dir, always)
	if err != nil {
		return nil, nil, err
	}
	return s.Connection, s.Close, nil
}
