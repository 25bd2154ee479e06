//go:build nonats

package clusterflags

import (
	"errors"

	"github.com/nats-io/nats.go"
)

// startEmbedded is left out of programs that are built with the tag nonats. They are about 20 MB smaller.
func startEmbedded(string, bool) (*nats.Conn, func() error, error) {
	return nil, nil, errors.New("this program was built with the tag nonats, so it has no NATS server: build it without the tag, or run nats-server and give its address")
}
