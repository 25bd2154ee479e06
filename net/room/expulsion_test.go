package room

import (
	"errors"
	"testing"

	"tendon/net/session"
	"tendon/systems"
)

// Only rules that a peer broke expel it. A slow peer that needed too many images has the code of a desync, too.
func TestTheCauseOfAnExpulsion(t *testing.T) {
	lying := PeerInfo{Strategy: systems.PeerStats{Expelled: true}}
	for _, test := range []struct {
		name string
		info PeerInfo
		why  error
		want Cause
	}{
		{"too many desyncs", lying, &session.Error{Code: session.CodeDesync}, CauseLying},
		{"too many images", PeerInfo{}, &session.Error{Code: session.CodeDesync}, ""},
		{"a flood", PeerInfo{}, &session.Error{Code: session.CodeFlood}, CauseFlooding},
		{"malformed messages", PeerInfo{}, &session.Error{Code: session.CodeProtocol}, CauseFraming},
		{"a reason of the peer", lying, &session.Error{Code: session.CodeFlood, Received: true}, ""},
		{"a kick", lying, &session.Error{Code: session.CodeKicked}, ""},
		{"a timeout", lying, &session.Error{Code: session.CodeTimeout}, ""},
		{"slowness", lying, &session.Error{Code: session.CodeSlow}, ""},
		{"another error", lying, errors.New("x"), ""},
	} {
		if got := causeOf(&test.info, test.why); got != test.want {
			t.Errorf("%s: cause %q, want %q", test.name, got, test.want)
		}
	}
}
