package jetstream_test

import (
	"context"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"tendon/net/cluster"
	"tendon/net/cluster/jetstream"
	"tendon/net/cluster/jetstream/natstest"
)

// subjects are those that the guide gives to the user of a server.
var subjects = []string{"tendon.>", "$KV.tendon_servers.>", "$KV.tendon_tokens.>", "$JS.API.>", "$JS.FC.>", "_INBOX.>"}

// A user who may use the subjects of the guide, and no others, can use every function of a store.
func TestTheSubjectsOfTheGuideSuffice(t *testing.T) {
	guide, err := os.ReadFile("../../../cmd/cli/DEPLOYING.md")
	if err != nil {
		t.Fatal(err)
	}
	last := len(subjects) - 1
	if text := "the subjects `" + strings.Join(subjects[:last], "`, `") + "` and `" + subjects[last] + "`"; !strings.Contains(string(guide), text) {
		t.Errorf("the guide lacks: %s", text)
	}
	allowed := &server.SubjectPermission{Allow: subjects}
	n := natstest.Start(t, server.Options{Users: []*server.User{{Username: "arena", Password: "test", Permissions: &server.Permissions{Publish: allowed, Subscribe: allowed}}}})
	c, err := nats.Connect(n.ClientURL(), nats.UserInfo("arena", "test"), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { t.Error(err) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.SetErrorHandler(nil)
		c.Close()
	})
	ctx := t.Context()
	s, err := jetstream.Open(ctx, jetstream.Config{Connection: c})
	if err != nil {
		t.Fatal(err)
	}
	check := func(name string, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	at, err := s.Append(ctx, "duel", &cluster.Entry{Kind: cluster.KindClaim, Owner: "a", Number: 1})
	check("append", err)
	_, _, err = lastOf(ctx, s, "duel")
	check("last", err)
	for _, err := range s.Read(ctx, "duel", 1, math.MaxUint64) {
		check("read", err)
	}
	check("trim", s.Trim(ctx, "duel", at))
	check("announce", s.Announce(ctx, cluster.Server{ID: "a", Beat: 1}))
	watching, stop := context.WithCancel(ctx)
	for _, err := range s.Watch(watching) {
		check("watch", err)
		break
	}
	stop()
	check("expire", s.Expire(ctx, cluster.Server{ID: "a", Beat: 1}))
	check("withdraw", s.Withdraw(ctx, "a"))
	for range 2 {
		_, err = s.Take(ctx, "token", "a", time.Now().Add(time.Hour))
		check("take", err)
	}
	r, err := s.Results(ctx)
	check("results", err)
	_, err = r.Add(ctx, "duel", "1-2", []byte("{}"))
	check("a record", err)
	check("the records", r.Newest(ctx, "duel", func(uint64, []byte) bool { return true }))
	stopDrains, err := s.HandleDrains("a", func(jetstream.DrainRequest) {})
	check("handle drains", err)
	check("drain", s.RequestDrain(ctx, "a", jetstream.DrainRequest{}))
	check("stop", stopDrains())
	stopMoves, err := s.HandleMoves("a", func(jetstream.MoveRequest) (reply cluster.MoveStatus) { return reply })
	check("handle moves", err)
	_, err = s.RequestMove(ctx, "a", jetstream.MoveRequest{})
	check("move", err)
	check("stop", stopMoves())
}
