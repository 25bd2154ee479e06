package image

import (
	"bytes"
	"strings"
	"testing"
)

// A card survives its coding, and every payload has one card or none.
func TestACardIsCodedInOneWay(t *testing.T) {
	for _, c := range []Card{{}, {Name: "ann"}, {Data: []byte{0}}, {Name: "Zoë", Data: []byte("red")},
		{Name: strings.Repeat("n", MaxCardName), Data: bytes.Repeat([]byte{7}, MaxCardData)}} {
		payload := AppendCard(nil, c)
		got, ok := ParseCard(payload)
		if !ok || got.Name != c.Name || !bytes.Equal(got.Data, c.Data) {
			t.Errorf("%+v: %+v, %v", c, got, ok)
		}
		if len(payload) > MaxOrderBytes {
			t.Errorf("the payload has %d bytes", len(payload))
		}
	}
	for _, bad := range [][]byte{{0}, {1}, {4, 'a', 'n', 'n'}, append([]byte{33}, make([]byte, 40)...), append([]byte{0}, make([]byte, MaxCardData+1)...)} {
		if c, ok := ParseCard(bad); ok || c.Name != "" || c.Data != nil {
			t.Errorf("% x: %+v, %v", bad, c, ok)
		}
	}
}

func FuzzParseCard(f *testing.F) {
	f.Add([]byte{})
	f.Add(AppendCard(nil, Card{Name: "ann", Data: []byte("red")}))
	f.Fuzz(func(t *testing.T, payload []byte) {
		if c, ok := ParseCard(payload); ok && !bytes.Equal(AppendCard(nil, c), payload) {
			t.Errorf("% x is coded as % x", payload, AppendCard(nil, c))
		}
	})
}
