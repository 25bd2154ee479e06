package ecs

import "tendon/ecs/image"

// Effect reports an event to a view. A tick may be simulated many times. A view receives each event once as
// predicted and once more as confirmed or cancelled, and an irreversible event only as confirmed.
//
// Event.Value is valid during the call that passes the effect. Age is the number of ticks since the event.
type Effect struct {
	Event  image.EmittedEvent
	Status EffectStatus
	First  bool // true for the first effect of this event: one that is confirmed and First was not predicted here
	Age    Tick
}

// EffectStatus is the certainty of an event.
type EffectStatus uint8

// The statuses of an effect.
const (
	EffectPredicted EffectStatus = iota // it may be cancelled
	EffectConfirmed                     // it is final; if it was not predicted, it starts now
	EffectCancelled                     // it did not happen: fade it out
)

// String returns the status as a word.
func (s EffectStatus) String() string {
	return [...]string{"predicted", "confirmed", "cancelled"}[s]
}
