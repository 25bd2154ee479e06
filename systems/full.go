package systems

import (
	"fmt"

	"tendon/ecs"
)

// FullServer is a Server with every capability. Those that the half lacks have no effect. Rooms, and wrappers of halves,
// use it instead of looking for capabilities themselves.
type FullServer struct {
	Server
	Historian
	Monitor
	Waiter
	Voter
}

// Full returns a half with every capability. A half without history can only serve State(Done), and adopts no tick.
func Full(s Server) FullServer {
	return FullServer{s, capability[Historian](s), capability[Monitor](s), capability[Waiter](s), capability[Voter](s)}
}

// capability returns a capability of a half, or one without effect.
func capability[T any](s Server) T {
	if c, ok := s.(T); ok {
		return c
	}
	return any(incapable{s}).(T)
}

// incapable implements the capabilities that a half lacks.
type incapable struct{ half Server }

func (i incapable) OldestServable() ecs.Tick { return i.half.Done() }
func (incapable) Adopt(t FinalTick) error {
	return fmt.Errorf("systems: tick %d cannot be adopted: the strategy keeps no history", t.Tick)
}
func (incapable) Desynced(func(Peer))          {}
func (incapable) PeerStats(Peer) (s PeerStats) { return s }
func (incapable) Hold(Time) bool               { return false }
func (incapable) Conclude()                    {}
