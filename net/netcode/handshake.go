package netcode

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"time"

	"tendon/net/limit"
)

// Arrival is a client with a valid token that requests a connection.
type Arrival struct {
	Token      TokenID
	Expires    uint64 // of the token, Unix seconds
	Challenged bool   // the client has returned the challenge: Accept makes the connection
	ClientID   uint64
	UserData   *[UserDataSize]byte // aliases the server's memory: read it, do not keep it
	From       netip.AddrPort
	SameClient int // slot connected with the same client id, or -1
	SameAddr   int // slot connected from the same address, or -1
	Free       int // free slots
	// Reason is set by Admit if it returns Deny. The client receives it in the denial: see Client.Reason. 0 sends the denial of
	// the standard, without a reason.
	Reason uint8
}

// Standard returns the action of the standard: ignore a client or an address that is connected, deny if no slot is free.
func (a *Arrival) Standard() Action {
	switch {
	case a.SameAddr >= 0 || a.SameClient >= 0:
		return Ignore
	case a.Free == 0:
		return Deny
	}
	return Accept
}

// Action is what to do with an Arrival.
type Action uint8

const (
	Ignore Action = iota // no reply: the client repeats its request until its timeout
	Deny                 // deny the connection: the server is full, and the client tries its next server
	Accept               // into the slot of the same client, which is disconnected, or else into the lowest free one
)

// judge calls Admit and finds the slot of an accepted client. Without a free slot Accept is Deny. It is Ignore if the
// address is that of another client.
func (s *Server) judge(arrival Arrival) (action Action, slot int) {
	a := &s.scratch.arrival
	*a = arrival
	a.SameClient, a.SameAddr, a.Free = -1, -1, len(s.slots)-s.Clients()
	if i, ok := s.byClient[a.ClientID]; ok {
		a.SameClient = int(i)
	}
	if i, ok := s.byAddr[a.From]; ok {
		a.SameAddr = int(i)
	}
	switch action := s.admit(a); {
	case action != Accept:
		return action, 0
	case a.SameAddr >= 0 && a.SameAddr != a.SameClient:
		return Ignore, 0
	case a.SameClient >= 0:
		return Accept, a.SameClient
	case a.Free == 0:
		return Deny, 0
	}
	for s.slots[slot].connected {
		slot++
	}
	return Accept, slot
}

// receiveRequest processes a connection request. The order of the checks is that of the standard.
func (s *Server) receiveRequest(out *Outbox, packet []byte, from netip.AddrPort, now time.Time) Counter {
	if len(packet) < requestSize {
		return DropShort
	}
	if len(packet) > requestSize {
		return DropLong
	}
	unix := s.unix(now)
	private, id, expires, drop := s.openRequest(packet, unix)
	if drop != 0 {
		return drop
	}
	first, ok := s.firstSequence(private)
	if !ok {
		return DropServer
	}
	action, _ := s.judge(Arrival{Token: id, Expires: expires, ClientID: private.ClientID, UserData: &private.UserData, From: from})
	if action == Ignore {
		return DropIgnored
	}
	e := s.history.entry(id, private.ClientID, from, expires, unix)
	switch {
	case e == nil:
		return DropHistory
	case e.used:
		return DropReused
	}
	if action == Deny {
		s.deny(out, from, &private.ServerToClient)
		return Denials
	}

	at := s.since(now)
	p := s.pending.entry(from, id, e.addr, at)
	e.addr = from
	if p.token != id {
		*p = pending{
			addr: from, token: id, tokenExpires: expires,
			clientID: private.ClientID, challenge: s.challenges, first: first, timeoutSeconds: private.TimeoutSeconds,
			clientToServer: private.ClientToServer, serverToClient: private.ServerToClient,
		}
		s.challenges++
	}
	p.deadline = noDeadline
	if p.timeoutSeconds > 0 {
		p.deadline = at + int64(p.timeoutSeconds)*int64(time.Second)
	}
	s.challenge(out, p, &private.UserData)
	return Challenges
}

const noDeadline = 1<<63 - 1

// openRequest checks a request of the right size and opens its token, in the scratch.
func (s *Server) openRequest(packet []byte, unix uint64) (*PrivateToken, TokenID, uint64, Counter) {
	rest := packet[1:]
	if string(rest[:versionSize]) != version {
		return nil, TokenID{}, 0, DropVersion
	}
	rest = rest[versionSize:]
	if binary.LittleEndian.Uint64(rest) != s.protocolID {
		return nil, TokenID{}, 0, DropProtocol
	}
	expires := binary.LittleEndian.Uint64(rest[8:])
	if expires <= unix {
		return nil, TokenID{}, 0, DropExpired
	}
	t := &s.scratch
	sealed := rest[16+copy(t.nonce[:], rest[16:]):]
	t.bound = tokenBound(s.protocolID, expires)
	opened := false
	for i := 0; i < len(s.tokens) && !opened; i++ {
		_, err := s.tokens[i].Open(t.plain[:0], t.nonce[:], sealed, t.bound[:])
		opened = err == nil
	}
	if !opened {
		return nil, TokenID{}, 0, DropToken
	}
	if t.private.take(t.plain[:]) != nil {
		return nil, TokenID{}, 0, DropMalformed
	}
	return &t.private, TokenID(sealed[privateTokenSize-tagSize:]), expires, 0
}

// firstSequence returns the sequence of the first packet of a connection with a token: zero for the first server of the
// token. The servers of a token start 2^58 apart, so no two of them seal with the same number. It is false if the token has
// no address of this server.
func (s *Server) firstSequence(t *PrivateToken) (uint64, bool) {
	i := slices.IndexFunc(t.Servers(), func(a netip.AddrPort) bool { return slices.Contains(s.addresses, a) })
	return uint64(i) << 58, i >= 0
}

// challenge sends the challenge of an entry. A repeated request gets the same challenge token again. So each token
// sequence belongs to one token at one address, and an answer to any copy is accepted.
func (s *Server) challenge(out *Outbox, p *pending, userData *[UserDataSize]byte) {
	s.sealGlobal(out, p.addr, &p.serverToClient, kindChallenge, s.codec.sealChallenge(s.challenger, p.challenge, p.clientID, userData))
}

// deny sends a denial with the reason of the last arrival. It is smaller than a request or a response.
func (s *Server) deny(out *Outbox, to netip.AddrPort, key *Key) {
	body := s.scratch.reason[:0]
	if reason := s.scratch.arrival.Reason; reason != 0 {
		body = append(body, reason)
	}
	s.sealGlobal(out, to, key, kindDenied, body)
}

// sealGlobal puts a packet without a slot into the Outbox.
func (s *Server) sealGlobal(out *Outbox, to netip.AddrPort, key *Key, k kind, body []byte) {
	out.buf = s.codec.seal(out.buf, newAEAD(key), k, s.global, body)
	out.close(to)
	s.global++
}

// receiveResponse processes the response to a challenge. If it is valid, the client is connected.
func (s *Server) receiveResponse(out *Outbox, packet []byte, from netip.AddrPort, now time.Time) (Event, Counter) {
	h, drop := parseHeader(packet, 1<<kindResponse)
	if drop != 0 {
		return Event{}, drop
	}
	at := s.since(now)
	p := s.pending.find(from, at)
	if p == nil {
		return Event{}, DropStranger
	}
	// The size of the kind is fixed, so it is checked before the packet is opened.
	if !h.kind.bodyFits(len(packet) - h.size - tagSize) {
		return Event{}, DropBody
	}
	open := newAEAD(&p.clientToServer)
	body, drop := s.codec.open(packet, open, h, nil)
	if drop != 0 {
		return Event{}, drop
	}
	// The sequence binds the challenge to this token and this address. With the challenge of another token a client could
	// get the user data of that token without presenting it.
	if binary.LittleEndian.Uint64(body) != p.challenge {
		return Event{}, DropChallenge
	}
	clientID, userData, ok := s.codec.openChallenge(s.challenger, body)
	if !ok {
		return Event{}, DropChallenge
	}
	// The history is checked again, because the entry may have been replaced since the request.
	e := s.history.entry(p.token, clientID, from, p.tokenExpires, s.unix(now))
	switch {
	case e == nil:
		return Event{}, DropHistory
	case e.used:
		return Event{}, DropReused
	}
	action, i := s.judge(Arrival{Token: p.token, Expires: p.tokenExpires, Challenged: true, ClientID: clientID, UserData: userData, From: from})
	switch action {
	case Ignore:
		return Event{}, DropIgnored
	case Deny:
		s.deny(out, from, &p.serverToClient)
		return Event{}, Denials
	}
	event := Event{Kind: Connected, Slot: i, Replaced: s.slots[i].connected}
	s.Disconnect(out, i, now)
	s.history.use(e)
	s.slots[i] = slot{
		connected: true, timeout: int64(p.timeoutSeconds) * int64(time.Second), clientID: clientID, userData: *userData,
		path:    path{proven: from, moves: limit.New(moveInterval, movesBurst)},
		channel: channel{peer: from, seal: newAEAD(&p.serverToClient), open: open, sequence: p.first, lastReceive: at},
	}
	s.used = max(s.used, i+1)
	s.slots[i].window.mark(h.sequence)
	s.byAddr[from], s.byClient[clientID] = int32(i), int32(i)
	s.index(int32(i), h.sequence>>blockBits)
	s.pending.remove(p)
	s.keepAlive(out, i, at)
	return event, Connects
}
