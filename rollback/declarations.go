package rollback

import "tendon/ecs"

// declarationWatch finds the first write of a system that no query declared. It is the observer of one world.
type declarationWatch struct {
	world      *ecs.World
	saved      ecs.Snapshot
	found      bool
	system     string
	difference ecs.Difference
}

// Enter saves the world before a system. Writes before the first system are those of hooks that orders run.
func (d *declarationWatch) Enter(s ecs.Section) {
	if s == ecs.SectionSystems {
		d.compare("orders")
	}
	if s >= ecs.SectionSystems {
		d.world.Save(&d.saved)
	}
}

// Leave compares every page after a system.
func (d *declarationWatch) Leave(s ecs.Section) {
	if s >= ecs.SectionSystems {
		d.compare(d.world.Game().Systems[s-ecs.SectionSystems].Name)
	}
}

// Name does nothing: a SyncTest has no strategy.
func (d *declarationWatch) Name(ecs.Section, string, string) {}

// Turn does nothing.
func (d *declarationWatch) Turn(ecs.Tick) {}

func (d *declarationWatch) compare(name string) {
	if d.found {
		return
	}
	if difference, ok := d.world.UndeclaredWrite(); ok {
		d.found, d.system, d.difference = true, name, difference
	}
}
