package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"tendon/net/room"
	"tendon/net/server"
)

// Control changes a running server. Its methods may be called from any goroutine. See [server.Server].
type Control interface {
	Kick(clientID uint64, text string) error
	Ban(clientID uint64, d time.Duration, cause room.Cause, reason string) (server.Ban, error)
	Bans() []server.Ban // ascending by Until
	Switch(ctx context.Context, room, strategy string) error
	Pause(ctx context.Context, room string, on bool) error
}

// Player is a connection with the evidence about it, as /players lists it.
type Player struct {
	ClientID uint64          `json:"client_id,string"`
	State    string          `json:"state"`
	RTT      float64         `json:"rtt_ms"`
	Evidence server.Evidence `json:"evidence"`
}

func playerOf(p server.PeerInfo, room string, now time.Time) Player {
	return Player{ClientID: p.Identity.ClientID, State: p.State, RTT: float64(p.Session.RTT) / 1e6, Evidence: p.Evidence(room, now)}
}

// Players is the response to /players.
type Players struct {
	Players []Player     `json:"players"`
	Bans    []server.Ban `json:"bans"` // of all clients, ascending by Until
}

// Sanction is the body of a POST to /kick or /ban, and of the response. Fields that a path does not use must be left out.
type Sanction struct {
	ClientID uint64 `json:"client_id,string"`
	Seconds  *int64 `json:"seconds,omitempty"` // of a ban, which requires it; 0 ends it
	Reason   string `json:"reason,omitempty"`  // shown to the player
	Backend  bool   `json:"backend,omitempty"` // of a ban, or of its end: the bans of others neither end nor become shorter
}

// Change is the body of a POST to /switch, and of the response.
type Change struct {
	Room     string `json:"room"`
	Strategy string `json:"strategy"`
	Paused   bool   `json:"paused,omitempty"` // of the response: the change begins when the match continues
}

// Pause is the body of a POST to /pause, and of the response.
type Pause struct {
	Room string `json:"room"`
	On   *bool  `json:"on"` // true pauses the match, false continues it
}

// controlError is an error with the status of its response.
type controlError struct {
	status int
	text   string
}

func (e *controlError) Error() string { return e.text }

func wrong(status int, format string, args ...any) error {
	return &controlError{status, fmt.Sprintf(format, args...)}
}

func (s *Server) handleControls() {
	s.HandleControl("/players", s.control(func(from *Source, r *http.Request) (any, error) { return from.players(r.URL.Query().Get("room")) }))
	s.HandleControl("POST /switch", s.control((*Source).change))
	s.HandleControl("POST /pause", s.control((*Source).pause))
	s.HandleControl("POST /kick", s.control((*Source).kick))
	s.HandleControl("POST /ban", s.control((*Source).ban))
}

// change changes the strategy of a room.
func (from *Source) change(r *http.Request) (any, error) {
	var c Change
	const example = `{"room": "main", "strategy": "lockstep"}`
	if err := decode(r, &c, example); err != nil {
		return nil, err
	}
	if c.Room == "" || c.Strategy == "" || c.Paused {
		return nil, wrong(http.StatusBadRequest, "the body has no room or no strategy, or another field: send JSON such as %s", example)
	}
	if err := from.Control.Switch(r.Context(), c.Room, c.Strategy); err != nil {
		return nil, roomError(err, c.Room)
	}
	peers, _ := from.Peers(c.Room) // a room that was closed meanwhile has none
	c.Paused = slices.ContainsFunc(peers, func(p server.PeerInfo) bool { return p.State == room.StatePaused })
	return c, nil
}

// pause pauses or continues the match of a room.
func (from *Source) pause(r *http.Request) (any, error) {
	var p Pause
	const example = `{"room": "main", "on": true}`
	if err := decode(r, &p, example); err != nil {
		return nil, err
	}
	if p.Room == "" || p.On == nil {
		return nil, wrong(http.StatusBadRequest, "the body has no room or no \"on\": send JSON such as %s", example)
	}
	return p, roomError(from.Control.Pause(r.Context(), p.Room, *p.On), p.Room)
}

// roomError returns the error of a change of a room, with its status.
func roomError(err error, name string) error {
	switch {
	case errors.Is(err, server.ErrNoRoom):
		return wrong(http.StatusNotFound, "there is no room %.40q: GET /players lists the rooms", name)
	case errors.Is(err, room.ErrSwitch), errors.Is(err, room.ErrPause):
		return wrong(http.StatusConflict, "%v", err)
	}
	return err
}

// control returns a handler that responds with the result of f as JSON.
func (s *Server) control(f func(from *Source, r *http.Request) (any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var answer any
		from := s.source.Load()
		err := wrong(http.StatusServiceUnavailable, "the server is not ready yet: try again in a second")
		if from != nil && from.Control == nil {
			err = wrong(http.StatusNotImplemented, "this server cannot be controlled")
		} else if from != nil {
			answer, err = f(from, r)
		}
		status := http.StatusOK
		if err != nil {
			status = http.StatusInternalServerError
			if e := (*controlError)(nil); errors.As(err, &e) {
				status = e.status
			}
			answer = map[string]string{"error": err.Error()}
		}
		WriteJSON(w, status, answer)
	})
}

// WriteJSON writes a reply with a status and a body of JSON.
func WriteJSON(w http.ResponseWriter, status int, answer any) {
	text, err := json.Marshal(answer)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n'))
}

// decode decodes the body of a POST, which is one JSON object. A field that the path does not use is an error. example is a
// valid body.
func decode(r *http.Request, body any, example string) error {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(body); err != nil {
		return wrong(http.StatusBadRequest, "the body is not valid: %s: send JSON such as %s", Fault(err), example)
	}
	if _, err := d.Token(); err != io.EOF {
		return wrong(http.StatusBadRequest, "the body is not valid: it continues after the object: send JSON such as %s", example)
	}
	return nil
}

// Fault returns the reason of an error of the JSON decoder about a body, without names of Go.
func Fault(err error) string {
	if e := (*http.MaxBytesError)(nil); errors.As(err, &e) {
		return fmt.Sprintf("it is too large, want at most %d bytes", e.Limit)
	}
	if e := (*json.UnmarshalTypeError)(nil); errors.As(err, &e) && e.Field != "" {
		return fmt.Sprintf("%s has a wrong type or is out of range", e.Field)
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return fmt.Sprintf("%.40s is not a field of this path", name)
	}
	if strings.Contains(err.Error(), ",string") { // the only field with that option
		return "client_id is not a number in quotes"
	}
	return "it is not a JSON object"
}

func readSanction(r *http.Request, example string) (o Sanction, err error) {
	if err := decode(r, &o, example); err != nil {
		return o, err
	}
	if o.ClientID == 0 {
		return o, wrong(http.StatusBadRequest, "client_id is missing or 0: send the number of the client as a string")
	}
	if err = server.CheckReason(o.Reason); err != nil {
		err = wrong(http.StatusBadRequest, "%v", err)
	}
	return o, err
}

// kick ends the session of a client.
func (from *Source) kick(r *http.Request) (any, error) {
	o, err := readSanction(r, `{"client_id": "7", "reason": "text"}`)
	switch {
	case err != nil:
		return nil, err
	case o.Seconds != nil || o.Backend:
		return nil, wrong(http.StatusBadRequest, "seconds and backend are for /ban: leave them out")
	}
	err = from.Control.Kick(o.ClientID, o.Reason)
	if errors.Is(err, server.ErrNoRoom) {
		err = wrong(http.StatusNotFound, "client %d is not connected: GET /players lists the connected clients; its present tokens are refused from now on", o.ClientID)
	}
	return o, err
}

// ban bans a client, or ends its ban.
func (from *Source) ban(r *http.Request) (any, error) {
	const most = int64(server.MaxBanTime / time.Second)
	o, err := readSanction(r, `{"client_id": "7", "seconds": 600, "reason": "text"}`)
	switch {
	case err != nil:
		return nil, err
	case o.Seconds == nil:
		return nil, wrong(http.StatusBadRequest, "seconds is missing: send 1 to %d, or 0 to end a ban", most)
	case *o.Seconds < 0 || *o.Seconds > most:
		return nil, wrong(http.StatusBadRequest, "seconds is %d: send 0 to %d", *o.Seconds, most)
	}
	cause := server.CauseOperator
	if o.Backend {
		cause = server.CauseBackend
	}
	_, err = from.Control.Ban(o.ClientID, time.Duration(*o.Seconds)*time.Second, cause, o.Reason)
	switch {
	case errors.Is(err, server.ErrNotBanned):
		err = wrong(http.StatusNotFound, "client %d is not banned: GET /players lists the banned clients", o.ClientID)
	case err != nil:
		text := "client %d is banned, at most until the server ends: the ban is not saved, because %v; the server tries again every 10 s"
		if *o.Seconds == 0 {
			text = "the ban of client %d has ended, but that is not saved, because %v: a restart may bring it back; the server tries again every 10 s"
		}
		err = wrong(http.StatusInsufficientStorage, text, o.ClientID, err)
	}
	return o, err
}

// players lists the connections of a room, or those of the first rooms if name is empty. It queries all rooms at once, since
// each responds between two of its ticks.
func (from *Source) players(name string) (any, error) {
	table := from.Stats().Table
	names := make([]string, 0, min(len(table), rowLimit))
	for _, r := range table[:min(len(table), rowLimit)] {
		names = append(names, r.Name)
	}
	if name != "" {
		names = []string{name}
	}
	lists, failed := make([][]server.PeerInfo, len(names)), make([]error, len(names))
	var all sync.WaitGroup
	for i := range names {
		all.Go(func() { lists[i], failed[i] = from.Peers(names[i]) })
	}
	all.Wait()
	if name != "" && failed[0] != nil {
		return nil, wrong(http.StatusNotFound, "there is no room %.40q: GET /players lists the rooms", name)
	}
	answer, now := Players{Players: []Player{}, Bans: from.Control.Bans()}, time.Now()
	for i, list := range lists { // a room that was closed meanwhile has none
		for _, p := range list {
			answer.Players = append(answer.Players, playerOf(p, names[i], now))
		}
	}
	return answer, nil
}
