package traffic_test

import (
	"fmt"
	"testing"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/cost/traffic"
)

type part struct{ X int32 }

// game returns a game of nine components.
func game() *ecs.Game {
	g := &ecs.Game{Name: "parts", TickRate: 10, MaxPlayers: 2, Input: ecs.NewInput[uint8]()}
	for i := range 9 {
		g.Components = append(g.Components, ecs.NewComponent[part](fmt.Sprintf("c%d", i)))
	}
	return g
}

// A room's encoders report what they spend. The meter adds it up by kind and part.
func Example() {
	g := game()
	m := traffic.NewMeter(g)
	m.Sent(100) // a message to one client
	m.Part(0b11, g.Schema().ComponentColumn(1), 70*image.ByteUnits)
	m.Part(0, image.PartInputs, 20*image.ByteUnits)
	var b traffic.Bytes
	m.Report(&b)
	for _, r := range b.Largest() {
		fmt.Println(r.Kind, r.Part, r.Bytes)
	}
	// Output:
	// c0+c1 c1 70
	//  inputs 20
	//  other 10
}

// The number of kinds is bounded, and the bytes of all others count together. Reports of rooms are added and compared.
func TestKindsAreBoundedAndReportsAreAdded(t *testing.T) {
	g := game()
	m, twin := traffic.NewMeter(g), traffic.NewMeter(g)
	for kind := range image.ComponentSet(512) {
		for _, to := range []*traffic.Meter{m, twin} {
			to.Sent(2)
			to.Part(kind, image.PartEntity, 2*image.ByteUnits)
		}
	}
	m.Merge(twin)
	var b, first traffic.Bytes
	m.Report(&b)
	twin.Report(&first)
	rest := uint64(0)
	for _, r := range b.Rows {
		if r.Kind == traffic.OtherKinds {
			rest += r.Bytes
		}
	}
	if len(b.Rows) != 256 || b.Total != 2048 || rest != 4*(512-255) {
		t.Errorf("%d rows, %d bytes, %d of other kinds", len(b.Rows), b.Total, rest)
	}
	sum := traffic.Bytes{}
	sum.Add(&first)
	sum.Add(&first)
	if sum.Total != b.Total || len(sum.Rows) != len(b.Rows) || sum.Largest()[0] != b.Largest()[0] {
		t.Errorf("the sum is %+v", sum.Largest()[0])
	}
	sum.Since(&b)
	if sum.Total != 0 || len(sum.Largest()) != 0 {
		t.Errorf("the difference is %+v", sum)
	}
	m.Reset()
	if m.Report(&b); b.Total != 0 || len(b.Rows) != 0 {
		t.Errorf("after Reset: %+v", b)
	}
	if n := testing.AllocsPerRun(50, func() { m.Part(3, image.PartOrders, 5); m.Sent(1) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
