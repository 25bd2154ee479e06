package ecs

// Motion returns where e is in the state that s holds, and how fast it moves, as the first of its components with a
// Motion role has it; ok is false if e is not in the state or has no such component.
func (s *Snapshot) Motion(e Entity) (m Motion, ok bool) {
	if !ExistsAt(s, e) {
		return Motion{}, false
	}
	o, i := e.Owner(), e.Row%regionRows
	for n := range s.image.columns {
		if c := &s.image.columns[n]; c.info.roles.motion != nil && s.has(c, o, i) {
			return c.info.roles.motion(s.row(c, o, i)), true
		}
	}
	return Motion{}, false
}
