package labpage

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"testing"

	"tendon/cmd/arena/rules"
	"tendon/ecs"
	"tendon/net/simnet"
	"tendon/net/wire/vectors"
)

// FuzzReceive sends messages of a page to a viewer without matches. The settings of the viewer stay in range, and those of the
// matches stay as they are. Settings that were accepted are accepted again as the same.
func FuzzReceive(f *testing.F) {
	c := Config{Game: rules.Game(), Strategies: all, Begin: Usual(1)}
	seed := func(m request, s *Settings) {
		var err error
		if s != nil {
			m.Settings, err = json.Marshal(s)
		}
		text, err2 := json.Marshal(m)
		if err != nil || err2 != nil {
			f.Fatal(err, err2)
		}
		f.Add(text)
	}
	usual, wide := Usual(7), Usual(maxSeed)
	wide.Sync, wide.Net, wide.Players, wide.InputDelay, wide.Reorder = names(all), simnet.Profiles()[0].Name, maxPlayers, maxDelay, maxChance
	for i, s := range []*Settings{&usual, &wide, {}} {
		seed(request{Kind: "set", Number: i}, s)
	}
	seed(request{Kind: "hands", Press: math.MaxUint64, hands: hands{Keys: []string{"a", "arrowleft", "mouse1", "F1"}, X: 3, Y: -4e8, Pointed: true,
		Axes: []float64{2, -0.5, 0, 0, 9}, Wheel: [2]float64{0, 1e300}, Touches: []ecs.Touch{{ID: 1, X: 2, Y: -1e300}}, Size: [2]int{-1, 1 << 40},
		Clicks: map[string]ecs.Point{"mouse2": {X: 1, Y: 1e300}, "other": {}}}}, nil)
	for _, kind := range []string{"auto", "again", "pause", "desync", "none"} {
		seed(request{Kind: kind, On: true}, nil)
	}
	for _, text := range []string{`{"k":"set"}`, `{"k":"set","settings":null}`, `{"k":"set","settings":{"sync":["relay",7]}}`, `{"k":"set","settings":{"rtt":1e308,"seed":"-1"}}`,
		`{"k":"set","settings":{"rtt":1e308,"seed":"18446744073709551615","players":99,"delay":-7}}`, `[[[[`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		var s *viewer
		var have Settings
		prepare := func() {
			s = newViewer(c, nil)
			s.have = s.want // as when the matches begin
			have = s.have
			have.Sync = slices.Clone(have.Sync)
		}
		if n := vectors.LeastAllocated(prepare, func() { s.receive(message) }); n > 64<<10+64*uint64(len(message)) {
			t.Fatalf("%d bytes allocated for %d", n, len(message))
		}
		if !reflect.DeepEqual(s.have, have) {
			t.Fatalf("the settings of the matches became %+v", s.have)
		}
		if !s.ready && !reflect.DeepEqual(s.want, have) {
			t.Fatalf("a message without settings led to %+v", s.want)
		}
		if got := s.want.clamped(&c); !reflect.DeepEqual(got, s.want) || s.want.Seed > maxSeed || s.press > maxSeed || len(s.controls.held) > maxHeld {
			t.Fatalf("%+v is not in range, press %d, keys %q", s.want, s.press, s.controls.held)
		}
		if p := s.want.profile(); p.Validate() != nil {
			t.Fatalf("the network of %+v: %v", s.want, p.Validate())
		}
		if list, own := s.want.matches(all); len(list) < 1 || len(list) != len(own) {
			t.Fatalf("%+v are %d matches of %d clients", s.want, len(list), len(own))
		}
		text, err := json.Marshal(s.want)
		if err != nil {
			t.Fatal(err)
		}
		text, err = json.Marshal(request{Kind: "set", Settings: text})
		if err != nil {
			t.Fatal(err)
		}
		again := newViewer(c, nil)
		if again.receive(text); !again.ready || !reflect.DeepEqual(again.want, s.want) {
			t.Fatalf("%s leads to %+v", text, again.want)
		}
	})
}
