package matches

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Record is one decided match. A room may decide several, one per round. It is stored as JSON: fields may be added, and a
// build ignores fields that it does not have.
type Record struct {
	ID       uint64 `json:"id,string"` // set by the store: 1, 2, 3, … in the order of adding
	Room     string `json:"room"`
	Match    uint64 `json:"match,string"` // the match's number in its room
	Game     string `json:"game"`
	Strategy string `json:"strategy"` // the first of Strategies
	// Strategies are those of the match in their order: more than one if an operator switched. A record of an earlier build has the first one.
	Strategies []string `json:"strategies,omitempty"`
	// Started is when the result before was decided or the room opened. If another process began the match, it is Ended less the
	// time of the ticks since the result before.
	Started   time.Time `json:"started"`
	Ended     time.Time `json:"ended"`
	Tick      uint64    `json:"tick"`      // the last tick of the match
	Result    string    `json:"result"`    // the game's own text, which may be JSON or anything else
	Verdict   string    `json:"verdict"`   // how the result was decided: "majority", "disputed", "replay", "audit" or "server"
	Players   []Player  `json:"players"`   // by seat
	Replays   int       `json:"replays"`   // how often the match was replayed for the verdict
	Recording string    `json:"recording"` // the recording's file; "": none
	Journal   string    `json:"journal"`   // the journal's file; "": none
}

// Player is one seat of a match and how it voted.
type Player struct {
	Seat      int    `json:"seat"`
	Client    uint64 `json:"client,string"`
	Name      string `json:"name"`
	Vote      string `json:"vote"`      // the vote's digest in hexadecimal digits; "": none came
	Dissented bool   `json:"dissented"` // voted for another result than the verdict
	Silent    bool   `json:"silent"`    // did not vote in time
	Doubled   bool   `json:"doubled"`   // sent two different votes
}

// maxRecord is the largest record as JSON, in bytes. A match of 64 players with the longest names and a result of 64 KiB
// fits, with escapes.
const maxRecord = 1 << 20

// ErrTooLarge is the error of a record above 1 MiB.
var ErrTooLarge = errors.New("matches: the record is larger than 1 MiB")

// ErrDamaged is the error of a file that was cut short or changed by something else.
var ErrDamaged = errors.New("matches: the file is damaged")

// decodeNumbers decodes a record of an earlier build, whose ids are numbers.
func decodeNumbers(value []byte) (Record, error) {
	type oldPlayer struct {
		Player
		Number uint64 `json:"client"`
	}
	var old struct {
		Record
		Key     uint64      `json:"id"` // not used
		Number  uint64      `json:"match"`
		Players []oldPlayer `json:"players"`
	}
	err := json.Unmarshal(value, &old)
	r := old.Record
	r.Match = old.Number
	for _, p := range old.Players {
		p.Client = p.Number
		r.Players = append(r.Players, p.Player)
	}
	return r, err
}

// decode parses a record. Its id is the key; the value was encoded before the id was known.
func decode(id uint64, value []byte) (r Record, err error) {
	if err := json.Unmarshal(value, &r); err != nil {
		if r, err = decodeNumbers(value); err != nil {
			return r, fmt.Errorf("%w: record %d: %w", ErrDamaged, id, err)
		}
	}
	if r.ID = id; len(r.Strategies) == 0 && r.Strategy != "" {
		r.Strategies = []string{r.Strategy}
	}
	return r, nil
}
