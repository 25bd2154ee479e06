package netcode

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"time"
)

// Arrival is a client with a valid token that requests a connection.
type Arrival struct {
	ClientID   uint64
	UserData   *[UserDataSize]byte // aliases the server's memory: read it, do not keep it
	From       netip.AddrPort
	SameClient int // slot connected with the same client id, or -1
	SameAddr   int // slot connected from the same address, or -1
	Free       int // free slots
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
func (s *Server) judge(clientID uint64, userData *[UserDataSize]byte, from netip.AddrPort) (action Action, slot int) {
	a := &s.scratch.arrival
	*a = Arrival{ClientID: clientID, UserData: userData, From: from, SameClient: -1, SameAddr: -1, Free: len(s.slots) - s.Clients()}
	if i, ok := s.byClient[clientID]; ok {
		a.SameClient = int(i)
	}
	if i, ok := s.byAddr[from]; ok {
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
	private, id, expires, drop := s.openRequest(packet, unixSeconds(now))
	if drop != 0 {
		return drop
	}
	action, _ := s.judge(private.ClientID, &private.UserData, from)
	if action == Ignore {
		return DropIgnored
	}
	if e := s.history.entry(id, from, expires, unixSeconds(now)); e.used {
		return DropReused
	} else if e.addr != from {
		return DropElsewhere
	}
	if action == Deny {
		s.sealGlobal(out, from, &private.ServerToClient, kindDenied, nil)
		return Denials
	}

	at := s.since(now)
	p := s.pending.entry(from, at)
	if p.token != id {
		*p = pending{
			addr: from, token: id, tokenExpires: expires,
			clientID: private.ClientID, challenge: s.challenges, timeoutSeconds: private.TimeoutSeconds,
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
func (s *Server) openRequest(packet []byte, unix uint64) (*PrivateToken, tokenID, uint64, Counter) {
	rest := packet[1:]
	if string(rest[:versionSize]) != version {
		return nil, tokenID{}, 0, DropVersion
	}
	rest = rest[versionSize:]
	if binary.LittleEndian.Uint64(rest) != s.protocolID {
		return nil, tokenID{}, 0, DropProtocol
	}
	expires := binary.LittleEndian.Uint64(rest[8:])
	if expires <= unix {
		return nil, tokenID{}, 0, DropExpired
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
		return nil, tokenID{}, 0, DropToken
	}
	if t.private.take(t.plain[:]) != nil {
		return nil, tokenID{}, 0, DropMalformed
	}
	if !slices.ContainsFunc(s.addresses, func(a netip.AddrPort) bool { return slices.Contains(t.private.Servers(), a) }) {
		return nil, tokenID{}, 0, DropServer
	}
	return &t.private, tokenID(sealed[privateTokenSize-tagSize:]), expires, 0
}

// challenge sends the challenge of an entry. A repeated request gets the same challenge token again. So each token
// sequence belongs to one token at one address, and an answer to any copy is accepted.
func (s *Server) challenge(out *Outbox, p *pending, userData *[UserDataSize]byte) {
	s.sealGlobal(out, p.addr, &p.serverToClient, kindChallenge, s.codec.sealChallenge(s.challenger, p.challenge, p.clientID, userData))
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
	action, i := s.judge(clientID, userData, from)
	switch action {
	case Ignore:
		return Event{}, DropIgnored
	case Deny:
		s.sealGlobal(out, from, &p.serverToClient, kindDenied, nil)
		return Event{}, Denials
	}
	event := Event{Kind: Connected, Slot: i, Replaced: s.slots[i].connected}
	s.Disconnect(out, i, now)
	s.history.entry(p.token, p.addr, p.tokenExpires, unixSeconds(now)).used = true // a new entry if it was dropped since the request
	s.slots[i] = slot{
		connected: true, timeout: int64(p.timeoutSeconds) * int64(time.Second), clientID: clientID, userData: *userData,
		channel: channel{peer: from, seal: newAEAD(&p.serverToClient), open: open, lastReceive: at},
	}
	s.byAddr[from], s.byClient[clientID] = int32(i), int32(i)
	s.pending.remove(p)
	s.keepAlive(out, i, at)
	return event, Connects
}
