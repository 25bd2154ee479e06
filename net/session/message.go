package session

import (
	"errors"
	"unicode"
	"unicode/utf8"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/wire"
	"tendon/rollback/record"
)

// Version is the version of the protocol. It must be equal on both peers.
const Version = 2

// kind is the first byte of every message.
type kind uint8

const (
	kindHello kind = iota + 1
	kindWelcome
	kindRefusal
	kindImageHead
	kindImagePiece
	kindReady
	kindLive
	kindToken
	kindChat
	kindChatLine
	kindPing
	kindPong
	kindNotice
	kindEnd
	kindStrategy
	kindTailAsk
	kindTail
)

// Bounds of the fields of messages, in bytes.
const (
	MaxName     = 32                  // a player's name
	MaxBuild    = 64                  // a build string
	MaxTarget   = 32                  // a target, such as "amd64/v1"
	MaxStrategy = 32                  // a strategy's name
	MaxParams   = 256                 // a strategy's parameters
	MaxText     = 200                 // the text of an end or a notice
	MaxChat     = 256                 // one chat message
	MaxToken    = 2048                // a reconnect token: one public netcode token
	MaxDelay    = 30                  // suggested input delay, in ticks
	MaxTail     = record.MaxTailBytes // the ticks of a tail
)

// errValue reports a field outside its interval.
var errValue = errors.New("session: a field is outside its interval")

// ChatLine is a chat message as the server sends it to the clients.
type ChatLine struct {
	Seat int // of the sender, −1 for a spectator or the server
	Name string
	Text string
}

// imageHead announces an image.
type imageHead struct {
	epoch uint8
	tick  ecs.Tick
	chain uint64 // hash chain of the match up to tick; 0: not known
	size  int    // of the image, in bytes
	sum   uint64 // xxHash64 of the image
}

// ready reports that the client holds a state.
type ready struct {
	epoch uint8
	tick  ecs.Tick
}

// endMessage ends a session.
type endMessage struct {
	epoch uint8
	code  Code
	text  string
}

// pong answers a ping with its stamp. tick is that of the server, 0 from a client.
type pong struct {
	epoch uint8
	stamp uint32
	tick  ecs.Tick
}

// notice is a text for the players, with the seconds until the server stops, or 0.
type notice struct {
	seconds uint64
	text    string
}

// cleanText reports whether s may be shown as it is: valid UTF-8 without control characters.
func cleanText(s []byte) bool {
	for len(s) > 0 {
		r, n := utf8.DecodeRune(s)
		if r == utf8.RuneError && n <= 1 || unicode.IsControl(r) {
			return false
		}
		s = s[n:]
	}
	return true
}

// clip returns the longest clean beginning of s that has at most limit bytes.
func clip(s string, limit int) string {
	end := 0
	for end < len(s) {
		r, n := utf8.DecodeRuneInString(s[end:])
		if r == utf8.RuneError && n <= 1 || unicode.IsControl(r) || end+n > limit {
			break
		}
		end += n
	}
	return s[:end]
}

func readText(r *wire.Reader, limit int) string {
	b := r.Blob(limit)
	if !cleanText(b) {
		r.Fail(errValue)
		return ""
	}
	return string(b)
}

func writeText(w *wire.Writer, s string, limit int) { w.Blob([]byte(clip(s, limit))) }

func writeKind(dst []byte, k kind) wire.Writer {
	w := wire.NewWriter(dst, MaxMessage)
	w.U8(uint8(k))
	return w
}

func appendImageHead(dst []byte, h imageHead) []byte {
	w := writeKind(dst, kindImageHead)
	w.U8(h.epoch)
	w.Uvarint(uint64(h.tick))
	w.U64(h.chain)
	w.Uvarint(uint64(h.size))
	w.U64(h.sum)
	return w.Bytes()
}

func decodeImageHead(body []byte) (h imageHead, err error) {
	r := wire.NewReader(body)
	h.epoch = r.U8()
	h.tick = ecs.Tick(r.Uvarint())
	h.chain = r.U64()
	size := r.Uvarint()
	h.sum = r.U64()
	if size < 1 || size > 1<<30 {
		r.Fail(errValue)
	}
	h.size = int(size)
	return h, r.Close()
}

func appendReady(dst []byte, m ready) []byte {
	w := writeKind(dst, kindReady)
	w.U8(m.epoch)
	w.Uvarint(uint64(m.tick))
	return w.Bytes()
}

func decodeReady(body []byte) (m ready, err error) {
	r := wire.NewReader(body)
	m.epoch = r.U8()
	m.tick = ecs.Tick(r.Uvarint())
	return m, r.Close()
}

func appendChatLine(dst []byte, m ChatLine) []byte {
	w := writeKind(dst, kindChatLine)
	w.U8(uint8(m.Seat + 1))
	writeText(&w, m.Name, MaxName)
	writeText(&w, m.Text, MaxChat)
	return w.Bytes()
}

func decodeChatLine(body []byte) (m ChatLine, err error) {
	r := wire.NewReader(body)
	seat := r.U8()
	m.Name = readText(&r, MaxName)
	m.Text = readText(&r, MaxChat)
	if seat > image.MaxPlayers || m.Text == "" {
		r.Fail(errValue)
	}
	m.Seat = int(seat) - 1
	return m, r.Close()
}

func appendChat(dst []byte, text string) []byte {
	w := writeKind(dst, kindChat)
	writeText(&w, text, MaxChat)
	return w.Bytes()
}

func decodeChat(body []byte) (text string, err error) {
	r := wire.NewReader(body)
	if text = readText(&r, MaxChat); text == "" {
		r.Fail(errValue)
	}
	return text, r.Close()
}

func appendPing(dst []byte, epoch uint8, stamp uint32) []byte {
	w := writeKind(dst, kindPing)
	w.U8(epoch)
	w.U32(stamp)
	return w.Bytes()
}

func decodePing(body []byte) (epoch uint8, stamp uint32, err error) {
	r := wire.NewReader(body)
	epoch = r.U8()
	stamp = r.U32()
	return epoch, stamp, r.Close()
}

func appendPong(dst []byte, m pong) []byte {
	w := writeKind(dst, kindPong)
	w.U8(m.epoch)
	w.U32(m.stamp)
	w.Uvarint(uint64(m.tick))
	return w.Bytes()
}

func decodePong(body []byte) (m pong, err error) {
	r := wire.NewReader(body)
	m.epoch = r.U8()
	m.stamp = r.U32()
	m.tick = ecs.Tick(r.Uvarint())
	return m, r.Close()
}

func appendNotice(dst []byte, m notice) []byte {
	w := writeKind(dst, kindNotice)
	w.Uvarint(m.seconds)
	writeText(&w, m.text, MaxText)
	return w.Bytes()
}

func decodeNotice(body []byte) (m notice, err error) {
	r := wire.NewReader(body)
	if m.seconds = r.Uvarint(); m.seconds > 1<<31 {
		r.Fail(errValue)
	}
	m.text = readText(&r, MaxText)
	return m, r.Close()
}

func appendEnd(dst []byte, m endMessage) []byte {
	w := writeKind(dst, kindEnd)
	w.U8(m.epoch)
	w.U8(uint8(m.code))
	writeText(&w, m.text, MaxText)
	return w.Bytes()
}

func decodeEnd(body []byte) (m endMessage, err error) {
	r := wire.NewReader(body)
	m.epoch = r.U8()
	m.code = Code(r.U8())
	m.text = readText(&r, MaxText)
	if m.code == 0 {
		r.Fail(errValue)
	}
	return m, r.Close()
}

func appendToken(dst, token []byte) []byte {
	w := writeKind(dst, kindToken)
	w.Blob(token)
	return w.Bytes()
}

func decodeToken(body []byte) (token []byte, err error) {
	r := wire.NewReader(body)
	if token = r.Blob(MaxToken); len(token) == 0 {
		r.Fail(errValue)
	}
	return token, r.Close()
}

func appendTailAsk(dst []byte, from ecs.Tick) []byte {
	w := writeKind(dst, kindTailAsk)
	w.Uvarint(uint64(from))
	return w.Bytes()
}

func decodeTailAsk(body []byte) (from ecs.Tick, err error) {
	r := wire.NewReader(body)
	if from = ecs.Tick(r.Uvarint()); from == 0 {
		r.Fail(errValue)
	}
	return from, r.Close()
}

func appendTail(dst, tail []byte) []byte { return append(append(dst, uint8(kindTail)), tail...) }

func appendStrategy(dst []byte, epoch uint8, message []byte) []byte {
	dst = append(dst, uint8(kindStrategy), epoch)
	return append(dst, message...)
}
