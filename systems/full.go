package systems

import (
	"fmt"

	"tendon/ecs"
)

// FullServer is a Server with every capability. Those that the half lacks have no effect. Rooms, and wrappers of halves,
// use it instead of looking for capabilities themselves.
type FullServer struct {
	Server
	historian Historian
	monitor   Monitor
	waiter    Waiter
	voter     Voter
}

// Full returns a half with every capability.
func Full(s Server) FullServer {
	f := FullServer{Server: s}
	f.historian, _ = s.(Historian)
	f.monitor, _ = s.(Monitor)
	f.waiter, _ = s.(Waiter)
	f.voter, _ = s.(Voter)
	return f
}

// OldestServable returns the oldest tick whose state a peer may hold when it is opened: Done, for a half without history.
func (f FullServer) OldestServable() ecs.Tick {
	if f.historian == nil {
		return f.Done()
	}
	return f.historian.OldestServable()
}

// Adopt makes the next tick final as it is given. A half without history refuses every tick.
func (f FullServer) Adopt(t FinalTick) error {
	if f.historian == nil {
		return fmt.Errorf("systems: tick %d cannot be adopted: the strategy keeps no history", t.Tick)
	}
	return f.historian.Adopt(t)
}

// Desynced calls call for each peer that needs an image.
func (f FullServer) Desynced(call func(Peer)) {
	if f.monitor != nil {
		f.monitor.Desynced(call)
	}
}

// PeerStats returns the counters of an open peer, zero for a half without them.
func (f FullServer) PeerStats(p Peer) (s PeerStats) {
	if f.monitor != nil {
		s = f.monitor.PeerStats(p)
	}
	return s
}

// Hold reports whether the next tick has to wait.
func (f FullServer) Hold(now Time) bool { return f.waiter != nil && f.waiter.Hold(now) }

// Conclude decides the matches that are not decided yet.
func (f FullServer) Conclude() {
	if f.voter != nil {
		f.voter.Conclude()
	}
}
