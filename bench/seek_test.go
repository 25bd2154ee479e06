package bench

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"tendon/bench/internal/entities"
	"tendon/bench/internal/measure"
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback/record"
	"tendon/rollback/record/cursor"
)

const (
	seekEntities = 10_000
	seekSeconds  = 60
	seekRounds   = 60
)

// BenchmarkSeek measures seeks to random ticks of a recording.
func BenchmarkSeek(b *testing.B) {
	game := entities.Game(seekEntities, entities.Move)
	r := measure.Must(record.Open(recorded(b, game), game))
	var times []float64
	for b.Loop() {
		times = nil
		c := measure.Must(cursor.New(r, nil))
		dice := rand.New(rand.NewPCG(1, 1))
		for range seekRounds {
			f := ecs.Tick(dice.Uint64N(uint64(c.Last())))
			from := time.Now()
			if err := c.Seek(f); err != nil {
				b.Fatal(err)
			}
			times = append(times, float64(time.Since(from)))
		}
	}
	worst := slices.Max(times)
	measure.Row{
		What:      fmt.Sprintf("seek to a random tick of a recording of %s entities that all move", thousands(seekEntities)),
		Reference: "25 ms", Reach: 1, Note: fmt.Sprintf("at most %.0f ms", worst/1e6),
	}.Report(b, measure.Of(float64(25*time.Millisecond), times...))
}

// recorded returns a recording of a game that runs by itself.
func recorded(b *testing.B, game *ecs.Game) []byte {
	w := newWorld(game)
	var file bytes.Buffer
	writer := measure.Must(record.NewWriter(&file, game, record.HeaderOf(game, 1, "bench")))
	inputs := make([]ecs.InputBytes, game.MaxPlayers)
	var state image.Snapshot
	for range seekSeconds * game.TickRate {
		w.Step(ecs.TickInputs{Players: inputs})
		w.Image().Save(&state)
		err := writer.Tick(record.Tick{Tick: w.Tick(), Inputs: inputs, Checksum: state.Checksum()})
		if err == nil && writer.ImageDue(record.RecordingImages) {
			err = writer.Image(&state)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	if err := writer.End(); err != nil {
		b.Fatal(err)
	}
	return file.Bytes()
}
