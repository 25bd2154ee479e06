package image_test

import (
	"slices"
	"testing"
	"unsafe"

	"pgregory.net/rapid"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/ecs/internal/sample"
)

type tList = ecs.List[sample.Item, [4]sample.Item]

func listBytes(l *tList) string {
	return string(unsafe.Slice((*byte)(unsafe.Pointer(l)), unsafe.Sizeof(*l)))
}

// A List behaves like a bounded slice under the same calls, and equal lists are equal byte for byte whatever they
// held before.
func TestListBehavesLikeABoundedSlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l tList
		var model []sample.Item
		item := rapid.Custom(func(t *rapid.T) sample.Item {
			return sample.Item{Kind: rapid.Uint16Range(0, 3).Draw(t, "kind"), Count: rapid.Uint32Range(0, 3).Draw(t, "count")}
		})
		t.Repeat(map[string]func(*rapid.T){
			"append": func(t *rapid.T) {
				v := item.Draw(t, "item")
				if ok := l.Append(v); ok != (len(model) < 4) {
					t.Fatalf("Append to %d of 4 reports %t", len(model), ok)
				}
				if len(model) < 4 {
					model = append(model, v)
				}
			},
			"remove": func(t *rapid.T) {
				if len(model) > 0 {
					i := rapid.IntRange(0, len(model)-1).Draw(t, "i")
					l.RemoveAt(i)
					model = slices.Delete(model, i, i+1)
				}
			},
			"set": func(t *rapid.T) {
				if len(model) > 0 {
					i, v := rapid.IntRange(0, len(model)-1).Draw(t, "i"), item.Draw(t, "item")
					l.Set(i, v)
					model[i] = v
				}
			},
			"clear": func(t *rapid.T) { l.Clear(); model = nil },
			"": func(t *rapid.T) {
				var fresh tList
				for _, v := range model {
					fresh.Append(v)
				}
				// Kind is followed by two bytes of padding, which only a save scrubs.
				if l != fresh || l.Len() != len(model) || l.Cap() != 4 {
					t.Fatalf("%v, want %v", l, model)
				}
				n := 0
				for i, v := range l.All() {
					if v != model[i] || l.At(i) != v || i != n {
						t.Fatalf("element %d is %v, want %v", i, v, model[i])
					}
					n++
				}
				for i := len(model); i < 4; i++ {
					if l.Items()[i] != (sample.Item{}) {
						t.Fatalf("free slot %d holds %v", i, l.Items()[i])
					}
				}
			},
		})
	})
}

// A count above the capacity comes from damaged bytes. The methods must stay inside the row.
func TestListWithAnImpossibleCountStaysInsideItsRow(t *testing.T) {
	three := image.ListOfCount[sample.Item, [4]sample.Item](3)
	l := image.ListOfCount[sample.Item, [4]sample.Item](1 << 31)
	if l.Len() != 4 || l.Append(sample.Item{}) {
		t.Error(l.Len())
	}
	l.RemoveAt(3)
	if l.Len() != 3 {
		t.Error(l.Len())
	}
	if listBytes(&l) != listBytes(&three) {
		t.Error("removing from zeros left something behind")
	}
}

// As for a slice, an index outside the elements panics.
func TestListPanicsOutsideItsElements(t *testing.T) {
	var l tList
	l.Append(sample.Item{})
	for name, f := range map[string]func(){
		"At": func() { l.At(1) }, "Set": func() { l.Set(1, sample.Item{}) }, "RemoveAt": func() { l.RemoveAt(1) }, "negative": func() { l.At(-1) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error(name, "accepts an index outside")
				}
			}()
			f()
		}()
	}
	if l.Len() != 1 {
		t.Error("a refused call changed the list")
	}
}
