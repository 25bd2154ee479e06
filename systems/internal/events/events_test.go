package events

import (
	"slices"
	"testing"

	"tendon/ecs"
	"tendon/rollback"
	"tendon/systems"
)

type pad struct{ X int8 }

type bang struct{ Tick uint32 }

var bangs = ecs.NewEvent[bang]("bang")

// kind is what the messages begin with.
const kind = 9

// newWorld returns a world in whose ticks there is a bang, but for every third.
func newWorld(t *testing.T) *ecs.World {
	w, err := ecs.NewWorld(&ecs.Game{Name: "events", TickRate: 60, MaxPlayers: 2, Input: ecs.NewInput[pad](), Events: ecs.Events(bangs),
		Systems: ecs.Systems(func(w *ecs.World) {
			if w.Tick()%3 != 0 {
				bangs.Emit(w, ecs.Entity{}, bang{uint32(w.Tick())})
			}
		})}, 1)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// sent is an outbox that keeps what was sent.
type sent [][]byte

func (s *sent) Send(_ systems.Peer, ch systems.Channel, message []byte) {
	if ch == systems.Reliable {
		*s = append(*s, slices.Clone(message))
	}
}

// ticks returns whose events were sent.
func (s *sent) ticks(t *testing.T, g *ecs.Game) (list []ecs.Tick) {
	for _, message := range *s {
		events, err := g.ReadEvents(nil, message[1:])
		if err != nil || message[0] != kind {
			t.Fatal(err, message)
		}
		list = append(list, events[0].Key.Tick)
	}
	*s = nil
	return list
}

// A peer is told everything since the state that it holds, each tick's events once and of what is still kept; from when it
// was opened on, only what it minds.
func TestAPeerIsToldOnceOfWhatItMinds(t *testing.T) {
	w, log := newWorld(t), make(Log, 8)
	var all, choosy Hearer
	var scratch []byte
	var out sent
	send := func(h *Hearer) []ecs.Tick {
		done := w.Tick()
		h.Send(0, log, max(done, 7)-7, done, kind, &scratch, &out)
		return out.ticks(t, w.Game())
	}
	step := func(n int) {
		for range n {
			w.Step(ecs.TickInputs{Players: make([]ecs.InputBytes, 2)})
			log.Keep(w.Tick(), w)
			all.Keep(w.Tick(), w)
			choosy.Keep(w.Tick(), w)
		}
	}
	step(4)
	all.Open(log, 1, w.Tick(), nil)
	choosy.Open(log, 1, w.Tick(), func(e *ecs.EmittedEvent) bool { return e.Key.Tick%2 == 0 })
	if got := send(&all); !slices.Equal(got, []ecs.Tick{2, 4}) || all.Since(w.Tick()) != 1 {
		t.Errorf("%v from tick 2 to 4, the last %d ticks ago", got, all.Since(w.Tick()))
	}
	step(2)
	if got := send(&all); !slices.Equal(got, []ecs.Tick{5}) || all.Since(w.Tick()) != 2 {
		t.Errorf("%v in tick 5 and 6, the last %d ticks ago", got, all.Since(w.Tick()))
	}
	step(2)
	if got := send(&choosy); !slices.Equal(got, []ecs.Tick{2, 4, 8}) {
		t.Errorf("%v to one who minds even ticks after tick 4", got)
	}
	step(20)
	if got := send(&all); got[0] != 22 || len(got) != 5 {
		t.Errorf("%v of which the last 8 ticks are kept", got)
	}
	if all.Open(log, 28, 28, nil); len(send(&all)) != 0 || all.Since(28) != 0 {
		t.Error("one who was opened anew was told of what it holds")
	}
}

// What was predicted is cancelled when the server's word covers its tick and all events before that are here, not sooner:
// the word may overtake them.
func TestWhatDidNotHappenIsCancelledWhenAllEventsAreHere(t *testing.T) {
	w, log, effects := newWorld(t), make(Log, 8), rollback.NewEffects(8)
	var server Hearer
	var client Heard
	var scratch []byte
	var out sent
	server.Open(log, 0, 0, nil)
	effects.Begin(0)
	client.Begin(0)
	wrong := ecs.EmittedEvent{Key: ecs.EventKey{Tick: 3, Ordinal: 5}}
	effects.Predicted(3, []ecs.EmittedEvent{wrong})
	for range 3 {
		w.Step(ecs.TickInputs{Players: make([]ecs.InputBytes, 2)})
		log.Keep(w.Tick(), w)
	}
	server.Send(0, log, 0, 3, kind, &scratch, &out)
	cancelled, confirmed := 0, 0
	drain := func() {
		effects.Drain(3, func(e rollback.Effect) {
			switch e.Status {
			case ecs.EffectCancelled:
				cancelled++
			case ecs.EffectConfirmed:
				confirmed++
			}
		})
	}
	client.Due(3, server.Since(3), effects)
	if drain(); cancelled != 0 {
		t.Fatal("cancelled before the events came")
	}
	for i, message := range out {
		if client.Receive(message, kind, w.Game(), ecs.Tick(i), effects) {
			t.Error("events of a tick that cannot be were taken")
		}
		if !client.Receive(message, kind, w.Game(), 3, effects) || !client.Receive(message, kind, w.Game(), 3, effects) {
			t.Error("events were refused")
		}
	}
	if drain(); cancelled != 1 || confirmed != 2 {
		t.Errorf("%d cancelled, %d confirmed", cancelled, confirmed)
	}
	if client.Receive(out[0], kind+1, w.Game(), 3, effects) || client.Receive(nil, kind, w.Game(), 3, effects) {
		t.Error("what are no events was taken")
	}
}
