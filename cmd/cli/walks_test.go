package cli

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// README's walks name a file and functions at every stop. A renamed function fails here.
func TestTheStopsOfTheWalksExist(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	stop := regexp.MustCompile("(?m)^\\| [1-6] \\| `([^`]+)` \\| ([^|]+) \\|")
	stops := stop.FindAllStringSubmatch(string(readme), -1)
	if len(stops) < 12 || len(stops) > 18 {
		t.Errorf("the three walks have %d stops, want at most six each", len(stops))
	}
	for _, s := range stops {
		source, err := os.ReadFile("../../" + s[1])
		if err != nil {
			t.Error(err)
			continue
		}
		for name := range strings.SplitSeq(s[2], ",") {
			name = strings.Trim(name, " `")
			if !regexp.MustCompile(`(?m)^func (\([^)]*\) )?` + name + `\(`).Match(source) {
				t.Errorf("%s has no function %s", s[1], name)
			}
		}
	}
}
