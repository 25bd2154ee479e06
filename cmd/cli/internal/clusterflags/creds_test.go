//go:build !nonats

package clusterflags

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/crumbs"
	"tendon/net/cluster"
	"tendon/net/cluster/jetstream/natstest"
)

// signer is a key pair with its public key.
type signer struct {
	nkeys.KeyPair
	public string
}

func newSigner(t *testing.T, create func() (nkeys.KeyPair, error)) signer {
	t.Helper()
	pair, err := create()
	if err != nil {
		t.Fatal(err)
	}
	public, err := pair.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	return signer{pair, public}
}

// secured starts a NATS server that accepts only users of one account. It returns its URL, and the path of a file of credentials.
func secured(t *testing.T) (url, creds string) {
	t.Helper()
	operator, account, system, user := newSigner(t, nkeys.CreateOperator), newSigner(t, nkeys.CreateAccount), newSigner(t, nkeys.CreateAccount), newSigner(t, nkeys.CreateUser)
	sign := func(c jwt.Claims, by signer) string {
		text, err := c.Encode(by)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	game := jwt.NewAccountClaims(account.public)
	game.Limits.JetStreamLimits = jwt.JetStreamLimits{MemoryStorage: jwt.NoLimit, DiskStorage: jwt.NoLimit, Streams: jwt.NoLimit, Consumer: jwt.NoLimit}
	resolver := &server.MemAccResolver{}
	for public, text := range map[string]string{account.public: sign(game, operator), system.public: sign(jwt.NewAccountClaims(system.public), operator)} {
		if err := resolver.Store(public, text); err != nil {
			t.Fatal(err)
		}
	}
	trusted, err := jwt.DecodeOperatorClaims(sign(jwt.NewOperatorClaims(operator.public), operator))
	if err != nil {
		t.Fatal(err)
	}
	n := natstest.Start(t, server.Options{TrustedOperators: []*jwt.OperatorClaims{trusted}, AccountResolver: resolver, SystemAccount: system.public})
	seed, err := user.Seed()
	if err != nil {
		t.Fatal(err)
	}
	content, err := jwt.FormatUserConfig(sign(jwt.NewUserClaims(user.public), account), seed)
	if err != nil {
		t.Fatal(err)
	}
	creds = filepath.Join(t.TempDir(), "arena.creds")
	if err := os.WriteFile(creds, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return n.ClientURL(), creds
}

// Open uses the file of credentials. Without it, or with that of another operator, it fails at once with an error that names
// --cluster-creds.
func TestACredentialsFileIsUsed(t *testing.T) {
	url, creds := secured(t)
	_, others := secured(t)
	var log bytes.Buffer
	open := func(file string) error {
		f := Flags{Cluster: url, ClusterCreds: file, ClusterName: "tendon"}
		s, end, err := f.Open(app.New(t.Context(), crumbs.Game(), &log, &log), false)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := s.Append(ctx, "duel", &cluster.Entry{Kind: cluster.KindClaim, Owner: "a", Number: 1}); err != nil {
			t.Errorf("a room cannot be claimed: %v", err)
		}
		return end()
	}
	if err := open(creds); err != nil {
		t.Errorf("with the credentials: %v", err)
	}
	for file, want := range map[string]string{"": "--cluster-creds", others: "--cluster-creds", filepath.Join(t.TempDir(), "missing"): "missing"} {
		began := time.Now()
		if err := open(file); err == nil || !strings.Contains(err.Error(), want) || time.Since(began) > openLimit/2 {
			t.Errorf("%q: after %v: %v\n%s", file, time.Since(began), err, log.String())
		}
	}
}

// A verb that observes a cluster creates nothing. The error names the cluster that does not exist.
func TestAClusterWithoutServersIsNamed(t *testing.T) {
	var log bytes.Buffer
	f := Flags{Cluster: natstest.Start(t, server.Options{}).ClientURL(), ClusterName: "nope"}
	for range 2 {
		if _, _, err := f.Observe(app.New(t.Context(), crumbs.Game(), &log, &log)); err == nil || !strings.Contains(err.Error(), "no server has joined the cluster nope") {
			t.Errorf("%v", err)
		}
	}
}

// A verb that observes an embedded cluster creates no files. It reads those of a server that has ended.
func TestAnEmbeddedClusterWithoutFilesIsNotObserved(t *testing.T) {
	var log bytes.Buffer
	a := app.New(t.Context(), crumbs.Game(), &log, &log)
	parent := t.TempDir()
	other := filepath.Join(parent, "other") // an existing directory of something else
	if err := os.Mkdir(other, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{filepath.Join(parent, "missing"), other} {
		f := Flags{Cluster: "embedded", ClusterDir: dir, ClusterName: "tendon"}
		if _, _, err := f.Observe(a); err == nil || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "does not exist") {
			t.Errorf("%v", err)
		}
	}
	list, err := os.ReadDir(parent)
	if files, _ := os.ReadDir(other); err != nil || len(list) != 1 || len(files) != 0 {
		t.Errorf("%v, %v, %v", list, files, err)
	}
	f := Flags{Cluster: "embedded", ClusterDir: filepath.Join(parent, "cluster"), ClusterName: "tendon"}
	_, end, err := f.Open(a, false)
	if err == nil {
		err = end()
	}
	if err == nil {
		_, end, err = f.Observe(a)
	}
	if err == nil {
		err = end()
	}
	if err != nil {
		t.Error(err)
	}
}
