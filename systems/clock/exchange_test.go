package clock

import (
	"math/rand/v2"
	"testing"

	"tendon/systems"
)

const (
	ms   = systems.Second / 1000
	unit = 10 * ms // the wire unit of Cloud Wu's note
)

// line is a client, a server whose clock is ahead by offset and gains drift parts in a million, and the ways between
// them. Times are the client's.
type line struct {
	prober   *Prober
	answerer *Answerer
	offset   systems.Time
	ppm      systems.Time
	up, down func() systems.Time
	hold     func() systems.Time // delay of the server's answers
	mute     bool                // the client sends no pings
	stamps   bool                // both sides send a stamp each 100 ms
	queue    []parcel
	fired    struct{ client, server int }
	firedAt  systems.Time // of the last resync that a plain stamp caused
	sent     int
}

type parcel struct {
	at      systems.Time
	up      bool
	message []byte // nil: a stamp
	stamp   systems.Time
}

func always(t systems.Time) func() systems.Time { return func() systems.Time { return t } }

func newLine(up, down systems.Time) *line {
	p, a := NewProber(), NewAnswerer()
	return &line{prober: p, answerer: a, offset: 40 * systems.Second, up: always(up), down: always(down), hold: always(0)}
}

// server returns what the server's clock shows.
func (l *line) server(now systems.Time) systems.Time {
	return now + l.offset + now/1_000_000*l.ppm
}

// wrong returns by how much the client's estimate is off, in either direction.
func (l *line) wrong(now systems.Time) systems.Time {
	return l.prober.window.Estimate() - (l.server(now) - now)
}

// run plays from one time to another in steps of a millisecond; what arrives at t is processed before what is sent at t.
func (l *line) run(t testing.TB, from, to systems.Time, each func(now systems.Time)) {
	t.Helper()
	for now := from; now < to; now += ms {
		for i := 0; i < len(l.queue); i++ {
			if p := l.queue[i]; p.at <= now {
				l.queue = append(l.queue[:i], l.queue[i+1:]...)
				i--
				l.arrive(t, p, now)
			}
		}
		for !l.mute {
			m := l.prober.Append(nil, now)
			if len(m) == 0 {
				break
			}
			l.sent++
			l.queue = append(l.queue, parcel{at: now + l.up(), up: true, message: m})
		}
		if l.stamps && now%(100*ms) == 0 {
			l.queue = append(l.queue, parcel{at: now + l.up(), up: true, stamp: now}, parcel{at: now + l.down(), stamp: l.server(now)})
		}
		if each != nil {
			each(now)
		}
	}
}

func (l *line) arrive(t testing.TB, p parcel, now systems.Time) {
	t.Helper()
	rounded := systems.Time(units(p.stamp)) * unit
	switch {
	case p.message == nil && p.up:
		if l.answerer.Check(rounded, l.server(now)) {
			l.fired.server, l.firedAt = l.fired.server+1, now
		}
	case p.message == nil:
		if l.prober.Check(rounded, now) {
			l.fired.client, l.firedAt = l.fired.client+1, now
		}
	case p.up:
		if err := l.answerer.Receive(p.message, l.server(now)); err != nil {
			t.Fatal(err)
		}
	default:
		if err := l.prober.Receive(p.message, now); err != nil {
			t.Fatal(err)
		}
	}
	// The server answers when its hold is over, with a stamp of that moment.
	for held := l.hold(); p.up; {
		m := l.answerer.Append(nil, l.server(now+held))
		if len(m) == 0 {
			return
		}
		l.queue = append(l.queue, parcel{at: now + held + l.down(), message: m})
	}
}

// CW-CLK-1 and DR-04: up 20, down 20, t0 = 1000: t1 = 5020, t3 = 1040, round trip 40, offset 4000, error 0. After the third
// packet the server has a round trip of 40, too. One unit is 10 ms.
func TestCWCLK1DR04ASymmetricExchangeIsExact(t *testing.T) {
	l := newLine(20*unit, 20*unit)
	l.run(t, 1000*unit, 1061*unit, nil)
	if o := l.prober.window.Estimate(); o != 4000*unit || l.prober.LastRTT() != 40*unit {
		t.Errorf("client: offset %d, round trip %d units", o/unit, l.prober.LastRTT()/unit)
	}
	if o := l.answerer.window.Estimate(); o != -4000*unit || l.answerer.LastRTT() != 40*unit {
		t.Errorf("server: offset %d, round trip %d units", o/unit, l.answerer.LastRTT()/unit)
	}
	if at, ok := l.prober.ToRemote(1061 * unit); !ok || at != 5061*unit {
		t.Errorf("the server's clock shows %d", at/unit)
	}
}

// CW-CLK-2, CS-03 and DR-04: up 20, down 100: round trip 120, offset 3960, 40 too low. When the way down becomes 20, a stamp of
// 6000 arrives at 2020 and seems to be 20 from the future: the resync fires on that packet. After it the error is at
// most one unit.
func TestCWCLK2CS03DR04AnEstimateThatIsTooLowIsFoundByTheClient(t *testing.T) {
	l := newLine(20*unit, 100*unit)
	l.run(t, 1000*unit, 1990*unit, nil)
	o, uncertainty := l.prober.window.Estimate(), l.prober.window.uncertainty(1990*unit)
	if o != 3960*unit || l.prober.LastRTT() != 120*unit || uncertainty < 40*unit {
		t.Fatalf("offset %d ± %d, round trip %d units", o/unit, uncertainty/unit, l.prober.LastRTT()/unit)
	}
	l.down = always(20 * unit)
	if !l.prober.Check(6000*unit, 2020*unit) {
		t.Fatal("a stamp of 20 units from the future and no resync")
	}
	l.run(t, 2020*unit, 2300*unit, nil)
	if w := l.wrong(2300 * unit); max(w, -w) > unit {
		t.Errorf("%d ms off after the resync", w/ms)
	}
	if inUse := l.prober.Offset(4000*unit) - 4000*unit; max(inUse, -inUse) > ms {
		t.Errorf("the offset in use is off by %d ms", inUse/ms)
	}
}

// CW-CLK-4 and DR-04: the server holds the packet for 50 units: the round trip is still 40 and the offset 4000.
func TestCWCLK4DR04WhatTheServerHoldsAPacketForIsNoPartOfTheRoundTrip(t *testing.T) {
	l := newLine(20*unit, 20*unit)
	l.hold = always(50 * unit)
	l.run(t, 1000*unit, 1120*unit, nil)
	if o := l.prober.window.Estimate(); o != 4000*unit || l.prober.LastRTT() != 40*unit {
		t.Errorf("offset %d, round trip %d units", o/unit, l.prober.LastRTT()/unit)
	}
}

// CS-01: at profile P4, 125 ms each way, the error is at most one unit after the first exchange, whatever the phase of
// the two clocks' units.
func TestCS01TheFirstSymmetricExchangeIsExactToAUnit(t *testing.T) {
	for phase := range systems.Time(20) {
		l := newLine(125*ms, 125*ms)
		l.offset += phase * 777_777
		start := systems.Second + phase*1_234_567
		l.run(t, start, start+251*ms, nil)
		if w := l.wrong(start + 251*ms); !l.prober.Known() || max(w, -w) > unit {
			t.Errorf("phase %d: off by %d µs", phase, w/1000)
		}
	}
}

// middle returns the middle of a sample's bounds. Its error is half of the difference between the two delays.
func middle(s sample) systems.Time { return s.Low + (s.High-s.Low)/2 }

// CS-02: up 600 ms and down 200 ms: one sample is off by 200 ms, and its bounds contain the truth. So do the bounds of
// 10 000 random exchanges with random delays, rounding and times on the server.
func TestCS02TheBoundsOfASampleContainTheTruth(t *testing.T) {
	s, ok := newSample(0, 40*systems.Second+600*ms, 40*systems.Second+600*ms, 800*ms)
	if !ok || middle(s) != 40*systems.Second+200*ms || s.RTT != 800*ms || s.Low > 40*systems.Second || s.High < 40*systems.Second {
		t.Fatal(s, ok)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		offset := systems.Time(r.Int64N(int64(2000*systems.Second))) - 1000*systems.Second
		up, hold, down := systems.Time(r.Int64N(1e9)), systems.Time(r.Int64N(1e9)), systems.Time(r.Int64N(1e9))
		sent := systems.Time(r.Int64N(1e12))
		heard := sent + offset + up
		round := func(t systems.Time) systems.Time { return systems.Time(units(t)) * unit }
		s, ok := newSample(sent, round(heard), round(heard+hold), sent+up+hold+down)
		if !ok || s.Low > offset || s.High < offset {
			t.Fatalf("%d outside of [%d, %d]: up %d, hold %d, down %d", offset, s.Low, s.High, up, hold, down)
		}
		if off := middle(s) - offset - (up-down)/2; off > unit || off < -unit {
			t.Fatalf("off by %d beyond what the ways differ by", off)
		}
	}
}

// CS-04, the mirror of CS-03: up 60, down 20 make the estimate 20 too high, which the client cannot detect. When the way up
// becomes 10, the server measures a delay of −10 and requests the resync.
func TestCS04AnEstimateThatIsTooHighIsFoundByTheServer(t *testing.T) {
	l := newLine(60*unit, 20*unit)
	l.stamps = true
	l.run(t, 1000*unit, 3000*unit, nil)
	if w := l.wrong(3000 * unit); w != 20*unit {
		t.Fatalf("off by %d units", w/unit)
	}
	if l.fired.client+l.fired.server > 0 {
		t.Fatal("a resync although nothing changed")
	}
	l.up = always(10 * unit)
	l.run(t, 3000*unit, 3300*unit, nil)
	if l.fired.server != 1 || l.fired.client != 0 || l.firedAt != 3010*unit || l.prober.Stats().Resyncs != 1 {
		t.Errorf("%d resyncs by the server, %d by the client, the last at %d; the client began anew %d times",
			l.fired.server, l.fired.client, l.firedAt/unit, l.prober.Stats().Resyncs)
	}
	if w := l.wrong(3300 * unit); w != -5*unit {
		t.Errorf("off by %d units, and the ways differ by 10", w/unit)
	}
}

// CS-05: the server's clock gains 100 ppm. With a ping each second the error stays within 2 ms of the uncertainty for 10
// minutes. Without pings it is 60 ms at their end.
func TestCS05DriftIsFollowed(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	exp := func(mean systems.Time) systems.Time { return systems.Time(r.ExpFloat64() * float64(mean)) }
	l := newLine(0, 0)
	l.ppm = 100
	l.up = func() systems.Time { return 40*ms + exp(3*ms) }
	l.down = func() systems.Time { return 40*ms + exp(3*ms) }
	const end = 600 * systems.Second
	worst := systems.Time(0)
	l.run(t, 0, end, func(now systems.Time) {
		if now < systems.Second {
			return
		}
		w := l.wrong(now)
		u := l.prober.window.uncertainty(now)
		if worst = max(worst, w, -w); max(w, -w) > u+2*ms {
			t.Fatalf("at %d s: off by %d µs, uncertainty %d µs", now/systems.Second, w/1000, u/1000)
		}
	})
	if worst > 10*ms || l.prober.Stats().Resyncs > 0 || l.sent < 1100 {
		t.Errorf("off by up to %d µs, %d resyncs, %d messages sent", worst/1000, l.prober.Stats().Resyncs, l.sent)
	}
	alone := newLine(40*ms, 40*ms)
	alone.ppm = 100
	alone.run(t, 0, systems.Second, nil)
	alone.mute = true
	alone.run(t, systems.Second, end, nil)
	if w := alone.wrong(end); w > -59*ms || w < -61*ms {
		t.Errorf("without pings: off by %d ms, want 60", w/ms)
	}
}

// CS-06: the server pauses for 3 s in the middle of an exchange. A pause between its two stamps does not count for the round
// trip. A pause before the first stamp makes the bounds so wide that the estimate does not change.
func TestCS06APauseOfTheServerLeavesTheEstimateAlone(t *testing.T) {
	for _, late := range []bool{true, false} {
		l := newLine(30*ms, 30*ms)
		l.run(t, 0, 5*systems.Second, nil)
		before := l.prober.window.Estimate()
		samples := l.prober.Stats().Samples
		if late {
			l.hold = always(3 * systems.Second)
		} else {
			l.down = always(3*systems.Second + 30*ms) // it stamps at once and sends after the pause
		}
		l.run(t, 5*systems.Second, 9*systems.Second, nil)
		if l.prober.Stats().Samples == samples {
			t.Fatal("no exchange came through: the test shows nothing")
		}
		if o := l.prober.window.Estimate(); o-before > ms || before-o > ms || l.prober.Stats().Resyncs > 0 {
			t.Errorf("stamped late %v: the estimate moved by %d µs", late, (o-before)/1000)
		}
		if rtt := l.prober.LastRTT(); late && rtt != 60*ms || !late && rtt < 3*systems.Second {
			t.Errorf("stamped late %v: round trip %d ms", late, rtt/ms)
		}
	}
}

// DR-10: at a constant round trip there is no resync in 10 minutes, even if it is shorter than a unit. A client that joined
// over an asymmetric path restarts within two packets after the path becomes symmetric.
func TestDR10ResyncsComeWhenTheyMustAndOnlyThen(t *testing.T) {
	for _, way := range []systems.Time{0, ms, 7 * ms, 50 * ms} {
		l := newLine(way, way)
		l.offset += 3_700_000 // units of the two clocks are out of phase
		l.stamps = true
		r := rand.New(rand.NewPCG(8, uint64(way)))
		jitter := func() systems.Time { return way + systems.Time(r.Int64N(int64(way)/5+1)) }
		l.up, l.down = jitter, jitter
		l.run(t, 0, 600*systems.Second, nil)
		if n := l.prober.Stats().Resyncs + l.answerer.Stats().Resyncs; n > 0 || l.prober.Stats().Samples < 500 {
			t.Errorf("way %d ms: %d resyncs, %d samples", way/ms, n, l.prober.Stats().Samples)
		}
	}
	l := newLine(30*ms, 800*ms)
	l.stamps = true
	l.run(t, 0, 3*systems.Second, nil)
	l.down = always(30 * ms)
	l.run(t, 3*systems.Second, 5*systems.Second, nil)
	if l.fired.client != 1 || l.firedAt > 3*systems.Second+230*ms {
		t.Errorf("%d resyncs, the last %d ms after", l.fired.client, l.firedAt/ms-3000)
	}
}

// One packet of one or two units from the future is the clocks' granularity; two in a row, or one of three, are an
// error.
func TestASingleSmallNegativeDelayIsNoError(t *testing.T) {
	fresh := func() *line {
		l := newLine(20*unit, 20*unit)
		l.run(t, 0, 100*unit, nil)
		return l
	}
	const now = 100 * unit
	stamp := func(early systems.Time) systems.Time { return now + 4000*unit + early*unit }
	l := fresh()
	for range 10 {
		if l.prober.Check(stamp(2), now) || l.prober.Check(stamp(0), now) {
			t.Fatal("a resync for single packets of −2 units")
		}
	}
	if l.prober.Check(stamp(1), now) || !l.prober.Check(stamp(1), now) {
		t.Error("no resync for two packets of −1 unit in a row")
	}
	if l = fresh(); !l.prober.Check(stamp(3), now) {
		t.Error("no resync for one packet of −3 units")
	}
	if l.prober.Check(stamp(3), now) {
		t.Error("a resync before there is a new estimate")
	}
}

// The exchange sends 8 pings in its first 0.8 s and one per second after. A resync makes it quick again.
func TestTheScheduleIsQuickAtFirst(t *testing.T) {
	l := newLine(0, 0)
	pings := 0
	count := func(from, to systems.Time) int {
		pings = 0
		for now := from; now < to; now += ms {
			for m := l.prober.Append(nil, now); len(m) > 0; m = l.prober.Append(nil, now) {
				pings++
			}
		}
		return pings
	}
	if n := count(0, 800*ms); n != 8 {
		t.Errorf("%d questions in the first 0.8 s", n)
	}
	if n := count(800*ms, 10800*ms); n != 10 {
		t.Errorf("%d questions in the next 10 s", n)
	}
	if err := l.prober.Receive([]byte{KindRestart}, 11*systems.Second); err != nil {
		t.Fatal(err)
	}
	if n := count(11*systems.Second, 12*systems.Second); n < 8 || n > 9 {
		t.Errorf("%d questions in the second after a restart", n)
	}
	if n := count(-100*systems.Second, -99*systems.Second); n == 0 {
		t.Error("a clock that was set back silenced the exchange")
	}
}

// A step of the server's clock makes the bounds of old and new samples disjoint. The window restarts at once, and the
// estimate is right again.
func TestAStepOfAClockEmptiesTheIntersection(t *testing.T) {
	l := newLine(20*ms, 20*ms)
	l.run(t, 0, 5*systems.Second, nil)
	l.offset += 2 * systems.Second
	l.run(t, 5*systems.Second, 7*systems.Second, nil)
	if w := l.wrong(7 * systems.Second); max(w, -w) > unit || l.prober.Stats().Resyncs == 0 || l.answerer.Stats().Resyncs == 0 {
		t.Errorf("off by %d ms, %d and %d resyncs", w/ms, l.prober.Stats().Resyncs, l.answerer.Stats().Resyncs)
	}
	if inUse := l.prober.Offset(7 * systems.Second); inUse-l.offset > unit || l.offset-inUse > unit || l.prober.Stats().Steps != 1 {
		t.Errorf("offset in use off by %d ms, %d steps", (inUse-l.offset)/ms, l.prober.Stats().Steps)
	}
}

// An offset in use with an error of less than 100 ms moves by 1 % of the time. An error of less than 500 ms is halved per
// sample. A larger one jumps.
func TestTheOffsetInUseFollowsSlowly(t *testing.T) {
	for _, v := range []struct{ off, atOnce, afterSecond systems.Time }{
		{40 * ms, 0, 10 * ms}, {-40 * ms, 0, -10 * ms}, {99 * ms, 0, 10 * ms},
		{100 * ms, 50 * ms, 60 * ms}, {-400 * ms, -200 * ms, -210 * ms}, {501 * ms, 501 * ms, 501 * ms}, {5 * ms, 0, 5 * ms},
	} {
		var r Remote
		r.follow(0, 0)
		r.follow(v.off, systems.Second)
		if got := r.Offset(systems.Second); got != v.atOnce {
			t.Errorf("off by %d ms: moved by %d ms at once", v.off/ms, got/ms)
		}
		if got := r.Offset(2 * systems.Second); got != v.afterSecond {
			t.Errorf("off by %d ms: moved by %d ms after a second", v.off/ms, got/ms)
		}
		if got := r.Offset(60 * systems.Second); got != v.off {
			t.Errorf("off by %d ms: %d ms after a minute", v.off/ms, got/ms)
		}
		last := systems.Time(-1)
		for now := systems.Second; v.atOnce >= 0 && now < 12*systems.Second; now += ms {
			if at, _ := r.ToRemote(now); at <= last {
				t.Fatalf("off by %d ms: time stood still at %d", v.off/ms, now)
			} else {
				last = at
			}
		}
	}
}

// An answer counts once and only if its ping was sent. No message of a peer makes a side fail, and impossible times are no
// samples.
func TestAnAnswerCountsOnce(t *testing.T) {
	p := NewProber()
	a := NewAnswerer()
	ping := p.Append(nil, 0)
	if err := a.Receive(ping, 0); err != nil {
		t.Fatal(err)
	}
	pong := a.Append(nil, 0)
	made := message{kind: KindPong, number: 99}
	for range 3 {
		for _, m := range [][]byte{pong, made.append(nil)} {
			if err := p.Receive(m, 40*ms); err != nil {
				t.Fatal(err)
			}
		}
	}
	if s := p.Stats(); s.Samples != 1 || s.Rejected != 0 {
		t.Errorf("%+v", s)
	}
	ack := p.Append(nil, 40*ms)
	for range 3 {
		if err := a.Receive(ack, 80*ms); err != nil {
			t.Fatal(err)
		}
	}
	if s := a.Stats(); s.Samples != 1 {
		t.Errorf("%+v", s)
	}
	if p.Receive(ping, 0) != ErrMessage || a.Receive(pong, 0) != ErrMessage || a.Receive([]byte{KindRestart}, 0) != ErrMessage {
		t.Error("a message of the wrong direction was taken")
	}
	p.Append(nil, 1040*ms)
	lie := message{kind: KindPong, number: 2, at: -10 * systems.Second, held: 10 * systems.Second}
	if err := p.Receive(lie.append(nil), 1080*ms); err != nil || p.Stats().Rejected != 1 {
		t.Error("an answer that was held for longer than the exchange took:", err, p.Stats())
	}
	for range 1000 {
		if err := a.Receive(ping, 0); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	for m := a.Append(nil, 0); len(m) > 0; m = a.Append(nil, 0) {
		n++
	}
	if n > remembered {
		t.Errorf("%d answers to a flood are owed", n)
	}
}

// An exchange runs beside the game on every client; it must not allocate.
func TestAnExchangeAllocatesNothing(t *testing.T) {
	p := NewProber()
	a := NewAnswerer()
	buf := make([]byte, 0, maxMessage)
	now := systems.Time(0)
	if n := testing.AllocsPerRun(200, func() {
		for m := p.Append(buf, now); len(m) > 0; m = p.Append(buf, now) {
			a.Receive(m, now+20*ms)
		}
		for m := a.Append(buf, now+20*ms); len(m) > 0; m = a.Append(buf, now+20*ms) {
			p.Receive(m, now+40*ms)
		}
		for m := p.Append(buf, now+40*ms); len(m) > 0; m = p.Append(buf, now+40*ms) {
			a.Receive(m, now+60*ms)
		}
		now += systems.Second
	}); n > 0 {
		t.Errorf("%v allocations an exchange", n)
	}
	if p.Stats().Samples < 100 || a.Stats().Samples < 100 {
		t.Error("nothing was exchanged")
	}
}
