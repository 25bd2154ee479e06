package queue

import (
	"fmt"
	"slices"
)

// maxBans is the maximum number of bans, as server.MaxBans.
const maxBans = 4096

// ErrBans is returned by SetBan when maxBans clients are banned.
var ErrBans = fmt.Errorf("there are %d bans: end one first", maxBans)

// BannedError is the error of a ticket whose player is banned.
type BannedError struct{ Ban }

// Banned returns a BannedError if a client is banned.
func (s *State) Banned(now int64, client uint64) error {
	for i := range s.bans {
		if b := &s.bans[i]; b.Client == client && !b.Ended && b.Until > max(s.at, now) {
			return &BannedError{*b}
		}
	}
	return nil
}

// SetBan returns the event that bans a client for some ms, or with 0 ms ends its ban. The event is nil if there is no ban to end. The
// error is ErrBans if there are too many. The event cancels the client's tickets that wait.
func (s *State) SetBan(now int64, client uint64, ms int64, reason string) (*Event, error) {
	at, banned, known := max(s.at, now), 0, false
	b := Ban{Client: client, Until: at + ms, Reason: reason, Ended: ms <= 0, Number: at}
	for _, old := range s.Bans(now) {
		b.Number = max(b.Number, old.Number+1)
		switch {
		case old.Ended:
		case old.Client != client:
			banned++
		default:
			if known = true; b.Ended {
				b.Until = old.Until
			}
		}
	}
	switch {
	case b.Ended && !known:
		return nil, nil
	case !b.Ended && banned >= maxBans:
		return nil, ErrBans
	}
	return &Event{Kind: KindBan, At: at, Ban: &b}, nil
}

// Bans returns the bans whose end has not come, also those that were ended before, in the order of their numbers.
func (s *State) Bans(now int64) []Ban {
	return slices.DeleteFunc(slices.Clone(s.bans), func(b Ban) bool { return b.Until <= max(s.at, now) })
}

// Error gives the reason.
func (e *BannedError) Error() string {
	if e.Reason == "" {
		return "the player is banned"
	}
	return "the player is banned: " + e.Reason
}
