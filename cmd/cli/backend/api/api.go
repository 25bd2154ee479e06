// Package api has the requests and replies of a backend, and a client for programs of players.
//
//	c := api.Client{URL: "https://play.example.net", Key: token}
//	ticket, err := c.Wait(ctx, api.TicketRequest{Queue: "duel"}, func(t api.Ticket) { fmt.Println(t.Progress(time.Now())) })
//
// # Tasks
//
//   - queue and receive a connect token: [Client.Wait]
//   - single requests: [Client.Submit], [Client.Get], [Client.Cancel]
package api

import (
	"cmp"
	"fmt"
	"time"

	"tendon/cmd/cli/backend/queue"
)

// TicketRequest is the body of POST /v1/tickets.
type TicketRequest struct {
	// Player identifies the player, 1 to 128 bytes. A player who authenticates with a JWT may leave it out.
	Player string `json:"player,omitempty"`
	Queue  string `json:"queue"`
	// Name is shown to other players, and Card is the data of the player's card. Only a program with a key may set a card. Optional.
	Name string `json:"name,omitempty"`
	Card []byte `json:"card,omitempty"`
	// Attributes are texts and whole numbers for the match function, at most 32. Optional.
	Attributes queue.Attributes `json:"attributes,omitempty"`
	// Party is the name of a group of PartySize players who enter one match. Optional.
	Party     string `json:"party,omitempty"`
	PartySize int    `json:"party_size,omitempty"`
}

// Ticket is the reply of all requests about a ticket.
type Ticket struct {
	ID     string    `json:"id"`
	Player string    `json:"player"`
	Queue  string    `json:"queue"`
	State  string    `json:"state"` // queued, matched or cancelled
	Since  time.Time `json:"since"`
	// Waiting is the number of tickets that wait in the queue. 0 if this one does not wait.
	Waiting int `json:"waiting"`
	// Missing is the number of players of the party who have no ticket yet.
	Missing int `json:"missing"`
	// Reason is why a ticket was cancelled, or why a ticket that waits has no match or no token yet. Optional.
	Reason string `json:"reason,omitempty"`
	// Match is the match of a ticket in the state matched. It is missing while no server can run the match.
	Match *Match `json:"match,omitempty"`
}

// Match is the place of a ticket. Each reply has a new token for the same seat.
type Match struct {
	Room       string    `json:"room"`
	Seat       int       `json:"seat"` // -1: the server chooses it
	ClientID   uint64    `json:"client_id,string"`
	Addresses  []string  `json:"addresses"` // of the server, as host:port
	Token      string    `json:"token"`     // the connect token, as the verb token prints it
	Expires    time.Time `json:"expires"`   // of the token
	Invitation string    `json:"invitation,omitempty"`
}

// Backfill is the body of PUT /v1/backfill/{room}: the room requests players. Requests end after two minutes, so repeat them. Players who
// were matched with the room within the lifetime of a token may not be connected yet, so their seats are subtracted. The reply has the
// number of seats that is requested.
type Backfill struct {
	Queue string `json:"queue"`
	Seats *int   `json:"seats"` // free seats; 0 ends the request. Required
	// Server is the id of the server that has the room. Required with several servers outside of a cluster, unless Seats is 0. Optional in a cluster: its
	// directory has the owner of each room.
	Server string `json:"server,omitempty"`
}

// Rooms is the reply of GET /v1/rooms.
type Rooms struct {
	Servers []Server `json:"servers"`
	Rooms   []Room   `json:"rooms"`
}

// Server is a server with its load.
type Server struct {
	ID        string   `json:"id"`
	Name      string   `json:"name"`
	Addresses []string `json:"addresses"`
	Build     string   `json:"build"`
	MaxRooms  int      `json:"max_rooms"`
	Rooms     int      `json:"rooms"`
	Players   int      `json:"players"`
	Draining  bool     `json:"draining"`
	// Error is why the rooms of the server are not listed. Optional.
	Error string `json:"error,omitempty"`
}

// Room is a room with the clients that are connected to it.
type Room struct {
	Room    string   `json:"room"`
	Server  string   `json:"server"` // id
	Clients []string `json:"clients"`
}

// Sanction is the body of POST /v1/kick and POST /v1/ban, for a player or a client. Reason is shown to the player.
type Sanction struct {
	Player   string `json:"player,omitempty"`
	ClientID uint64 `json:"client_id,omitempty,string"`
	Seconds  *int64 `json:"seconds,omitempty"` // of a ban, which requires it; 0 ends it
	Reason   string `json:"reason,omitempty"`
}

// Sanctioned is the reply of POST /v1/kick and POST /v1/ban.
type Sanctioned struct {
	ClientID uint64   `json:"client_id,string"`
	Servers  []string `json:"servers"`          // that applied it
	Failed   []string `json:"failed"`           // each with its error
	Stored   bool     `json:"stored,omitempty"` // the ban or its end: the backend sends it until each server has it
}

// Error is the reply of a request that failed.
type Error struct {
	Error string `json:"error"`
	ID    string `json:"id,omitempty"` // of the ticket with which the player waits already
}

// Progress describes the state of a ticket for its player.
func (t *Ticket) Progress(now time.Time) string {
	switch t.State {
	case queue.Queued:
		text := fmt.Sprintf("queued, %d waiting, %d s", t.Waiting, max(now.Sub(t.Since)/time.Second, 0))
		if t.Missing > 0 {
			text += fmt.Sprintf(", %d of the party missing", t.Missing)
		}
		if t.Reason != "" {
			text += "; " + t.Reason
		}
		return text
	case queue.Matched:
		if t.Match == nil {
			return "matched; " + cmp.Or(t.Reason, "waiting for a server")
		}
		return fmt.Sprintf("matched: room %s", t.Match.Room)
	}
	text := cmp.Or(t.State, "connecting to the backend")
	if t.Reason != "" {
		text += "; " + t.Reason
	}
	return text
}
