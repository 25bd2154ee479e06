package session

import (
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/wire"
	"tendon/systems"
)

// Hello is the first message of a client.
type Hello struct {
	Version     uint64
	Fingerprint uint64   // of the game
	Build       string   // of the program; compared only if the game uses floats
	Target      string   // GOARCH and its level; compared only if the game uses floats
	Name        string   // of the player; may be empty
	Match       uint64   // the match of Have
	Have        ecs.Tick // the tick of the state that the client holds; 0: none
	Chain       uint64   // hash chain of the match up to Have: see record.Chain
	Final       ecs.Tick // newest tick of Match that is final on the client; 0: none
}

// Welcome accepts a Hello.
type Welcome struct {
	Strategy string
	Params   []byte // of the strategy; valid during the call
	Match    uint64 // identifies the match among all matches
	Rate     int    // ticks per second
	Seat     int    // −1: none
	Role     systems.Role
	Epoch    uint8
	Tick     ecs.Tick // present tick of the server
	Delay    int      // initial input delay, in ticks
	Image    bool     // an image follows; otherwise the client goes on from Hello.Have
}

func appendHello(dst []byte, h Hello) []byte {
	w := writeKind(dst, kindHello)
	w.Uvarint(h.Version)
	w.U64(h.Fingerprint)
	writeText(&w, h.Build, MaxBuild)
	writeText(&w, h.Target, MaxTarget)
	writeText(&w, h.Name, MaxName)
	w.U64(h.Match)
	w.Uvarint(uint64(h.Have))
	w.U64(h.Chain)
	w.Uvarint(uint64(h.Final))
	return w.Bytes()
}

// decodeHello reads only the version if it is another one, because the layout of the rest may differ.
func decodeHello(body []byte) (h Hello, err error) {
	r := wire.NewReader(body)
	if h.Version = r.Uvarint(); h.Version != Version {
		return h, r.Err()
	}
	h.Fingerprint = r.U64()
	h.Build = readText(&r, MaxBuild)
	h.Target = readText(&r, MaxTarget)
	h.Name = readText(&r, MaxName)
	h.Match = r.U64()
	h.Have = ecs.Tick(r.Uvarint())
	h.Chain = r.U64()
	h.Final = ecs.Tick(r.Uvarint())
	return h, r.Close()
}

func appendWelcome(dst []byte, m Welcome) []byte {
	w := writeKind(dst, kindWelcome)
	writeText(&w, m.Strategy, MaxStrategy)
	w.Blob(m.Params)
	w.U64(m.Match)
	w.Uvarint(uint64(m.Rate))
	w.U8(uint8(m.Seat + 1))
	w.U8(uint8(m.Role))
	w.U8(m.Epoch)
	w.Uvarint(uint64(m.Tick))
	w.Uvarint(uint64(m.Delay))
	w.Bool(m.Image)
	return w.Bytes()
}

func decodeWelcome(body []byte) (m Welcome, err error) {
	r := wire.NewReader(body)
	m.Strategy = readText(&r, MaxStrategy)
	m.Params = r.Blob(MaxParams)
	m.Match = r.U64()
	rate := r.Uvarint()
	seat := r.U8()
	m.Role = systems.Role(r.U8())
	m.Epoch = r.U8()
	m.Tick = ecs.Tick(r.Uvarint())
	delay := r.Uvarint()
	m.Image = r.Bool()
	if r.Err() == nil && (rate < 1 || rate > 1000 || seat > image.MaxPlayers || !m.Role.Valid() || delay > MaxDelay ||
		(m.Role == systems.RolePlayer) != (seat > 0)) {
		r.Fail(errValue)
	}
	m.Rate, m.Seat, m.Delay = int(rate), int(seat)-1, int(delay)
	return m, r.Close()
}

// AppendRefusal appends the message that refuses a client, for a server without a session for it. fingerprint is that of
// the game; text may be empty.
func AppendRefusal(dst []byte, code Code, fingerprint uint64, text string) []byte {
	w := writeKind(dst, kindRefusal)
	w.U8(uint8(code))
	w.U64(fingerprint)
	writeText(&w, text, MaxText)
	return w.Bytes()
}

func decodeRefusal(body []byte) (e Error, err error) {
	r := wire.NewReader(body)
	e.Code = Code(r.U8())
	e.Theirs = r.U64()
	e.Text = readText(&r, MaxText)
	if e.Code == 0 {
		r.Fail(errValue)
	}
	return e, r.Close()
}
