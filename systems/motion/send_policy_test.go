package motion

import (
	"testing"

	"tendon/ecs/fixed"
	"tendon/systems"
)

func sender(t testing.TB, c SendConfig) *SendPolicy {
	t.Helper()
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	return NewSendPolicy(c, &Rules{})
}

// sending is a record that was sent.
type sending struct {
	at     systems.Time
	why    Reason
	record Record
}

// walk runs a policy in ticks of 10 ms along a course of velocities, and returns the records that it sent.
func walk(s *SendPolicy, until systems.Time, course func(now systems.Time, r *Record)) (list []sending) {
	r := Record{}
	for now := systems.Time(0); now <= until; now += 10 * ms {
		r.Stamp = StampOf(now)
		course(now, &r)
		if why := s.Update(&r, now, 0); why != NotDue {
			list = append(list, sending{now, why, r})
			r.Flags = 0
		}
		r.Pos = r.Pos.Add(r.Vel.Scale(fixed.FromRatio(1, 100)))
	}
	return list
}

func turnAt(at systems.Time, before, after fixed.Vec3) func(systems.Time, *Record) {
	return func(now systems.Time, r *Record) {
		if r.Vel = before; now >= at {
			r.Vel = after
		}
	}
}

// CW-SEND and DR-03: speed 1 along x, a turn of 90° at 0.30 s, θ = 0.5. LookAhead sends at 0.30, where the deviation
// is 0.99. Instant sends at 0.66, where it is 0.36·√2 = 0.509. Without a turn both send at 1.00 exactly.
func TestCWSENDDR03BothReadings(t *testing.T) {
	east, north := vec("1", "0", "0"), vec("0", "1", "0")
	for _, v := range []struct {
		reading   Reading
		turn, at  systems.Time
		why       Reason
		deviation string
	}{
		{LookAhead, 300 * ms, 300 * ms, deviating, "0.99"}, {Instant, 300 * ms, 660 * ms, deviating, "0.509"},
		{LookAhead, 9 * sec, sec, periodic, "0"}, {Instant, 9 * sec, sec, periodic, "0"},
	} {
		s := sender(t, SendConfig{Reading: v.reading})
		course := turnAt(v.turn, east, north)
		deviation := fixed.Num(0)
		list := walk(s, 1100*ms, func(now systems.Time, r *Record) {
			if course(now, r); now == v.at {
				deviation = s.deviation(r, now)
			}
		})
		if len(list) < 2 || list[0].why != first || list[1].at != v.at || list[1].why != v.why || !near(deviation, num(v.deviation), fixed.One/200) {
			t.Errorf("reading %d, turn at %d ms: %d records, the second at %d ms for %d, deviation %v", v.reading, v.turn/ms, len(list), list[1].at/ms, list[1].why, deviation)
		}
		if turned := list[1].record.Flags&FlagTurn != 0; turned != (v.why == deviating) {
			t.Errorf("reading %d: the flag of a turn: %v", v.reading, turned)
		}
	}
}

// A stop is sent at once and repeated three times, as datagrams may be lost; then once a period.
func TestAStopIsSentAtOnceAndRepeated(t *testing.T) {
	s := sender(t, SendConfig{})
	list := walk(s, 3*sec, turnAt(550*ms, vec("0.1", "0", "0"), fixed.Vec3{})) // too slow for a deviation
	want := []struct {
		at  systems.Time
		why Reason
	}{{0, first}, {550, urgent}, {650, repeated}, {750, repeated}, {850, repeated}, {1850, periodic}, {2850, periodic}}
	for i, w := range want {
		if i >= len(list) || list[i].at != w.at*ms || list[i].why != w.why || (list[i].record.Flags&FlagStop != 0) != (i > 0) {
			t.Fatalf("%d: %+v", i, list)
		}
	}
	if len(list) != len(want) {
		t.Errorf("%d records", len(list))
	}
	// A stop is not repeated after the entity has moved.
	s = sender(t, SendConfig{})
	for _, r := range walk(s, 3*sec, func(now systems.Time, r *Record) {
		if r.Vel = vec("1", "0", "0"); now >= 500*ms && now < 600*ms {
			r.Vel = fixed.Vec3{}
		}
	}) {
		if r.at >= 600*ms && (r.record.Flags&FlagStop != 0 || r.why == repeated) {
			t.Errorf("at %d ms a stop or its repetition: %d", r.at/ms, r.why)
		}
	}
}

// A teleport, an action and a change of mode are sent at once, with the position.
func TestUrgentRecordsAreSentAtOnce(t *testing.T) {
	for name, change := range map[string]func(r *Record){
		"teleport": func(r *Record) { r.Flags |= FlagTeleport; r.Pos = vec("0.2", "0.1", "0") },
		"cast":     func(r *Record) { r.Flags |= FlagCast; r.Action = 3 },
		"jump":     func(r *Record) { r.Mode = Ballistic },
	} {
		s := sender(t, SendConfig{})
		list := walk(s, sec/2, func(now systems.Time, r *Record) {
			if r.Vel = vec("1", "0", "0"); now == 20*ms {
				change(r)
			}
		})
		if len(list) != 2 || list[1].at != 20*ms || list[1].why != urgent || list[1].record.Pos == (fixed.Vec3{}) {
			t.Errorf("%s: %+v", name, list)
		}
	}
}

// An entity at the highest point of a jump does not stand.
func TestTheTopOfAJumpIsNoStop(t *testing.T) {
	s := sender(t, SendConfig{})
	r := Record{Mode: Ballistic}
	if s.Update(&r, 0, 0); r.Flags != 0 {
		t.Errorf("flags %b", r.Flags)
	}
	for speed, flags := range map[fixed.Num]Flags{0: FlagStop, fixed.One: 0} {
		r = Record{Mode: Scripted, Speed: speed}
		if s.Update(&r, sec, 0); r.Flags != flags {
			t.Errorf("scripted at speed %v: flags %b", speed, r.Flags)
		}
	}
}

// An entity sends at most 10 records a second, and a burst. The last change is sent in the end.
func TestTheRateIsCapped(t *testing.T) {
	s := sender(t, SendConfig{})
	list := walk(s, 10*sec, func(now systems.Time, r *Record) { // stops and starts, jumps and casts in every tick
		r.Vel, r.Mode = vec("5", "0", "0"), Ground
		if r.Flags |= FlagCast; now/(10*ms)%2 == 0 {
			r.Vel, r.Mode = fixed.Vec3{}, Ballistic
		}
		if now > 9*sec {
			r.Vel, r.Mode, r.Flags = fixed.Vec3{}, Ground, r.Flags&^FlagCast
		}
	})
	busy := 0
	for _, l := range list {
		if l.at <= 9*sec {
			busy++
		}
	}
	if busy > 90+urgentBurst+1 || busy < 85 {
		t.Errorf("%d records in 9 s", busy)
	}
	if last := list[len(list)-1]; last.record.Flags != FlagStop || last.record.Mode != Ground {
		t.Errorf("the last record is %+v", last)
	}
	// Turns are not urgent: their records keep the interval from the first on.
	s = sender(t, SendConfig{})
	list = walk(s, sec, func(now systems.Time, r *Record) {
		if r.Vel = vec("5", "0", "0"); now/(10*ms)%2 == 0 {
			r.Vel = vec("0", "5", "0")
		}
	})
	for i := 1; i < len(list); i++ {
		if list[i].at-list[i-1].at < 100*ms {
			t.Fatalf("two turns within %d ms", (list[i].at-list[i-1].at)/ms)
		}
	}
	if len(list) < 8 {
		t.Errorf("%d turns sent", len(list))
	}
}

// With κ an entity that turns sends more often, between 10 times a second and once a period. On a straight line it
// sends less often again.
func TestThePeriodFollowsTheTurning(t *testing.T) {
	const far = 100 // a threshold that no deviation exceeds
	for _, v := range []struct {
		turn     string // radians per second
		atLeast  int    // records in 10 s
		atMost   int
		straight bool
	}{{"0", 10, 12, false}, {"0.5", 10, 12, false}, {"2", 35, 45, false}, {"50", 95, 101, false}, {"2", 15, 30, true}} {
		s := sender(t, SendConfig{Threshold: far * fixed.One, Turn: fixed.Half})
		heading := fixed.Num(0)
		list := walk(s, 10*sec, func(now systems.Time, r *Record) {
			if !v.straight || now < 2*sec {
				heading += num(v.turn) / 100
			}
			level := fixed.FromAngle(heading, fixed.One)
			r.Vel = fixed.Vec3{X: level.X, Y: level.Y}
		})
		if n := len(list); n < v.atLeast || n > v.atMost {
			t.Errorf("turning %s a second, straight after 2 s %v: %d records in 10 s", v.turn, v.straight, n)
		}
	}
}

// Beyond Near, the threshold grows with the distance of the nearest viewer.
func TestTheThresholdGrowsWithTheDistance(t *testing.T) {
	s := sender(t, SendConfig{Near: 20 * fixed.One})
	for distance, want := range map[string]string{"0": "0.5", "20": "0.5", "40": "1", "200": "5"} {
		if got := s.threshold(num(distance)); !near(got, num(want), tiny) {
			t.Errorf("at %s: %v", distance, got)
		}
	}
	turned := Record{Vel: vec("0", "1", "0")}
	for viewer, why := range map[fixed.Num]Reason{0: deviating, 100 * fixed.One: NotDue} {
		s.Reset()
		s.Update(&Record{Vel: vec("1", "0", "0")}, 0, viewer)
		if got := s.Update(&turned, 200*ms, viewer); got != why {
			t.Errorf("a turn seen from %v: %d", viewer, got)
		}
	}
}

// A policy still sends after the clock was set back. After Reset the first record is due.
func TestAPolicyStillSendsAfterTheClockWasSetBack(t *testing.T) {
	s := sender(t, SendConfig{})
	r := Record{Vel: vec("1", "0", "0")}
	if s.Update(&r, 100*sec, 0) != first || s.Update(&r, 100*sec, 0) != NotDue {
		t.Error("not begun")
	}
	if why := s.Update(&r, 50*sec, 0); why == NotDue {
		t.Error("no record after the clock was set back")
	}
	s.Reset()
	stands := Record{}
	if s.Update(&stands, 100*sec, 0) != first || s.Update(&stands, 50*sec, 0) == NotDue {
		t.Error("no record of a standing entity after the clock was set back")
	}
	s.Reset()
	if why := s.Update(&r, 50*sec, 0); why != first {
		t.Errorf("after a reset: %d", why)
	}
}

// An invalid SendConfig is an error.
func TestASenderConfigIsChecked(t *testing.T) {
	for i, c := range []SendConfig{{Reading: 2}, {Threshold: -1}, {Threshold: 1001 * fixed.One}, {Period: 1}, {Period: 6 * sec}, {Turn: -1}, {Near: -1}} {
		if c.Validate() == nil {
			t.Errorf("config %d was accepted", i)
		}
	}
}
