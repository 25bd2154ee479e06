package image_test

import (
	"flag"
	"testing"

	"pgregory.net/rapid"

	"tendon/ecs/image"
	"tendon/ecs/race"
)

// Random histories are a fifth as many without TENDON_LONG, and under the race detector, where each takes ten times as long.
func init() {
	if race.Long {
		return
	}
	if err := flag.Set("rapid.checks", "20"); err != nil {
		panic(err)
	}
}

// drawRow returns a row near the begin of an owner's region, or at its end.
func drawRow(t *rapid.T) uint32 {
	i := rapid.OneOf(rapid.Uint32Range(0, 200), rapid.Just[uint32](image.RegionRows-1)).Draw(t, "row")
	return uint32(rapid.SampledFrom([]image.Owner{0, 1, 2, image.MaxPlayers}).Draw(t, "owner"))<<image.RegionShift | i
}

// For each row, the last call for the row or for its owner counts.
func TestRowSetFollowsTheLastCallForARow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s image.RowSet
		rows, whole := map[uint32]bool{}, map[image.Owner]bool{}
		has := func(row uint32) bool {
			if in, named := rows[row]; named {
				return in
			}
			return whole[image.Owner(row>>image.RegionShift)]
		}
		t.Repeat(map[string]func(*rapid.T){
			"add":    func(t *rapid.T) { row := drawRow(t); s.Add(row); rows[row] = true },
			"remove": func(t *rapid.T) { row := drawRow(t); s.Remove(row); rows[row] = false },
			"owner": func(t *rapid.T) {
				o := image.Owner(drawRow(t) >> image.RegionShift)
				s.AddOwner(o)
				whole[o] = true
				for row := range rows {
					if image.Owner(row>>image.RegionShift) == o {
						delete(rows, row)
					}
				}
			},
			"clear": func(t *rapid.T) {
				if rapid.IntRange(0, 9).Draw(t, "seldom") == 0 {
					s.Clear()
					clear(rows)
					clear(whole)
				}
			},
			"": func(t *rapid.T) {
				for range 20 {
					if row := drawRow(t); s.Has(row) != has(row) {
						t.Fatalf("Has(%x) is %t", row, s.Has(row))
					}
				}
				for _, o := range []image.Owner{0, 1, 2, image.MaxPlayers} {
					if s.HasOwner(o) != whole[o] {
						t.Fatalf("HasOwner(%d) is %t", o, s.HasOwner(o))
					}
				}
				checkOverlaps(t, &s)
			},
		})
	})
}

// checkOverlaps compares overlapOf with the rows of the set.
func checkOverlaps(t *rapid.T, s *image.RowSet) {
	o := image.Owner(drawRow(t) >> image.RegionShift)
	size := uint32(1) << rapid.IntRange(0, 9).Draw(t, "page")
	first := rapid.Uint32Range(0, 3).Draw(t, "first") * size
	n := uint32(0)
	for i := first; i < first+size; i++ {
		if s.Has(uint32(o)<<image.RegionShift | i) {
			n++
		}
	}
	if some, all := s.OverlapOf(o, first, first+size); some != (n > 0) || all != (n == size) {
		t.Fatalf("%d of rows [%d, %d) are in the set, overlapOf reports some: %t, all: %t", n, first, first+size, some, all)
	}
}

// Rows come from a wire. A row that no game has is ignored and must not panic.
func TestRowSetLeavesOutRowsOfNoOwner(t *testing.T) {
	var s image.RowSet
	for _, row := range []uint32{(image.MaxPlayers + 1) << image.RegionShift, ^uint32(0)} {
		s.Add(row)
		s.Remove(row)
		if s.Has(row) {
			t.Errorf("the set has row %x", row)
		}
	}
	s.AddOwner(image.MaxPlayers + 1)
	if s.AddOwner(255); s.HasOwner(image.MaxPlayers+1) || s.HasOwner(255) || s.Has(255<<image.RegionShift) {
		t.Error("the set has an owner that no game has")
	}
	var none *image.RowSet
	some, _ := none.OverlapOf(0, 0, 64)
	_, all := image.EveryRow().OverlapOf(image.MaxPlayers, 0, image.RegionRows)
	if none.Word(0, 0) != 0 || some || !all {
		t.Error("no set has rows, or the set of all lacks some")
	}
}
