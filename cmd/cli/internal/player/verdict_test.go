package player

import (
	"testing"

	"tendon/ecs/image"
)

func TestAVerdictIsALine(t *testing.T) {
	for want, v := range map[string]image.Verdict{
		"result ada, computed by the server":                               {Result: []byte("ada"), How: "server", Registered: 3},
		"result a b, majority, 3 of 4 players voted":                       {Result: []byte("a\nb"), How: "majority", Registered: 15, Voted: 7},
		"result ada, disputed, 4 of 4 players voted, 1 for another result": {Result: []byte("ada"), How: "disputed", Registered: 15, Voted: 15, Dissented: 8},
	} {
		if got := VerdictText(&v); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
