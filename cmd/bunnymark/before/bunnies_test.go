package before

import (
	"testing"

	"github.com/yohamta/donburi"
)

func TestBunniesStayInThePicture(t *testing.T) {
	w := donburi.NewWorld()
	Spawn(w, 100)
	for range 600 {
		Fall(w)
		Move(w)
	}
	n := 0
	for entry := range bunnies.Iter(w) {
		if p := Position.Get(entry); p.X < 0 || p.X > Width || p.Y > Height {
			t.Errorf("a bunny is at %+v", *p)
		}
		n++
	}
	if n != 100 {
		t.Errorf("%d bunnies", n)
	}
}
