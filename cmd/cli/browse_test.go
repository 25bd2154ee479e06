package cli

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/crumbs"
)

// replay --page shows one or two recordings on a page.
func TestReplayShowsRecordingsOnAPage(t *testing.T) {
	one, other := recordedFile(t, crumbs.Game(), "one", 300), recordedFile(t, crumbs.Game(), "other", 200)
	for _, files := range [][]string{{one}, {one, other}} {
		r := background(t, crumbs.Game(), append([]string{"replay", "--page", "--no-open", "--json"}, files...)...)
		url := awaitEvent(t, r.out, r.ended, "page").text("url")
		if status, text := fetch(t, url, ""); status != 200 || !strings.Contains(text, "replay.js") {
			t.Fatalf("%s: %d %.80s", url, status, text)
		}
		origin := strings.TrimSuffix(url, "/")
		c, _, err := websocket.Dial(t.Context(), origin+"/stream", &websocket.DialOptions{HTTPHeader: http.Header{"Origin": {origin}}})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Write(t.Context(), websocket.MessageText, []byte(`{"id":1,"open":""}`)); err != nil {
			t.Fatal(err)
		}
		_, message, err := c.Read(t.Context())
		_ = c.CloseNow()
		var answer struct {
			Matches []struct{ Name string }
		}
		if err != nil || json.Unmarshal(message, &answer) != nil || len(answer.Matches) != len(files) || answer.Matches[0].Name != filepath.Base(one) {
			t.Errorf("%v: %s", err, message)
		}
	}
	for _, args := range [][]string{{"--no-open"}, {"--listen", "127.0.0.1:1"}, {"--page", "--at", "3"}, {"--page", "--verify"}} {
		if r := do(t, crumbs.Game(), append([]string{"replay", one}, args...)...); r.code != app.ExitUsage || !strings.Contains(r.note, "--page") {
			t.Errorf("%v: exit code %d, %s", args, r.code, r.note)
		}
	}
	// Without a terminal, replay does not open a page.
	if r := do(t, crumbs.Game(), "replay", one); r.code != app.ExitFine || strings.Contains(r.note, "http") {
		t.Errorf("exit code %d, %s", r.code, r.note)
	}
}
