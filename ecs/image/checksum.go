package image

// Checksum is a hash of a state, the same on every target.
type Checksum uint64

// Checksum returns the checksum of the state, 0 for an empty snapshot. A page is hashed once, also if several
// snapshots share it.
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

// ComponentChecksums appends one checksum per column, in the order of Schema.Columns, and returns the extended
// slice. Their sum is Checksum: the checksums that differ between two peers name the columns that differ.
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
