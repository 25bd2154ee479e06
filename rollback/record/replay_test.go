package record

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/ecs/race"
	"tendon/rollback"
)

func TestVerifyComparesEveryChecksumAndImage(t *testing.T) {
	m := newMatch(t, 1)
	r := open(t, m.recording(1010).Bytes())
	if result, err := r.Verify(maxTick); err != nil || result != (Result{From: 0, To: 1010, Images: 10}) {
		t.Fatal(result, err)
	}
	if result, err := r.Verify(300); err != nil || result != (Result{From: 0, To: 300, Images: 3}) {
		t.Fatal(result, err)
	}
}

func TestASeekEndsWhereAStraightReplayDoes(t *testing.T) {
	m := newMatch(t, 6)
	r, random := open(t, m.recording(640).Bytes()), rand.New(rand.NewPCG(1, 1))
	ticks := []ecs.Tick{0, 1, 99, 199, 200, 201, 640}
	for range 30 {
		ticks = append(ticks, ecs.Tick(random.IntN(641)))
	}
	for _, f := range ticks {
		m.leads(r, f)
	}
	for _, f := range []ecs.Tick{641, 1 << 40} {
		if _, err := r.WorldAt(f); !errors.Is(err, ErrRange) {
			t.Error(err)
		}
	}
}

// In a recording of a match that went otherwise, the first tick that differs is named, and the field if an image of it
// exists.
func TestAPlantedDifferenceIsNamed(t *testing.T) {
	for _, planted := range []ecs.Tick{77, 200, 333} {
		m := newMatch(t, 7)
		m.change = func(w *ecs.World) {
			if w.Tick()+1 == planted {
				scores.Write(w).Gifts++
			}
		}
		r := open(t, m.recording(420).Bytes())
		result, err := r.Verify(maxTick)
		var report *rollback.DesyncReport
		if !errors.Is(err, ErrDiverged) || !errors.As(err, &report) || report.Tick != planted || result.To != planted-1 || len(report.Inputs) != 3 {
			t.Fatalf("planted in %d: %v, %+v", planted, err, result)
		}
		if planted == 200 {
			if d := report.Differences; len(d) != 1 || d[0].Component != "score" || d[0].Field != "Gifts" {
				t.Fatal(report)
			}
		} else if len(report.Differences) != 0 || report.Here == report.There {
			t.Fatal(report)
		}
		if _, err := r.WorldAt(planted); planted != 200 && (!errors.Is(err, ErrDiverged) || !strings.Contains(err.Error(), fmt.Sprintf("tick %d:", planted))) {
			t.Fatal(err)
		}
	}
	// The state before the first tick counts too: with another seed, Setup builds another one.
	m := newMatch(t, 8)
	h, to := header(9), &file{}
	w, err := NewWriter(to, game(), h)
	m.must(err)
	m.must(w.Image(&m.saved))
	m.must(w.End())
	var report *rollback.DesyncReport
	if _, err := open(t, to.Bytes()).Verify(maxTick); !errors.As(err, &report) || report.Tick != 0 || len(report.Differences) == 0 {
		t.Fatal(err)
	}
}

// The checksums of a journal prove a recovery. Those before the newest image prove nothing and are not compared.
func TestARecoveryThatDivergesIsRefusedWithTheTick(t *testing.T) {
	for _, planted := range []ecs.Tick{1, 40, 44, 45, 50} {
		m, to := newMatch(t, 9), &file{}
		w, err := NewWriter(to, game(), header(9))
		m.must(err)
		for f := ecs.Tick(1); f <= 60; f++ {
			tick := m.step()
			if f == planted {
				tick.Checksum++
			}
			if f%2 != 0 && f < 42 {
				tick.Checksum = 0
			}
			m.must(w.Tick(tick))
			if f == 45 {
				m.must(w.Image(&m.saved))
			}
		}
		m.must(w.Flush())
		_, err = open(t, to.Bytes()).WorldAt(60)
		if refused := planted >= 45; refused != errors.Is(err, ErrDiverged) || refused && !strings.Contains(err.Error(), fmt.Sprintf("tick %d:", planted)) {
			t.Fatalf("planted in %d: %v", planted, err)
		}
	}
	// Rules that changed while the build string did not.
	_, f := journal(t, 9, 100)
	other := game()
	other.Orders = ecs.Orders(gift.Do(func(w *ecs.World, p ecs.Player, _ ecs.Entity, _ [50]byte) { scores.Write(w).Gifts += 9 }))
	r, err := Open(f.Bytes(), other)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.WorldAt(100); !errors.Is(err, ErrDiverged) {
		t.Fatal(err)
	}
}

func TestAnImageOfAnotherMatchIsRefused(t *testing.T) {
	m, to := journal(t, 10, 30)
	foreign := newMatch(t, 11)
	for foreign.world.Tick() < 30 {
		foreign.step()
	}
	w := open(t, to.Bytes()).Resume(to)
	m.must(w.Image(&foreign.saved))
	m.must(w.Flush())
	if _, err := open(t, to.Bytes()).WorldAt(30); !errors.Is(err, ErrDiverged) {
		t.Fatal(err)
	}
}

func always(f ecs.Tick) (image.ViewStamp, bool) {
	return image.ViewStamp{Tick: max(f, 20) - ecs.Tick(1+f*5%19)}, f > 20
}

// A record can begin with an image and its past. Views of the first ticks then see what they saw in the match.
func TestARecordBeginsWithTheStatesThatItsViewsSaw(t *testing.T) {
	for _, stored := range []ecs.Tick{18, 30, 40} {
		m := newMatch(t, 9)
		m.view, m.stored = always, stored
		for range 40 {
			m.step()
		}
		r := open(t, m.recording(100).Bytes())
		if result, err := r.Verify(maxTick); err != nil || result.From != 40 || result.To != 140 {
			t.Errorf("with %d states: %+v, %v", stored, result, err)
		}
		w, err := r.WorldAt(40)
		m.must(err)
		for tick := range r.Play(w, maxTick) {
			var s image.Snapshot
			if w.Image().Save(&s); s.Checksum() != m.ticks[tick.Tick].Checksum {
				t.Fatalf("with %d states, tick %d differs", stored, tick.Tick)
			}
		}
		m.leads(r, 77)
	}
}

// A past that is damaged, or of other ticks, is an error of the replays that begin with it. Ticks can still be read.
func TestADamagedPastIsFound(t *testing.T) {
	m := newMatch(t, 9)
	m.view = always
	for range 40 {
		m.step()
	}
	past := m.before(20)
	whole := blobs(past)
	for name, damage := range map[string]struct {
		count int
		raw   []byte
	}{
		"no content":            {20, nil},
		"fewer states":          {21, whole},
		"more states":           {19, whole},
		"a cut state":           {20, whole[:len(whole)-1]},
		"bytes behind it":       {20, append(slices.Clone(whole), 0)},
		"states of other ticks": {19, blobs(past[:19])},
		"a tick is missing":     {19, blobs(slices.Delete(slices.Clone(past), 7, 8))},
		"no image":              {20, appendBlob(nil, "no image")},
		"no delta":              {2, appendBlob(blobs(past[18:19]), "no delta")},
	} {
		var to bytes.Buffer
		h := header(m.seed)
		h.Start = m.places[40]
		w, err := NewWriter(&to, game(), h)
		m.must(err)
		w.open = append(w.open, byte(kindPast), byte(damage.count))
		m.must(errors.Join(w.appendPacked(damage.raw), w.Image(&m.saved)))
		view := image.AppendViewStamp(nil, image.ViewStamp{Tick: 30})
		m.must(errors.Join(w.Tick(Tick{Tick: 41, Orders: []image.Order{{Kind: image.OrderView, Player: 2, Payload: view}}}), w.End()))
		r := open(t, to.Bytes())
		if _, err := r.WorldAt(41); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: WorldAt: %v", name, err)
		}
		if _, err := r.Verify(41); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: Verify: %v", name, err)
		}
		world, err := r.base(1)
		m.must(err)
		for range r.Play(world, 41) {
		}
		if world.Tick() != 41 {
			t.Errorf("%s: Play ends at tick %d", name, world.Tick())
		}
	}
}

// A short past cannot request any amount of memory.
func TestAPastHasABoundedNumberOfPages(t *testing.T) {
	m := newMatch(t, 9)
	m.view, m.stored = always, 18
	for range 40 {
		m.step()
	}
	r := open(t, m.recording(20).Bytes())
	w, err := r.WorldAt(60)
	m.must(err)
	defer func(most int) { maxPastPages = most }(maxPastPages)
	maxPastPages = w.Image().PageBytes() / 2
	if _, err := r.WorldAt(60); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "bytes of pages") {
		t.Error(err)
	}
}

// blobs returns the content of a past.
func blobs(states []*image.Snapshot) (b []byte) {
	for i, s := range states {
		if i == 0 {
			b = appendBlob(b, s.AppendImage(nil))
		} else {
			b = appendBlob(b, s.AppendDelta(nil, states[i-1]))
		}
	}
	return b
}

// A replay of a match with lag compensation has the same checksums: its world has the past.
func TestAReplayLooksBackAsTheServerDid(t *testing.T) {
	m := newMatch(t, 9)
	m.view = always
	r := open(t, m.recording(900).Bytes())
	if r.Reach() != 19 || len(r.Images()) < 4 {
		t.Fatalf("views reach back %d ticks, images of %v: the test proves nothing", r.Reach(), r.Images())
	}
	if result, err := r.Verify(maxTick); err != nil || result.To != 900 || result.Images != len(r.Images()) {
		t.Fatalf("%+v, %v", result, err)
	}
	blind := *r
	blind.reach = 0
	if _, err := blind.Verify(maxTick); !errors.Is(err, ErrDiverged) {
		t.Errorf("without the past: %v; the test proves nothing", err)
	}
}

// An image may lack a part of its past. If a view after it needs that, a seek or a recovery begins before it.
func TestASeekBeginsWhereNoViewLooksBehindIt(t *testing.T) {
	const keyframe = 400
	none := func(ecs.Tick) (image.ViewStamp, bool) { return image.ViewStamp{}, false }
	for name, c := range map[string]struct {
		start  ecs.Tick
		stored ecs.Tick // states before each image
		view   func(ecs.Tick) (image.ViewStamp, bool)
		begins map[ecs.Tick]ecs.Tick // a seek to the key simulates from the value
	}{
		"no views":            {0, 0, none, map[ecs.Tick]ecs.Tick{90: 0, 150: 100, 890: 800}},
		"views in every tick": {0, 0, always, map[ecs.Tick]ecs.Tick{150: 0, 401: 0, 420: 0, 890: 0}},
		"no view behind an image": {0, 0, func(f ecs.Tick) (image.ViewStamp, bool) {
			return image.ViewStamp{Tick: f - min(f, 10)}, f%100 > 10
		}, map[ecs.Tick]ecs.Tick{90: 0, 150: 100, 400: keyframe, 401: keyframe, 420: keyframe, 890: 800}},
		"one view behind an image": {0, 0, func(f ecs.Tick) (image.ViewStamp, bool) {
			return image.ViewStamp{Tick: keyframe - 1}, f == keyframe+5
		}, map[ecs.Tick]ecs.Tick{90: 0, 150: 100, 400: keyframe, 404: keyframe, 405: 300, 420: 300, 890: 800}},
		"the image itself is seen": {0, 0, func(f ecs.Tick) (image.ViewStamp, bool) {
			return image.ViewStamp{Tick: keyframe}, f == keyframe+5
		}, map[ecs.Tick]ecs.Tick{405: keyframe}},
		"a later start": {30, 0, func(f ecs.Tick) (image.ViewStamp, bool) {
			return image.ViewStamp{Tick: max(f-min(f, 19), 30)}, f > 30
		}, map[ecs.Tick]ecs.Tick{40: 30, 150: 30, 890: 30}},
		"views in every tick, with their past": {0, 18, always, map[ecs.Tick]ecs.Tick{90: 0, 150: 100, 401: keyframe, 420: keyframe, 890: 800}},
		"one state of the past is missing":     {0, 13, always, map[ecs.Tick]ecs.Tick{150: 0, 401: keyframe, 402: 300, 420: 300, 720: 700}},
		"a later start with the states before": {30, 18, always, map[ecs.Tick]ecs.Tick{40: 30, 150: 100, 890: 800}},
	} {
		m := newMatch(t, 9)
		m.view, m.stored = c.view, c.stored
		for range c.start {
			m.step()
		}
		r := open(t, m.recording(900).Bytes())
		for f, want := range c.begins {
			want += map[bool]ecs.Tick{true: c.start}[c.start > 0 && want != c.start] // images lie behind the start
			if w, err := r.base(r.baseOf(f)); err != nil || w.Tick() != want {
				t.Errorf("%s: to tick %d it simulates from %d, want %d: %v", name, f, w.Tick(), want, err)
			}
			m.leads(r, f)
		}
		if result, err := r.Verify(maxTick); err != nil || result.To != 900+c.start {
			t.Errorf("%s: %+v, %v", name, result, err)
		}
	}
}

// A file may claim any view. One that no world accepts allocates nothing.
func TestAViewBeyondAllBoundsRequestsNoPast(t *testing.T) {
	m := newMatch(t, 9)
	m.view = func(f ecs.Tick) (image.ViewStamp, bool) {
		return image.ViewStamp{Tick: map[bool]ecs.Tick{true: 1, false: 1 << 60}[f%2 == 0]}, f > 1030
	}
	r := open(t, m.recording(1100).Bytes())
	if r.Reach() != 0 {
		t.Errorf("the recording requests %d ticks of the past", r.Reach())
	}
	if _, err := r.Verify(maxTick); err != nil {
		t.Error(err)
	}
}

// historyOf adds a match to a history of so many ticks.
func historyOf(t testing.TB, n, size int) (*History, *match) {
	t.Helper()
	m := newMatch(t, 31)
	h := NewHistory(game(), header(31), size)
	for range n {
		h.Add(m.step(), m.world)
	}
	return h, m
}

// An operator sees the last seconds of a running match as they were. The match continues meanwhile, and the record does
// not change.
func TestARecordOfARunningMatchIsItsLastSecondsAsTheyWere(t *testing.T) {
	h, m := historyOf(t, 500, 200)
	r := h.Record()
	w, _ := ecs.NewWorld(game(), 0)
	for f := ecs.Tick(501); f < 900; f++ { // the history is overwritten
		h.Add(Tick{Tick: f, Inputs: make([]ecs.InputBytes, 3)}, w)
	}
	if r.Start() != 300 || r.Last().Tick != 500 || !r.Ended() || !slices.Equal(r.Images(), []ecs.Tick{300, 320}) {
		t.Errorf("the record is of [%d, %d], want [300, 500]: ten seconds from a state on", r.Start(), r.Last().Tick)
	}
	if result, err := r.Verify(maxTick); err != nil || result.To != 500 || result.Images != 2 {
		t.Errorf("%+v, %v", result, err)
	}
	m.leads(r, 450)
}

// A history that jumped, as a client's does with a resync, has nothing from before.
func TestAHistoryBeginsAgainWithATickThatDoesNotFollow(t *testing.T) {
	h, m := historyOf(t, 100, 40)
	if h.First() != 60 || h.Last() != 100 {
		t.Errorf("it has (%d, %d], want (60, 100]", h.First(), h.Last())
	}
	end := ImageOf(&m.saved)
	if h.Between(100, nil, Image{59, end.Bytes}) != nil {
		t.Error("a record begins with a tick that is overwritten")
	}
	if r := h.RecordTo(&m.saved); r == nil || r.Start() != 60 || !slices.Equal(r.Images(), []ecs.Tick{60, 100}) {
		t.Errorf("the record up to a state is %+v", r)
	}
	sum := func(f ecs.Tick) image.Checksum { return image.Checksum(f) }
	next := ecs.Tick(99)
	for tick := range h.Between(100, sum, Image{98, end.Bytes}, end).Ticks(0, maxTick) {
		if want := m.ticks[next]; tick.Checksum != sum(next) || !slices.Equal(tick.Inputs, want.Inputs) {
			t.Errorf("%+v, want %+v", tick, want)
		}
		next++
	}
	h.Add(Tick{Tick: 105}, nil)
	if h.First() != 104 || h.Last() != 105 || h.Record() != nil {
		t.Errorf("after a jump it has (%d, %d]", h.First(), h.Last())
	}
	if r := h.RecordTo(&m.saved); r == nil || r.Start() != 100 || r.Last().Tick != 100 {
		t.Errorf("a state that nothing leads to is %+v", r)
	}
	h.Add(Tick{Tick: 106, Inputs: make([]ecs.InputBytes, 1), Late: 3}, nil)
	r := h.Between(106, nil, Image{104, end.Bytes})
	if r.Start() != 104 || r.Last().Tick != 106 {
		t.Errorf("the record is of [%d, %d]", r.Start(), r.Last().Tick)
	}
	for tick := range r.Ticks(106, 106) {
		if tick.Late != 3 {
			t.Error(tick)
		}
	}
	// After a jump back, the ticks of before the jump are in memory, but not in the history.
	h, m = historyOf(t, 100, 40)
	end = ImageOf(&m.saved)
	h.Add(m.ticks[99], nil)
	for start, has := range map[ecs.Tick]bool{90: false, 97: false, 98: true} {
		if r := h.Between(99, nil, Image{start, end.Bytes}); (r != nil) != has {
			t.Errorf("after a jump to tick 98, a record from tick %d is %+v", start, r)
		}
	}
	if _, err := Collect(game(), header(1), []Image{{5, nil}, {5, nil}}, nil); !errors.Is(err, ErrUse) {
		t.Error("images that do not ascend:", err)
	}
	if _, err := Collect(game(), header(1), []Image{{5, nil}}, []Tick{{Tick: 7}}); !errors.Is(err, ErrUse) {
		t.Error("ticks with a gap:", err)
	}
}

// A history costs its room a copy of the inputs per tick, and no allocation.
func TestAFullHistoryAllocatesNothing(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	h, m := historyOf(t, 500, 60)
	tick := Tick{Tick: 500, Inputs: make([]ecs.InputBytes, 3), Orders: []image.Order{{Payload: []byte("buy")}}}
	step := func() {
		tick.Tick++
		m.world.Step(ecs.TickInputs{Players: tick.Inputs})
		h.Add(tick, m.world)
	}
	for range 200 {
		step()
	}
	if n := testing.AllocsPerRun(100, step); n != 0 {
		t.Errorf("%v allocations a tick", n)
	}
}
