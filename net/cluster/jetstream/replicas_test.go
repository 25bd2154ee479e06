package jetstream_test

import (
	"testing"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"tendon/net/cluster/jetstream"
	"tendon/net/cluster/jetstream/natstest"
)

// A server with fewer replicas in its Config does not lower those of a cluster that runs. With SetReplicas it changes them.
func TestReplicasOfARunningClusterStay(t *testing.T) {
	n := natstest.StartThree(t)
	c, err := nats.Connect(n[0].ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	js, err := natsjs.New(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		replicas int
		set      bool
		want     int
	}{{3, false, 3}, {0, false, 3}, {1, true, 1}, {3, false, 1}} {
		s, err := jetstream.Open(t.Context(), jetstream.Config{Connection: c, Replicas: step.replicas, SetReplicas: step.set})
		if err == nil {
			_, err = s.Results(t.Context())
		}
		if err != nil {
			t.Fatalf("%+v: %v", step, err)
		}
		for _, name := range []string{"tendon_rooms", "KV_tendon_servers", "KV_tendon_tokens", "tendon_matches"} {
			stream, err := js.Stream(t.Context(), name)
			if err != nil {
				t.Fatal(err)
			}
			if got := stream.CachedInfo().Config.Replicas; got != step.want {
				t.Errorf("%+v: the stream %s has %d replicas", step, name, got)
			}
		}
	}
}
