package session

import "fmt"

// Code is the reason why a session was refused or ended.
type Code uint8

// The codes. Those up to CodeShutdown can refuse a client; all can end a session.
const (
	CodeVersion   Code = iota + 1 // the peers speak different versions of the protocol
	CodeGame                      // the peers have different games, or different versions of one
	CodeBuild                     // the game uses floats and the peers are different builds or targets
	CodeFull                      // the room has no free place
	CodeSeat                      // another client has the seat
	CodeShutdown                  // the server is stopping
	CodeKicked                    // an operator or the game removed the peer
	CodeLeft                      // the peer left
	CodeReplaced                  // another connection of the same client took over
	CodeTimeout                   // the peer sent nothing for too long
	CodeProtocol                  // the peer sent too many malformed messages
	CodeFlood                     // the peer sent too many messages
	CodeSlow                      // the peer received too slowly
	CodeTransport                 // the transport failed
	CodeInternal                  // a fault of the sender of this code
	CodeDesync                    // the state of the peer differed too often
	codes
)

// Retry reports whether connecting again may help without any other action.
func (c Code) Retry() bool {
	return c == CodeTimeout || c == CodeTransport || c == CodeSlow || c == CodeFlood
}

// advice is the sentence of each code: the cause and the remedy.
var advice = [codes]string{
	CodeVersion:   "the server speaks another version of the protocol: install the version of the game that the server runs",
	CodeGame:      "the server runs another version of the game: install the same version on both sides",
	CodeBuild:     "the game computes with floats and the server is another build: use the same build for the same processor on both sides",
	CodeFull:      "the room is full: try another one, or watch as a spectator",
	CodeSeat:      "another player has that seat: choose another one",
	CodeShutdown:  "the server is shutting down: try again later",
	CodeKicked:    "you were removed from the match",
	CodeLeft:      "the peer left",
	CodeReplaced:  "the same player connected from elsewhere: this connection was closed",
	CodeTimeout:   "the peer does not answer any more: check the network and connect again",
	CodeProtocol:  "the peer sent too many malformed messages: install the same version on both sides",
	CodeFlood:     "the peer sent more than it may: connect again",
	CodeSlow:      "the connection is too slow for this match: try again on a faster network",
	CodeTransport: "the connection broke: connect again",
	CodeInternal:  "the server failed: report it to the operator of the server",
	CodeDesync:    "this copy of the match differs from the server's again and again: install the same version on both sides, and report the desync",
}

// Error is the reason why a session was refused or ended, with the remedy.
type Error struct {
	Code Code
	Text string // added by the other side, at most MaxText bytes; it may be empty
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
