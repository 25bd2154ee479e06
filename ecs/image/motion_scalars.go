package image

import (
	"unsafe"

	"tendon/ecs/fixed"
)

// probes are motions that have no number in common: a scalar that differs between them is part of the motion.
var probes = [...]Motion{
	{},
	{Pos: fixed.Vec3{X: 3 * fixed.One, Y: 5 * fixed.One, Z: 7 * fixed.One}, Vel: fixed.Vec3{X: 11 * fixed.One, Y: 13 * fixed.One, Z: 17 * fixed.One}},
	{Pos: fixed.Vec3{X: -19 * fixed.One, Y: -23 * fixed.One, Z: 29 * fixed.One}, Vel: fixed.Vec3{X: -31 * fixed.One, Y: 37 * fixed.One, Z: -41 * fixed.One}},
}

// markMotion marks the scalars that differ from probe to probe.
func (d *Declaration) markMotion(list []Scalar) {
	if d.roles.setMotion == nil {
		return
	}
	var first, values []uint64
	for i, m := range probes {
		row := make([]uint64, (d.layout.size+7)/8+1)
		d.roles.setMotion(unsafe.Pointer(&row[0]), m)
		if values = d.layout.appendScalars(values[:0], unsafe.Pointer(&row[0])); i == 0 {
			first = append(first, values...)
		}
		for k := range list {
			list[k].Place = list[k].Place || values[k] != first[k]
		}
	}
}
