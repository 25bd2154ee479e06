// Package clusterflags has the flags of verbs that join a cluster of servers.
package clusterflags

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"tendon/cmd/cli/durable"
	"tendon/cmd/cli/internal/app"
	"tendon/net/cluster/jetstream"
)

// Flags select a cluster.
type Flags struct {
	Cluster         string `group:"Cluster" placeholder:"embedded|nats://A,B,C" help:"Join a cluster of servers, which store matches together. embedded: NATS runs in this process, without a port. Otherwise the addresses of NATS servers with JetStream."`
	ClusterCreds    string `group:"Cluster" type:"path" placeholder:"FILE" help:"Credentials for NATS: a file with a user's JWT and seed."`
	ClusterDir      string `group:"Cluster" type:"path" default:"cluster" help:"Directory of the files of --cluster embedded."`
	ClusterName     string `group:"Cluster" default:"tendon" help:"Name of the cluster. Clusters with different names share nothing: its streams in NATS begin with it."`
	ClusterReplicas int    `group:"Cluster" placeholder:"N" help:"Number of NATS servers that store each entry, 1 to 5. Default: that of the running cluster. In a new cluster, 3 with three or more addresses, otherwise 1."`
}

const (
	embeddedName = "embedded"
	usualDir     = "cluster"        // the default of --cluster-dir
	usualName    = "tendon"         // the default of --cluster-name
	openLimit    = time.Minute      // how long Open waits for NATS
	observeLimit = 10 * time.Second // how long Observe waits for it
)

// Check returns an error about flags that do not go together.
func (f *Flags) Check() error {
	switch {
	case f.Cluster == "" && (f.ClusterCreds != "" || f.ClusterReplicas != 0 || f.ClusterName != usualName || f.namesDir()):
		return errors.New("--cluster-creds, --cluster-dir, --cluster-name and --cluster-replicas go with --cluster: add --cluster embedded, or --cluster nats://HOST:PORT")
	case f.Cluster != "" && !f.Embedded() && f.namesDir():
		return errors.New("--cluster-dir is for --cluster embedded only: leave it out")
	case f.Embedded() && (f.ClusterCreds != "" || f.ClusterReplicas > 1):
		return errors.New("--cluster embedded has no credentials and one replica: leave --cluster-creds and --cluster-replicas out")
	case f.ClusterReplicas < 0 || f.ClusterReplicas > 5:
		return fmt.Errorf("--cluster-replicas %d: give 1 to 5", f.ClusterReplicas)
	case f.ClusterName == "" || strings.ContainsAny(f.ClusterName, ".*>/\\ \t\n"):
		return fmt.Errorf("--cluster-name %q: give a word without dots, blanks and slashes", f.ClusterName)
	}
	for _, url := range f.urls() {
		if !address(url) {
			return fmt.Errorf("--cluster %q: give embedded, or addresses such as nats://10.0.0.1:4222,10.0.0.2:4222", f.Cluster)
		}
	}
	return nil
}

// namesDir reports whether --cluster-dir names another directory than its default.
func (f *Flags) namesDir() bool {
	usual, err := filepath.Abs(usualDir)
	given, failed := filepath.Abs(cmp.Or(f.ClusterDir, usualDir))
	return err == nil && failed == nil && given != usual
}

// address reports whether a text is the address of a NATS server.
func address(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "nats" && u.Scheme != "tls" || u.Hostname() == "" {
		return false
	}
	port, err := strconv.ParseUint(cmp.Or(u.Port(), "4222"), 10, 16)
	return err == nil && port > 0
}

// Embedded reports whether NATS runs in this process.
func (f *Flags) Embedded() bool { return f.Cluster == embeddedName }

// urls returns the addresses of the NATS servers. The scheme of the first one holds for those without one.
func (f *Flags) urls() (list []string) {
	if f.Cluster == "" || f.Embedded() {
		return nil
	}
	scheme, _, _ := strings.Cut(f.Cluster, "://")
	for part := range strings.SplitSeq(f.Cluster, ",") {
		if !strings.Contains(part, "://") && scheme != f.Cluster {
			part = scheme + "://" + part
		}
		list = append(list, part)
	}
	return list
}

// at returns the addresses of the NATS servers for a message, without passwords and tokens.
func (f *Flags) at() string {
	var list []string
	for _, text := range f.urls() {
		if u, err := url.Parse(text); err == nil {
			list = append(list, u.Scheme+"://"+u.Host)
		}
	}
	if len(list) == 0 {
		return ""
	}
	return " at " + strings.Join(list, ",")
}

// replicas returns the number of NATS servers that store each entry of a new cluster.
func (f *Flags) replicas() int {
	switch {
	case f.ClusterReplicas > 0:
		return f.ClusterReplicas
	case len(f.urls()) >= 3:
		return 3
	}
	return 1
}

// Open opens the store of a server, and creates it if it does not exist. With always, embedded NATS syncs its files at each entry. The
// caller calls end after its last use of the store. Open waits for NATS for at most a minute, and logs the reason.
func (f *Flags) Open(a *app.App, always bool) (store *jetstream.Store, end func() error, err error) {
	return f.open(a, always, false)
}

// Observe opens the store of a cluster that runs. It creates nothing, and waits for at most ten seconds.
func (f *Flags) Observe(a *app.App) (store *jetstream.Store, end func() error, err error) {
	return f.open(a, false, true)
}

func (f *Flags) open(a *app.App, always, present bool) (store *jetstream.Store, end func() error, err error) {
	if err := f.Check(); err != nil {
		return nil, nil, err
	}
	var c *nats.Conn
	if f.Embedded() {
		if files := filepath.Join(f.ClusterDir, "jetstream"); present && !exists(files) { // NATS would make them
			return nil, nil, fmt.Errorf("--cluster embedded: %s does not exist: name the --cluster-dir of a server", files)
		}
		if c, end, err = startEmbedded(f.ClusterDir, always); err != nil {
			err = fmt.Errorf("--cluster embedded: %w", err)
			if errors.Is(err, durable.ErrLocked) {
				err = fmt.Errorf("%w; choose another --cluster-dir, or stop the server that uses it", err)
			}
			return nil, nil, err
		}
	} else if c, end, err = f.connect(a); err != nil {
		return nil, nil, err
	}
	waits := false
	limit := openLimit
	if present {
		limit = observeLimit
	}
	ctx, cancel := context.WithTimeout(a.Ctx, limit)
	defer cancel()
	store, err = jetstream.Open(ctx, jetstream.Config{Connection: c, Prefix: f.ClusterName, Replicas: f.replicas(), SetReplicas: f.ClusterReplicas > 0, Present: present, Wait: func(why error) {
		if !waits {
			waits = true
			a.Logf("waiting for NATS%s: %v", f.at(), why)
			a.Emit("cluster_waits", app.Fields{"error": why.Error()})
		}
	}})
	switch {
	case errors.Is(err, nats.ErrAuthorization):
		err = fmt.Errorf("%w; check --cluster-creds", err)
	case errors.Is(err, jetstream.ErrUnreached):
		err = fmt.Errorf("%w%s; check the address", err, f.at())
	case present && errors.Is(err, natsjs.ErrStreamNotFound):
		err = fmt.Errorf("no server has joined the cluster %s yet: check the address and --cluster-name", f.ClusterName)
	}
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("--cluster: %w", err), end())
	}
	return store, end, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// connect connects to NATS servers. The connection is restored for ever.
func (f *Flags) connect(a *app.App) (*nats.Conn, func() error, error) {
	options := []nats.Option{nats.Name(a.Game.Name + " " + app.Build()), nats.MaxReconnects(-1), nats.ReconnectWait(100 * time.Millisecond),
		nats.ReconnectJitter(50*time.Millisecond, 50*time.Millisecond), nats.RetryOnFailedConnect(true), nats.Timeout(time.Second),
		nats.PingInterval(time.Second), nats.MaxPingsOutstanding(2), nats.ReconnectBufSize(-1),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				a.Logf("the connection to NATS is lost: %v; it is made again", err)
				a.Emit("cluster_disconnected", app.Fields{"error": err.Error()})
			}
		}),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			a.Emit("cluster_error", app.Fields{"error": err.Error()})
		}),
		nats.ReconnectHandler(func(c *nats.Conn) {
			a.Logf("connected to NATS again, at %s", c.ConnectedAddr())
			a.Emit("cluster_connected", app.Fields{"address": c.ConnectedAddr()})
		})}
	if f.ClusterCreds != "" {
		options = append(options, nats.UserCredentials(f.ClusterCreds))
	}
	c, err := nats.Connect(strings.Join(f.urls(), ","), options...)
	if err != nil {
		return nil, nil, fmt.Errorf("--cluster: %w%s; check the address and --cluster-creds", err, f.at())
	}
	return c, func() error { c.Close(); return nil }, nil
}
