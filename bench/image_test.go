package bench

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"tendon/bench/internal/entities"
	"tendon/bench/internal/measure"
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/session"
)

const (
	imageEntities = 100_000
	imageRounds   = 15
	imageBudget   = 64 << 10 // bytes that a room compresses in a tick
)

// BenchmarkImage measures the image of a large world that a room sends to a client that joins.
func BenchmarkImage(b *testing.B) {
	what := fmt.Sprintf("image of %s entities: ", thousands(imageEntities))
	w := entities.World(imageEntities, entities.Move)
	for range 20 {
		w.Step(ecs.TickInputs{})
	}
	var state image.Snapshot
	w.Image().Save(&state)
	b.Run("frame", func(b *testing.B) {
		var longest []float64
		ticks := 0
		for b.Loop() {
			longest = nil
			for range imageRounds {
				from := time.Now()
				im := session.NewImage(&state, 0, "relay", nil)
				most := time.Since(from)
				for ticks = 0; !im.Done(); ticks++ {
					from = time.Now()
					im.Work(imageBudget)
					most = max(most, time.Since(from))
				}
				longest = append(longest, float64(most))
			}
		}
		measure.Row{What: what + "the most that making it adds to a tick of the room", Reference: "a millisecond", Unit: "tick",
			Reach: 1, Note: fmt.Sprintf("%d ticks", ticks)}.Report(b, measure.Of(float64(time.Millisecond), longest...))
	})
	b.Run("packed", func(b *testing.B) {
		im := session.NewImage(&state, 0, "relay", nil)
		for !im.Done() {
			im.Work(imageBudget)
		}
		measure.Row{What: what + "its pieces, compressed", Reference: "1 MB", Reach: 1,
			Text: fmt.Sprintf("%.2f MB of %.1f", float64(im.Packed())/1e6, float64(len(state.AppendImage(nil)))/1e6)}.Report(b, measure.Of(1e6, float64(im.Packed())))
	})
	b.Run("load", func(b *testing.B) {
		encoded := state.AppendImage(nil)
		var times []float64
		for b.Loop() {
			times = nil
			for range imageRounds {
				v, received := entities.World(0, entities.Move), bytes.Clone(encoded)
				from := time.Now()
				if err := v.Image().LoadOwned(received); err != nil {
					b.Fatal(err)
				}
				times = append(times, float64(time.Since(from)))
			}
		}
		measure.Row{What: what + "loading it into a new world that keeps its bytes", Reference: "three milliseconds", Reach: 1,
			Missed: "half of it is page faults in new memory for the live state",
			Note:   fmt.Sprintf("%.1f MB", float64(len(encoded))/1e6)}.Report(b, measure.Of(float64(3*time.Millisecond), times...))
	})
}
