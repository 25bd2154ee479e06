package authority

import (
	"slices"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/systems"
)

type eventPad struct{ X int8 }

type bang struct{ Tick uint32 }

var bangs = ecs.NewEvent[bang]("bang")

// eventKind is what the messages begin with.
const eventKind = 9

// newEventWorld returns a world that emits a bang in two of three ticks.
func newEventWorld(t *testing.T) *ecs.World {
	w, err := ecs.NewWorld(&ecs.Game{Name: "events", TickRate: 60, MaxPlayers: 2, Input: ecs.NewInput[eventPad](), Events: ecs.Events(bangs),
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

// sent is an outbox that stores reliable messages.
type sent [][]byte

func (s *sent) Ready(systems.Peer) bool { return true }

func (s *sent) Room(systems.Peer) int { return 0 }

func (s *sent) Send(_ systems.Peer, ch systems.Channel, message []byte) {
	if ch == systems.Reliable {
		*s = append(*s, slices.Clone(message))
	}
}

// ticks returns the ticks whose events were sent.
func (s *sent) ticks(t *testing.T, g *ecs.Game) (list []ecs.Tick) {
	for _, message := range *s {
		events, err := g.Schema().ReadEvents(nil, message[1:])
		if err != nil || message[0] != eventKind {
			t.Fatal(err, message)
		}
		list = append(list, events[0].Key.Tick)
	}
	*s = nil
	return list
}

// A peer receives all stored events since the state that it holds, each tick's once. From the tick in which it was
// opened on it receives only those that pass its filter.
func TestPeerReceivesEachEventOnceThroughItsFilter(t *testing.T) {
	w, log := newEventWorld(t), eventLog{}
	var all, choosy peerEvents
	var scratch []byte
	var out sent
	send := func(s *peerEvents) []ecs.Tick {
		done := w.Tick()
		s.send(0, &log, done, eventKind, &scratch, &out)
		return out.ticks(t, w.Game())
	}
	step := func(n int) {
		for range n {
			w.Step(ecs.TickInputs{Players: make([]ecs.InputBytes, 2)})
			log.add(w.Tick(), w.Events(), nil)
			all.add(w.Tick(), w.Events())
			choosy.add(w.Tick(), w.Events())
		}
	}
	step(4)
	all.open(1, w.Tick(), nil)
	choosy.open(1, w.Tick(), func(e *image.EmittedEvent) bool { return e.Key.Tick%2 == 0 })
	if got := send(&all); !slices.Equal(got, []ecs.Tick{2, 4}) || all.Since(w.Tick()) != 1 {
		t.Errorf("%v from tick 2 to 4, the last %d ticks ago", got, all.Since(w.Tick()))
	}
	step(2)
	if got := send(&all); !slices.Equal(got, []ecs.Tick{5}) || all.Since(w.Tick()) != 2 {
		t.Errorf("%v in tick 5 and 6, the last %d ticks ago", got, all.Since(w.Tick()))
	}
	step(2)
	if got := send(&choosy); !slices.Equal(got, []ecs.Tick{2, 4, 8}) {
		t.Errorf("%v with a filter for even ticks after tick 4", got)
	}
	step(20)
	if all.open(28, 28, nil); len(send(&all)) != 0 || all.Since(28) != 0 {
		t.Error("a peer that was opened anew received events of the state that it holds")
	}
}

// A log keeps the events of the last ticks, and older ones while they are few.
func TestTheEventsOfALongTimeAreKept(t *testing.T) {
	w, log := newEventWorld(t), eventLog{}
	oldest := func() ecs.Tick {
		for f, events := range log.Between(0, w.Tick()) {
			if got, err := w.Game().Schema().ReadEvents(nil, events); err != nil || len(got) != 1 || got[0].Key.Tick != f {
				t.Fatalf("tick %d: %v, %v", f, got, err)
			}
			return f
		}
		return 0
	}
	for range 4 * eventTicks {
		w.Step(ecs.TickInputs{Players: make([]ecs.InputBytes, 2)})
		log.add(w.Tick(), w.Events(), nil)
	}
	if oldest() != 1 {
		t.Errorf("%d ticks with %d bytes of events are stored from tick %d on", w.Tick(), len(log.bytes), oldest())
	}
	for range eventBytes / 4 {
		w.Step(ecs.TickInputs{Players: make([]ecs.InputBytes, 2)})
		log.add(w.Tick(), w.Events(), nil)
	}
	if from, stored := oldest(), len(log.bytes)-log.start(log.first); from < 2*eventTicks || stored > eventBytes || stored < eventBytes/2 || cap(log.bytes) > 4*eventBytes {
		t.Errorf("%d bytes are stored, from tick %d of %d on, in %d", stored, from, w.Tick(), cap(log.bytes))
	}
	none := func(*image.EmittedEvent) bool { return false }
	for range maxKept {
		w.Step(ecs.TickInputs{Players: make([]ecs.InputBytes, 2)})
		log.add(w.Tick(), w.Events(), none)
	}
	if f := oldest(); f != 0 && f+maxKept < w.Tick() {
		t.Errorf("events of tick %d are stored in tick %d", f, w.Tick())
	}
}
