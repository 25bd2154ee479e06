package systems_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback"
	"tendon/systems"
)

// sections records what an observer receives.
type sections struct{ log []string }

func (s *sections) Enter(e image.Section) {
	s.log = append(s.log, fmt.Sprintf("enter %d", e-image.SectionSystems))
}
func (s *sections) Leave(e image.Section) {
	s.log = append(s.log, fmt.Sprintf("leave %d", e-image.SectionSystems))
}
func (s *sections) Turn(ecs.Tick) {}
func (s *sections) Name(e image.Section, phase, name string) {
	s.log = append(s.log, fmt.Sprintf("name %d %s/%s", e-image.SectionSystems, phase, name))
}

var errBad = errors.New("bad")

// note is a system that appends its name to the context.
func note(name string, p systems.Phase) systems.System[*[]string] {
	return systems.System[*[]string]{Name: name, Phase: p, Run: func(c *[]string) { *c = append(*c, name) }}
}

func TestASchedulesSystemsRunInTheOrderOfTheListAsSectionsOfTheirOwn(t *testing.T) {
	game := spotGame(ecs.Roles[spot]{})
	game.Systems = []ecs.System{{Name: "move", Run: func(*ecs.World) {}}}
	var o sections
	s := systems.NewSchedule(&o, game, []systems.System[*[]string]{note("views", systems.Send), note("inputs", systems.Reconcile), note("news", systems.Send)})
	if want := []string{"name 1 send/views", "name 2 reconcile/inputs", "name 3 send/news"}; !slices.Equal(o.log, want) {
		t.Errorf("%v, want %v", o.log, want)
	}
	o.log = nil
	var ran []string
	s.Run(systems.Send, &ran)
	s.Run(systems.Present, &ran)
	if want := []string{"views", "news"}; !slices.Equal(ran, want) {
		t.Errorf("%v, want %v", ran, want)
	}
	if want := []string{"enter 1", "leave 1", "enter 3", "leave 3"}; !slices.Equal(o.log, want) {
		t.Errorf("%v, want %v", o.log, want)
	}
}

func TestAMessageReachesTheSystemOfItsKindAndChannel(t *testing.T) {
	accept := func(name string, kind uint8, reliable bool, err error) systems.System[*[]string] {
		return systems.System[*[]string]{Name: name, Kind: kind, Reliable: reliable, Accept: func(c *[]string, m systems.Message) error {
			*c = append(*c, fmt.Sprint(name, m.Body))
			return err
		}}
	}
	s := systems.NewSchedule(nil, spotGame(ecs.Roles[spot]{}), []systems.System[*[]string]{accept("input", 1, false, nil), accept("order", 3, true, errBad)})
	for _, c := range []struct {
		channel systems.Channel
		body    []byte
		known   bool
		err     error
	}{
		{systems.Datagram, []byte{1, 9}, true, nil},
		{systems.Reliable, []byte{1}, true, nil},
		{systems.Reliable, []byte{3}, true, errBad},
		{systems.Datagram, []byte{3}, false, nil},
		{systems.Reliable, []byte{2}, false, nil},
		{systems.Reliable, nil, false, nil},
	} {
		var ran []string
		known, err := s.Receive(&ran, systems.Message{Channel: c.channel, Body: c.body})
		if known != c.known || err != c.err || len(ran) > 0 != known {
			t.Errorf("%+v: %v, %v, %v", c, known, err, ran)
		}
	}
}

func TestAListThatCannotRunPanics(t *testing.T) {
	accept := func(*[]string, systems.Message) error { return nil }
	for name, list := range map[string][]systems.System[*[]string]{
		"no name":     {note("", systems.Send)},
		"no function": {{Name: "inputs", Phase: systems.Reconcile}},
		"no receiver": {note("inputs", systems.Receive)},
		"both":        {{Name: "inputs", Accept: accept, Run: func(*[]string) {}}},
		"no phase":    {note("inputs", 9)},
		"one name":    {note("inputs", systems.Send), note("inputs", systems.Send)},
		"one kind":    {{Name: "a", Kind: 1, Accept: accept}, {Name: "b", Kind: 1, Accept: accept}},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			systems.NewSchedule(nil, spotGame(ecs.Roles[spot]{}), list)
		}()
	}
}

// bare is a half without capabilities.
type bare struct{ systems.Server }

func (bare) Done() ecs.Tick { return 7 }

func TestAHalfWithoutCapabilitiesIsServedWithoutThem(t *testing.T) {
	f := systems.Full(bare{})
	f.Desynced(func(systems.Peer) { t.Error("a peer needs an image") })
	f.Conclude()
	if f.Serves(6) || !f.Serves(7) || f.Hold(0) || f.PeerStats(0) != (systems.PeerStats{}) || f.Adopt(systems.FinalTick{FinalTick: rollback.FinalTick{Tick: 8}}) == nil {
		t.Error(f.Serves(6), f.Serves(7))
	}
}
