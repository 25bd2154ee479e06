package session

import "fmt"

// Code says why a session was refused or ended. It travels as a byte.
type Code uint8

// The codes. Those up to CodeShutdown can refuse a client that knocks; all can end a session.
const (
	CodeVersion   Code = iota + 1 // the peers speak different versions of the protocol
	CodeGame                      // the peers have different games, or different versions of one
	CodeBuild                     // the game uses floats and the peers are different builds or targets
	CodeFull                      // the room has no place
	CodeSeat                      // somebody else has the seat
	CodeShutdown                  // the server stops
	CodeKicked                    // somebody in charge decided so
	CodeLeft                      // the peer said goodbye
	CodeReplaced                  // another connection of the same client took over
	CodeTimeout                   // nothing was heard of the peer
	CodeProtocol                  // too many messages could not be used
	CodeFlood                     // too many messages
	CodeSlow                      // the peer could not take what it was sent
	CodeTransport                 // the transport gave up
	CodeInternal                  // a fault of this side
	CodeDesync                    // the peer's state differs again and again
	codes
)

// Valid reports whether c is a code this build knows.
func (c Code) Valid() bool { return c >= CodeVersion && c < codes }

// Retry reports whether connecting again may help without anybody doing anything.
func (c Code) Retry() bool {
	switch c {
	case CodeTimeout, CodeTransport, CodeSlow, CodeFlood:
		return true
	}
	return false
}

// advice says, per code, what happened and what to do about it.
var advice = [codes]string{
	CodeVersion:   "the server speaks another version of the protocol: install the version of the game that the server runs",
	CodeGame:      "the server runs another version of the game: install the same version on both sides",
	CodeBuild:     "the game computes with floats and the server is another build: use the same build for the same processor on both sides",
	CodeFull:      "the room is full: try another one, or watch as a spectator",
	CodeSeat:      "somebody else has that seat: choose another one",
	CodeShutdown:  "the server is shutting down: try again later",
	CodeKicked:    "you were removed from the match",
	CodeLeft:      "the peer left",
	CodeReplaced:  "the same player connected from elsewhere: this connection was closed",
	CodeTimeout:   "nothing was heard of the peer any more: check the network and connect again",
	CodeProtocol:  "the peer sent messages that make no sense: install the same version on both sides",
	CodeFlood:     "the peer sent more than it may: connect again",
	CodeSlow:      "the connection is too slow for this match: try again on a faster network",
	CodeTransport: "the connection broke: connect again",
	CodeInternal:  "the server made a mistake: report it to whoever runs the server",
	CodeDesync:    "this copy of the match differs from the server's again and again: install the same version on both sides, and report the desync",
}

// Error is why a session was refused or ended, as a sentence that says what to do.
type Error struct {
	Code Code
	// Text is what the other side adds, at most MaxText bytes; it may be empty.
	Text string
	// Ours and Theirs are the fingerprints of the game on both sides, for CodeGame.
	Ours, Theirs uint64
}

// Error says why it ended, and what helps.
func (e *Error) Error() string {
	s := "session: "
	if e.Code.Valid() {
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

// Is makes errors.Is compare codes: errors.Is(err, &session.Error{Code: session.CodeFull}).
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}
