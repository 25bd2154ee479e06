package replaypage

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"

	"tendon/net/wire/vectors"
)

// requests are what a page sends.
func requests() []request {
	name, seat := "room-1", 3
	return []request{
		{ID: 1, Open: &name},
		{ID: 2, Go: &goRequest{Tick: 300, Aspect: 1.5, Entity: [2]string{"p1:0", ""}, Find: "body"}},
		{ID: 3, Series: &seriesRequest{Match: 1, Entity: "p1:0", Field: "body.Pos.X", From: 10, To: math.MaxUint64, Points: maxPoints}},
		{ID: 4, Compare: true},
		{ID: 6, Marks: &marksRequest{Match: 1, Seen: &seat}},
		{ID: -5, Life: "\x00<&>\u2028"},
		{Go: &goRequest{Aspect: minAspect}},
		{Series: &seriesRequest{Points: 1}},
	}
}

// FuzzParse checks that a request that is accepted is within its bounds, and is read again as the same. Its memory is in
// proportion to the message.
func FuzzParse(f *testing.F) {
	for _, r := range requests() {
		text, err := json.Marshal(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	for _, text := range []string{`{"go":{"aspect":1e-9}}`, `{"series":{"points":2,"from":2,"to":1}}`, `{"id":1e2}`, `{"go":null}`, `[[[[`, `{"open":"\ud800"}`, `null`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		var r request
		var err error
		if n := vectors.Allocated(func() { r, err = parse(message) }); n > 64<<10+64*uint64(len(message)) {
			t.Fatalf("%d bytes allocated for %d", n, len(message))
		}
		if err != nil {
			return
		}
		if g := r.Go; g != nil && (!(g.Aspect >= minAspect && g.Aspect <= maxAspect) || len(g.Find) > maxFind) {
			t.Fatalf("%+v", g)
		}
		if s := r.Series; s != nil && (s.Match < 0 || s.Match >= maxMatches || s.Points < 1 || s.Points > maxPoints || s.From > s.To) {
			t.Fatalf("%+v", s)
		}
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := parse(text); err != nil || !reflect.DeepEqual(again, r) {
			t.Fatalf("%q is %+v, and again %+v: %v", message, r, again, err)
		}
	})
}
