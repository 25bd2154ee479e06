package backend

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"

	"tendon/cmd/cli/backend"
	"tendon/cmd/cli/backend/queue"
	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/clusterflags"
	"tendon/cmd/cli/internal/crumbs"
	"tendon/net/cluster"
	"tendon/net/cluster/jetstream/natstest"
	"tendon/net/server"
)

// The command that is printed can be copied: its address can be reached, and the name of the queue is quoted.
func TestThePrintedCommandCanBeCopied(t *testing.T) {
	for listen, want := range map[string]string{
		"127.0.0.1:0": `^the backend is at (http://127\.0\.0\.1:\d+); queue with\n  .* join --backend http://127\.0\.0\.1:\d+ --queue 'a b' --backend-key FILE\n$`,
		"0.0.0.0:0":   `^the backend is at (http://127\.0\.0\.1:\d+) on this machine, and at port \d+ of its other addresses; queue with\n  .* join --backend http://127\.0\.0\.1:\d+ --queue 'a b' --backend-key FILE\n$`,
	} {
		dir := t.TempDir()
		keys, key, life := filepath.Join(dir, "keys"), filepath.Join(dir, "server.key"), 10*time.Millisecond
		if _, err := server.GenerateKey(key); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(keys, []byte("game 0123456789abcdef\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		var note bytes.Buffer
		v := Verb{Listen: listen, KeyFile: key, Queue: []string{"a b=2"}, Dir: filepath.Join(dir, "backend"), Server: []string{"127.0.0.1:7777"}, ServerRooms: 1, TokenLife: time.Minute,
			For: &life, accessFlags: accessFlags{Keys: keys}, Flags: clusterflags.Flags{ClusterName: "tendon", ClusterDir: "cluster"}}
		if err := v.Run(app.New(t.Context(), crumbs.Game(), io.Discard, &note)); err != nil {
			t.Fatal(err)
		}
		if !regexp.MustCompile(want).MatchString(note.String()) {
			t.Errorf("%s: %s", listen, note.String())
		}
	}
}

// A queue whose name no request can have is refused.
func TestANameOfAQueueIsChecked(t *testing.T) {
	a := app.New(t.Context(), crumbs.Game(), io.Discard, io.Discard)
	for _, name := range []string{"", "a\x00", "a\xff", "a\u200b", strings.Repeat("n", 65)} {
		v := Verb{Queue: []string{name + "=2"}}
		if _, err := v.queues(a); err == nil || a.ExitCode(err) != app.ExitUsage {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// No server can join a cluster inside the backend.
func TestAnEmbeddedClusterIsRefused(t *testing.T) {
	dir := t.TempDir()
	v := Verb{KeyFile: dir + "/server.key", ServerRooms: 1, Flags: clusterflags.Flags{Cluster: "embedded", ClusterDir: dir + "/cluster", ClusterName: "tendon"}}
	if err := v.Run(app.New(t.Context(), crumbs.Game(), io.Discard, io.Discard)); err == nil || !strings.Contains(err.Error(), "no server can join") {
		t.Errorf("%v", err)
	}
}

// --check-cluster reads the log from NATS. Its results and exit codes are those of --check.
func TestTheLogOfAClusterIsChecked(t *testing.T) {
	flags := clusterflags.Flags{Cluster: natstest.Start(t, natsserver.Options{}).ClientURL(), ClusterName: "tendon"}
	json := false
	check := func(want int, text, of string) {
		t.Helper()
		var out, note bytes.Buffer
		a := app.New(t.Context(), crumbs.Game(), &out, &note)
		a.Common.JSON = json
		v := Verb{CheckCluster: true, Queue: []string{of}, Flags: flags}
		if code := a.ExitCode(v.Run(a)); code != want || !strings.Contains(out.String()+note.String(), text) {
			t.Errorf("%s: exit code %d, want %d with %q: %s%s", of, code, want, text, out.String(), note.String())
		}
	}
	check(app.ExitUsage, "no server has joined the cluster tendon", "duel=2")
	store, end, err := flags.Open(app.New(t.Context(), crumbs.Game(), io.Discard, io.Discard), false)
	if err != nil {
		t.Fatal(err)
	}
	check(app.ExitUsage, "the cluster has no log of a backend: check", "duel=2")

	node, err := cluster.New(cluster.Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancel(context.Background())
	left := make(chan struct{})
	go func() { node.Run(ctx); close(left) }()
	t.Cleanup(func() {
		leave()
		<-left
		if err := end(); err != nil {
			t.Error(err)
		}
	})
	room, err := node.Claim(t.Context(), backend.LogRoom)
	if err != nil {
		t.Fatal(err)
	}
	state := queue.New(queue.Config{Queues: []queue.Queue{{Name: "duel", Players: 2}}, MaxTickets: 10, Keep: time.Minute.Milliseconds(), Prefix: "m"})
	add := func(e *queue.Event, err error) {
		t.Helper()
		var line []byte
		if err == nil {
			err = state.Apply(e)
		}
		if err == nil {
			line, err = e.Append(nil)
		}
		if err = errors.Join(err, room.Append(t.Context(), line, false)); err != nil {
			t.Fatal(err)
		}
	}
	add(state.Snapshot(), nil)
	check(app.ExitFine, "nothing to check", "duel=2")
	for _, player := range []string{"ann", "bob"} {
		_, e, err := state.Submit(1, queue.Ticket{ID: player, Player: player, Queue: "duel"})
		add(e, err)
	}
	e, _, err := state.Pass(2, "duel", func() string { return "server" })
	add(e, err)
	check(app.ExitFine, "1 pass checked", "duel=2")
	check(app.ExitFailed, "returns other matches", "duel=3")
	check(app.ExitUsage, "give the --queue flags of the backend", "ranked=2")
	json = true
	check(app.ExitFine, `{"event":"checked","passes":1}`, "duel=2")
	check(app.ExitFailed, `{"error":"check failed: `, "duel=3")
}

// A missing or conflicting flag of --check-cluster is an error with exit code 2.
func TestCheckClusterNeedsACluster(t *testing.T) {
	for want, v := range map[string]Verb{
		"--cluster is missing":           {CheckCluster: true},
		"exclude each other":             {CheckCluster: true, Check: "tickets.log", Flags: clusterflags.Flags{Cluster: "nats://127.0.0.1:1"}},
		"cannot use an embedded cluster": {CheckCluster: true, Flags: clusterflags.Flags{Cluster: "embedded", ClusterName: "tendon"}},
	} {
		a := app.New(t.Context(), crumbs.Game(), io.Discard, io.Discard)
		if err := v.Run(a); err == nil || !strings.Contains(err.Error(), want) || a.ExitCode(err) != app.ExitUsage {
			t.Errorf("%v: want %q", err, want)
		}
	}
}

// The operator reads that a server has another key, and that the cluster does not answer.
func TestChangesOfTheClusterAreReported(t *testing.T) {
	var note strings.Builder
	a := app.New(t.Context(), crumbs.Game(), io.Discard, &note)
	for _, c := range []struct {
		event cluster.Event
		want  string // "": nothing is printed
	}{
		{cluster.Event{Kind: cluster.Joined, Server: cluster.Server{Name: "one", Keys: []string{"old"}}}, "server one has another key"},
		{cluster.Event{Kind: cluster.Joined, Server: cluster.Server{Name: "two", Keys: []string{"old", "new"}}}, ""},
		{cluster.Event{Kind: cluster.Joined, Server: cluster.Server{Name: "a backend"}}, ""},
		{cluster.Event{Kind: cluster.Died, Server: cluster.Server{Name: "one", Keys: []string{"old"}}}, ""},
		{cluster.Event{Kind: cluster.StoreLost, Err: io.EOF}, "the cluster does not answer"},
		{cluster.Event{Kind: cluster.StoreBack}, "the cluster answers again"},
	} {
		note.Reset()
		if report(a, c.event, "new"); (note.Len() > 0) != (c.want != "") || !strings.Contains(note.String(), c.want) {
			t.Errorf("%+v: printed %q, want %q", c.event, note.String(), c.want)
		}
	}
}
