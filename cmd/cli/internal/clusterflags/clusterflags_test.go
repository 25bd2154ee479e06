package clusterflags

import (
	"slices"
	"strings"
	"testing"
)

func TestFlagsThatDoNotGoTogether(t *testing.T) {
	for _, c := range []struct {
		flags Flags
		text  string
	}{
		{Flags{ClusterCreds: "f"}, "go with --cluster"},
		{Flags{ClusterReplicas: 3}, "go with --cluster"},
		{Flags{Cluster: "embedded", ClusterReplicas: 3}, "one replica"},
		{Flags{Cluster: "embedded", ClusterCreds: "f"}, "no credentials"},
		{Flags{Cluster: "nats://a", ClusterReplicas: 6}, "1 to 5"},
		{Flags{Cluster: "a:4222"}, "nats://"},
		{Flags{Cluster: "http://a:4222"}, "nats://"},
		{Flags{Cluster: "nats://a", ClusterName: "a.b"}, "--cluster-name"},
		{Flags{ClusterDir: "/var/lib/arena"}, "go with --cluster"},
		{Flags{ClusterName: "other"}, "go with --cluster"},
		{Flags{Cluster: "nats://a", ClusterDir: "/var/lib/arena"}, "--cluster embedded"},
		{Flags{Cluster: "nats://"}, "addresses such as"},
		{Flags{Cluster: "nats://a:4222,"}, "addresses such as"},
		{Flags{Cluster: "nats://a:99999"}, "addresses such as"},
		{Flags{Cluster: "nats://a:0"}, "addresses such as"},
		{Flags{Cluster: "nats://user:secret@a,tls://[::1]:4222"}, ""},
		{Flags{Cluster: "embedded", ClusterDir: "/var/lib/arena"}, ""},
		{Flags{Cluster: "nats://a:4222,b:4222,c:4222"}, ""},
		{Flags{Cluster: "embedded"}, ""},
		{Flags{}, ""},
	} {
		if c.flags.ClusterName == "" {
			c.flags.ClusterName = "tendon"
		}
		err := c.flags.Check()
		if c.text == "" && err != nil || c.text != "" && (err == nil || !strings.Contains(err.Error(), c.text)) {
			t.Errorf("%+v: %v", c.flags, err)
		}
	}
}

func TestReplicasFollowFromTheAddresses(t *testing.T) {
	for _, c := range []struct {
		flags Flags
		urls  []string
		n     int
	}{
		{Flags{Cluster: "embedded"}, nil, 1},
		{Flags{Cluster: "nats://a"}, []string{"nats://a"}, 1},
		{Flags{Cluster: "tls://a,b,c"}, []string{"tls://a", "tls://b", "tls://c"}, 3},
		{Flags{Cluster: "nats://a,nats://b,c", ClusterReplicas: 1}, []string{"nats://a", "nats://b", "nats://c"}, 1},
	} {
		if got := c.flags.urls(); !slices.Equal(got, c.urls) || c.flags.replicas() != c.n {
			t.Errorf("%s: %q, %d", c.flags.Cluster, got, c.flags.replicas())
		}
	}
}
