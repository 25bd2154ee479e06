package image_test

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/ecs/internal/sample"
)

// described returns a world with one entity of odd shapes, its state, and the entity.
func described(t *testing.T) (*ecs.World, *image.Snapshot, ecs.Entity) {
	t.Helper()
	w := sample.NewWorld(t, sample.Bare())
	var e ecs.Entity
	sample.InSystem(w, func() {
		e = w.Spawn(ecs.OwnedBy(1), sample.Positions, sample.Mixtures, sample.Bags)
		sample.Positions.Put(w, e, sample.Pos{X: fixed.MustParse("-2.5"), Y: fixed.FromInt(7)})
		sample.Mixtures.Put(w, e, sample.Mixed{Alive: true, Lives: -3, Slots: [3]uint8{0, 9, 0}, Heat: 0.5, Target: e, Energy: math.Inf(1)})
		var bag sample.Bag
		bag.Items.Append(sample.Item{Kind: 4, Count: 40})
		bag.Items.Append(sample.Item{Kind: 5, Count: 50})
		sample.Bags.Put(w, e, bag)
		sample.Scores.Write(w).Points[2] = 11
	})
	s := new(image.Snapshot)
	w.Image().Save(s)
	return w, s, e
}

// An inspector shows the declared fields under the names of a desync report, without padding and without empty slots
// of a list.
func TestAnEntityIsDescribedByItsFieldsInTheOrderOfTheirDeclaration(t *testing.T) {
	_, s, e := described(t)
	records := s.Describe(e)
	var got []string
	for _, r := range records {
		for _, f := range r.Fields {
			got = append(got, r.Name+"."+f.Path+"="+f.Text)
		}
	}
	const want = "pos.X=-2.5 pos.Y=7 mixed.Alive=true mixed.Lives=-3 mixed.Inner.A=0 mixed.Inner.B=0 mixed.Slots[0]=0 mixed.Slots[1]=9 " +
		"mixed.Slots[2]=0 mixed.Heat=0.5 mixed.Target.Row=ROW mixed.Target.Born=BORN mixed.Energy=+Inf mixed.Flags[0]=false mixed.Flags[1]=false mixed.Depth=0 " +
		"bag.Items.Len=2 bag.Items[0].Kind=4 bag.Items[0].Count=40 bag.Items[1].Kind=5 bag.Items[1].Count=50 bag.Gold=0"
	exact := strings.NewReplacer("ROW", textOf(records, "Target.Row"), "BORN", textOf(records, "Target.Born")).Replace(want)
	if strings.Join(got, " ") != exact {
		t.Errorf("got  %s\nwant %s", strings.Join(got, " "), exact)
	}
	if n := numberOf(records, "X"); n != -2.5 {
		t.Errorf("X is the number %v, want -2.5: a fixed.Num is a decimal, not its bits", n)
	}
	if n := numberOf(records, "Alive"); n != 1 {
		t.Errorf("true is the number %v, want 1", n)
	}
	if gone := s.Describe(ecs.Entity{Row: e.Row, Born: e.Born + 1}); gone != nil {
		t.Errorf("an entity that is not there was described: %v", gone)
	}
}

func textOf(list []image.Record, path string) string {
	for _, r := range list {
		for _, f := range r.Fields {
			if f.Path == path {
				return f.Text
			}
		}
	}
	return ""
}

func numberOf(list []image.Record, path string) float64 {
	for _, r := range list {
		for _, f := range r.Fields {
			if f.Path == path {
				return *f.Number
			}
		}
	}
	return math.NaN()
}

// A plot reads one field a thousand times: FindField searches once, and At returns the value that Describe shows.
func TestAFieldFoundByNameReturnsTheDescribedValue(t *testing.T) {
	w, s, e := described(t)
	compared := 0
	for _, r := range s.Describe(e) {
		for _, f := range r.Fields {
			ref, err := w.Game().Schema().FindField(strings.TrimSuffix(r.Name+"."+f.Path, "."))
			if err != nil {
				t.Fatal(err)
			}
			got, ok := ref.At(s, e)
			if !ok || !reflect.DeepEqual(got, f) {
				t.Errorf("%s.%s is %+v, %v when read alone, %+v when described", r.Name, f.Path, got, ok, f)
			}
			compared++
		}
	}
	if compared < 20 {
		t.Fatalf("only %d fields were compared", compared)
	}
	ref, err := w.Game().Schema().FindField("score.Points[2]")
	if err != nil {
		t.Fatal(err)
	}
	for _, ignored := range []ecs.Entity{{}, e} {
		if v, ok := ref.At(s, ignored); !ok || *v.Number != 11 || !ref.Resource() {
			t.Errorf("the resource's field is %+v, %v", v, ok)
		}
	}
	for path, hint := range map[string]string{"pos.Z": "X, Y", "nothing.X": "pos", "positive.X": "pos", "pos": "X, Y"} {
		if _, err := w.Game().Schema().FindField(path); err == nil || !strings.Contains(err.Error(), hint) {
			t.Errorf("%q: the error is %v, want one that offers %s", path, err, hint)
		}
	}
}

// Inputs and events are described by the fields of their own types too.
func TestInputsAndEventsAreDescribedByTheirFields(t *testing.T) {
	w, _, e := described(t)
	in := sample.Pads.Pack(sample.Pad{DX: -1, Fire: true, Aim: 77})
	got := w.Game().Input.Describe(in)
	if len(got) != 4 || got[0].Text != "-1" || *got[2].Number != 1 || got[3].Path != "Aim" || *got[3].Number != 77 {
		t.Errorf("the input is described as %+v", got)
	}
	sample.InSystem(w, func() { sample.Hits.Emit(w, e, sample.Hit{Damage: 12, By: 3}); sample.Deaths.Emit(w, e, 5) })
	events := w.Events()
	hit, ok := w.Game().Schema().DescribeEvent(events[0])
	if !ok || hit.Name != "hit" || !slices.ContainsFunc(hit.Fields, func(f image.FieldValue) bool { return f.Path == "Damage" && *f.Number == 12 }) {
		t.Errorf("the event is described as %+v, %v", hit, ok)
	}
	if death, ok := w.Game().Schema().DescribeEvent(events[1]); !ok || len(death.Fields) != 1 || death.Fields[0].Path != "" || *death.Fields[0].Number != 5 {
		t.Errorf("an event that is a plain number is described as %+v, %v", death, ok)
	}
}
