package predictor

import (
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback"
	"tendon/systems"
	"tendon/systems/internal/code"
)

type bang struct{ Tick uint32 }

// A predicted event is cancelled when its tick is announced and all events before that have arrived. The announcement
// may overtake them.
func TestPredictedEventIsCancelledWhenAllEventsHaveArrived(t *testing.T) {
	bangs := ecs.NewEvent[bang]("bang")
	w, err := ecs.NewWorld(&ecs.Game{Name: "events", TickRate: 60, MaxPlayers: 2, Input: ecs.NewInput[pad](), Events: ecs.Events(bangs),
		Systems: ecs.Systems(func(w *ecs.World) { bangs.Emit(w, ecs.Entity{}, bang{uint32(w.Tick())}) })}, 1)
	if err != nil {
		t.Fatal(err)
	}
	m := &Mirror[int]{effects: rollback.NewEffects(w.Image().Schema(), 8, 0)}
	m.world, m.malformed = w, errMalformed
	m.effects.Begin(0)
	m.effects.Predicted(3, []image.EmittedEvent{{Key: image.EventKey{Tick: 3, Ordinal: 5}}})
	var messages [][]byte
	for range 3 {
		w.Step(ecs.TickInputs{Players: make([]ecs.InputBytes, 2)})
		messages = append(messages, code.AppendEvents(nil, 9, image.AppendEvents(nil, w.Events(), nil)))
	}
	cancelled, confirmed := 0, 0
	drain := func() {
		m.effects.Drain(3, func(e ecs.Effect) {
			switch e.Status {
			case ecs.EffectCancelled:
				cancelled++
			case ecs.EffectConfirmed:
				confirmed++
			}
		})
	}
	m.SettleEvents(3, 1)
	if drain(); cancelled != 0 {
		t.Fatal("cancelled before the events arrived")
	}
	for _, message := range messages {
		for range 2 {
			if err := m.ReceiveEvents(systems.Message{Body: message}); err != nil {
				t.Error("events were refused")
			}
		}
	}
	if drain(); cancelled != 1 || confirmed != 3 {
		t.Errorf("%d cancelled, %d confirmed", cancelled, confirmed)
	}
	future := code.AppendEvents(nil, 9, image.AppendEvents(nil, []image.EmittedEvent{{Key: image.EventKey{Tick: FarAhead + 1}, Value: make([]byte, 4)}}, nil))
	for name, message := range map[string][]byte{"no events": {9}, "events of a future tick": future} {
		if m.ReceiveEvents(systems.Message{Body: message}) == nil {
			t.Errorf("%s: the message was accepted", name)
		}
	}
}
