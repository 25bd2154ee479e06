package rollback

import (
	"tendon/ecs"
	"tendon/ecs/image"
)

// declarationWatch finds the first write of a system that no query declared. It is the observer of one world.
type declarationWatch struct {
	world      *ecs.World
	saved      image.Snapshot
	found      bool
	system     string
	difference image.Difference
}

// Enter saves the world before a system. Writes before the first system are those of hooks that orders run.
func (d *declarationWatch) Enter(s image.Section) {
	if s == image.SectionSystems {
		d.compare("orders")
	}
	if s >= image.SectionSystems {
		d.world.Image().Save(&d.saved)
	}
}

// Leave compares every page after a system.
func (d *declarationWatch) Leave(s image.Section) {
	if s >= image.SectionSystems {
		d.compare(d.world.Game().Systems[s-image.SectionSystems].Name)
	}
}

func (d *declarationWatch) Name(image.Section, string, string) {}
func (d *declarationWatch) Turn(ecs.Tick)                      {}

func (d *declarationWatch) compare(name string) {
	if d.found {
		return
	}
	if difference, ok := d.world.Image().UndeclaredWrite(); ok {
		d.found, d.system, d.difference = true, name, difference
	}
}
