package cli

import (
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/crumbs"
	"tendon/ecs"
	"tendon/ecs/race"
	"tendon/net/agones/sdktest"
)

// awaitFleet waits until the SDK server has received something, at most maxWait.
func awaitFleet(t *testing.T, sdk *sdktest.Server, what string, ok func(sdktest.Snapshot) bool) sdktest.Snapshot {
	t.Helper()
	limit := time.After(maxWait)
	for {
		now := sdk.Snapshot()
		if ok(now) {
			return now
		}
		select {
		case <-limit:
			t.Fatalf("%s: %+v", what, now)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// freeAddress returns an address with an unused UDP port: of a server whose --public is known before it listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	free, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer free.Close()
	return free.LocalAddr().String()
}

// A server in a fleet: its address is that of Agones, and a match is counted from its first player to the end.
func TestAServerReportsItselfToAgones(t *testing.T) {
	sdk := sdktest.Start(t, 4, 10)
	_, port, _ := strings.Cut(sdk.Address(), ":")
	t.Setenv("AGONES_SDK_HTTP_PORT", port)
	key := filepath.Join(t.TempDir(), "server.key")
	tokenFor(t, "127.0.0.1:7654", key, "--new-key")
	s := background(t, crumbs.Game(), "serve", "--json", "--listen", "127.0.0.1:0", "--key-file", key, "--agones", "auto", "--on-stop", "finish")
	listening := awaitEvent(t, s.out, s.ended, "listening")
	if at := listening.text("public"); at != "127.0.0.1:7654" {
		t.Errorf("clients reach it at %s, not at the address from Agones", at)
	}
	now := awaitFleet(t, sdk, "ready", func(now sdktest.Snapshot) bool { return now.State == "Ready" && now.Health > 1 })
	if now.Labels["agones.dev/sdk-protocol"] != listening.text("protocol") || now.Labels["agones.dev/sdk-build"] == "" {
		t.Errorf("labels %q", now.Labels)
	}
	if slices.Contains(now.Calls, "POST /allocate") {
		t.Errorf("allocated without a room: %q", now.Calls)
	}
	sdk.SetState("Shutdown")
	if reason := awaitEvent(t, s.out, s.ended, "agones_removes").text("reason"); !strings.Contains(reason, "Shutdown") {
		t.Errorf("removed because of %q", reason)
	}
	if code := <-s.ended; code != app.ExitFine {
		t.Errorf("exit code %d: %s", code, s.out)
	}
	if now := sdk.Snapshot(); now.Calls[len(now.Calls)-1] != "POST /shutdown" {
		t.Errorf("at the end: %q", now.Calls)
	}
}

// A server with a match is Allocated. While its players finish the match, no allocation chooses it: this part takes half a minute.
func TestAMatchIsCountedInItsFleetUntilItsPlayersLeave(t *testing.T) {
	sdk := sdktest.Start(t, 4, 10)
	key := filepath.Join(t.TempDir(), "server.key")
	tokenFor(t, "127.0.0.1:7654", key, "--new-key")
	address := freeAddress(t)
	onStop := "end"
	if race.Long {
		onStop = "finish"
	}
	s := background(t, crumbs.Game(), "serve", "--json", "--listen", address, "--public", address, "--key-file", key, "--agones", sdk.Address(),
		"--on-stop", onStop, "--keep-seat", "1s")
	awaitEvent(t, s.out, s.ended, "listening")
	b := background(t, crumbs.Game(), "bots", address, "--key-file", key, "--rooms", "2", "--players", "2", "--json")
	now := awaitFleet(t, sdk, "the match", func(now sdktest.Snapshot) bool {
		return now.State == "Allocated" && now.Rooms == 2 && len(now.Players) == 4
	})
	if i, j := slices.Index(now.Calls, "PATCH /v1beta1/counters/rooms"), slices.Index(now.Calls, "POST /allocate"); i < 0 || j < i {
		t.Errorf("allocated before a room was counted: %q", now.Calls)
	}
	if !race.Long {
		return
	}
	s.stop()
	awaitFleet(t, sdk, "no place", func(now sdktest.Snapshot) bool { return now.Rooms == 2 && now.Capacity == 2 })
	health := sdk.Snapshot().Health
	awaitFleet(t, sdk, "health", func(now sdktest.Snapshot) bool { return now.Health > health })
	b.stop()
	awaitFleet(t, sdk, "no players", func(now sdktest.Snapshot) bool { return len(now.Players) == 0 })
	if code := <-s.ended; code != app.ExitFine { // half a minute after the last player
		t.Errorf("exit code %d: %s", code, s.out)
	}
	if now := sdk.Snapshot(); now.State != "Shutdown" {
		t.Errorf("at the end: %+v", now)
	}
}

// hangingGame is crumbs with a system that waits while hang is locked. Clients play it without the wait.
func hangingGame(hang *sync.Mutex) *ecs.Game {
	g := crumbs.Game()
	g.Systems = append(g.Systems, ecs.System{Name: "hang", Run: func(*ecs.World) {
		if hang != nil {
			hang.Lock()
			defer hang.Unlock()
		}
	}})
	return g
}

// Rules that loop for ever stop a worker. Agones replaces a server that misses its health.
func TestAServerInWhichARoomHangsSendsNoHealth(t *testing.T) {
	slow(t)
	sdk := sdktest.Start(t, 4, 10)
	key := filepath.Join(t.TempDir(), "server.key")
	tokenFor(t, "127.0.0.1:7654", key, "--new-key")
	var hang sync.Mutex
	address := freeAddress(t)
	s := background(t, hangingGame(&hang), "serve", "--json", "--listen", address, "--public", address, "--key-file", key, "--agones", sdk.Address())
	awaitEvent(t, s.out, s.ended, "listening")
	background(t, hangingGame(nil), "bots", address, "--key-file", key, "--rooms", "1", "--players", "2", "--json")
	awaitFleet(t, sdk, "the match", func(now sdktest.Snapshot) bool { return now.Rooms == 1 })
	hang.Lock()
	failed := awaitEvent(t, s.out, s.ended, "agones_failed").text("error")
	before := sdk.Snapshot().Health
	if !strings.Contains(failed, "no health is sent") || !strings.Contains(failed, "bots-0") {
		t.Errorf("reported: %s", failed)
	}
	for range 30 {
		time.Sleep(100 * time.Millisecond)
	}
	if after := sdk.Snapshot().Health; after != before {
		t.Errorf("%d health requests while a room hangs", after-before)
	}
	hang.Unlock()
	awaitEvent(t, s.out, s.ended, "agones_recovered")
}

func TestWrongAddressesOfAgonesAreRefused(t *testing.T) {
	refused(t, do(t, crumbs.Game(), "serve", "--listen", "127.0.0.1:0", "--agones", "nowhere", "--for", "1ms"), "--agones", `"nowhere"`, "or auto")
}
