package authority_test

import (
	"slices"
	"testing"

	"tendon/ecs"
	"tendon/systems"
	"tendon/systems/internal/code"
)

// A checksum counts if it is of a checked tick that the server has and that follows the state with which the peer was opened.
// Until a peer that needs an image is opened again, none counts.
func TestAChecksumFromBeforeAResyncDoesNotCount(t *testing.T) {
	const kindHash, every = 7, 3
	h := joined(t, nil)
	until := func(f ecs.Tick) {
		for h.Done() < f {
			h.Tick(0)
		}
	}
	claim := func(f ecs.Tick) systems.Message {
		return systems.Message{From: 0, Body: code.AppendChecksum(nil, kindHash, f, 77)}
	}
	counted := func(when string, want ...ecs.Tick) {
		t.Helper()
		var got []ecs.Tick
		for f := range ecs.Tick(40) {
			at, sum, ok, err := h.ClaimedChecksum(claim(f), every)
			if err != nil || at != f || sum != 77 {
				t.Fatalf("the checksum %d of tick %d: %v", sum, at, err)
			}
			if ok {
				got = append(got, f)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: checksums of the ticks %d count, want %d", when, got, want)
		}
	}
	until(12)
	counted("opened with tick 0", 3, 6, 9, 12)
	h.Peers[0].RequestImage()
	counted("an image is needed")
	h.Desynced(func(systems.Peer) {})
	counted("the room was informed")
	h.Open(0, 0, 9, 0, nil)
	counted("opened again with tick 9", 12)
	until(15)
	counted("three ticks later", 12, 15)
	h.Open(0, 0, 14, 0, nil)
	counted("opened again with tick 14", 15)
	h.Open(0, 0, 15, 0, nil)
	counted("opened again with tick 15")
	m := claim(15)
	m.Body = m.Body[:len(m.Body)-1]
	if _, _, ok, err := h.ClaimedChecksum(m, every); ok || err != errBad {
		t.Errorf("a checksum that is cut off: %v, %v", ok, err)
	}
}
