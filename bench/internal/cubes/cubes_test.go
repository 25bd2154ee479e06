package cubes

import "testing"

// The recording is like the article's: most cubes rest, some roll, and these come to rest again, on the floor and within
// the yard.
func TestSomeCubesRollAndMostRest(t *testing.T) {
	list := Record(Rolling, 900)
	total, most, rolled := 0, 0, map[int]bool{}
	for f := 6; f < len(list); f++ {
		n := Changed(&list[f-6], &list[f])
		total, most = total+n, max(most, n)
		for i := range list[f] {
			if list[f][i].Largest != list[f-6][i].Largest {
				rolled[i] = true
			}
			if at := list[f][i].At; at[2] < 0 || at[2] > 4*unit || max(at[0], at[1]) > 40*unit || min(at[0], at[1]) < -40*unit {
				t.Fatalf("frame %d: body %d is at %v", f, i, at)
			}
		}
	}
	mean := total / (len(list) - 6)
	t.Logf("%d changed a frame, at most %d; %d rolled over", mean, most, len(rolled))
	if mean < 40 || mean > 250 || len(rolled) < 30 {
		t.Errorf("%d changed a frame, %d rolled over", mean, len(rolled))
	}
}
