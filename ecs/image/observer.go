package image

// Section is a part of the work whose cost can be measured: a phase of the engine, or a system. Sections nest: a system
// runs inside SectionSimulate, and a resimulated tick inside SectionResimulate.
type Section uint16

// The engine's phases. The game's systems follow from SectionSystems in the order of Game.Systems, and after them the
// sections that Name announces.
const (
	SectionFrame      Section = iota // one Frame of a room or a client, without receiving and presenting
	SectionThink                     // a bot computes its input
	SectionOpen                      // a client unseals a packet; a server does that for all its rooms together
	SectionReceive                   // a message is decoded and processed
	SectionRewind                    // the rewind before a resimulation, including the restore
	SectionRestore                   // a state is copied back
	SectionResimulate                // ticks are simulated again
	SectionSimulate                  // one tick: orders, systems, and the work around them
	SectionSave                      // a state is saved
	SectionChecksum                  // a state is hashed
	SectionEncode                    // a strategy encodes its messages
	SectionSend                      // the session and the layers below it send messages
	SectionPresent                   // the view is updated
	SectionSystems
)

// Observer receives the start and end of sections. Clocks are read here: the simulation itself reads none. An observer must
// not change the world.
type Observer interface {
	Enter(s Section)
	Leave(s Section)
	// Name announces a section after the game's systems: a system of a sync strategy, and the phase in which it runs. A
	// section is named before its first Enter. Another half of the same strategy may name it again.
	Name(s Section, phase, name string)
	// Turn ends a turn: the sections since the last Turn belong to one Frame of a room or a client, and to the messages
	// received for it. f is the last tick computed or received. No section is open.
	Turn(f Tick)
}

// Enter reports the start of the section to o, which may be nil.
func (s Section) Enter(o Observer) {
	if o != nil {
		o.Enter(s)
	}
}

// Leave reports the end of the section to o, which may be nil.
func (s Section) Leave(o Observer) {
	if o != nil {
		o.Leave(s)
	}
}
