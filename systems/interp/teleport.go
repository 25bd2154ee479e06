package interp

// teleports reports whether the entity did not travel from the sample before i to sample i: it is flagged, or would have
// been faster than twice its largest speed. Nothing is shown between such two: the entity stays until the tick of the
// second and is there then. It is asked of neighbours only, so a late sample between two may answer it anew.
func (t *Track) teleports(i int) bool {
	from, to := t.at(i-1), t.at(i)
	if to.Flags&Teleported != 0 {
		return true
	}
	reach := 2 * t.config.MaxSpeed * t.seconds(float64(to.Tick-from.until))
	return t.config.MaxSpeed > 0 && to.Pos.Sub(from.Pos).Len() > reach
}

// TeleportedIn reports whether the entity teleports at a moment after from, up to and including to, in ticks.
func (t *Track) TeleportedIn(from, to float64) bool {
	for i := t.count - 1; i > 0 && float64(t.at(i).Tick) > from; i-- {
		if float64(t.at(i).Tick) <= to && t.teleports(i) {
			return true
		}
	}
	return false
}
