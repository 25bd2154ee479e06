package determinism

import "go/types"

// Unlisted returns the hooks of package ecs, and of types that it takes from ecs/image, that have no row in hooks and receive no
// *World. A hook that receives one needs no row.
func Unlisted(ecs *types.Package) (list []string) {
	missing := func(name string, t types.Type) {
		if _, ok := hooks[name]; !ok && funcIn(t) != nil && !takesWorld(funcIn(t)) {
			list = append(list, name)
		}
	}
	for _, name := range ecs.Scope().Names() {
		o := ecs.Scope().Lookup(name)
		switch {
		case !o.Exported():
		case o.Type() == nil:
		default:
			if fn, ok := o.(*types.Func); ok {
				for v := range fn.Signature().Params().Variables() {
					missing(name, v.Type())
				}
				continue
			}
			if fields, ok := o.Type().Underlying().(*types.Struct); ok {
				for f := range fields.Fields() {
					if f.Exported() {
						missing(name+"."+f.Name(), f.Type())
					}
				}
			}
		}
	}
	return list
}
