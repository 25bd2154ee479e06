package authority_test

import (
	"fmt"
	"slices"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/matchsim/halves"
	"tendon/rollback"
	"tendon/systems"
	"tendon/systems/lockstep"
	"tendon/systems/predict"
	"tendon/systems/reckon"
	"tendon/systems/relay"
	"tendon/systems/verify"
)

// A match that ends is decided once, in its tick. Under lockstep the players vote; without votes the server replays.
func TestEachServerDecidesAMatchThatEnded(t *testing.T) {
	for _, s := range []systems.Strategy{relay.Strategy, lockstep.Strategy, predict.Strategy, reckon.Strategy, verify.Strategy} {
		game := halves.Dots()
		game.Result = func(w *ecs.World) []byte {
			if w.Tick() == 5 {
				return []byte("won")
			}
			return nil
		}
		var decisions []string
		half, err := s.NewServer(systems.ServerConfig{World: halves.NewWorld(t, game, 1), Peers: 1, Decided: func(d systems.Decision) {
			decisions = append(decisions, fmt.Sprintf("%s after tick %d by %v", d.Result, d.Tick, d.How))
		}})
		if err != nil {
			t.Fatal(err)
		}
		server := systems.Full(half)
		for f := ecs.Tick(1); f <= 10; f++ {
			now := systems.TickTime(0, f, 60)
			server.Tick(now)
			server.Send(now, halves.Discard)
		}
		server.Conclude()
		how := systems.ByServer
		if s.Name == "lockstep" {
			how = systems.ByReplay
		}
		if want := []string{fmt.Sprintf("won after tick 5 by %v", how)}; !slices.Equal(decisions, want) {
			t.Errorf("%s: %q, want %q", s.Name, decisions, want)
		}
	}
}

// A tick without an input of the player repeats that of the tick before, also where the server only adopted that tick.
func TestEachServerRepeatsTheInputOfAnAdoptedTick(t *testing.T) {
	held := halves.PadInput.Pack(halves.Pad{DX: 1})
	for _, s := range []systems.Strategy{relay.Strategy, lockstep.Strategy, predict.Strategy, reckon.Strategy} {
		var last ecs.InputBytes
		half, err := s.NewServer(systems.ServerConfig{World: halves.NewWorld(t, halves.Dots(), 1), Peers: 1,
			Taken: func(f systems.FinalTick) { last = f.Inputs[0] }})
		if err != nil {
			t.Fatal(err)
		}
		server, inputs := systems.Full(half), make([]ecs.InputBytes, half.World().Game().MaxPlayers)
		for f := ecs.Tick(1); f <= 2; f++ {
			tick := systems.FinalTick{FinalTick: rollback.FinalTick{Tick: f, Inputs: inputs}}
			if f == 1 {
				tick.Orders = []image.Order{{Kind: image.OrderJoin}}
			} else {
				inputs[0] = held
			}
			if err := server.Adopt(tick); err != nil {
				t.Fatalf("%s: %v", s.Name, err)
			}
		}
		if server.Tick(systems.TickTime(0, 3, 60)); last != held {
			t.Errorf("%s: the input is %+v", s.Name, halves.PadInput.Unpack(last))
		}
	}
}

// A tick with an order that the game does not declare is forged: no server stamps one.
func TestEachServerRefusesToAdoptAnUndeclaredOrder(t *testing.T) {
	for _, s := range []systems.Strategy{relay.Strategy, lockstep.Strategy, predict.Strategy, reckon.Strategy, verify.Strategy} {
		game := halves.Dots()
		game.Orders = ecs.Orders(ecs.NewOrder[struct{ Gift, Wrapped bool }]("pay").Do(func(*ecs.World, ecs.Player, ecs.Entity, struct{ Gift, Wrapped bool }) {}))
		half, err := s.NewServer(systems.ServerConfig{World: halves.NewWorld(t, game, 1), Peers: 1})
		if err != nil {
			t.Fatal(err)
		}
		for payload, fine := range map[string]bool{"\x01": false, "": false, "\x00\x01\x01\x01": false, "\x00\x01\x00": false, "\x00\x02": false, "\x00": true, "\x00\x01": true, "\x00\x00\x01": true} {
			done := half.Done()
			tick := rollback.FinalTick{Tick: done + 1, Inputs: make([]ecs.InputBytes, game.MaxPlayers),
				Orders: []image.Order{{Kind: image.OrderGame, Payload: []byte(payload)}}}
			err := systems.Full(half).Adopt(systems.FinalTick{FinalTick: tick})
			if (err == nil) != fine || (half.Done() == done) == fine {
				t.Errorf("%s: an order %q: %v, tick %d after %d", s.Name, payload, err, half.Done(), done)
			}
		}
	}
}
