package queue

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
)

// Ticket is the request of a player to play.
type Ticket struct {
	ID     string `json:"id"`     // unique among all tickets
	Player string `json:"player"` // identifies the player
	Queue  string `json:"queue"`
	// Client is the number of the player in connect tokens and bans.
	Client uint64 `json:"client,string,omitempty"`
	// Key identifies the request: a second one of the player with this key in the queue is a duplicate. Optional.
	Key string `json:"key,omitempty"`
	// Name and Card are those of the connect token. Optional.
	Name string `json:"name,omitempty"`
	Card []byte `json:"card,omitempty"`
	// Attributes are for the match function. Optional.
	Attributes Attributes `json:"attributes,omitempty"`
	// Party is the name of the group that the player belongs to. All PartySize players of it enter one match. Optional.
	Party     string `json:"party,omitempty"`
	PartySize int    `json:"party_size,omitempty"`
	Since     int64  `json:"since"` // when the ticket was made, in ms since 1970
}

// Attributes describe a player for a match function, such as a rating or a region.
type Attributes map[string]Value

// ErrAttribute is wrapped by the error of an attribute that is neither a text nor a whole number.
var ErrAttribute = errors.New("give a text, or a whole number of at most 64 bits")

// UnmarshalJSON reads a JSON object. The error names the first attribute that is not valid.
func (a *Attributes) UnmarshalJSON(b []byte) error {
	var values map[string]json.RawMessage
	if err := json.Unmarshal(b, &values); err != nil || values == nil {
		*a = nil
		return err
	}
	*a = make(Attributes, len(values))
	d := json.NewDecoder(bytes.NewReader(b))
	_, _ = d.Token() // the brace
	for d.More() {
		name, _ := d.Token()
		var v Value
		if err := d.Decode(&v); err != nil {
			return fmt.Errorf("the attribute %.64q is %w", name, err)
		}
		(*a)[name.(string)] = v
	}
	return nil
}

// Number returns a number, or 0 if there is none of this name.
func (a Attributes) Number(name string) int64 { return a[name].number }

// Text returns a text, or "" if there is none of this name.
func (a Attributes) Text(name string) string { return a[name].text }

// Value is an attribute: a text, or a whole number.
type Value struct {
	text   string
	number int64
	kind   valueKind
}

type valueKind uint8

const (
	textValue valueKind = iota
	numberValue
)

// Text returns a value that is a text.
func Text(s string) Value { return Value{text: s} }

// Number returns a value that is a number.
func Number(n int64) Value { return Value{number: n, kind: numberValue} }

// MarshalJSON returns a JSON string or number.
func (v Value) MarshalJSON() ([]byte, error) {
	if v.kind == numberValue {
		return strconv.AppendInt(nil, v.number, 10), nil
	}
	return json.Marshal(v.text)
}

// UnmarshalJSON reads a JSON string or a whole number.
func (v *Value) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		*v = Value{}
		return json.Unmarshal(b, &v.text)
	}
	n, err := strconv.ParseInt(string(b), 10, 64)
	if err != nil {
		return fmt.Errorf("%.20s: %w", b, ErrAttribute)
	}
	*v = Number(n)
	return nil
}

// Kind is the kind of an Event.
type Kind string

// The kinds.
const (
	KindTicket   Kind = "ticket"   // Ticket waits
	KindCancel   Kind = "cancel"   // the ticket ID does not wait any more, for Reason
	KindPass     Kind = "pass"     // the match function of Queue made Matches
	KindBackfill Kind = "backfill" // Open requests players
	KindMove     Kind = "move"     // the room of the one element of Matches is on its Server
	KindBan      Kind = "ban"      // Ban replaces the ban of its client, and cancels the tickets
	KindTime     Kind = "time"     // only the time passed: ended tickets are removed
	KindSnapshot Kind = "snapshot" // Snapshot replaces all events before
)

// Event is a change of a State.
type Event struct {
	Kind     Kind      `json:"kind"`
	At       int64     `json:"at"` // ms since 1970; not less than that of the event before
	Ticket   *Ticket   `json:"ticket,omitempty"`
	ID       string    `json:"id,omitempty"`
	Reason   string    `json:"reason,omitempty"`
	Queue    string    `json:"queue,omitempty"`
	Matches  []Made    `json:"matches,omitempty"`
	Left     int       `json:"left,omitempty"` // proposed new rooms that were not made: no server had a place, or the pass reached its limit
	Open     *Open     `json:"open,omitempty"`
	Ban      *Ban      `json:"ban,omitempty"`
	Snapshot *snapshot `json:"snapshot,omitempty"`
}

// Made is a match that a pass made, or the players that it added to an open room.
type Made struct {
	Room    string   `json:"room"`
	Server  string   `json:"server,omitempty"` // the caller's name of the server; "" if Backfill and unknown
	Tickets []string `json:"tickets"`
	// FirstSeat is the seat of the first ticket; the others follow. AnySeat leaves the choice to the server.
	FirstSeat int  `json:"first_seat"`
	Backfill  bool `json:"backfill,omitempty"`
}

// AnySeat is a seat that the server chooses.
const AnySeat = -1

// Open is a room that requests players.
type Open struct {
	Room   string `json:"room"`
	Queue  string `json:"queue"`
	Seats  int    `json:"seats"` // free seats; 0 ends the request
	Server string `json:"server,omitempty"`
	Since  int64  `json:"since"`
}

// Ban is the ban of a client from all queues.
type Ban struct {
	Client uint64 `json:"client,string"`
	Until  int64  `json:"until"` // in ms since 1970
	Reason string `json:"reason,omitempty"`
	// Ended says that the ban was ended before. It is kept until its end, so that servers which have the ban can be found.
	Ended bool `json:"ended,omitempty"`
	// Number is that of the event: later bans have larger ones.
	Number int64 `json:"number"`
}

// Append appends the event as a line of JSON.
func (e *Event) Append(dst []byte) ([]byte, error) {
	line, err := json.Marshal(e)
	return append(append(dst, line...), '\n'), err
}

// ErrLog is wrapped by the errors about a log.
var ErrLog = errors.New("queue: the log of the tickets is damaged")

// Events yields the events of a log. An error, which wraps ErrLog, ends it.
func Events(log []byte) iter.Seq2[*Event, error] {
	return func(yield func(*Event, error) bool) {
		for n := 1; len(log) > 0; n++ {
			line, rest, whole := bytes.Cut(log, []byte("\n"))
			e := new(Event)
			if err := json.Unmarshal(line, e); err != nil || !whole {
				yield(nil, fmt.Errorf("%w: line %d: %w", ErrLog, n, errors.Join(err)))
				return
			}
			if !yield(e, nil) {
				return
			}
			log = rest
		}
	}
}
