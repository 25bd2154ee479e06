package rules

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"flag"
	"fmt"
	"hash/fnv"
	"os"
	"runtime"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback"
	"tendon/rollback/record"
)

// A change of the rules changes both files. Run the tests with -update on amd64 then, and read the difference.
var update = flag.Bool("update", false, "write testdata anew; on amd64")

// goldenText has a line for each hundred ticks: the tick, its checksum, and a hash of the checksums of all ticks so far.
// It is embedded, since some targets' tests run without a file system.
//
//go:embed testdata/golden.txt
var goldenText string

// goldenRecording was made on amd64.
//
//go:embed testdata/amd64.tendon
var goldenRecording []byte

const goldenTicks = 1200

// rewinder runs the scripted match through a timeline that predicts up to rewindMost ticks before the inputs are confirmed.
// The local player gives inputs that the server never receives.
type rewinder struct {
	t        *testing.T
	timeline *rollback.Timeline
	world    *ecs.World
	tail     []image.Checksum        // of the confirmed ticks; index = tick
	foreseen map[ecs.Entity]struct{} // rockets launched in ticks that are predicted
	vanished int                     // rockets that were launched in a predicted tick only
	appeared int                     // and only when it was computed again
}

const (
	rewindMost    = 9
	goldenPlayers = 8
	misguided     = ecs.Player(3) // the local player
)

// predict computes up to tick f with wrong inputs and records the rockets that are launched.
func (r *rewinder) predict(f ecs.Tick) {
	for r.timeline.Present() < f {
		next := r.timeline.Present() + 1
		if !r.timeline.SetLocal(next, script(next, misguided+goldenPlayers)) {
			r.t.Fatal(next)
		}
		r.step()
		for e := range flying.All(r.world) {
			if e.Entity().Born == next {
				r.foreseen[e.Entity()] = struct{}{}
			}
		}
	}
}

// confirm gives the timeline the real inputs up to tick f and computes those ticks.
func (r *rewinder) confirm(f ecs.Tick) {
	inputs, before := make([]ecs.InputBytes, goldenPlayers), r.timeline.Received()
	for tick := r.timeline.Received() + 1; tick <= f; tick++ {
		orders := []image.Order(nil)
		if tick == 1 {
			orders = joins(goldenPlayers)
			for _, o := range orders {
				if err := r.timeline.AddOrder(tick, o); err != nil {
					r.t.Fatal(err)
				}
			}
		}
		for p := range inputs {
			inputs[p] = ecs.InputBytes{}
			if tick > 1 {
				inputs[p] = script(tick, ecs.Player(p))
			}
		}
		if err := r.timeline.Confirm(tick, inputs, 0, rollback.DigestOrders(orders)); err != nil {
			r.t.Fatal(err)
		}
	}
	r.timeline.Rewind(r.timeline.Present())
	for r.timeline.Present() < f {
		r.step()
	}
	for tick := ecs.Tick(len(r.tail)); tick <= r.timeline.Confirmed(); tick++ {
		s, ok := r.timeline.Snapshot(tick)
		if !ok {
			r.t.Fatalf("tick %d is confirmed and not in the ring", tick)
		}
		r.tail = append(r.tail, s.Checksum())
	}
	for e := range r.foreseen {
		if !r.world.Exists(e) {
			r.vanished++
		}
	}
	for e := range flying.All(r.world) {
		if _, known := r.foreseen[e.Entity()]; !known && e.Entity().Born > before {
			r.appeared++
		}
	}
	clear(r.foreseen)
}

func (r *rewinder) step() {
	if !r.timeline.Step() {
		r.t.Fatal("at the prediction limit")
	}
}

// The rules, the engine and the arithmetic give the same bits on every target, in every build and at every tick. Rewinds do
// not change them. Only a change of the rules may change the checksums.
func TestGoldenChecksumsOfEveryTickOfAMatchFullOfRewinds(t *testing.T) {
	w, err := ecs.NewWorld(Game(), 1)
	if err != nil {
		t.Fatal(err)
	}
	r := &rewinder{t: t, foreseen: map[ecs.Entity]struct{}{}}
	r.world = w
	r.timeline, err = rollback.New(rollback.Config{World: w, MaxPrediction: rewindMost, Local: int(misguided)})
	if err != nil {
		t.Fatal(err)
	}
	dice := image.NewRand(1)
	for f := ecs.Tick(0); f < goldenTicks; {
		f = min(f+1+ecs.Tick(dice.IntN(rewindMost)), goldenTicks)
		r.predict(f)
		r.confirm(f)
	}
	if len(r.tail) != goldenTicks+1 {
		t.Fatalf("%d ticks were confirmed, want %d", len(r.tail)-1, goldenTicks)
	}
	got := goldenLines(r.tail)
	if *update {
		writeTestdata(t, "golden.txt", []byte(got))
	} else if got != goldenText {
		t.Errorf("the checksums on %s are\n%swant\n%s", runtime.GOARCH, got, goldenText)
	}
	s := r.timeline.Stats
	t.Logf("%+v; in rewound ticks %d rockets vanished and %d appeared", s, r.vanished, r.appeared)
	if s.Rewinds < 200 || s.DeepestTick != rewindMost || s.WrongInputs < 1000 || r.vanished < 10 || r.appeared < 50 {
		t.Errorf("the test proves nothing: %+v; in rewound ticks %d rockets vanished and %d appeared", s, r.vanished, r.appeared)
	}
	distinct := map[image.Checksum]bool{}
	for _, sum := range r.tail {
		distinct[sum] = true
	}
	if len(distinct) != goldenTicks+1 {
		t.Errorf("%d ticks have %d checksums", goldenTicks+1, len(distinct))
	}
}

func goldenLines(sums []image.Checksum) string {
	var text bytes.Buffer
	running := fnv.New64a()
	for tick, sum := range sums {
		_ = binary.Write(running, binary.LittleEndian, uint64(sum)) // a hash takes everything
		if tick%100 == 0 {
			fmt.Fprintf(&text, "%d %016x %016x\n", tick, uint64(sum), running.Sum64())
		}
	}
	return text.String()
}

func writeTestdata(t *testing.T, name string, content []byte) {
	if runtime.GOARCH != "amd64" {
		t.Fatal("-update is for amd64, whose results the other targets are held to")
	}
	if err := os.WriteFile("testdata/"+name, content, 0o644); err != nil {
		t.Fatal(err)
	}
}

// A recording made on one target replays on another, tick by tick: here one of bots, in which players come, go and
// surrender. The bots of this target play the same match once more.
func TestRecordingOfAnotherTargetReplays(t *testing.T) {
	const ticks = goldenTicks
	g, own := Game(), playBots(t, ticks)
	if *update {
		goldenRecording = recordingOf(t, g, own)
		writeTestdata(t, "amd64.tendon", goldenRecording)
	}
	if len(goldenRecording) > 200<<10 {
		t.Errorf("the recording has %d bytes, more than a repository should hold", len(goldenRecording))
	}
	r, err := record.Open(goldenRecording, g)
	if err != nil {
		t.Fatal(err)
	}
	result, err := r.Verify(ticks)
	if err != nil {
		t.Fatalf("on %s: %v", runtime.GOARCH, err)
	}
	if result.From != 0 || result.To != ticks || result.Images < 2 {
		t.Fatalf("the recording proved too little: %+v", result)
	}
	orders := 0
	for e := range r.Ticks(1, ticks) {
		orders += len(e.Orders)
		if e.Checksum != own.sums[e.Tick] {
			t.Fatalf("tick %d of the bots' match on %s has checksum %#x, the recording %#x", e.Tick, runtime.GOARCH, own.sums[e.Tick], e.Checksum)
		}
	}
	if orders < 50 {
		t.Errorf("the recording has only %d orders", orders)
	}
}

// recordingOf replays a match into a recording.
func recordingOf(t *testing.T, g *ecs.Game, p played) []byte {
	var out bytes.Buffer
	to, err := record.NewWriter(&out, g, record.HeaderOf(g, playedSeed, "amd64"))
	if err != nil {
		t.Fatal(err)
	}
	w, err := ecs.NewWorld(g, playedSeed)
	if err != nil {
		t.Fatal(err)
	}
	var s image.Snapshot
	for tick := 1; tick < len(p.inputs); tick++ {
		in := p.inputs[tick]
		w.Step(in)
		inputs := make([]ecs.InputBytes, g.MaxPlayers)
		copy(inputs, in.Players)
		if err := to.Tick(record.Tick{Tick: ecs.Tick(tick), Inputs: inputs, Orders: in.Orders, Checksum: p.sums[tick]}); err != nil {
			t.Fatal(err)
		}
		if to.ImageDue(record.RecordingImages) {
			if w.Image().Save(&s); to.Image(&s) != nil {
				t.Fatal("the image cannot be stored")
			}
		}
	}
	if err := to.End(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
