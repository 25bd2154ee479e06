package player

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"tendon/cmd/cli/internal/app"
	"tendon/net/client"
)

// The banner has whole seconds, rounded up, and is there only while the server does not respond or the client reconnects.
func TestTheBannerCountsDown(t *testing.T) {
	for _, c := range []struct {
		stats client.Stats
		left  time.Duration
		want  string
	}{
		{client.Stats{State: client.Live}, 9 * time.Second, ""},
		{client.Stats{State: client.Live, Reconnects: 2}, 9 * time.Second, ""},
		{client.Stats{State: client.Live, Waiting: true}, 6500 * time.Millisecond, "waiting for the server"},
		{client.Stats{State: client.Reconnecting, Reconnects: 1, Away: client.ShownAway - 1}, 12 * time.Second, ""},
		{client.Stats{State: client.CatchingUp, Reconnects: 1, Away: client.ShownAway - 1}, 0, ""},
		{client.Stats{State: client.Reconnecting, Reconnects: 1, Away: client.ShownAway}, 12 * time.Second, "connection lost; reconnecting, 12 s left"},
		{client.Stats{State: client.Reconnecting, Reconnects: 3, Away: time.Second}, 11001 * time.Millisecond, "connection lost; reconnecting, 12 s left"},
		{client.Stats{State: client.Reconnecting, Reconnects: 1, Away: time.Second, Answered: true}, time.Minute, "connected again; waiting for the match"},
		{client.Stats{State: client.CatchingUp, Reconnects: 1, Away: time.Second}, 0, "connected again; catching up"},
		{client.Stats{State: client.Loading}, time.Minute, ""},
		{client.Stats{State: client.Connecting, Reconnects: 1}, time.Minute, ""},
		{client.Stats{State: client.Ended, Reconnects: 8}, 0, ""},
	} {
		if got := bannerText(c.stats, c.left, "", false); got != c.want {
			t.Errorf("%v, %v left: %q, want %q", c.stats.State, c.left, got, c.want)
		}
	}
}

// A client stops connecting if the server does not respond in time. It waits on a connection with a server that responds.
func TestOnlyAServerThatNeverRespondsEndsTheFirstConnection(t *testing.T) {
	for _, c := range []struct {
		stats client.Stats
		want  bool
	}{
		{client.Stats{State: client.Connecting, Away: firstTime - 1}, false},
		{client.Stats{State: client.Connecting, Away: firstTime}, true},
		{client.Stats{State: client.Connecting, Away: firstTime, Answered: true}, false},
		{client.Stats{State: client.Reconnecting, Away: firstTime}, false},
	} {
		if got := c.stats.Unanswered(firstTime); got != c.want {
			t.Errorf("%+v: %t, want %t", c.stats, got, c.want)
		}
	}
}

// A client without a connection is reconnecting, although the match was paused when it was lost.
func TestALostConnectionComesBeforeThePause(t *testing.T) {
	for _, c := range []struct {
		line Line
		want string
	}{
		{Line{State: "live"}, "live"},
		{Line{State: "live", WaitsFor: "the server"}, "live, waiting for the server"},
		{Line{State: "live", Paused: true}, "paused"},
		{Line{State: "catching up", Paused: true}, "paused"},
		{Line{State: "reconnecting", Paused: true}, "reconnecting"},
	} {
		if got := c.line.Status(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.line, got, c.want)
		}
	}
}

// The status of a client that is not in the match names what the client waits for.
func TestTheStatusNamesWhatAClientWaitsFor(t *testing.T) {
	for _, c := range []struct {
		stats   client.Stats
		refused error
		want    string
	}{
		{client.Stats{State: client.Live}, nil, ""},
		{client.Stats{State: client.Live, Waiting: true}, nil, "the server"},
		{client.Stats{State: client.Loading, Answered: true}, nil, ""},
		{client.Stats{State: client.Connecting}, nil, "an answer of the server"},
		{client.Stats{State: client.Connecting, Answered: true}, nil, "the match: the server has answered"},
		{client.Stats{State: client.Connecting}, errors.New("refused"), "a server that accepts it"},
		{client.Stats{State: client.Reconnecting}, nil, ""},
		{client.Stats{State: client.Reconnecting, Answered: true}, nil, "the match: the server has answered"},
	} {
		if got := waitsFor(c.stats, c.refused); got != c.want {
			t.Errorf("%v: %q, want %q", c.stats.State, got, c.want)
		}
	}
}

// A text of the server comes before the pause, and a lost connection before both.
func TestTheBannerShowsATextOfTheServer(t *testing.T) {
	const refused = "players may not pause the match"
	live, lost := client.Stats{State: client.Live}, client.Stats{State: client.Reconnecting, Away: time.Second}
	for _, c := range []struct {
		stats  client.Stats
		text   string
		paused bool
		want   string
	}{
		{live, refused, false, refused},
		{live, refused, true, refused},
		{live, "", true, "paused; the menu (Esc) resumes the match"},
		{lost, refused, true, "connection lost; reconnecting, 1 s left"},
	} {
		if got := bannerText(c.stats, time.Second, c.text, c.paused); got != c.want {
			t.Errorf("%q, paused %t: %q, want %q", c.text, c.paused, got, c.want)
		}
	}
}

// A text of the server is logged and shown, with the seconds only if there is a countdown.
func TestANoticeIsLoggedAndShown(t *testing.T) {
	for seconds, want := range map[int]string{0: "the match waits", 5: "in 5 s: the match waits"} {
		var note bytes.Buffer
		notice, notices := Notices(app.New(t.Context(), nil, &bytes.Buffer{}, &note))
		notice(seconds, "the match waits")
		notice(seconds, "no window takes this one")
		if got := <-notices; got != want || !strings.Contains(note.String(), want+"\n") {
			t.Errorf("%d seconds: shown %q, logged %q, want %q", seconds, got, note.String(), want)
		}
	}
}

// A refused order is a sentence in the log, with --headless too, and in the window.
func TestARefusedOrderIsLoggedAndShown(t *testing.T) {
	var note bytes.Buffer
	notice, notices := Notices(app.New(t.Context(), nil, &bytes.Buffer{}, &note))
	Refused(notice)(client.Refusal{Number: 4, Order: "move", Reason: "there is a wall"})
	if got, want := <-notices, `the order "move" was refused: there is a wall`; got != want || !strings.Contains(note.String(), want) {
		t.Errorf("shown %q, logged %q", got, note.String())
	}
}
