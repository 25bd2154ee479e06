package bench

import (
	"fmt"
	"testing"

	"tendon/bench/internal/measure"
	"tendon/cmd/arena/rules"
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback/record"
)

// proofTicks is the number of ticks in a repetition.
const proofTicks = 600

// proofMessage is the size of a Proof of the first day in a packet: the head of its part, kind, epoch, tick and proof.
const proofMessage = 2 + 1 + 1 + 3 + record.ProofBytes

// BenchmarkProof measures what a server with a journal spends on proving its ticks.
func BenchmarkProof(b *testing.B) {
	game := rules.Game()
	w := newWorld(game)
	codec, dice := record.NewCodec(game), image.NewRand(1)
	ticks, codes, proofs := make([]record.Tick, proofTicks), make([][]byte, proofTicks), 0
	at := record.PositionOf(w, 0)
	prover := record.NewProver(game, make([]byte, 32), 1, record.Digest{})
	for i := range ticks {
		t := record.Tick{Tick: ecs.Tick(i + 1), Inputs: make([]ecs.InputBytes, game.MaxPlayers)}
		if i == 0 {
			t.Orders = joins(8)
		}
		for p := range ecs.Player(8) {
			t.Inputs[p] = game.Bot(w, p, dice)
		}
		w.Step(ecs.TickInputs{Players: t.Inputs, Orders: t.Orders})
		codes[i] = codec.AppendTick(nil, at.Inputs, &t)
		if at.Advance(&t, codes[i]); prover.Add(t.Tick, codes[i]) {
			proofs++
		}
		ticks[i] = t
	}
	inputs, code := make([]ecs.InputBytes, game.MaxPlayers), []byte(nil)
	measure.Row{
		What:      "proving a tick of the arena with 8 bots to the next process of a server, with a proof every tenth of a second",
		Reference: "the code and the hash chain of the tick",
		Unit:      "tick",
		Note:      fmt.Sprintf("%d B/s to each peer", proofs*proofMessage*game.TickRate/proofTicks),
	}.Report(b, measure.Compare(b,
		measure.Op{Units: proofTicks, Run: func() {
			clear(inputs)
			at := record.Position{Inputs: inputs}
			for i := range ticks {
				code = codec.AppendTick(code[:0], at.Inputs, &ticks[i])
				at.Advance(&ticks[i], code)
			}
		}},
		measure.Op{Units: proofTicks, Run: func() {
			for i, code := range codes {
				if prover.Add(ecs.Tick(i+1), code) {
					prover.Proof()
				}
			}
		}}))
}
