package ecs

import (
	"cmp"
	"iter"
	"reflect"
	"slices"
	"unsafe"

	"github.com/yohamta/donburi"
	"github.com/yohamta/donburi/filter"
)

// Ordered returns the entries of w that match a donburi query, in the order of rows. The order is the same on every
// machine, so an existing donburi system is deterministic inside a tick. Entries that the game created itself, which
// only a view has, come last in donburi's order.
//
// The entries are those from before the walk. A system may despawn entities and add or remove components through w
// during the walk; the donburi world follows when the system has returned. Worlds on several goroutines may share
// the query. A walk sorts its entries: a Query of this package costs less.
func Ordered(w *World, query *donburi.Query) iter.Seq[*donburi.Entry] {
	return func(yield func(*donburi.Entry) bool) {
		b := w.bring()
		var entries []*donburi.Entry
		if n := len(b.buffers); n > 0 { // walks may be nested
			entries, b.buffers = b.buffers[n-1], b.buffers[:n-1]
		}
		entries = slices.AppendSeq(entries, entriesOf(b.donburi, filterOf(query)))
		slices.SortStableFunc(entries, func(x, y *donburi.Entry) int { return cmp.Compare(rowOrLast(x), rowOrLast(y)) })
		for _, entry := range entries {
			if !yield(entry) {
				break
			}
		}
		clear(entries)
		b.buffers = append(b.buffers, entries[:0])
	}
}

// rowOrLast returns the row of an entry's entity, or a value above every row for an entry without one.
func rowOrLast(entry *donburi.Entry) uint64 {
	if l := linkOf(entry); l != nil {
		return uint64(l.entity.Row)
	}
	return 1 << 32
}

// filterOf returns the filter of a query, which donburi sets once, keeps and does not export. The field is read through
// its address, because reflection does not return values of fields that are not exported.
func filterOf(q *donburi.Query) filter.LayoutFilter {
	field := reflect.ValueOf(q).Elem().FieldByName("filter")
	if !field.IsValid() || field.Type() != reflect.TypeFor[filter.LayoutFilter]() {
		panic("ecs: this version of donburi has queries without the field filter: use the version that go.mod names")
	}
	return *(*filter.LayoutFilter)(unsafe.Pointer(field.UnsafeAddr()))
}
