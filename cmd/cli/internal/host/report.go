package host

import (
	"fmt"
	"strings"
	"time"

	"tendon/cmd/cli/internal/app"
	"tendon/net/room"
	"tendon/net/server"
)

// reportExpelled shows an expelled client to the operator.
func reportExpelled(a *app.App, b server.Ban) {
	banned := "it is not banned"
	if b.Until.After(b.Evidence.At) {
		banned = "it is banned until " + b.Until.UTC().Format(time.DateTime) + " UTC"
	}
	a.Logf("client %d was expelled from room %s for %s; %s", b.ClientID, b.Evidence.Room, b.Cause, banned)
	a.Emit("expelled", app.Fields{"ban": b})
}

// reportLag shows to the operator that the matches stood still, or that the server is too slow.
func reportLag(a *app.App, l server.Lag) {
	why := "the server is too slow"
	if l.Stood > 0 {
		why = fmt.Sprintf("the server stood still for %.1f s", l.Stood.Seconds())
	}
	a.Logf("%s; %s gave up %s", why, app.Counted(l.Rooms, "room", "rooms"), app.Counted(int(l.Ticks), "tick", "ticks"))
	a.Emit("lag", app.Fields{"stood_seconds": l.Stood.Seconds(), "rooms": l.Rooms, "ticks": l.Ticks})
}

// crashed shows a room that panicked to the operator, with the files that hold its match.
func (h *Host) crashed(c server.Crash) {
	f := app.Fields{"room": c.Room, "match": fmt.Sprintf("%016x", c.Match), "tick": c.Panic.Tick, "panic": c.Panic.Value, "stack": string(c.Panic.Stack)}
	text := fmt.Sprintf("room %s, match %016x: %v; the room has ended", c.Room, c.Match, c.Panic)
	if h.config.Journals != nil {
		f["journal"] = h.config.Journals.File(c.Room)
		text += fmt.Sprintf("; its journal is %s", f["journal"])
	}
	h.mu.Lock()
	if r := h.rooms[c.Room]; r != nil {
		r.panicked = true
	}
	if r := h.rooms[c.Room]; r != nil && r.recording != nil {
		f["recording"] = r.recording.file.name
		text += fmt.Sprintf("; its recording is %s", f["recording"])
	}
	stop := h.config.Crash != nil && len(h.rooms) <= 1
	if stop {
		h.crash = fmt.Errorf("%w: room %s: %v", app.ErrFailed, c.Room, c.Panic)
	}
	h.mu.Unlock()
	h.app.Logf("%s\n%s", text, c.Panic.Stack)
	h.app.Emit("crash", f)
	if stop {
		h.config.Crash()
	}
}

// reportWait shows to the operator which players a resumed match waits for, and until when.
func (h *Host) reportWait(name string, r *room.Resume) {
	until := time.Now().Add(time.Duration(room.ResumeWait)).UTC()
	var texts []string
	seats := []app.Fields{}
	for _, s := range r.Seats {
		if s.Held {
			texts = append(texts, strings.TrimSpace(fmt.Sprintf("%d %s", s.Player, s.Name)))
			seats = append(seats, app.Fields{"seat": s.Player, "client_id": app.ID(s.Client), "name": s.Name})
		}
	}
	if len(seats) == 0 {
		return
	}
	h.app.Logf("room %s continues when the players of these seats are back, at the latest at %s UTC: %s", name, until.Format(time.TimeOnly), strings.Join(texts, ", "))
	h.app.Emit("waiting", app.Fields{"room": name, "seats": seats, "until": until})
}
