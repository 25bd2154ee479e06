package serve

import (
	"net/netip"
	"strings"
	"testing"

	"tendon/cmd/cli/internal/clusterflags"
)

// Flags that do not go with a cluster are refused with the remedy.
func TestTheFlagsOfAServerOfACluster(t *testing.T) {
	outer, local := netip.MustParseAddrPort("203.0.113.7:7777"), netip.MustParseAddrPort("127.0.0.1:7777")
	nats := clusterflags.Flags{Cluster: "nats://a:4222"}
	embedded := clusterflags.Flags{Cluster: "embedded"}
	for _, c := range []struct {
		change  func(v *Verb)
		public  []netip.AddrPort
		address netip.AddrPort
		text    string
	}{
		{func(v *Verb) { v.Journal = "journals" }, nil, netip.AddrPort{}, "--cluster and --journal"},
		{func(v *Verb) { v.KeyFile = "" }, nil, netip.AddrPort{}, "same file to all servers"},
		{func(v *Verb) { v.OtherBuild = "refuse" }, nil, netip.AddrPort{}, "--other-build refuse"},
		{func(v *Verb) { v.Listen = "127.0.0.1:0" }, nil, netip.AddrPort{}, "has no port"},
		{func(v *Verb) { v.Listen = ":7777" }, []netip.AddrPort{local}, netip.AddrPort{}, "add --public"},
		{func(v *Verb) { v.Listen, v.Public = ":7777", []string{"203.0.113.7:7777"} }, []netip.AddrPort{outer}, outer, ""},
		{func(v *Verb) { v.Listen = "127.0.0.1:7777" }, nil, local, ""},
		{func(v *Verb) { v.Listen, v.KeyFile, v.clusterFlags.Flags = ":7777", "", embedded }, []netip.AddrPort{local}, local, ""},
	} {
		v := Verb{Listen: "127.0.0.1:7777", KeyFile: "server.key"}
		v.clusterFlags.Flags = nats
		c.change(&v)
		got, err := v.clusterAddresses(c.public)
		switch {
		case c.text != "" && (err == nil || !strings.Contains(err.Error(), c.text)):
			t.Errorf("%v, want %q", err, c.text)
		case c.text == "" && (err != nil || len(got) != 1 || got[0] != c.address):
			t.Errorf("%v, %v, want %v", got, err, c.address)
		}
	}
}
func TestLoopbackAddressesAreNotAnnouncedToOtherMachines(t *testing.T) {
	for _, c := range []struct{ listens, public, want string }{
		{"[::]:9090", "203.0.113.7", "203.0.113.7:9090"},
		{"10.0.0.9:9090", "203.0.113.7", "10.0.0.9:9090"},
		{"127.0.0.1:9090", "203.0.113.7", ""},
		{"127.0.0.1:9090", "127.0.0.1", "127.0.0.1:9090"},
	} {
		if got := reachable(netip.MustParseAddrPort(c.listens), netip.MustParseAddr(c.public)); got != c.want {
			t.Errorf("%s: %q, want %q", c.listens, got, c.want)
		}
	}
}
