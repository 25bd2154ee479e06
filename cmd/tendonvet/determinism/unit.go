package determinism

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// unit is a package that is analysed.
type unit struct {
	pass *analysis.Pass
	info *types.Info

	nodes    []*node
	byFunc   map[*types.Func]*node
	byLit    map[*ast.FuncLit]*node
	parents  map[ast.Node]ast.Node
	owners   map[*types.Var]*node      // of parameters and local variables
	flows    map[*types.Var][]ast.Expr // values that a variable or field receives
	bindings map[*types.Var][]ast.Expr // arguments that a parameter receives
	sites    map[*types.Func][]*ast.CallExpr
	columns  map[*types.Var]columns // by row or run of a query
	imports  map[*types.Func]*summary

	allowed    map[line]bool
	unreasoned []token.Pos // of allow comments
	roots      [kinds][]*node
	rootFaults []located // at the places that name a root
	rooted     map[ast.Expr]bool
	reported   map[string]bool
	unsettled  bool // see settleWrites
}

// node is a function declaration or a function literal with a body.
type node struct {
	index  int
	fn     *types.Func // nil for a literal
	lit    *ast.FuncLit
	body   *ast.BlockStmt
	outer  *node // function around a literal; nil for others
	inTest bool
	params map[*types.Var]int // position of the receiver, 0, and of each parameter, from 1

	faults   []located
	changes  []located // of a world
	captures []capture
	calls    []call
	foreign  []foreignCall
	passes   []pass // arguments of calls, for writes through parameters
	results  []ast.Expr
	seen     bool // calls Component.Seen

	writes     uint64 // parameters that it writes through
	rootParams uint64 // parameters whose functions run in a tick
}

// capture is a write to a variable of an outer function. It is a fault if the outer function does not run in the tick too.
type capture struct {
	located
	owner *node
}

// call is a call or a mention of a function of this package.
type call struct {
	to     *node
	unless *node // the call counts only if this function is not reached: see parameterValues
}

// foreignCall is a call or a mention of a function of another package that is analysed.
type foreignCall struct {
	fn       *types.Func
	pos      token.Pos
	returned bool // the functions that it returns run
}

// pass is a call whose callee may write through an argument.
type pass struct {
	to     *node
	writes uint64 // of a callee elsewhere
	name   string
	args   []ast.Expr // the receiver or nil, then the arguments
	last   int        // position of the last parameter
	pos    token.Pos
}

func newUnit(p *analysis.Pass) *unit {
	u := &unit{pass: p, info: p.TypesInfo, byFunc: map[*types.Func]*node{}, byLit: map[*ast.FuncLit]*node{},
		parents: map[ast.Node]ast.Node{}, owners: map[*types.Var]*node{}, flows: map[*types.Var][]ast.Expr{},
		bindings: map[*types.Var][]ast.Expr{}, sites: map[*types.Func][]*ast.CallExpr{}, columns: map[*types.Var]columns{},
		imports: map[*types.Func]*summary{}, allowed: map[line]bool{}, rooted: map[ast.Expr]bool{}, reported: map[string]bool{}}
	for _, f := range p.Files {
		u.index(f)
		u.readAllows(f)
	}
	for _, f := range p.Files {
		ast.Inspect(f, func(n ast.Node) bool {
			u.connect(n)
			return true
		})
	}
	return u
}

// index makes the nodes of a file.
func (p *unit) index(f *ast.File) {
	inTest := strings.HasSuffix(p.pass.Fset.Position(f.Package).Filename, "_test.go")
	var stack []ast.Node
	var around []*node // functions around the present syntax node
	ast.Inspect(f, func(n ast.Node) bool {
		if n == nil {
			top := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			switch top.(type) {
			case *ast.FuncDecl, *ast.FuncLit:
				around = around[:len(around)-1]
			}
			return true
		}
		if len(stack) > 0 {
			p.parents[n] = stack[len(stack)-1]
		}
		stack = append(stack, n)
		var inner *node
		if len(around) > 0 {
			inner = around[len(around)-1]
		}
		switch n := n.(type) {
		case *ast.FuncDecl:
			fn, _ := p.info.Defs[n.Name].(*types.Func)
			inner = p.add(&node{fn: fn, body: n.Body, inTest: inTest}, n.Recv, n.Type)
			if fn != nil {
				p.byFunc[fn] = inner
			}
			around = append(around, inner)
		case *ast.FuncLit:
			inner = p.add(&node{lit: n, body: n.Body, outer: inner, inTest: inTest}, nil, n.Type)
			p.byLit[n] = inner
			around = append(around, inner)
		case *ast.Ident:
			if v, ok := p.info.Defs[n].(*types.Var); ok && inner != nil && p.owners[v] == nil && !v.IsField() {
				p.owners[v] = inner
			}
		case *ast.CaseClause:
			if v, ok := p.info.Implicits[n].(*types.Var); ok && inner != nil {
				p.owners[v] = inner
			}
		case *ast.ReturnStmt:
			if inner != nil {
				inner.results = append(inner.results, n.Results...)
			}
		}
		return true
	})
}

// add numbers a node and its parameters.
func (p *unit) add(n *node, receiver *ast.FieldList, typ *ast.FuncType) *node {
	n.index, n.params = len(p.nodes), map[*types.Var]int{}
	p.nodes = append(p.nodes, n)
	position := 0
	for i, list := range []*ast.FieldList{receiver, typ.Params} {
		position = i
		if list == nil {
			continue
		}
		for _, field := range list.List {
			for _, name := range field.Names {
				if v, ok := p.info.Defs[name].(*types.Var); ok {
					n.params[v], p.owners[v] = position, n
				}
				position++
			}
			if len(field.Names) == 0 {
				position++
			}
		}
	}
	return n
}

// connect records the values that variables, fields and parameters receive.
func (p *unit) connect(n ast.Node) {
	switch n := n.(type) {
	case *ast.AssignStmt:
		for i, left := range n.Lhs {
			if len(n.Lhs) == len(n.Rhs) {
				p.flow(p.variable(left), n.Rhs[i])
			} else if i == 0 { // v, ok := m[k]
				p.flow(p.variable(left), n.Rhs[0])
			}
		}
	case *ast.ValueSpec:
		for i, name := range n.Names {
			if len(n.Values) == len(n.Names) {
				p.flow(p.variable(name), n.Values[i])
			}
		}
	case *ast.RangeStmt:
		if n.Value != nil {
			p.flow(p.variable(n.Value), n.X)
		}
		p.noteRows(n)
	case *ast.CompositeLit:
		typ := p.info.TypeOf(n)
		if typ == nil {
			return
		}
		if pointer, ok := typ.Underlying().(*types.Pointer); ok { // an element &T{} without its type
			typ = pointer.Elem()
		}
		fields, ok := typ.Underlying().(*types.Struct)
		if !ok {
			return
		}
		for i, element := range n.Elts {
			if pair, ok := element.(*ast.KeyValueExpr); ok {
				p.flow(p.variable(pair.Key), pair.Value)
			} else if i < fields.NumFields() {
				p.flow(fields.Field(i).Origin(), element)
			}
		}
	case *ast.CallExpr:
		fn := p.callee(n)
		if fn == nil || fn.Pkg() != p.pass.Pkg {
			return
		}
		p.sites[fn] = append(p.sites[fn], n)
		params := fn.Signature().Params()
		for i, arg := range n.Args {
			if at := min(i, params.Len()-1); at >= 0 {
				v := params.At(at)
				p.bindings[v] = append(p.bindings[v], arg)
			}
		}
	}
}

// variable returns the variable or field that an expression names, or nil.
func (p *unit) variable(e ast.Expr) *types.Var {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		v, _ := p.info.ObjectOf(e).(*types.Var)
		if v != nil {
			return v.Origin()
		}
	case *ast.SelectorExpr:
		return p.variable(e.Sel)
	case *ast.IndexExpr: // an element of a table
		return p.variable(e.X)
	}
	return nil
}

func (p *unit) flow(v *types.Var, value ast.Expr) {
	if v != nil {
		p.flows[v] = append(p.flows[v], value)
	}
}

// callee returns the function or method that a call names, or nil.
func (p *unit) callee(c *ast.CallExpr) *types.Func {
	fun := ast.Unparen(c.Fun)
	switch f := fun.(type) {
	case *ast.IndexExpr:
		fun = f.X
	case *ast.IndexListExpr:
		fun = f.X
	}
	var id *ast.Ident
	switch f := ast.Unparen(fun).(type) {
	case *ast.Ident:
		id = f
	case *ast.SelectorExpr:
		id = f.Sel
	default:
		return nil
	}
	fn, _ := p.info.Uses[id].(*types.Func)
	if fn == nil {
		return nil
	}
	return fn.Origin()
}

// summaryOf returns the summary of a function of another package.
func (p *unit) summaryOf(fn *types.Func) *summary {
	s, ok := p.imports[fn]
	if !ok {
		s = new(summary)
		p.pass.ImportObjectFact(fn, s)
		p.imports[fn] = s
	}
	return s
}

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

// reach returns the nodes that run when the given ones do.
func (p *unit) reach(from []*node) []bool {
	set := make([]bool, len(p.nodes))
	queue := slices.Clone(from)
	for _, n := range from {
		set[n.index] = true
	}
	var later []call
	for {
		for len(queue) > 0 {
			n := queue[len(queue)-1]
			queue = queue[:len(queue)-1]
			for _, c := range n.calls {
				switch {
				case set[c.to.index]:
				case c.unless != nil:
					later = append(later, c)
				default:
					set[c.to.index] = true
					queue = append(queue, c.to)
				}
			}
		}
		for _, c := range later {
			if !set[c.unless.index] && !set[c.to.index] {
				set[c.to.index] = true
				queue = append(queue, c.to)
			}
		}
		later = later[:0]
		if len(queue) == 0 {
			return set
		}
	}
}

// faultsOf returns the first faults of a set of nodes; most < 0: all.
func (p *unit) faultsOf(set []bool, most int) (list []located) {
	for i, ok := range set {
		if !ok {
			continue
		}
		n := p.nodes[i]
		list = append(list, n.faults...)
		for _, c := range n.captures {
			if !set[c.owner.index] {
				list = append(list, c.located)
			}
		}
		for _, f := range n.foreign {
			s := p.summaryOf(f.fn)
			faults := s.Faults
			if f.returned {
				faults = s.Returned
			}
			list = append(list, p.elsewhere(f, faults)...)
		}
		if most > 0 && len(list) >= most {
			return list[:most]
		}
	}
	return list
}

// changesOf is faultsOf for changes of a world.
func (p *unit) changesOf(set []bool, most int) (list []located) {
	for i, ok := range set {
		if !ok {
			continue
		}
		n := p.nodes[i]
		list = append(list, n.changes...)
		for _, f := range n.foreign {
			list = append(list, p.elsewhere(f, p.summaryOf(f.fn).Changes)...)
		}
		if most > 0 && len(list) >= most {
			return list[:most]
		}
	}
	return list
}

// elsewhere returns the first fault of a function of another package, at its call.
func (p *unit) elsewhere(f foreignCall, faults []fault) []located {
	if len(faults) == 0 {
		return nil
	}
	return []located{{faults[0], f.pos}}
}

// returnedFaults returns the faults of the functions that a node returns.
func (p *unit) returnedFaults(n *node) []located {
	r := p.resolver(func(*types.Var, *node) bool { return true })
	for _, result := range n.results {
		if holdsFunc(p.info.TypeOf(result)) {
			r.resolve(result)
		}
	}
	var nodes []*node
	var list []located
	for _, t := range r.found {
		if t.node != nil {
			nodes = append(nodes, t.node)
		} else if s := p.summaryOf(t.foreign); t.returned {
			list = append(list, p.elsewhere(foreignCall{fn: t.foreign, pos: n.body.Pos()}, s.Returned)...)
		} else {
			list = append(list, p.elsewhere(foreignCall{fn: t.foreign, pos: n.body.Pos()}, s.Faults)...)
		}
	}
	if len(nodes) > 0 {
		list = append(list, p.faultsOf(p.reach(nodes), maxFaults)...)
	}
	return list
}

func (p *unit) resolver(parameter func(*types.Var, *node) bool) *resolver {
	return &resolver{unit: p, seen: map[any]bool{}, parameter: parameter}
}

// callSeen reports whether the set interpolates components, by which their Lerp roles run in a tick.
func (p *unit) callSeen(set []bool) bool {
	return slices.ContainsFunc(p.nodes, func(n *node) bool { return set[n.index] && n.seen })
}
