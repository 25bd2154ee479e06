package ecs

import "tendon/ecs/image"

// Effect is one piece of news of an event for a view. A tick may be simulated many times; each event is told once as
// predicted and then once as confirmed or cancelled. An irreversible event is only ever confirmed.
//
// Event.Value is valid during the call that hands the effect over. Age is how many ticks ago it happened.
type Effect struct {
	Event  image.EmittedEvent
	Status EffectStatus
	First  bool // the first news of this event: a confirmed one with First set was not predicted here
	Age    Tick
}

// EffectStatus says what a view learns of an event.
type EffectStatus uint8

// The statuses of an effect.
const (
	EffectPredicted EffectStatus = iota // play it, it may be cancelled
	EffectConfirmed                     // it is final; one that was never predicted starts now
	EffectCancelled                     // it did not happen: fade it out
)

// String says it in a word.
func (s EffectStatus) String() string {
	return [...]string{"predicted", "confirmed", "cancelled"}[s]
}
