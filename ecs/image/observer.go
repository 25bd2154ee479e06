package image

// Section is a stretch of work whose cost can be measured: a phase of the engine, or a system. Sections nest: a system
// runs inside SectionSimulate, and that, where a tick is computed again, inside SectionResimulate.
type Section uint16

// The engine's phases; systems follow from SectionSystems in the order of Game.Systems, and behind them those that Name
// announces.
const (
	SectionFrame      Section = iota // one Frame of a room or a client: all below but what it receives and shows
	SectionThink                     // a bot plays
	SectionOpen                      // a client unseals a packet; a server does that for all its rooms together
	SectionReceive                   // a message is taken, decoded and handed on
	SectionReconcile                 // what came is compared with what was predicted
	SectionRewind                    // the way back to before a mistake, the restore in it included
	SectionRestore                   // a state is copied back
	SectionResimulate                // ticks are computed again: what is inside is not new
	SectionSimulate                  // one tick: orders, systems, and what stands around them
	SectionSave                      // a state is kept
	SectionChecksum                  // a state is hashed
	SectionEncode                    // a strategy writes its messages
	SectionSend                      // the session and what lies under it take them
	SectionPresent                   // the view is brought up to the moment
	SectionSystems
)

// Observer is told when a section is entered and left. It is where clocks live: the simulation itself reads none. An
// observer must not touch the world.
type Observer interface {
	Enter(s Section)
	Leave(s Section)
	// Name announces a section behind the game's systems: a system of a sync strategy, and the phase in which it runs. A
	// section is named before it is entered first, and may be named again by another half of the same strategy.
	Name(s Section, phase, name string)
	// Turn ends a turn: what was entered and left since the last one belongs to one Frame of a room or a client, and to
	// what was received for it. f is the last tick computed or taken over. No section is open.
	Turn(f Tick)
}

// Enter tells an observer that the section is entered. nil: there is nobody to tell.
func (s Section) Enter(o Observer) {
	if o != nil {
		o.Enter(s)
	}
}

// Leave tells an observer that the section is left. nil: there is nobody to tell.
func (s Section) Leave(o Observer) {
	if o != nil {
		o.Leave(s)
	}
}
