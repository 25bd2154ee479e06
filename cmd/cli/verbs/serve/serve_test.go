package serve

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/crumbs"
	"tendon/net/room"
	"tendon/net/server"
)

// A log receives a line with the time every half a minute while there are clients, and no tables.
func TestTheLoadIsLoggedInLines(t *testing.T) {
	var note bytes.Buffer
	a := app.New(t.Context(), crumbs.Game(), io.Discard, &note)
	stats := server.Stats{Rooms: 2, MaxRooms: 256, Clients: 3, MaxClients: 2048, Table: []server.RoomStats{{Name: "main", Stats: room.Stats{Late: 4}}, {Name: "b", Stats: room.Stats{Late: 1, MostLate: 2e6}}}}
	if a.Live() {
		t.Error("a buffer counts as a terminal")
	}
	for second := range 61 {
		logStats(a, stats, second+1, time.Date(2026, 11, 22, 10, 0, second+1, 0, time.UTC))
	}
	logStats(a, server.Stats{Rooms: 1}, 90, time.Now())
	want := "2026-11-22 10:00:30 2 of 256 rooms · 3 of 2048 clients · 0 packets in, 0 out, 0 refused · 5 late ticks, by up to 2ms\n"
	if got := note.String(); !strings.HasPrefix(got, want) || strings.Count(got, "\n") != 2 || strings.ContainsAny(got, "│┌") {
		t.Errorf("%q, want lines such as %q", got, want)
	}
}

// The live table fits a terminal with any names and numbers.
func TestTheTableOfRoomsFitsATerminal(t *testing.T) {
	r := server.RoomStats{Name: strings.Repeat("n", 64), Stats: room.Stats{Late: 1 << 40, MostLate: 1 << 50, Images: 1 << 40, Resyncs: 1 << 40}}
	for line := range strings.Lines(renderRooms(server.Stats{Table: []server.RoomStats{r}})) {
		if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > app.Columns {
			t.Errorf("%d characters: %s", n, line)
		}
	}
}

// A refusal because of --max-rooms is logged at once, then at most once a minute while there are more.
func TestRoomsAboveTheLimitAreLoggedOnceAMinute(t *testing.T) {
	var note bytes.Buffer
	a := app.New(t.Context(), crumbs.Game(), io.Discard, &note)
	var full noRoom
	s := server.Stats{MaxRooms: 2}
	for second := 1; second <= 300; second++ {
		if second > 5 && second < 100 {
			s.NoRoom += 7
		}
		full.log(a, s, second)
	}
	want := "a client of a further room was refused: the server has 2 rooms, as many as --max-rooms allows\n"
	if got := note.String(); got != strings.Repeat(want, 3) { // in seconds 6, 66 and 126
		t.Errorf("%q", got)
	}
}
