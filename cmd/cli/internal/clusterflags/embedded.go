//go:build !nonats

package clusterflags

import (
	"errors"
	"path/filepath"

	"github.com/nats-io/nats.go"

	"tendon/cmd/cli/durable"
	"tendon/net/cluster/jetstream/embedded"
)

// startEmbedded runs NATS in this process.
func startEmbedded(dir string, always bool) (*nats.Conn, func() error, error) {
	if err := durable.MakeDirectory(dir); err != nil {
		return nil, nil, err
	}
	unlock, err := durable.Lock(filepath.Join(dir, "lock"))
	if err != nil {
		return nil, nil, err
	}
	s, err := embedded.Start(dir, always)
	if err != nil {
		return nil, nil, errors.Join(err, unlock())
	}
	return s.Connection, func() error { return errors.Join(s.Close(), unlock()) }, nil
}
