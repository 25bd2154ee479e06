package clock

import (
	"math"
	"testing"

	"tendon/systems"
)

func TestPositionFollowsTheTimeAtThePace(t *testing.T) {
	p := NewPacer(5*systems.Second, 100, 60)
	for i := range 60 {
		p.Advance(5*systems.Second + systems.Time(i+1)*systems.Second/60)
	}
	if math.Abs(p.Position()-160) > 1e-6 || math.Abs(p.Gained()) > 1e-6 {
		t.Fatal(p.Position(), p.Gained())
	}
	p.Dilate(1.1)
	now := 6*systems.Second + systems.Second/10
	if at := p.At(now); math.Abs(at-166.6) > 1e-6 || math.Abs(p.Position()-160) > 1e-6 {
		t.Fatal("At", at, p.Position())
	}
	p.Advance(now)
	p.Shift(-2)
	if math.Abs(p.Position()-164.6) > 1e-6 || math.Abs(p.Gained()+1.4) > 1e-6 || p.Dilation() != 1.1 {
		t.Fatal(p.Position(), p.Gained())
	}
}

// A suspended program does not catch up, and a clock that is set back does not move the position back.
func TestAPauseCountsAQuarterSecondAndABackwardClockNothing(t *testing.T) {
	p := NewPacer(0, 0, 60)
	p.Advance(30 * systems.Second)
	if math.Abs(p.Position()-15) > 1e-9 {
		t.Fatal(p.Position())
	}
	p.Advance(10 * systems.Second)
	if math.Abs(p.Position()-15) > 1e-9 {
		t.Fatal(p.Position())
	}
	p.Advance(10*systems.Second + systems.Second/10)
	if math.Abs(p.Position()-21) > 1e-9 {
		t.Fatal(p.Position())
	}
}
