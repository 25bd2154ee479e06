package image

import "reflect"

// Declaration describes a component or resource without its Go type. Package ecs makes one per declared component and
// resource; it never changes afterwards.
type Declaration struct {
	kind   string // "component" or "resource"
	name   string
	id     int // position among the declarations of the process; never part of a state
	layout *layout
	err    error
	roles  roles
}

// declarations counts the declarations of the process.
var declarations int

// DeclareComponent describes a component of type T. A type that is not plain data is reported by Schema.Check.
func DeclareComponent[T any](name string, r Roles[T]) *Declaration {
	d := declare("component", name, reflect.TypeFor[T]())
	d.roles = r.erase()
	return d
}

// DeclareResource describes a resource of type T. A type that is not plain data is reported by Schema.Check.
func DeclareResource[T any](name string) *Declaration {
	return declare("resource", name, reflect.TypeFor[T]())
}

func declare(kind, name string, t reflect.Type) *Declaration {
	d := &Declaration{kind: kind, name: name, id: declarations}
	declarations++
	d.layout, d.err = layoutOf(kind, name, t)
	return d
}

// Name returns the declared name.
func (d *Declaration) Name() string { return d.name }

// Scalars describes the scalars of the component or resource, in the order of Snapshot.AppendScalars.
func (d *Declaration) Scalars() []Scalar {
	list := d.layout.describe()
	d.markMotion(list)
	return list
}
