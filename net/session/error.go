package session

import "fmt"

// Code is the reason why a session was refused or ended.
type Code uint8

// The codes. Each can refuse a client or end a session.
const (
	CodeVersion     Code = iota + 1 // the peers speak different versions of the protocol
	CodeGame                        // the peers have different games, or different versions of one
	CodeBuild                       // the game uses floats and the peers are different builds or targets
	CodeFull                        // the room has no free place
	CodeSeat                        // another client has the seat
	CodeShutdown                    // the server is stopping
	CodeKicked                      // an operator or the game removed the peer
	CodeLeft                        // the peer left
	CodeReplaced                    // another connection of the same client took over
	CodeTimeout                     // the peer sent nothing for too long
	CodeProtocol                    // the peer sent too many malformed messages
	CodeFlood                       // the peer sent too many messages
	CodeSlow                        // the peer received too slowly
	CodeTransport                   // the transport failed
	CodeInternal                    // a fault of the sender of this code
	CodeDesync                      // the state of the peer differed too often
	CodeRestarting                  // the server stops, and the next process continues the match
	CodeOtherBuild                  // the match was begun by a build that the server cannot continue
	CodeUnavailable                 // the server cannot open the room now
	CodeRooms                       // the server has its maximum number of rooms
	CodeClients                     // the server has its maximum number of clients
	CodeStorage                     // the server cannot record the client's token now
	codes
)

// Retry reports whether connecting again may help without any other action.
func (c Code) Retry() bool {
	return c == CodeTimeout || c == CodeTransport || c == CodeSlow || c == CodeFlood || c == CodeRestarting || c.Waits()
}

// Waits reports whether the server may accept the client later, without a change by the client.
func (c Code) Waits() bool { return c == CodeUnavailable || c == CodeStorage }

// advice is the sentence of each code: the cause and the remedy.
var advice = [codes]string{
	CodeVersion:     "the server speaks another version of the protocol: install the version of the game that the server runs",
	CodeGame:        "the server runs another version of the game: install the same version on both sides",
	CodeBuild:       "the game computes with floats and the server is another build: use the same build for the same processor on both sides",
	CodeFull:        "the room is full: try another one, or watch as a spectator",
	CodeSeat:        "another player has that seat: choose another one",
	CodeShutdown:    "the server is shutting down: try again later",
	CodeKicked:      "you were removed from the match",
	CodeLeft:        "the peer left",
	CodeReplaced:    "the same player connected from elsewhere: this connection was closed",
	CodeTimeout:     "the peer does not respond any more: check the network and connect again",
	CodeProtocol:    "the peer sent too many malformed messages: install the same version on both sides",
	CodeFlood:       "the peer sent more than it may: connect again",
	CodeSlow:        "the connection is too slow for this match: try again on a faster network",
	CodeTransport:   "the connection broke: connect again",
	CodeInternal:    "the server failed: report it to the operator of the server",
	CodeRestarting:  "the server restarts: the match continues when it is back",
	CodeOtherBuild:  "the server is now a build that cannot continue this match: join another one",
	CodeUnavailable: "the server cannot open the room now: try again later",
	CodeRooms:       "the server has as many rooms as --max-rooms allows: join one of them, or ask its operator to raise --max-rooms",
	CodeClients:     "the server has as many clients as it accepts: try again later",
	CodeStorage:     "the server cannot record used tokens: its disk may be full, or its cluster does not answer; try again later",
	CodeDesync:      "this copy of the match differs from the server's again and again: install the same version on both sides, and report the desync",
}

// Error is the reason why a session was refused or ended, with the remedy.
type Error struct {
	Code Code
	Text string // added by the side that ended the session, at most MaxText bytes; it may be empty
	// Received reports that the other side sent the reason. Otherwise this side found it.
	Received bool
	// Ours and Theirs are the fingerprints of the game on both sides, for CodeGame.
	Ours, Theirs uint64
}

// Error returns the cause and the remedy.
func (e *Error) Error() string {
	s := "session: "
	if e.Code >= CodeVersion && e.Code < codes {
		s += advice[e.Code]
	} else {
		s += fmt.Sprintf("ended with code %d, which this build does not know", e.Code)
	}
	if e.Code == CodeGame {
		s += fmt.Sprintf(" (here %016x, there %016x)", e.Ours, e.Theirs)
	}
	if e.Text != "" {
		s += " (" + e.Text + ")"
	}
	return s
}

// Is compares codes, for errors.Is: errors.Is(err, &session.Error{Code: session.CodeFull}).
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}
