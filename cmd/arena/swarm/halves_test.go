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

// The halves of clients, each with a witness of what passes between it and its client. Each is of the half's own type,
// since tests and views ask halves for more than systems.Client has.
type (
	relaying struct {
		*relay.Client
		w *witness
	}
	stepping struct {
		*lockstep.Client
		w *witness
	}
	verifying struct {
		*verify.Client
		w *witness
	}
	predicting struct {
		*predict.Client
		w *witness
	}
	reckoning struct {
		*reckon.Client
		w *witness
	}
)

// with returns the half with a witness.
func with(w *witness, half systems.Client) systems.Client {
	w.half = half
	switch h := half.(type) {
	case *relay.Client:
		return &relaying{h, w}
	case *lockstep.Client:
		return &stepping{h, w}
	case *verify.Client:
		return &verifying{h, w}
	case *predict.Client:
		w.refused = func() uint64 { return h.Counts().Refused }
		return &predicting{h, w}
	case *reckon.Client:
		w.refused = func() uint64 { return h.Counts().Refused }
		return &reckoning{h, w}
	}
	panic("swarm: a half of a strategy that is not known here: give it a witness")
}

func (h *relaying) Load(now systems.Time, serverTick ecs.Tick, rtt systems.Time) {
	h.w.ear.loads(h.World().Tick())
	h.Client.Load(now, serverTick, rtt)
}

func (h *stepping) Load(now systems.Time, serverTick ecs.Tick, rtt systems.Time) {
	h.w.ear.loads(h.World().Tick())
	h.Client.Load(now, serverTick, rtt)
}

func (h *stepping) Frame(now systems.Time) {
	live := h.Live()
	h.Client.Frame(now)
	if !live {
		h.w.ear.caught = h.Stats().Confirmed
	}
}

func (h *verifying) Load(now systems.Time, serverTick ecs.Tick, rtt systems.Time) {
	h.w.ear.loads(h.World().Tick())
	h.Client.Load(now, serverTick, rtt)
}

func (h *predicting) Load(now systems.Time, serverTick ecs.Tick, rtt systems.Time) {
	h.w.ear.loads(h.World().Tick())
	h.Client.Load(now, serverTick, rtt)
}

func (h *predicting) SetInput(in ecs.InputBytes) { h.Client.SetInput(h.w.input(in)) }

func (h *predicting) Replica() (*image.Snapshot, bool) { return h.w.replica(h.Client.Replica()) }

func (h *predicting) Frame(now systems.Time) {
	if h.w.forgets() {
		h.Client.Forget()
	}
	h.Client.Frame(now)
}

func (h *predicting) Receive(ch systems.Channel, message []byte, now systems.Time) error {
	present := h.w.before()
	err := h.Client.Receive(ch, message, now)
	h.w.after(present)
	return err
}

func (h *reckoning) Load(now systems.Time, serverTick ecs.Tick, rtt systems.Time) {
	h.w.ear.loads(h.World().Tick())
	h.Client.Load(now, serverTick, rtt)
}

func (h *reckoning) SetInput(in ecs.InputBytes) { h.Client.SetInput(h.w.input(in)) }

func (h *reckoning) Replica() (*image.Snapshot, bool) { return h.w.replica(h.Client.Replica()) }

func (h *reckoning) Frame(now systems.Time) {
	if h.w.forgets() {
		h.Client.Forget()
	}
	h.Client.Frame(now)
}

// accuser is a server's half that says of a client what no honest half says: that it needs an image.
type accuser struct {
	systems.FullServer
	*run
}

func (a *accuser) Desynced(f func(systems.Peer)) {
	a.FullServer.Desynced(f)
	if a.accused == 0 {
		return
	}
	for _, p := range a.Room.AppendPeers(nil) {
		if p.Identity.ClientID == a.accused && p.State == "playing" {
			f(p.Peer)
			a.accused = 0
		}
	}
}
