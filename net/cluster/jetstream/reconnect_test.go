package jetstream

import (
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"tendon/net/cluster"
	"tendon/net/cluster/jetstream/natstest"
)

// A NATS server that stores no announcement is left for another one, although it is connected.
func TestAServerThatStoresNothingIsLeft(t *testing.T) {
	cut, other := natstest.Start(t, server.Options{}), natstest.Start(t, server.Options{})
	open := func(urls string) *Store {
		c, err := nats.Connect(urls, nats.DontRandomize(), nats.MaxReconnects(-1))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		s, err := Open(t.Context(), Config{Connection: c})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	open(other.ClientURL())
	s := open(cut.ClientURL() + "," + other.ClientURL())
	if err := cut.DisableJetStream(); err != nil {
		t.Fatal(err)
	}
	announce := func() error { return s.Announce(t.Context(), cluster.Server{ID: "a", Beat: 1}) }
	if err := announce(); err == nil || s.config.Connection.ConnectedUrl() != cut.ClientURL() {
		t.Fatalf("the connection is left at the first error: %v", err)
	}
	s.limit = 0 // the time is over
	for tries := 0; announce() != nil; tries++ {
		if tries == 20 {
			t.Fatal("the connection stays")
		}
	}
	if at := s.config.Connection.ConnectedUrl(); at != other.ClientURL() {
		t.Errorf("the connection is to %s", at)
	}
}
