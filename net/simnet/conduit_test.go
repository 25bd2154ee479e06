package simnet

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

// conduitOf is one direction with the given path.
func conduitOf(seed uint64, p Path) *conduit {
	c := newConduit(seed, 1, 2)
	c.set(0, p, nil)
	return &c
}

// delays passes count packets, one each millisecond, and returns the delay of each first copy, or −1 for a lost packet.
func delays(c *conduit, count int) []time.Duration {
	all := make([]time.Duration, count)
	for i := range all {
		now := Time(i) * ms
		all[i] = -1
		if at := c.pass(now, 100, verdict{}); len(at) > 0 {
			all[i] = at[0] - now
		}
	}
	return all
}

func moments(sample []time.Duration) (mean, deviation float64) {
	for _, d := range sample {
		mean += float64(d)
	}
	mean /= float64(len(sample))
	for _, d := range sample {
		deviation += (float64(d) - mean) * (float64(d) - mean)
	}
	return mean, math.Sqrt(deviation / float64(len(sample)))
}

// share is the part of the sample in [low, high).
func share(sample []time.Duration, low, high time.Duration) float64 {
	n := 0
	for _, d := range sample {
		if d >= low && d < high {
			n++
		}
	}
	return float64(n) / float64(len(sample))
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.Abs(got-want) > tolerance {
		t.Errorf("%s is %v, want %v ± %v", what, got, want, tolerance)
	}
}

const packets = 200_000

// The tolerances are about four standard errors; the seed makes them exact.
func TestLossTakesItsShareAndNothingElse(t *testing.T) {
	for _, p := range []float64{0, 0.001, 0.05, 0.25, 1} {
		sample := delays(conduitOf(1, Path{Loss: p}), packets)
		near(t, "share of lost packets", share(sample, -1, 0), p, 4*math.Sqrt(p*(1-p)/packets))
	}
}

// iid loss comes in runs of mean 1/(1−p).
func TestLossIsIndependentFromPacketToPacket(t *testing.T) {
	lost, runs := lossRuns(delays(conduitOf(1, Path{Loss: 0.25}), packets))
	near(t, "mean run of losses", float64(lost)/float64(runs), 1/0.75, 0.01)
}

func lossRuns(sample []time.Duration) (lost, runs int) {
	for i, d := range sample {
		if d < 0 {
			lost++
			if i == 0 || sample[i-1] >= 0 {
				runs++
			}
		}
	}
	return lost, runs
}

// P8 in a hurry: one outage per 5 s of good time, of 250 ms in the mean.
func TestABurstInTimeHasItsRateAndItsLengthWhateverTheTraffic(t *testing.T) {
	p := Path{Burst: Burst{EnterPerSecond: 0.2, Stay: 250 * ms, Loss: 1}}
	sample := delays(conduitOf(1, p), 5*packets) // 1000 s
	lost, runs := lossRuns(sample)
	near(t, "outages in 1000 s", float64(runs), 1000/5.25, 45)
	near(t, "mean outage in ms", float64(lost)/float64(runs), 250, 60)

	// One packet a second meets the same outages as one a millisecond.
	sparse := conduitOf(1, p)
	for i := range 1000 {
		if got := len(sparse.pass(Time(i)*second, 100, verdict{})) > 0; got != (sample[i*1000] >= 0) {
			t.Fatalf("second %d: sparse traffic passed %v, dense traffic met %v", i, got, sample[i*1000])
		}
	}
}

func TestUniformJitterIsEvenAroundTheBaseDelay(t *testing.T) {
	sample := delays(conduitOf(1, Path{Delay: 50 * ms, Jitter: Jitter{Kind: Uniform, Size: 20 * ms}}), packets)
	mean, deviation := moments(sample)
	near(t, "mean", mean, 50e6, 0.11e6)
	near(t, "standard deviation", deviation, 20e6/math.Sqrt(3), 0.06e6)
	if low, high := slices.Min(sample), slices.Max(sample); low < 30*ms || low > 30*ms+ms/100 || high > 70*ms || high < 70*ms-ms/100 {
		t.Errorf("delays in [%v, %v], want nearly [30ms, 70ms]", low, high)
	}
}

func TestExponentialJitterHasItsMeanAndItsTail(t *testing.T) {
	sample := delays(conduitOf(1, Path{Delay: 100 * ms, Jitter: Jitter{Kind: Exponential, Size: 20 * ms}}), packets)
	mean, deviation := moments(sample)
	near(t, "mean", mean, 120e6, 0.2e6)
	near(t, "standard deviation", deviation, 20e6, 0.4e6)
	for _, x := range []float64{0.1, 0.5, 1, 1.5, 3, 5} {
		above := share(sample, 100*ms+time.Duration(x*20e6), maxDelay)
		near(t, "share beyond x means", above, math.Exp(-x), 4*math.Sqrt(math.Exp(-x)/packets))
	}
	if slices.Min(sample) < 100*ms {
		t.Error("a packet was faster than the base delay")
	}
}

func TestNormalJitterHasItsDeviationAndItsShape(t *testing.T) {
	sample := delays(conduitOf(1, Path{Delay: 100 * ms, Jitter: Jitter{Kind: Normal, Size: 10 * ms}}), packets)
	mean, deviation := moments(sample)
	near(t, "mean", mean, 100e6, 0.1e6)
	near(t, "standard deviation", deviation, 10e6, 0.07e6)
	for _, x := range []float64{0.5, 1, 2, 3} {
		within := share(sample, 100*ms-time.Duration(x*10e6), 100*ms+time.Duration(x*10e6))
		near(t, "share within x deviations", within, math.Erf(x/math.Sqrt2), 0.005)
	}
}

// A packet cannot arrive before it was sent.
func TestADelayBelowZeroIsCutOffAtZero(t *testing.T) {
	for _, kind := range []JitterKind{Uniform, Normal} {
		sample := delays(conduitOf(1, Path{Jitter: Jitter{Kind: kind, Size: 10 * ms}}), packets)
		if slices.Min(sample) != 0 {
			t.Errorf("kind %d: least delay %v, want 0", kind, slices.Min(sample))
		}
		near(t, "share of zero delays", share(sample, 0, 1), 0.5, 0.005)
	}
}

func TestARecordedTraceIsPlayedInTurnAndOver(t *testing.T) {
	trace, err := ReadTrace("# ms\n1.5\n\n 20 \n0\n")
	if err != nil {
		t.Fatal(err)
	}
	got := delays(conduitOf(1, Path{Delay: 10 * ms, Jitter: Jitter{Kind: Trace, Trace: trace}}), 5)
	want := []time.Duration{11*ms + ms/2, 30 * ms, 10 * ms, 11*ms + ms/2, 30 * ms}
	if !slices.Equal(got, want) {
		t.Errorf("delays %v, want %v", got, want)
	}
	for _, bad := range []string{"x", "-1", "NaN", "60001", "1 2"} {
		if _, err := ReadTrace("3\n" + bad); err == nil || !strings.Contains(err.Error(), "line 2") {
			t.Errorf("trace %q: error %v, want one that names line 2", bad, err)
		}
	}
}

func TestDuplicatesAndReorderedPacketsComeAtTheirRate(t *testing.T) {
	c := conduitOf(1, Path{Delay: 10 * ms, Duplicate: 0.2, Reorder: 0.1, ReorderDelay: 30 * ms})
	sample := delays(c, packets)
	near(t, "share of late packets", share(sample, 40*ms, 41*ms), 0.1, 0.003)
	near(t, "share of twins", float64(c.Counters.Duplicated)/packets, 0.2, 0.004)
	near(t, "share of counted late packets", float64(c.Counters.Reordered)/packets, 0.1, 0.003)
}

// Without the flag this jitter reorders a lot; with it, never, and the price is the delay of those behind.
func TestAnOrderedPathNeverReordersAndIsSlower(t *testing.T) {
	p := Path{Delay: 50 * ms, Jitter: Jitter{Kind: Exponential, Size: 20 * ms}, Duplicate: 0.1}
	backwards := func(sample []time.Duration) (n int) {
		for i := 1; i < len(sample); i++ {
			if sample[i]+ms < sample[i-1] { // arrival i before arrival i−1
				n++
			}
		}
		return n
	}
	free := delays(conduitOf(1, p), packets)
	p.Ordered = true
	ordered := delays(conduitOf(1, p), packets)
	freeMean, _ := moments(free)
	orderedMean, _ := moments(ordered)
	if backwards(free) < packets/10 || backwards(ordered) != 0 || orderedMean < freeMean+20e6 {
		t.Errorf("reordered %d without and %d with the flag; mean delay %v and %v ms", backwards(free), backwards(ordered), freeMean/1e6, orderedMean/1e6)
	}
}

// 100 bytes and 28 of headers at 12 800 B/s take 10 ms; 1280 bytes of queue hold ten such packets, and the eleventh
// falls off the tail.
func TestABandwidthSpacesPacketsAndDropsTheTail(t *testing.T) {
	c := conduitOf(1, Path{Delay: 5 * ms, Bandwidth: 12_800, QueueBytes: 1280})
	for i := range 10 {
		f := c.pass(0, 100, verdict{})
		if want := Time(i+1)*10*ms + 5*ms; len(f) != 1 || f[0] != want {
			t.Errorf("packet %d: %+v, want arrival at %v", i, f, want)
		}
	}
	if f := c.pass(0, 100, verdict{}); len(f) != 0 {
		t.Errorf("packet 10 found room: %+v", f)
	}
	if f := c.pass(10*ms, 100, verdict{}); len(f) != 1 || f[0] != 115*ms {
		t.Errorf("one packet later: %+v, want arrival at 115ms", f)
	}
	if f := c.pass(second, 100, verdict{}); len(f) != 1 || f[0] != 1015*ms {
		t.Errorf("on an idle link: %+v, want arrival at 1.015s", f)
	}
	if c.Counters.Tail != 1 {
		t.Errorf("%d packets fell off the tail, want 1", c.Counters.Tail)
	}
}

// reseed gives a conduit other luck on the same walk.
func (c *conduit) reseed(seed uint64) {
	c.seed, c.dice = seed, newDice(seed, streamDice)
	c.weather.reset(c.seed, c.walkSeed, &c.path)
}

// P7: the round trip stays in [200 ms, 2 s], moves by 300 ms a second at most, really wanders, and is the same both
// ways.
func TestTheWalkOfP7WandersInItsBoundsAndInStepBothWays(t *testing.T) {
	p := profile(t, "P7")
	up, down := newConduit(1, 1, 2), newConduit(1, 2, 1)
	up.set(0, p.Up, nil)
	down.set(0, p.Down, nil)
	up.reseed(99) // other luck, the same weather
	low, high := time.Hour, time.Duration(0)
	last := time.Duration(-1)
	for now := Time(0); now < 600*second; now += 100 * ms {
		rtt := up.weather.delay(&up.path.Walk, now) + down.weather.delay(&down.path.Walk, now)
		if rtt < 200*ms || rtt > 2*second {
			t.Fatalf("round trip %v at %v", rtt, now)
		}
		if last >= 0 && max(rtt-last, last-rtt) > 30*ms {
			t.Fatalf("round trip moved from %v to %v in 100 ms", last, rtt)
		}
		if one := up.weather.delay(&up.path.Walk, now); 2*one != rtt {
			t.Fatalf("up takes %v of a round trip of %v", one, rtt)
		}
		last, low, high = rtt, min(low, rtt), max(high, rtt)
	}
	if low > 400*ms || high < 1600*ms {
		t.Errorf("in ten minutes the round trip only saw [%v, %v]", low, high)
	}
}

// The table of the specification, checked against what packets meet.
func TestTheStandardProfilesAreThoseOfTheTable(t *testing.T) {
	table := []struct {
		name, title string
		up, down    time.Duration // base
		mean        time.Duration // of the jitter
		loss        float64
	}{
		{"P0", "ideal", 0, 0, 0, 0},
		{"P1", "LAN", 1 * ms, 1 * ms, 0, 0},
		{"P2", "good", 20 * ms, 20 * ms, 2 * ms, 0.001},
		{"P3", "typical", 50 * ms, 50 * ms, 5 * ms, 0.01},
		{"P4", "Gambetta", 125 * ms, 125 * ms, 0, 0},
		{"P5", "bad", 125 * ms, 125 * ms, 20 * ms, 0.05},
		{"P6", "asym", 200 * ms, 20 * ms, 5 * ms, 0.01},
		{"P8", "burst", 75 * ms, 75 * ms, 5 * ms, 0.00125},
		{"P9", "extreme", 1000 * ms, 1000 * ms, 20 * ms, 0.25},
		{"P12", "fading", 50 * ms, 50 * ms, 5 * ms, 0.065},
	}
	for _, want := range table {
		p, ok := ByName(want.name)
		if again, ok2 := ByName(strings.ToLower(want.title)); !ok || !ok2 || again.Name != p.Name || p.Title != want.title {
			t.Errorf("%s: found %v %q, by title %v %q", want.name, ok, p.Title, ok2, again.Name)
		}
		for _, way := range []struct {
			path Path
			base time.Duration
		}{{p.Up, want.up}, {p.Down, want.down}} {
			sample := delays(conduitOf(1, way.path), 20_000)
			if way.path.Burst.Loss > 0 { // too few outages for a share
				want.loss = share(sample, -1, 0)
			}
			near(t, want.name+" loss", share(sample, -1, 0), want.loss, 0.013)
			arrived := slices.DeleteFunc(sample, func(d time.Duration) bool { return d < 0 })
			mean, _ := moments(arrived)
			near(t, want.name+" mean delay", mean, float64(way.base+want.mean), float64(want.mean)/30+2e4)
		}
	}
	near(t, "P12 loss in 1000 s", share(delays(conduitOf(1, profile(t, "P12").Up), 5*packets), -1, 0), 0.065, 0.01)
	if _, ok := ByName("P13"); ok {
		t.Error("there is a P13")
	}
	for name, bandwidth := range map[string]int{"P10": 37_500, "P11": 125_000} {
		for _, p := range []Path{profile(t, name).Up, profile(t, name).Down} {
			if p.Bandwidth != bandwidth || p.QueueBytes != bandwidth || (p.Line == "") != (name == "P10") {
				t.Errorf("%s is %+v", name, p)
			}
		}
	}
	for _, p := range Profiles() {
		if err := p.Validate(); err != nil {
			t.Error(err)
		}
	}
	if b := profile(t, "P8").Up.Burst; b != (Burst{EnterPerSecond: 0.005, Stay: 250 * ms, Loss: 1}) {
		t.Errorf("P8 bursts are %+v", b)
	}
}

// The error must let a user of the command line find the field.
func TestAProfileOutOfRangeIsRefusedByTheNameOfTheField(t *testing.T) {
	for field, p := range map[string]Path{
		"Loss":                 {Loss: 1.1},
		"Duplicate":            {Duplicate: -0.1},
		"Reorder":              {Reorder: math.NaN()},
		"Delay":                {Delay: -1},
		"ReorderDelay":         {ReorderDelay: time.Hour},
		"Jitter.Size":          {Jitter: Jitter{Kind: Normal, Size: -1}},
		"Jitter.Kind":          {Jitter: Jitter{Kind: 9}},
		"Jitter.Trace":         {Jitter: Jitter{Kind: Trace}},
		"Jitter.Trace[1]":      {Jitter: Jitter{Kind: Trace, Trace: []time.Duration{0, -1}}},
		"Bandwidth":            {Bandwidth: -1},
		"Corrupt":              {Corrupt: math.NaN()},
		"MTU":                  {MTU: 67},
		"Cross.Bandwidth":      {Bandwidth: 1, Cross: Cross{On: second}},
		"Cross.On":             {Bandwidth: 1, Cross: Cross{Bandwidth: 1}},
		"Cross.Off":            {Bandwidth: 1, Cross: Cross{Bandwidth: 1, On: second, Off: -1}},
		"QueueBytes":           {QueueBytes: -1},
		"Walk.Min":             {Walk: Walk{Min: 5, Max: 5, StepPerSecond: 1}},
		"Walk.StepPerSecond":   {Walk: Walk{Max: 5}},
		"Burst.Stay":           {Burst: Burst{EnterPerSecond: 1, Loss: 1}},
		"Burst.Loss":           {Burst: Burst{EnterPerSecond: 1, Stay: second}},
		"Burst.EnterPerSecond": {Burst: Burst{EnterPerSecond: math.Inf(1), Stay: second, Loss: 1}},
	} {
		q := Profile{Name: "mine", Down: p}
		if err := q.Validate(); err == nil || !strings.Contains(err.Error(), "Down."+field+" ") {
			t.Errorf("%s: %v", field, err)
		}
	}
}

func TestTheQueuePopsInOrderOfTimeThenKey(t *testing.T) {
	d := newDice(1, 1)
	n := New(Config{})
	var want []event
	check := func() {
		slices.SortFunc(want, func(a, b event) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.key, b.key)) })
		if e := heap.Pop(&n.queue).(*event); e.at != want[0].at || e.key != want[0].key {
			t.Fatalf("popped %+v, want %+v", *e, want[0])
		}
		want = want[1:]
	}
	for range 2000 {
		e := event{at: Time(d.below(50)), key: d.below(1 << 40)}
		n.push(e.at, e.key, e)
		want = append(want, e)
		if d.below(3) == 0 { // pops between pushes
			check()
		}
	}
	for len(want) > 0 {
		check()
	}
}
