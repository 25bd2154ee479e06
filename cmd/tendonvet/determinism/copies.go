package determinism

import (
	"go/ast"
	"go/token"
	"go/types"
)

// lostWrites reports writes to copies that nothing reads afterwards: the author took a value for a pointer.
func (p *unit) lostWrites(n *node) {
	ast.Inspect(n.body, func(x ast.Node) bool {
		if _, ok := x.(*ast.FuncLit); ok {
			return false
		}
		var left []ast.Expr
		switch x := x.(type) {
		case *ast.AssignStmt:
			if x.Tok != token.DEFINE {
				left = x.Lhs
			}
		case *ast.IncDecStmt:
			left = []ast.Expr{x.X}
		}
		for _, e := range left {
			p.lostWrite(n, x, e)
		}
		return true
	})
}

func (p *unit) lostWrite(n *node, statement ast.Node, left ast.Expr) {
	root, column, deep := p.copyOf(left)
	if root == nil || !deep || root.Pos() < n.body.Pos() || p.hasAddress(n, root) { // a result, or a variable of an outer function
		return
	}
	scope := ast.Node(n.body)
	for x := p.parents[statement]; x != nil && x != ast.Node(n.body); x = p.parents[x] {
		switch loop := x.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			if root.Pos() < loop.Pos() { // the next round may read it
				return
			}
			scope = loop
			x = n.body
		}
	}
	read := false
	ast.Inspect(scope, func(x ast.Node) bool {
		id, ok := x.(*ast.Ident)
		if !ok || id.Pos() < statement.End() || p.info.ObjectOf(id) != types.Object(root) {
			return true
		}
		s, isSelector := p.parents[id].(*ast.SelectorExpr)
		if column == "" || !isSelector || s.Sel.Name == column {
			read = read || !p.isTarget(id)
		}
		return true
	})
	if read {
		return
	}
	name := root.Name()
	if column != "" {
		name += "." + column
	}
	p.fault(n, statement, "access", name+" is a copy, and the write to it is lost", "use ecs.Write in the query, Component.Write, or Component.Put the changed value")
}

// hasAddress reports whether a function takes the address of a variable.
func (p *unit) hasAddress(n *node, v *types.Var) (taken bool) {
	ast.Inspect(n.body, func(x ast.Node) bool {
		if u, ok := x.(*ast.UnaryExpr); ok && u.Op == token.AND {
			for e := ast.Unparen(u.X); e != nil; {
				switch x := e.(type) {
				case *ast.Ident:
					taken, e = taken || p.info.ObjectOf(x) == types.Object(v), nil
				case *ast.SelectorExpr:
					e = ast.Unparen(x.X)
				case *ast.IndexExpr:
					e = ast.Unparen(x.X)
				default:
					e = nil
				}
			}
		}
		return true
	})
	return taken
}

// isTarget reports whether an identifier is only written: it is the root of the left side of a plain assignment.
func (p *unit) isTarget(id *ast.Ident) bool {
	var child ast.Node = id
	for {
		switch x := p.parents[child].(type) {
		case *ast.SelectorExpr, *ast.ParenExpr:
			child = x
		case *ast.AssignStmt:
			for _, left := range x.Lhs {
				if left == child {
					return true
				}
			}
			return false
		case *ast.IncDecStmt:
			return true
		default:
			return false
		}
	}
}

// copyOf returns the variable that holds a copy of a component, and its column if it is a row of a query. deep is false for a
// write that replaces the whole variable.
func (p *unit) copyOf(left ast.Expr) (root *types.Var, column string, deep bool) {
	e := ast.Unparen(left)
	for {
		switch x := e.(type) {
		case *ast.SelectorExpr:
			sel := p.info.Selections[x]
			if sel == nil || sel.Indirect() {
				return nil, "", false
			}
			if id, ok := ast.Unparen(x.X).(*ast.Ident); ok {
				v, _ := p.info.ObjectOf(id).(*types.Var)
				if v != nil && p.columns[v].copies[x.Sel.Name] {
					return v, x.Sel.Name, true
				}
				if v != nil && p.isReadValue(v) {
					return v, "", true
				}
			}
			e = ast.Unparen(x.X)
		case *ast.IndexExpr:
			if _, isArray := p.info.TypeOf(x.X).Underlying().(*types.Array); !isArray {
				return nil, "", false
			}
			e = ast.Unparen(x.X)
		default:
			return nil, "", false
		}
	}
}

// isReadValue reports whether every value of a variable comes from a Read of a component or a resource.
func (p *unit) isReadValue(v *types.Var) bool {
	values := p.flows[v.Origin()]
	for _, value := range values {
		c, ok := ast.Unparen(value).(*ast.CallExpr)
		if !ok {
			return false
		}
		fn := p.callee(c)
		if fn == nil || fn.Pkg() == nil || fn.Pkg().Path() != enginePath+"/ecs" {
			return false
		}
		switch funcName(fn) {
		case "Component.Read", "Resource.Read", "Component.GetValue":
		default:
			return false
		}
	}
	return len(values) > 0 && !isPackageVar(v)
}
