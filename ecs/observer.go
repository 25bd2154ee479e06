package ecs

// Section is a stretch of work whose cost can be measured: a phase of the engine, or a system.
type Section uint16

// The engine's phases; systems follow from SectionSystems in the order of Game.Systems.
const (
	SectionReceive Section = iota
	SectionReconcile
	SectionRestore
	SectionResimulate // everything inside is simulated again
	SectionSimulate
	SectionSave
	SectionChecksum
	SectionEncode
	SectionSend
	SectionPresent
	SectionSystems
)

// Observer is told when a section is entered and left. Sections nest. It is where clocks live: the simulation itself
// reads none. An observer must not touch the world.
type Observer interface {
	Enter(s Section)
	Leave(s Section)
}
