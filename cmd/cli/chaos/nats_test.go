//go:build linux

package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// natsConfig is the argument of a process of a NATS server.
type natsConfig struct {
	Name   string   `json:"name"`
	Dir    string   `json:"dir"`
	Port   int      `json:"port"`
	Routes int      `json:"routes"` // port for routes; 0: a server without a cluster
	Peers  []string `json:"peers"`  // addresses of the routes to the others
	Log    string   `json:"log"`
}

// runNATS runs a NATS server until the process is killed.
func runNATS(argument string) {
	var c natsConfig
	if err := json.Unmarshal([]byte(argument), &c); err != nil {
		panic(err)
	}
	o := &server.Options{ServerName: c.Name, Host: "127.0.0.1", Port: c.Port, JetStream: true, StoreDir: c.Dir, SyncAlways: true, NoSigs: true,
		LogFile: c.Log, Logtime: true, DisableJetStreamBanner: true}
	if c.Routes != 0 {
		// The other servers must use the proxies. So this one advertises an address for routes that does not work, and none to clients.
		o.Cluster = server.ClusterOpts{Name: "chaos", Host: "127.0.0.1", Port: c.Routes, NoAdvertise: true, Advertise: "127.0.0.1:1"}
		for _, p := range c.Peers {
			o.Routes = append(o.Routes, &url.URL{Scheme: "nats-route", Host: p})
		}
	}
	s, err := server.NewServer(o)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	s.ConfigureLogger()
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM)
	s.Start()
	<-end
	s.Shutdown()
	os.Exit(0)
}

// node is a NATS server, which is started again after each end.
type node struct {
	*process
	config  natsConfig
	disk    string // mount point of its small file system, or ""
	inbound []*proxy
}

func (n *node) start(t testing.TB) {
	t.Helper()
	argument, err := json.Marshal(n.config)
	if err != nil {
		t.Fatal(err)
	}
	n.process = launch(t, n.config.Name, natsRole, nil, string(argument))
}

// stop stops the server in order, and kills it if that takes long.
func (n *node) stop() {
	n.signal(syscall.SIGTERM)
	select {
	case <-n.ended:
	case <-time.After(10 * time.Second):
		n.kill()
	}
}

// log returns the end of the log of a NATS server.
func (n *node) log() string {
	b, err := os.ReadFile(n.config.Log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return strings.Join(lines[max(0, len(lines)-20):], "\n")
}

// startNATS starts nodes in a cluster. Their routes pass through the returned proxies: routes[i][j] is from i to j. Each has
// a file system of its own of disk MiB, in memory, if that is not 0. So the times do not depend on other programs that use the disk.
func startNATS(t testing.TB, count, disk int) (nodes []*node, routes [][]*proxy) {
	t.Helper()
	free := ports(t, 2*count+count*count)
	next := func() (port int) {
		port, free = free[0], free[1:]
		return port
	}
	dir := t.TempDir()
	for i := range count {
		name := fmt.Sprintf("nats%d", i)
		n := &node{config: natsConfig{Name: name, Dir: filepath.Join(dir, name), Port: next(), Log: filepath.Join(dir, name+".log")}}
		if count > 1 {
			n.config.Routes = next()
		}
		if err := os.Mkdir(n.config.Dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if disk > 0 {
			if err := syscall.Mount("tmpfs", n.config.Dir, "tmpfs", 0, fmt.Sprintf("size=%dm", disk)); err != nil {
				t.Logf("no file system in memory, so no full disk: %v", err)
			} else {
				n.disk = n.config.Dir
				t.Cleanup(func() { _ = syscall.Unmount(n.disk, syscall.MNT_DETACH) })
			}
		}
		nodes = append(nodes, n)
	}
	for i, n := range nodes {
		routes = append(routes, make([]*proxy, count))
		for j, to := range nodes {
			if i != j {
				port := next()
				routes[i][j] = newProxy(t, port, to.config.Routes)
				n.config.Peers = append(n.config.Peers, fmt.Sprintf("127.0.0.1:%d", port))
			}
		}
	}
	for _, n := range nodes {
		n.start(t)
	}
	return nodes, routes
}

// streams are the streams of the cluster. The first one has the logs of the rooms.
var streams = []string{"tendon_rooms", "KV_tendon_servers", "KV_tendon_tokens"}

// leader returns the index of the node that leads the stream of the rooms, or −1.
func leader(t testing.TB, nodes []*node) int {
	info := streamInfo(t, nodes, streams[0])
	return slices.IndexFunc(nodes, func(n *node) bool { return info != nil && n.config.Name == info.Leader })
}

// whole reports whether every stream has a leader, and replicas that have all entries.
func whole(t testing.TB, nodes []*node) bool {
	for _, name := range streams {
		info := streamInfo(t, nodes, name)
		if info == nil || info.Leader == "" || len(info.Replicas) != len(nodes)-1 || slices.ContainsFunc(info.Replicas, func(p *jetstream.PeerInfo) bool { return p.Offline || !p.Current }) {
			return false
		}
	}
	return true
}

// streamInfo returns the servers of a stream, or nil if no node answers.
func streamInfo(t testing.TB, nodes []*node, stream string) *jetstream.ClusterInfo {
	for _, n := range nodes {
		if !n.alive() {
			continue
		}
		if info, err := n.streamInfo(t.Context(), stream); err == nil {
			return info
		}
	}
	return nil
}

func (n *node) streamInfo(ctx context.Context, stream string) (*jetstream.ClusterInfo, error) {
	c, err := nats.Connect(fmt.Sprintf("nats://127.0.0.1:%d", n.config.Port), nats.Timeout(time.Second))
	if err != nil {
		return nil, err
	}
	defer c.Close()
	js, err := jetstream.New(c)
	if err != nil {
		return nil, err
	}
	s, err := js.Stream(ctx, stream)
	if err != nil {
		return nil, err
	}
	if info := s.CachedInfo().Cluster; info != nil {
		return info, nil
	}
	return nil, errors.New("the stream has no replicas")
}
