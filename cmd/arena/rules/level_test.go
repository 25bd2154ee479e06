package rules

import (
	"strings"
	"testing"

	"tendon/ecs/fixed"
	"tendon/ecs/space"
)

// A bot must get from everywhere to everywhere, or a match may stand still.
func TestEveryPlaceCanBeReachedFromEverySpawnPoint(t *testing.T) {
	goals := append(append([]fixed.Vec2(nil), level.Spawns...), level.Kits...)
	for _, from := range level.Spawns {
		for _, goal := range goals {
			at, steps := from, 0
			for ; at != goal && steps < level.Columns*level.Rows; steps++ {
				next := level.Toward(at, goal)
				if circle := space.Circle(next, bodyRadius); level.tiles.Overlap(&circle, allTiles) {
					t.Fatalf("the way from %v to %v leads into a wall at %v", from, goal, next)
				}
				if next.Dist(at) > 2*square {
					t.Fatalf("no way is known from %v to %v", at, goal)
				}
				at = next
			}
			if at != goal {
				t.Fatalf("the way from %v to %v does not end", from, goal)
			}
		}
	}
}

func TestALevelThatCannotBePlayedIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"; nothing\n":               "0 rows",
		"##\n###\n":                 "row 2",
		"##\n#x\n":                  `'x'`,
		"###\n#s#\n###\n":           "spawn points",
		strings.Repeat("###\n", 33): "33 rows",
	} {
		if _, err := parseLevel(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("level %q gives %v, want an error that says %q", text, err, want)
		}
	}
}

// Boxes must cover the walls of the file, each square once: a gap is a way through.
func TestWallsCoverTheirSquaresOnce(t *testing.T) {
	area := 0
	for _, x := range level.Walls {
		area += (x.Max.X - x.Min.X).Int() / squareSize * ((x.Max.Y - x.Min.Y).Int() / squareSize)
	}
	squares := 0
	for line := range strings.Lines(string(levelText)) {
		if line[0] != ';' {
			squares += strings.Count(line, "#") + strings.Count(line, "-")
		}
	}
	if area != squares {
		t.Errorf("walls cover %d squares, the file has %d", area, squares)
	}
}
