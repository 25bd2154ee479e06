package image

// Checksum is a hash of a state. It is the same on every target, and for every state there is one.
type Checksum uint64

// Checksum returns the checksum of the state that s holds. Pages that were hashed before, in s or in any snapshot
// that shares them, are not hashed again.
func (s *Snapshot) Checksum() Checksum {
	var total Checksum
	if s.image == nil {
		return total
	}
	SectionChecksum.Enter(s.image.observer)
	defer SectionChecksum.Leave(s.image.observer)
	for n, pg := range s.table {
		if pg != nil {
			total += Checksum(pg.checksum(s.image.live[n].salt))
		}
	}
	return total
}

// ComponentChecksums appends one checksum per component and resource, in the order of Columns, and returns the
// extended slice. Their sum is Checksum, so the ones that differ between two peers name the types that differ.
func (s *Snapshot) ComponentChecksums(dst []Checksum) []Checksum {
	from := len(dst)
	for range s.image.columns {
		dst = append(dst, 0)
	}
	for n, pg := range s.table {
		if pg != nil {
			p := &s.image.live[n]
			dst[from+p.store.info.column.index] += Checksum(pg.checksum(p.salt))
		}
	}
	return dst
}
