package clock

import (
	"errors"

	"tendon/net/wire"
	"tendon/systems"
)

// The kinds of messages, their first byte. They differ from the kinds of the strategies, which send them among their own. A
// stamp is a varint: the sender's clock in units of 10 ms, rounded to the nearest.
const (
	KindPing    = 0xC0 // client → server: [number u8] [t0 stamp]
	KindPong    = 0xC1 // server → client: [number u8] [t1 stamp] [t2 − t1 uvarint]
	KindPongAck = 0xC2 // client → server: [number u8] [t3 stamp] [time held uvarint]
	KindRestart = 0xC3 // server → client: restart the exchange
)

const maxMessage = 22 // bytes

// maxTime bounds the time on a clock, about 73 years, so that no sum of times overflows.
const maxTime = systems.Time(1) << 61

// ErrMessage is returned for a message of the exchange that is malformed.
var ErrMessage = errors.New("clock: malformed message")

// Owns reports whether a message is one of the exchange's, by its first byte.
func Owns(message []byte) bool {
	return len(message) > 0 && message[0] >= KindPing && message[0] <= KindRestart
}

type message struct {
	kind   uint8
	number uint8        // of the exchange, chosen by the client
	at     systems.Time // t0, t1 or t3
	held   systems.Time // from at until the message was sent, ≥ 0
}

func units(t systems.Time) int64 {
	t += stampUnit / 2
	if t < 0 {
		t -= stampUnit - 1
	}
	return int64(t / stampUnit)
}

func (m *message) append(dst []byte) []byte {
	w := wire.NewWriter(dst, maxMessage)
	w.U8(m.kind)
	if m.kind == KindRestart {
		return w.Bytes()
	}
	w.U8(m.number)
	at := units(m.at)
	w.Varint(at)
	if m.kind != KindPing {
		w.Uvarint(uint64(units(m.at+m.held) - at)) // both ends are rounded, so each is off by at most half a unit
	}
	return w.Bytes()
}

// read parses a message. Times are multiples of stampUnit.
func (m *message) read(b []byte) error {
	r := wire.NewReader(b)
	*m = message{kind: r.U8()}
	if m.kind != KindRestart {
		m.number = r.U8()
		at, most := r.Varint(), int64(maxTime/stampUnit)
		held := uint64(0)
		if m.kind != KindPing {
			held = r.Uvarint()
		}
		if at > most || at < -most || held > uint64(most) {
			return ErrMessage
		}
		m.at, m.held = systems.Time(at)*stampUnit, systems.Time(held)*stampUnit
	}
	if r.Close() != nil || !Owns(b) {
		return ErrMessage
	}
	return nil
}
