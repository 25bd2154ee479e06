package determinism

import (
	"go/ast"
	"go/token"
	"go/types"
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
