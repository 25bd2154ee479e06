package state

import (
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
)

// The image of a large world is on its way for longer than values are kept. Most of such a world rests, and must not be
// sent once more.
func TestWhatHasNotChangedSinceAnOldImageIsNotSentAgain(t *testing.T) {
	w := newWorld(t, testGame(&scene{}))
	var list []ecs.Entity
	for range 400 {
		list = append(list, w.Spawn(ecs.OwnedByWorld, cBody, cLife))
	}
	rClock.Write(w).Left = 9
	w.Step(ecs.TickInputs{})
	changes, err := NewChanges(w.Game())
	if err != nil {
		t.Fatal(err)
	}
	server := observation{changes: changes}
	server.record(w)
	var old image.Snapshot
	w.Image().Save(&old)
	for range 3 * keptTicks {
		w.Step(ecs.TickInputs{})
		server.record(w)
	}
	w.Despawn(list[7])
	fresh := w.Spawn(ecs.OwnedByWorld, cBody, cLife)
	cLife.Put(w, list[3], tLife{Health: 5})
	w.Step(ecs.TickInputs{})
	server.record(w)

	replica := newWorld(t, w.Game())
	if err := replica.Image().Load(old.AppendImage(nil)); err != nil {
		t.Fatal(err)
	}
	sender := NewSender(changes)
	receiver, err := NewReceiver(replica)
	if err != nil {
		t.Fatal(err)
	}
	sender.Open(-1, &old)
	receiver.Load()
	delta := sender.Append(nil, 1100, changes.All)
	if err := receiver.Receive(delta); err != nil {
		t.Fatal(err)
	}
	if n := sender.Stats().Updates; n != 2 || len(delta) > 40 {
		t.Errorf("%d entities in %d bytes were sent again", n, len(delta))
	}
	if life, _ := cLife.Read(replica, list[3]); life.Health != 5 || !replica.Exists(fresh) || replica.Exists(list[7]) {
		t.Error("what changed since is not there")
	}
}
