package server

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/room"
	"tendon/net/session"
	"tendon/net/wire"
)

// Ban bans a client from the server until a moment: every token of the client is refused.
type Ban struct {
	ClientID uint64     `json:"client_id,string"`
	Until    time.Time  `json:"until"`
	Cause    room.Cause `json:"cause"`  // one of package room, CauseOperator or CauseBackend
	Reason   string     `json:"reason"` // shown to the player, at most session.MaxText bytes; it may be empty
	Evidence Evidence   `json:"evidence"`
}

// Evidence is what the server counted about a connection up to a moment. It is zero for a client that was not connected.
type Evidence struct {
	At            time.Time      `json:"at"`
	Room          string         `json:"room"`
	Name          string         `json:"name"`
	Seat          int            `json:"seat"`           // −1: none
	Seconds       float64        `json:"seconds"`        // since the connection was made
	Kbits         float64        `json:"kbits"`          // mean kbit/s received since then, without Floods
	RefusedInputs uint64         `json:"refused_inputs"` // outside the window or not valid
	Malformed     uint64         `json:"malformed"`      // packets and messages that could not be decoded or used
	Limited       uint64         `json:"limited"`        // messages above a rate limit
	Floods        uint64         `json:"floods"`         // packets above the rate limit of the connection
	Desyncs       uint64         `json:"desyncs"`        // checksums that differed
	DesyncTick    ecs.Tick       `json:"desync_tick"`    // tick of the last one; 0: unknown
	Claim         image.Checksum `json:"claim,string"`   // the checksum of that tick that the client sent; 0: unknown
	Own           image.Checksum `json:"own,string"`     // the server's; 0: unknown
}

// Further causes of bans, beside those of package room.
const (
	CauseOperator room.Cause = "operator" // added by an operator of this server
	CauseBackend  room.Cause = "backend"  // added by a backend
)

const (
	// MaxBans is the maximum number of banned clients. Another one replaces the ban that would end first.
	MaxBans = 4096
	// MaxBanTime is the longest ban.
	MaxBanTime     = 10 * 365 * 24 * time.Hour
	defaultBanTime = 10 * time.Minute
	saveRetry      = 10 * time.Second // after a failure of SaveBans
)

// Errors of Ban and CheckReason.
var (
	ErrBan       = errors.New("server: invalid ban")
	ErrNotBanned = errors.New("server: the client is not banned")
)

// banReasons are shown to the player.
var banReasons = map[room.Cause]string{
	room.CauseLying: "its checksums differed from the server's", room.CauseFlooding: "it sent too many messages or packets",
	room.CauseFraming: "it sent malformed messages",
}

// CheckReason returns what is wrong with a text for a player, or nil. The error wraps ErrBan.
func CheckReason(text string) error {
	if wire.Clip(text, session.MaxText) != text {
		return fmt.Errorf("%w: the reason: use at most %d bytes of UTF-8 without control or invisible characters", ErrBan, session.MaxText)
	}
	return nil
}

// text is shown to the player.
func (b *Ban) text(now time.Time) string {
	left := b.Until.Sub(now)
	left = (left + time.Second - 1).Truncate(time.Second)
	text := fmt.Sprintf("banned for another %v", left)
	if b.Reason != "" {
		text += ": " + b.Reason
	}
	return wire.Clip(text, session.MaxText)
}

// banList holds the banned clients. All of it is under the lock of the table. The times at which bans end have a monotonic
// reading, so steps of the host's clock do not change the length of a ban.
type banList struct {
	of      map[banKey]Ban
	unsaved bool          // it was not saved since a change
	changed chan struct{} // has a value after a change
}

// banKey identifies a ban. A client may have one of a backend beside another one.
type banKey struct {
	client  uint64
	backend bool
}

func (b *Ban) key() banKey { return banKey{b.ClientID, b.Cause == CauseBackend} }

// newBanList returns the list of the previous process. host is the time of the host's clock at now. Later steps of that clock do
// not change the length of a ban. A ban of the future was added before the clock was set back, and begins again.
func newBanList(list []Ban, host, now time.Time) banList {
	l, again := banList{of: map[banKey]Ban{}, changed: make(chan struct{}, 1)}, false
	for _, b := range list {
		left := b.Until.Sub(host)
		if at := &b.Evidence.At; host.Before(*at) {
			left, *at, again = b.Until.Sub(*at), now.UTC(), true
		}
		l.add(b, left, now)
	}
	l.unsaved = again
	return l
}

// find returns the ban of a client that ends last.
func (l *banList) find(client uint64, now time.Time) (Ban, bool) {
	b, other := l.of[banKey{client, false}], l.of[banKey{client, true}]
	if b.Until.Before(other.Until) {
		b = other
	}
	return b, now.Before(b.Until)
}

// add bans a client for a time, and returns the ban with its end. A ban that the server adds does not shorten one of an
// operator.
func (l *banList) add(b Ban, d time.Duration, now time.Time) Ban {
	b.Until = now.Add(d)
	l.unsaved = true
	select {
	case l.changed <- struct{}{}:
	default:
	}
	if d <= 0 {
		return b
	}
	key := b.key()
	old, listed := l.of[key]
	if listed && b.Cause != CauseOperator && old.Until.After(b.Until) {
		return b
	}
	if !listed && len(l.of) >= MaxBans {
		first := key
		for k, o := range l.of { // the order does not matter: one of the first to end leaves
			if first == key || o.Until.Before(l.of[first].Until) {
				first = k
			}
		}
		delete(l.of, first)
	}
	l.of[key] = b
	return b
}

// list removes the bans that are over and returns the others, the first to end first. They end by the host's clock of now.
func (l *banList) list(now time.Time) []Ban {
	list := make([]Ban, 0, len(l.of))
	for key, b := range l.of {
		if now.Before(b.Until) {
			b.Until = now.UTC().Add(b.Until.Sub(now))
			list = append(list, b)
		} else {
			delete(l.of, key)
		}
	}
	slices.SortFunc(list, func(a, b Ban) int { return cmp.Or(a.Until.Compare(b.Until), cmp.Compare(a.ClientID, b.ClientID)) })
	return list
}

// expel bans the client of an expelled connection. A client of another build whose state differs is not banned, but cannot return
// with its reconnect tokens.
func (w *worker) expel(c *conn, e room.Expulsion) {
	t, cause := w.table, e.Cause
	b := Ban{ClientID: c.client, Until: w.now.UTC(), Cause: cause, Reason: banReasons[cause]}
	t.mu.Lock()
	info := t.peerInfo(c, e.PeerInfo)
	b.Evidence = info.Evidence(c.room.name, w.now)
	t.counts.Expelled++
	switch {
	case cause == room.CauseLying && e.OtherBuild:
		t.revoked.add(c.client, c.epoch+1, w.now)
		t.revokeIssued(c.client, w.now)
	case w.config.BanTime > 0:
		b.Until = t.bans.add(b, w.config.BanTime, w.now).Until.UTC()
	}
	t.mu.Unlock()
	w.log.info("client expelled", slog.String("room", c.room.name), slog.Int("peer", int(e.Peer)), slog.Uint64("client_id", c.client),
		slog.String("cause", string(cause)), slog.Time("banned_until", b.Until))
	if w.config.Expelled != nil {
		w.config.Expelled(b)
	}
}

// Evidence returns what the server counted about the connection.
func (p *PeerInfo) Evidence(roomName string, now time.Time) Evidence {
	e := Evidence{At: now.UTC(), Room: roomName, Name: wire.Clip(p.Identity.Name, session.MaxName), Seat: p.Seat, Seconds: now.Sub(p.Since).Seconds(),
		RefusedInputs: p.Strategy.Refused, Malformed: p.Link.Malformed + p.Session.Malformed, Limited: p.Session.Dropped, Floods: p.Floods,
		Desyncs: p.Strategy.Desyncs, DesyncTick: p.Strategy.Differed, Claim: p.Strategy.Claim, Own: p.Strategy.Own}
	if e.Seconds > 0 {
		e.Kbits = float64(p.Link.BytesReceived) * 8 / 1000 / e.Seconds
	}
	return e
}

// Ban bans a client for a time of at most MaxBanTime, whether it is connected or not. A connection that it has ends. The
// reason is shown to the player. An earlier ban of the client is replaced; a time of 0 ends it, or returns ErrNotBanned if
// there is none. With CauseBackend, only a ban of this cause is replaced or ends. An error that wraps neither of ErrBan and
// ErrNotBanned means that the change is in effect, but was not saved yet: the server tries again every 10 s.
func (s *Server) Ban(clientID uint64, d time.Duration, cause room.Cause, reason string) (Ban, error) {
	t, now := s.conns, time.Now()
	b := Ban{ClientID: clientID, Until: now.UTC().Add(d), Cause: cause, Reason: reason}
	if d < 0 || d > MaxBanTime {
		return b, fmt.Errorf("%w: the time is %v: use 0 to %v", ErrBan, d, MaxBanTime)
	}
	if err := CheckReason(reason); err != nil {
		return b, err
	}
	t.mu.Lock()
	banned := false
	for _, key := range []banKey{{clientID, true}, {clientID, false}} {
		if old, listed := t.bans.of[key]; listed && (key.backend || cause != CauseBackend) {
			banned = banned || now.Before(old.Until)
			delete(t.bans.of, key)
		}
	}
	t.bans.add(b, d, now)
	t.mu.Unlock()
	if d == 0 {
		if !banned {
			return b, ErrNotBanned
		}
		return b, s.saveBans()
	}
	err := s.connected(clientID, func(h *hostedRoom, c *conn) {
		p := h.room.Peer(c.peer)
		t.mu.Lock()
		info := t.peerInfo(c, p)
		b.Evidence = info.Evidence(h.name, now)
		t.bans.add(b, d, now)
		t.mu.Unlock()
		h.room.Kick(c.peer, b.text(now))
	})
	if errors.Is(err, ErrNoRoom) {
		err = nil // it is not connected
	}
	return b, errors.Join(err, s.saveBans())
}

// Bans returns the banned clients, the first ban to end first.
func (s *Server) Bans() []Ban {
	s.conns.mu.Lock()
	defer s.conns.mu.Unlock()
	return s.conns.bans.list(time.Now())
}

// keepBans saves the bans after each change until stop is closed. It tries again after a failure.
func (s *Server) keepBans(stop <-chan struct{}) {
	var again <-chan time.Time
	for {
		select {
		case <-s.conns.bans.changed:
		case <-again:
		case <-stop:
			_ = s.saveBans() // logged
			return
		}
		if again = nil; s.saveBans() != nil {
			again = time.After(saveRetry)
		}
	}
}

// saveBans saves the list if it has changed. It returns after the list is saved, also if another goroutine saves it.
func (s *Server) saveBans() error {
	s.saving.Lock()
	defer s.saving.Unlock()
	t := s.conns
	t.mu.Lock()
	list, unsaved := t.bans.list(time.Now()), t.bans.unsaved
	t.bans.unsaved = false
	t.mu.Unlock()
	if !unsaved || s.config.SaveBans == nil {
		return nil
	}
	err := s.config.SaveBans(list)
	if err != nil {
		s.log.error("the list of banned clients cannot be saved", slog.Any("error", err))
		t.mu.Lock()
		t.bans.unsaved = true
		t.mu.Unlock()
	}
	return err
}

// peerInfo returns the line of a connection that a room has. The table must be locked.
func (t *connTable) peerInfo(c *conn, p room.PeerInfo) PeerInfo {
	info := PeerInfo{PeerInfo: p, Link: c.link.Stats(), Since: c.since, Floods: c.floods}
	if t.conns[c.slot] == c {
		info.Accepted, info.Newest = t.netcode.Received(c.slot)
	}
	return info
}
