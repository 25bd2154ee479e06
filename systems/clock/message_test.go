package clock

import (
	"bytes"
	"encoding/hex"
	"testing"

	"tendon/systems"
)

// The bytes of the four messages, in units of 10 ms. A stamp is a zig-zag varint.
func TestTheMessagesAreTheseBytes(t *testing.T) {
	for _, v := range []struct {
		m     message
		bytes string
	}{
		{message{kind: KindPing, number: 1, at: 1000 * unit}, "c001d00f"},
		{message{kind: KindPong, number: 1, at: 5020 * unit}, "c101b84e00"},
		{message{kind: KindPong, number: 255, at: -3 * unit, held: 50 * unit}, "c1ff0532"},
		{message{kind: KindPongAck, number: 1, at: 1040 * unit, held: unit}, "c201a01001"},
		{message{kind: KindRestart}, "c3"},
	} {
		b := v.m.append(nil)
		if hex.EncodeToString(b) != v.bytes {
			t.Errorf("%+v is %x, want %s", v.m, b, v.bytes)
		}
		var m message
		if err := m.read(b); err != nil || m != v.m || !Owns(b) {
			t.Errorf("%s came back as %+v, %v", v.bytes, m, err)
		}
	}
	for _, bad := range []string{"", "c0", "c001", "c0018000", "c001d00f00", "c300", "c4", "01", "c101b84e", "c001ffffffffffffffffff01", "c10100ffffffffffffffffff01"} {
		b, _ := hex.DecodeString(bad)
		var m message
		if m.read(b) != ErrMessage {
			t.Errorf("%q was read as %+v", bad, m)
		}
	}
}

// Stamps are rounded to the nearest unit, before the clock's zero as after it.
func TestStampsAreRoundedToTheNearest(t *testing.T) {
	for at, want := range map[systems.Time]int64{0: 0, 4: 0, 5: 1, 14: 1, 15: 2, -5: 0, -6: -1, -15: -1, -16: -2, -10: -1} {
		if got := units(at * ms); got != want {
			t.Errorf("%d ms is %d units, want %d", at, got, want)
		}
	}
}

// A message that decodes is encoded to the same bytes, at most maxMessage of them. No other message makes either side
// panic.
func FuzzMessage(f *testing.F) {
	for _, s := range []string{"c001d00f", "c101b84e00", "c1ff0532", "c201a01001", "c3"} {
		b, _ := hex.DecodeString(s)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		p := NewProber()
		a := NewAnswerer()
		p.Append(nil, 0)
		p.Receive(b, ms)
		a.Receive(b, ms)
		a.sent[0].set = true
		a.Receive(b, 2*ms)
		var m message
		if err := m.read(b); err != nil {
			return
		}
		if again := m.append(nil); !bytes.Equal(again, b) || len(b) > maxMessage {
			t.Fatalf("%x became %x", b, again)
		}
	})
}
