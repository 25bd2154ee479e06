package interest

import (
	"slices"
	"testing"

	"tendon/ecs/fixed"
)

// The two ways to read a set are one set, also of who is nowhere and of what was removed since the last Update.
func TestAppendSetIsTheSet(t *testing.T) {
	s, err := New(Config{Radius: fixed.FromInt(10), Rate: 10})
	if err != nil {
		t.Fatal(err)
	}
	s.Watch(1, fixed.Vec3{})
	for m := range 6 {
		s.Place(m, fixed.Vec3{X: fixed.FromInt(3 * m)})
	}
	s.Update()
	s.Remove(2)
	for w := -1; w < 4; w++ {
		got, want := s.AppendSet([]int{7}, w), append([]int{7}, slices.Collect(s.Set(w))...)
		if !slices.Equal(got, want) || w == 1 && !slices.Equal(got, []int{7, 0, 1, 3}) {
			t.Errorf("watcher %d: %v, the set is %v", w, got, want)
		}
	}
}
