package systems

import "testing"

// A timeline that is none comes from a bug, and whoever prints it is looking for that.
func TestATimelineThatIsNoneHasAText(t *testing.T) {
	for timeline, want := range map[Timeline]string{Predicted: "predicted", timelines - 1: "confirmed", 99: "timeline 99"} {
		if got := timeline.String(); got != want {
			t.Errorf("timeline %d is called %q, want %q", uint8(timeline), got, want)
		}
	}
}
