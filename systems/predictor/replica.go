package predictor

import (
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback"
	"tendon/systems/internal/events"
	"tendon/systems/state"
)

// Replica is the part of a client half that receives the server's state and events instead of computing them.
type Replica struct {
	Receiver *state.Receiver
	Effects  *rollback.Effects
	Tick     ecs.Tick // of the newest state received

	Refused int // bodies in a row that could not be used
	events  events.Receiver
	schema  *image.Schema
	altered uint64 // ticks with a substituted input, by the newest message
}

// MostRefused is the number of bodies in a row that cannot be used after which only an image helps.
const MostRefused = 40

// NewReplica returns the replica of a world. effectTicks is the number of ticks whose predicted events wait for the
// server's.
func NewReplica(w *ecs.World, effectTicks int) (r Replica, err error) {
	r.schema = w.Image().Schema()
	r.Effects = rollback.NewEffects(effectTicks)
	r.Receiver, err = state.NewReceiver(w)
	return r, err
}

// Begin starts from the state in the world, which is the server's.
func (r *Replica) Begin(f ecs.Tick) {
	r.Receiver.Load()
	r.Effects.Begin(f)
	r.events.Begin(f)
	r.Tick, r.Refused = f, 0
}

// Take makes the world the state that a body leads to. The error is state.ErrDelta for a malformed body. Any other error
// means that the body builds on something that is not held: the acknowledgement reports it. fresh is false, without an
// error, for a body that is not newer than the last one.
func (r *Replica) Take(body []byte) (fresh bool, err error) {
	err = r.Receiver.Receive(body)
	if err != nil {
		if err != state.ErrDelta {
			r.Refused++
		}
		return false, err
	}
	f := r.Receiver.Tick()
	if f == r.Tick {
		return false, nil
	}
	r.Tick, r.Refused = f, 0
	return true, nil
}

// NeedsImage reports whether so many bodies in a row could not be used that the server must send an image.
func (r *Replica) NeedsImage() bool { return r.Refused >= MostRefused }

// Complete reports whether the newest state contains everything that this client is to receive of its tick.
func (r *Replica) Complete() bool { return r.Receiver.Complete() }

// ReceiveEvents accepts the events of a tick, at most newest. ok is false for a malformed message.
func (r *Replica) ReceiveEvents(message []byte, kind uint8, newest ecs.Tick) (ok bool) {
	return r.events.Receive(message, kind, r.schema, newest, r.Effects)
}

// SettleEvents notes which events the server has sent up to tick f. since is the number of ticks from the newest event
// to f, plus 1, or 0 for none. A predicted event that the server did not send is cancelled once all others have arrived.
func (r *Replica) SettleEvents(f ecs.Tick, since uint64) { r.events.Announced(f, since, r.Effects) }

// Substituted takes the server's count of ticks in which another input than the player's was used, and returns how
// many are new. first says that the count is the first since a state was loaded.
func (r *Replica) Substituted(altered uint64, first bool) (fresh uint64) {
	if !first && altered > r.altered {
		fresh = altered - r.altered
	}
	r.altered = altered
	return fresh
}
