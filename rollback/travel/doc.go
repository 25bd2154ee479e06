// Package travel goes to any tick of a match and says what is there: the players' inputs, the orders, the events, every
// entity with every field, what a tick cost; one field over a range of ticks; and the first tick in which two matches
// differ, by component, entity and field.
//
// A [Traveller] goes over a [Source]: a recording, a [Clip] of a server that is running, or one side of a desync bundle
// (package bundle). It plays the match from the image before the tick that is asked for, at most five seconds of it, and
// keeps what it played, so that steps and scrubbing near by cost next to nothing. In ten minutes of eight bots in the
// arena, a jump to a random tick takes 5 ms of a processor in the median and 13 ms at worst, measured on two cores of a
// busy AMD EPYC; how long one waits for them depends on what else they do:
//
//	go test ./rollback/travel -run - -bench Seek -benchtime 300x
//
// It is not a page, a window or a file: it reads what it is given, on its caller's goroutine, and what it returns can be
// written as JSON. It knows no clock; ticks are measured by a [Meter] that has one.
//
//	to                                            use
//	open a match                                  New with a Config
//	go to a tick, one on, one back                Traveller.Seek, Step, Back
//	see what entered and happened in a tick       Traveller.Frame
//	see an entity with all its fields             Traveller.Entities, Entity; Resources
//	take a state from an image                    StateOf
//	draw the tick                                 Traveller.State, StateBefore with ecs.View
//	name an entity, find it by its name           EntityName, ParseEntity, Traveller.Find
//	know when an entity lived                     Traveller.Life, Lives
//	plot a field                                  Traveller.Series
//	compare two matches                           Compare, Differences
//	keep the last seconds of a running match      Ring, Ring.Clip
//
// # JSON
//
// [Frame], [Entity], [Component], [Series], [Life] and [Comparison] are written as their tags say. A value is
// {"path": "Pos.X", "text": "-2.5", "number": -2.5}: the field as desync reports name it, what fmt prints, and the same
// as a number, null where it is none. 64-bit integers are exact only in the text. Checksums are 16 hexadecimal digits.
// Entities are named as EntityName does.
package travel
