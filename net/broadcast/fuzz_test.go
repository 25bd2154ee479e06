package broadcast

import (
	"testing"
	"time"

	"tendon/net/wire/vectors"
)

// Any bytes of a server are refused or understood. They take memory in proportion to their number, and no reader panics. A viewer
// simulates fragments that are understood.
func FuzzFiles(f *testing.F) {
	to := newMemory()
	m := newMatch(f, 11, to, 0)
	m.views = true
	m.play(2 * fragmentTicks)
	m.writer.Close(true)()
	f.Add(to.files[IndexName], to.files["run-1/60.full"], to.files["run-1/60.ticks"])
	f.Add([]byte(`{"version":1,"run":"r","tick_rate":20,"fragment_ticks":60,"fragments":[60],"last":120}`), []byte{1, 0}, []byte{})
	g := game()
	f.Fuzz(func(t *testing.T, index, full, ticks []byte) {
		opened := false
		n := vectors.Allocated(func() {
			_, err := ParseIndex(index)
			_, err2 := openFull(full, g, 60)
			_, err3 := openTicks(ticks, g, 60)
			opened = err == nil && err2 == nil && err3 == nil
		})
		if size := uint64(len(index) + len(full) + len(ticks)); n > 256<<10+256*size {
			t.Fatalf("%d bytes allocated for %d", n, size)
		}
		if !opened {
			return
		}
		from := newMemory()
		from.files = map[string][]byte{IndexName: index}
		x, _ := ParseIndex(index)
		for _, first := range x.Fragments {
			from.files[x.FullName(first)], from.files[x.TicksName(first)] = full, ticks
		}
		v := watch(g, from)
		v.until(time.Second)
		for range 1000 {
			if stepped, err := v.Step(); err != nil || !stepped {
				break
			}
		}
	})
}
