package swarm

import (
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/systems"
	"tendon/systems/lockstep"
	"tendon/systems/predict"
	"tendon/systems/reckon"
	"tendon/systems/relay"
	"tendon/systems/verify"
)

// The halves of clients, each with a monitor of its calls. Each embeds the half's own type, since tests and views use
// methods that systems.Client does not have.
type (
	relaying struct {
		*relay.Client
		w *monitor
	}
	stepping struct {
		*lockstep.Client
		w *monitor
	}
	verifying struct {
		*verify.Client
		w *monitor
	}
	predicting struct {
		*predict.Client
		w *monitor
	}
	reckoning struct {
		*reckon.Client
		w *monitor
	}
)

// with returns the half with a monitor.
func with(w *monitor, half systems.Client) systems.Client {
	w.half = half
	switch h := half.(type) {
	case *relay.Client:
		return &relaying{h, w}
	case *lockstep.Client:
		return &stepping{h, w}
	case *verify.Client:
		return &verifying{h, w}
	case *predict.Client:
		return &predicting{h, w}
	case *reckon.Client:
		return &reckoning{h, w}
	}
	panic("swarm: a half of a strategy that is not known here: give it a monitor")
}

func (h *relaying) Load(now systems.Time, serverTick ecs.Tick, rtt systems.Time) {
	h.w.effects.stateLoaded(h.World().Tick())
	h.Client.Load(now, serverTick, rtt)
}

func (h *stepping) Load(now systems.Time, serverTick ecs.Tick, rtt systems.Time) {
	h.w.effects.stateLoaded(h.World().Tick())
	h.Client.Load(now, serverTick, rtt)
}

func (h *stepping) Frame(now systems.Time) {
	live := h.Live()
	h.Client.Frame(now)
	if !live {
		h.w.effects.caught = h.Stats().Confirmed
	}
}

func (h *verifying) Load(now systems.Time, serverTick ecs.Tick, rtt systems.Time) {
	h.w.effects.stateLoaded(h.World().Tick())
	h.Client.Load(now, serverTick, rtt)
}

func (h *predicting) Load(now systems.Time, serverTick ecs.Tick, rtt systems.Time) {
	h.w.effects.stateLoaded(h.World().Tick())
	h.Client.Load(now, serverTick, rtt)
}

func (h *predicting) SetInput(in ecs.InputBytes) { h.Client.SetInput(h.w.input(in)) }

func (h *predicting) Replica() (*image.Snapshot, bool) { return h.w.replica(h.Client.Replica()) }

func (h *predicting) Receive(ch systems.Channel, message []byte, now systems.Time) error {
	present := h.w.before()
	err := h.Client.Receive(ch, message, now)
	h.w.after(present)
	return err
}

func (h *reckoning) Load(now systems.Time, serverTick ecs.Tick, rtt systems.Time) {
	h.w.effects.stateLoaded(h.World().Tick())
	h.Client.Load(now, serverTick, rtt)
}

func (h *reckoning) SetInput(in ecs.InputBytes) { h.Client.SetInput(h.w.input(in)) }

func (h *reckoning) Replica() (*image.Snapshot, bool) { return h.w.replica(h.Client.Replica()) }

// desyncReporter is a server's half that reports a desync of a client without a reason.
type desyncReporter struct {
	systems.FullServer
	*run
}

func (a *desyncReporter) Desynced(f func(systems.Peer)) {
	a.FullServer.Desynced(f)
	if a.desynced == 0 {
		return
	}
	for _, p := range a.Room.AppendPeers(nil) {
		if p.Identity.ClientID == a.desynced && p.State == "playing" {
			f(p.Peer)
			a.desynced = 0
		}
	}
}
