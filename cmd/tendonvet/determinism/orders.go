package determinism

import (
	"go/ast"
	"go/token"
	"go/types"
)

const adviceSort = "use a stable sort, or compare an ecs.Entity or ecs.Player last"

// visitSort reports sorts that give equal elements no order.
func (p *unit) visitSort(n *node, x *ast.CallExpr, path string, fn *types.Func) {
	name := path + "." + fn.Name()
	switch name {
	case "sort.Slice", "slices.SortFunc", "slices.SortedFunc":
		if len(x.Args) == 2 && !p.totalOrder(x.Args[1]) {
			p.fault(n, x, "sort", name+" gives equal elements no order", adviceSort)
		}
	case "sort.Sort":
		if len(x.Args) == 1 && !p.totalLess(x.Args[0]) {
			p.fault(n, x, "sort", name+" gives equal elements no order", adviceSort)
		}
	}
}

// totalLess is totalOrder for the method Less of a sort.Interface.
func (p *unit) totalLess(e ast.Expr) bool {
	if c, ok := ast.Unparen(e).(*ast.CallExpr); ok { // sort.Reverse
		if fn := p.callee(c); fn != nil && fn.Pkg() != nil && fn.Pkg().Path() == "sort" {
			return len(c.Args) == 1 && p.totalLess(c.Args[0])
		}
	}
	method, _, _ := types.LookupFieldOrMethod(p.info.TypeOf(e), true, p.pass.Pkg, "Less")
	fn, ok := method.(*types.Func)
	if !ok {
		return false
	}
	if fn.Pkg() != nil && fn.Pkg().Path() == "sort" { // sort.IntSlice and similar types
		return true
	}
	m := p.byFunc[fn.Origin()]
	return m != nil && p.comparesIdentity(m.body)
}

// totalOrder reports whether a comparison leaves no two elements equal: it compares whole elements, or an entity or player
// of them, which are unique.
func (p *unit) totalOrder(e ast.Expr) bool {
	r := p.resolver(func(*types.Var, *node) bool { return true })
	r.resolve(e)
	for _, t := range r.found {
		if t.node == nil || !p.comparesIdentity(t.node.body) {
			return false
		}
	}
	if len(r.found) > 0 {
		return true
	}
	id, _ := ast.Unparen(e).(*ast.SelectorExpr) // cmp.Compare, strings.Compare, bytes.Compare
	if id == nil {
		if index, ok := ast.Unparen(e).(*ast.IndexExpr); ok {
			id, _ = index.X.(*ast.SelectorExpr)
		}
	}
	return id != nil && id.Sel.Name == "Compare"
}

// comparesIdentity reports whether a comparison looks at a whole element, or at an entity or a player.
func (p *unit) comparesIdentity(body *ast.BlockStmt) (ok bool) {
	ast.Inspect(body, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.BinaryExpr:
			switch x.Op {
			case token.LSS, token.GTR, token.LEQ, token.GEQ:
				ok = ok || p.isIdentity(x.X) && p.isIdentity(x.Y)
			}
		case *ast.CallExpr:
			fn := p.callee(x)
			if fn != nil && fn.Name() == "Compare" && len(x.Args) == 2 {
				ok = ok || p.isIdentity(x.Args[0]) && p.isIdentity(x.Args[1])
			}
		}
		return true
	})
	return ok
}

// isIdentity reports whether an expression is a whole element, or an entity, its row, or a player.
func (p *unit) isIdentity(e ast.Expr) bool {
	e = ast.Unparen(e)
	t := p.info.TypeOf(e)
	if t == nil || isFloat(t) {
		return false
	}
	if isNamed(t, "ecs/image", "Entity", "Player") {
		return true
	}
	switch x := e.(type) {
	case *ast.Ident: // a parameter of the comparison
		v := p.variable(x)
		if owner := p.owners[v]; owner != nil {
			_, ok := owner.params[v]
			return ok
		}
	case *ast.IndexExpr: // list[i]
		return true
	case *ast.SelectorExpr:
		return isNamed(p.info.TypeOf(x.X), "ecs/image", "Entity")
	case *ast.CallExpr: // a method of the entity, or a conversion of it
		if s, ok := ast.Unparen(x.Fun).(*ast.SelectorExpr); ok && p.info.TypeOf(s.X) != nil && isNamed(p.info.TypeOf(s.X), "ecs/image", "Entity") {
			return true
		}
		return p.info.Types[x.Fun].IsType() && len(x.Args) == 1 && p.isIdentity(x.Args[0])
	}
	return false
}

func isFloat(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsFloat != 0
}

func isInteger(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsInteger != 0
}

// isExempt reports whether an unordered function of package maps is put in order at once, as in slices.Sorted(maps.Keys(m)).
func isExempt(p *unit, id *ast.Ident, path string, fn *types.Func) bool {
	if path != "maps" {
		return false
	}
	inner, ok := p.enclosingCall(id)
	if !ok {
		return false
	}
	switch outer := p.parents[inner].(type) {
	case *ast.CallExpr:
		f := p.callee(outer)
		if f == nil || f.Pkg() == nil || f.Pkg().Path() != "slices" && f.Pkg().Path() != "maps" {
			return false
		}
		switch f.Name() {
		case "Sorted":
			return true
		case "SortedFunc":
			return len(outer.Args) == 2 && p.totalOrder(outer.Args[1])
		case "Insert": // maps.Insert(m, maps.All(n))
			return path == "maps" && fn.Name() == "All"
		case "Collect":
			if a, ok := p.parents[outer].(*ast.AssignStmt); ok && len(a.Lhs) == 1 {
				return p.sortedLater(a.Lhs[0], a)
			}
		}
	case *ast.RangeStmt:
		return outer.X == inner && p.orderFree(p.around(outer), outer)
	}
	return false
}

// around returns the innermost function around a syntax node.
func (p *unit) around(n ast.Node) *node {
	for x := p.parents[n]; x != nil; x = p.parents[x] {
		switch x := x.(type) {
		case *ast.FuncLit:
			return p.byLit[x]
		case *ast.FuncDecl:
			fn, _ := p.info.Defs[x.Name].(*types.Func)
			return p.byFunc[fn]
		}
	}
	return nil
}

// sortedLater reports whether a later statement sorts the variable without leaving equal elements.
func (p *unit) sortedLater(list ast.Expr, after ast.Node) (ok bool) {
	v, n := p.variable(list), p.around(after)
	if v == nil || n == nil {
		return false
	}
	ast.Inspect(n.body, func(x ast.Node) bool {
		c, isCall := x.(*ast.CallExpr)
		if !isCall || c.Pos() < after.End() || len(c.Args) == 0 || p.variable(c.Args[0]) != v {
			return true
		}
		fn := p.callee(c)
		if fn == nil || fn.Pkg() == nil {
			return true
		}
		switch fn.Pkg().Path() + "." + fn.Name() {
		case "slices.Sort", "sort.Ints", "sort.Strings", "sort.Float64s":
			ok = true
		case "slices.SortFunc", "slices.SortStableFunc", "sort.Slice", "sort.SliceStable":
			ok = ok || len(c.Args) == 2 && p.totalOrder(c.Args[1])
		case "sort.Sort", "sort.Stable":
			ok = ok || p.totalLess(c.Args[0])
		}
		return true
	})
	return ok
}

// orderFree reports whether the body of a range statement has the same result in any order.
func (p *unit) orderFree(n *node, x *ast.RangeStmt) bool {
	if n == nil {
		return false
	}
	if x.Key == nil || isBlank(x.Key) && (x.Value == nil || isBlank(x.Value)) { // it only counts
		return p.freeStatements(x.Body.List, x)
	}
	return x.Tok == token.DEFINE && p.freeStatements(x.Body.List, x)
}

func isBlank(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == "_"
}

func (p *unit) freeStatements(list []ast.Stmt, x *ast.RangeStmt) bool {
	for _, s := range list {
		if !p.freeStatement(s, x) {
			return false
		}
	}
	return true
}

func (p *unit) freeStatement(s ast.Stmt, x *ast.RangeStmt) bool {
	switch s := s.(type) {
	case *ast.IncDecStmt:
		return isInteger(p.info.TypeOf(s.X)) && p.callFree(s.X)
	case *ast.BlockStmt:
		return p.freeStatements(s.List, x)
	case *ast.BranchStmt:
		return s.Tok == token.CONTINUE && s.Label == nil
	case *ast.ReturnStmt:
		for _, r := range s.Results {
			if p.info.Types[r].Value == nil && !p.info.Types[r].IsNil() {
				return false
			}
		}
		return true
	case *ast.IfStmt:
		return (s.Init == nil || p.freeStatement(s.Init, x)) && p.callFree(s.Cond) && p.freeStatements(s.Body.List, x) && (s.Else == nil || p.freeStatement(s.Else, x))
	case *ast.ExprStmt:
		c, ok := s.X.(*ast.CallExpr)
		return ok && p.info.Types[c.Fun].IsBuiltin() && ast.Unparen(c.Fun).(*ast.Ident).Name == "delete" && p.callFree(c.Args[0]) && p.callFree(c.Args[1])
	case *ast.AssignStmt:
		return len(s.Lhs) == len(s.Rhs) && p.freeAssign(s, x)
	}
	return false
}

func (p *unit) freeAssign(s *ast.AssignStmt, x *ast.RangeStmt) bool {
	for i, left := range s.Lhs {
		right := s.Rhs[i]
		switch s.Tok {
		case token.ADD_ASSIGN, token.SUB_ASSIGN, token.OR_ASSIGN, token.AND_ASSIGN, token.XOR_ASSIGN:
			if !isInteger(p.info.TypeOf(left)) || !p.callFree(right) || !p.callFree(left) {
				return false
			}
			continue
		case token.DEFINE:
			if !p.callFree(right) {
				return false
			}
			continue
		case token.ASSIGN:
		default:
			return false
		}
		index, isIndex := ast.Unparen(left).(*ast.IndexExpr)
		c, isCall := ast.Unparen(right).(*ast.CallExpr)
		switch {
		case isIndex && p.sameKey(index.Index, x) && p.callFree(right):
		case p.info.Types[right].Value != nil:
		case isCall && p.isBuiltinCall(c, "append") && p.variable(c.Args[0]) == p.variable(left) && p.sortedLater(left, x):
		case isCall && (p.isBuiltinCall(c, "min") || p.isBuiltinCall(c, "max")) && p.callFree(c) && !isFloat(p.info.TypeOf(left)):
		default:
			return false
		}
	}
	return true
}

func (p *unit) isBuiltinCall(c *ast.CallExpr, name string) bool {
	id, ok := ast.Unparen(c.Fun).(*ast.Ident)
	return ok && p.info.Types[c.Fun].IsBuiltin() && id.Name == name
}

// sameKey reports whether e is the key of the range statement.
func (p *unit) sameKey(e ast.Expr, x *ast.RangeStmt) bool {
	return x.Key != nil && !isBlank(x.Key) && p.variable(e) != nil && p.variable(e) == p.variable(x.Key)
}

// callFree reports whether an expression calls nothing but builtins and conversions.
func (p *unit) callFree(e ast.Expr) bool {
	free := true
	ast.Inspect(e, func(n ast.Node) bool {
		if c, ok := n.(*ast.CallExpr); ok {
			tv := p.info.Types[c.Fun]
			free = free && (tv.IsType() || tv.IsBuiltin())
		}
		_, isLit := n.(*ast.FuncLit)
		return !isLit
	})
	return free
}
