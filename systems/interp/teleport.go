package interp

// teleports reports whether the entity jumped from the sample before i to sample i: the sample is flagged, or the speed would
// exceed twice the largest one. Nothing is shown between such two: the entity stays until the tick of the second. Only
// neighbours are compared, so a late sample between two may change the result.
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
