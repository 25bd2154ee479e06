package determinism

import (
	"go/ast"
	"go/types"
)

// target is a function that an expression can be.
type target struct {
	node     *node
	foreign  *types.Func // of another package that is analysed
	returned bool        // not foreign itself, but what it returns
	bound    ast.Expr    // receiver of a method value
}

// resolver finds the functions that an expression can be. It follows variables, fields, tables and results within the
// package, and does not distinguish between values of one type.
type resolver struct {
	*unit
	seen  map[any]bool
	found []target
	// parameter receives the parameters on the way. It returns false to follow the arguments of all calls.
	parameter func(v *types.Var, n *node) (handled bool)
}

func (r *resolver) resolve(e ast.Expr) {
	switch e := ast.Unparen(e).(type) {
	case *ast.FuncLit:
		r.found = append(r.found, target{node: r.byLit[e]})
	case *ast.Ident:
		r.object(r.info.Uses[e], nil)
	case *ast.SelectorExpr:
		var bound ast.Expr
		if s := r.info.Selections[e]; s != nil && s.Kind() == types.MethodVal {
			bound = e.X
		}
		r.object(r.info.Uses[e.Sel], bound)
	case *ast.IndexExpr:
		r.resolve(e.X)
	case *ast.IndexListExpr:
		r.resolve(e.X)
	case *ast.SliceExpr:
		r.resolve(e.X)
	case *ast.StarExpr:
		r.resolve(e.X)
	case *ast.UnaryExpr:
		r.resolve(e.X)
	case *ast.TypeAssertExpr:
		r.resolve(e.X)
	case *ast.KeyValueExpr:
		r.resolve(e.Value)
	case *ast.CompositeLit:
		for _, element := range e.Elts {
			r.resolve(element)
		}
	case *ast.CallExpr:
		r.call(e)
	}
}

func (r *resolver) call(e *ast.CallExpr) {
	if tv := r.info.Types[e.Fun]; tv.IsType() { // a conversion
		r.resolve(e.Args[0])
		return
	}
	if tv := r.info.Types[e.Fun]; tv.IsBuiltin() { // append
		for _, arg := range e.Args {
			r.resolve(arg)
		}
		return
	}
	fn := r.callee(e)
	switch n := r.byFunc[fn]; {
	case n != nil:
		if !r.seen[n] {
			r.seen[n] = true
			for _, result := range n.results {
				r.resolve(result)
			}
		}
	case fn != nil && fn.Pkg() != nil && !Skipped(fn.Pkg().Path()):
		r.found = append(r.found, target{foreign: fn, returned: true})
		fallthrough
	case fn != nil: // sync.OnceValue, slices.Concat and similar functions return or call their arguments
		for _, arg := range e.Args {
			if holdsFunc(r.info.TypeOf(arg)) {
				r.resolve(arg)
			}
		}
	}
}

func (r *resolver) object(o types.Object, bound ast.Expr) {
	switch o := o.(type) {
	case *types.Func:
		fn := o.Origin()
		switch {
		case fn.Pkg() == nil:
		case isInterfaceMethod(fn):
			for _, n := range r.implementations(fn) {
				r.found = append(r.found, target{node: n})
			}
		case r.byFunc[fn] != nil:
			r.found = append(r.found, target{node: r.byFunc[fn], bound: bound})
		case !Skipped(fn.Pkg().Path()):
			r.found = append(r.found, target{foreign: fn, bound: bound})
		}
	case *types.Var:
		v := o.Origin()
		if r.seen[v] {
			return
		}
		r.seen[v] = true
		for _, value := range r.flows[v] {
			if holdsFunc(r.info.TypeOf(value)) {
				r.resolve(value)
			}
		}
		n := r.owners[v]
		if n == nil {
			return
		}
		if _, ok := n.params[v]; ok && !r.parameter(v, n) {
			for _, value := range r.bindings[v] {
				r.resolve(value)
			}
		}
	}
}

// implementations returns the methods of this package's types that a call of an interface's method can run.
func (p *unit) implementations(fn *types.Func) (list []*node) {
	recv := fn.Signature().Recv().Type()
	iface, _ := recv.Underlying().(*types.Interface)
	if iface == nil {
		return nil
	}
	scope := p.pass.Pkg.Scope()
	for _, name := range scope.Names() {
		typ, ok := scope.Lookup(name).(*types.TypeName)
		if !ok || typ.IsAlias() || types.IsInterface(typ.Type()) {
			continue
		}
		named, ok := typ.Type().(*types.Named)
		if !ok {
			continue
		}
		if named.TypeParams().Len() == 0 && !types.Implements(types.NewPointer(named), iface) && !hasTypeParams(recv) {
			continue
		}
		method, _, _ := types.LookupFieldOrMethod(types.NewPointer(named), true, p.pass.Pkg, fn.Name())
		if m, ok := method.(*types.Func); ok && p.byFunc[m.Origin()] != nil {
			list = append(list, p.byFunc[m.Origin()])
		}
	}
	return list
}

func hasTypeParams(t types.Type) bool {
	named, ok := t.(*types.Named)
	return ok && named.TypeParams().Len() > 0
}

func isInterfaceMethod(fn *types.Func) bool {
	recv := fn.Signature().Recv()
	return recv != nil && types.IsInterface(recv.Type())
}

// holdsFunc reports whether a type is a function, or a pointer, table or struct with functions in it.
func holdsFunc(t types.Type) bool { return holds(t, isFunc, 4) }

// refers reports whether a value of the type can share memory with another value.
func refers(t types.Type) bool { return holds(t, isReference, 8) }

func isFunc(t types.Type) bool {
	_, ok := t.(*types.Signature)
	return ok
}

func isReference(t types.Type) bool {
	switch t.(type) {
	case *types.Pointer, *types.Slice, *types.Map, *types.Chan, *types.Interface:
		return true
	}
	return false
}

func holds(t types.Type, is func(types.Type) bool, depth int) bool {
	if t == nil || depth == 0 {
		return false
	}
	t = t.Underlying()
	if is(t) {
		return true
	}
	switch t := t.(type) {
	case *types.Pointer:
		return holds(t.Elem(), is, depth-1)
	case *types.Slice:
		return holds(t.Elem(), is, depth-1)
	case *types.Array:
		return holds(t.Elem(), is, depth-1)
	case *types.Map:
		return holds(t.Elem(), is, depth-1)
	case *types.Struct:
		for f := range t.Fields() {
			if holds(f.Type(), is, depth-1) {
				return true
			}
		}
	}
	return false
}

func (p *unit) resolver(parameter func(*types.Var, *node) bool) *resolver {
	return &resolver{unit: p, seen: map[any]bool{}, parameter: parameter}
}
