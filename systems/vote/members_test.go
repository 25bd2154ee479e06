package vote

import (
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
)

// The history stores changes only, and the last of them.
func TestMemberHistoryStoresTheLastChanges(t *testing.T) {
	var a Adjudicator
	for f := range ecs.Tick(10 * memberEntries) {
		a.addMembers(f, image.PlayerSet(f/5))
	}
	if len(a.history) != memberEntries {
		t.Errorf("%d entries", len(a.history))
	}
	const oldest = 5 * memberEntries
	for _, c := range []struct {
		f    ecs.Tick
		want image.PlayerSet
	}{{10*memberEntries - 1, 2*memberEntries - 1}, {10*memberEntries + 99, 2*memberEntries - 1}, {oldest + 5, memberEntries + 1}, {oldest + 4, memberEntries}, {oldest, memberEntries}, {0, memberEntries}} {
		if got := a.membersAt(c.f); got != c.want {
			t.Errorf("after tick %d: %d, want %d", c.f, got, c.want)
		}
	}
}
