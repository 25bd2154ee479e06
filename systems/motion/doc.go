// Package motion holds motion records and the rules of dead reckoning: how a record is coded, extrapolated, sent and shown.
//
// A [Record] is the motion of an entity from a moment on. Its owner sends one when a [SendPolicy] finds that the others'
// extrapolation would be wrong. A server extrapolates it to its own present and forwards it. A receiver shows the entity
// as a [Remote]: the last record extrapolated by [Rules], with the visual error smoothed over a second. The design is
// Cloud Wu's development note 12. tendon/systems/reckon is the strategy that uses it.
//
//	if policy.Update(&record, now, 0) != motion.NotDue { // once a tick, on the owner
//		record.Append(&w)
//	}
//	record.Read(&r, near)                                  // on a receiver
//	remote.Receive(&config, record, now-record.Stamp.Time(), now)
//	m, ok := remote.Shown(&config, now)
//
// # Tasks
//
//   - code a record in under 10 bytes: [Record.Against], [Record.On], [Anchor]
//   - extrapolate it: [Rules.Predict], [Rules.Forward], [LimitAge]
//   - decide when to send: [SendPolicy], [SendConfig]
//   - show a remote entity: [Remote], [RemoteConfig], [Liveness]
//   - limit how far the records of a client can move an entity: [Guard], [GuardConfig]
package motion
