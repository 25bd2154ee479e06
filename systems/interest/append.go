package interest

// AppendSet appends what Set(w) iterates over and returns the extended slice: for who asks many times a second, since an
// iterator costs an allocation.
func (s *Sets) AppendSet(dst []int, w int) []int {
	if w < 0 || w >= len(s.watchers) {
		return dst
	}
	for _, m := range s.watchers[w].members {
		if !s.markers[m.marker].gone {
			dst = append(dst, int(m.marker))
		}
	}
	return dst
}
