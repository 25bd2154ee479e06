package room_test

import (
	"strings"
	"testing"

	"tendon/net/room"
	"tendon/net/session"
	"tendon/systems"
)

// named returns a Hello with another build.
func named(hello []byte, build string) []byte {
	const at = 1 + 1 + 8 // kind, version and game
	rest := hello[at+1+int(hello[at]):]
	return append(append(append([]byte(nil), hello[:at]...), byte(len(build))), build+string(rest)...)
}

// The checksums of a client with other rules differ. If it names another build, it receives that of the server, and the expulsion
// reports that it may be honest.
func TestAClientOfAnotherBuildIsExpelledWithTheReason(t *testing.T) {
	const hash = 5 // the kind of a checksum in systems/relay
	for _, other := range []bool{false, true} {
		var got []room.Expulsion
		g := newRig(t, func(c *room.Config) {
			c.Sinks = append(c.Sinks, room.Sink{Expelled: func(e room.Expulsion) { got = append(got, e) }})
		})
		v := g.enter(player(1), nil)
		say := v.say
		v.say = func(ch systems.Channel, m []byte) {
			switch {
			case m[0] == byteHello && other:
				m = named(m, "old")
			case m[0] == byteStrategy && m[2] == hash:
				m[len(m)-1] ^= 1
			}
			say(ch, m)
		}
		for range 1200 {
			if g.step(); len(got) > 0 {
				break
			}
		}
		g.steps(5)
		if len(got) != 1 || got[0].Cause != room.CauseLying || got[0].OtherBuild != other {
			t.Fatalf("another build %v: %+v", other, got)
		}
		if why := ended(t, v, session.CodeDesync); strings.HasPrefix(why.Text, "server has build") != other {
			t.Errorf("another build %v: the client received %q", other, why.Text)
		}
	}
}
