package reckon

import "tendon/systems"

// Track is what a remote entity is doing: one action at a time, which began at its record's stamp and is heard of later.
// It is shown from its beginning, faster, until it is where it would be had it been heard of at once.
//
// Invariant: it is shown at 1 or at 1.5 times its pace, never ahead of the truth and never backwards.
type Track struct {
	action uint8
	length systems.Time
	behind systems.Time // how late it was begun
	begun  systems.Time
	set    bool
}

// catchUp is the pace of an action that is behind, in halves.
const catchUp = 3

// Begin starts an action that lasts length and was begun age before now. One that would be over by now is dropped; it
// reports whether the action is shown. Length and age are in nanoseconds; a negative age counts as none.
func (t *Track) Begin(action uint8, length, age, now systems.Time) (shown bool) {
	if age = max(age, 0); age >= length {
		return false
	}
	*t = Track{action: action, length: length, behind: age, begun: now, set: true}
	return true
}

// At returns the action that is shown at now and how far it has come; ok is false if there is none any more.
func (t *Track) At(now systems.Time) (action uint8, progress systems.Time, ok bool) {
	elapsed := max(now-t.begun, 0)
	progress = min(elapsed*catchUp/2, elapsed+t.behind)
	if !t.set || progress >= t.length {
		return 0, 0, false
	}
	return t.action, progress, true
}

// Stop ends the action, if there is one.
func (t *Track) Stop() { *t = Track{} }
