package join

import "testing"

func TestANoticeWithoutACountdownNamesNoSeconds(t *testing.T) {
	for seconds, want := range map[int]string{0: "the match waits", 5: "in 5 s: the match waits"} {
		if text := noticeText(seconds, "the match waits"); text != want {
			t.Errorf("%d seconds: %q, want %q", seconds, text, want)
		}
	}
}
