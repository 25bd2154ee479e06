package predictor

import "tendon/systems"

// Half runs the systems of a client half over its context C, which embeds the Half.
type Half[C any] struct {
	Core
	schedule systems.Schedule[C]
	self     C
}

// Start sets the systems and the context that they run over. The half that embeds h calls it once.
func (h *Half[C]) Start(self C, list []systems.System[C]) {
	h.self, h.schedule = self, systems.NewSchedule(h.Config.Observer, h.Game, list)
}

// Receive gives a message of the server to the system that accepts its kind. Before the first state was loaded, every
// message is malformed.
func (h *Half[C]) Receive(ch systems.Channel, message []byte, now systems.Time) error {
	if h.Phase == Idle {
		return h.malformed
	}
	known, err := h.schedule.Receive(h.self, systems.Message{Channel: ch, Body: message, Now: now})
	if !known {
		return h.malformed
	}
	return err
}

// Frame runs the systems of phase Reconcile, which compute the ticks that are due.
func (h *Half[C]) Frame(now systems.Time) {
	if h.Phase == Idle {
		return
	}
	h.Now = now
	h.schedule.Run(systems.Reconcile, h.self)
}

// Send runs the systems of phase Send.
func (h *Half[C]) Send(now systems.Time, out systems.Outbox) {
	if h.Phase == Idle {
		return
	}
	h.Now, h.Out = now, out
	h.schedule.Run(systems.Send, h.self)
	h.Out = nil
}
