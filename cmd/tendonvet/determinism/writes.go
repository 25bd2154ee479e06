package determinism

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
)

// columns says which columns of a query's row or run are declared as read.
type columns struct {
	copies  map[string]bool // A to D of a row of All: values
	aliases map[string]bool // A to D and Entities of a run of Runs: slices of the image
	written map[string]bool // A to D that the query writes
}

// noteRows records the columns of the variable of a range statement over a query.
func (p *unit) noteRows(x *ast.RangeStmt) {
	c, ok := ast.Unparen(x.X).(*ast.CallExpr)
	if !ok || x.Key == nil {
		return
	}
	s, ok := ast.Unparen(c.Fun).(*ast.SelectorExpr)
	if !ok || !isNamed(p.info.TypeOf(s.X), "ecs", "Query") {
		return
	}
	t := types.Unalias(p.info.TypeOf(s.X))
	if pointer, ok := t.(*types.Pointer); ok {
		t = types.Unalias(pointer.Elem())
	}
	args := t.(*types.Named).TypeArgs()
	read, written := map[string]bool{}, map[string]bool{}
	for i, name := range []string{"A", "B", "C", "D"} {
		if args == nil || 3*i+1 >= args.Len() {
			break
		}
		if types.Identical(args.At(3*i), args.At(3*i+1)) {
			read[name] = true
		} else {
			written[name] = true
		}
	}
	v := p.variable(x.Key)
	if v == nil {
		return
	}
	switch s.Sel.Name {
	case "All":
		p.columns[v] = columns{copies: read, written: written}
	case "Runs":
		read["Entities"] = true
		p.columns[v] = columns{aliases: read, written: written}
	}
}

// source is something that an expression can refer to: a variable, or a column that a query declares as read.
type source struct {
	v    *types.Var
	read string
}

// sources returns what the memory behind an expression belongs to. It follows variables within the package, and no results
// of other packages.
func (p *unit) sources(e ast.Expr, seen map[any]bool) []source {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		v, _ := p.info.ObjectOf(e).(*types.Var)
		if v == nil || v.Name() == "_" || seen[v] {
			return nil
		}
		seen[v] = true
		list := []source{{v: v}}
		if refers(v.Type()) {
			for _, value := range p.flows[v.Origin()] {
				list = append(list, p.sources(value, seen)...)
			}
		}
		return list
	case *ast.SelectorExpr:
		if name, ok := p.readColumn(e); ok {
			return []source{{read: name}}
		}
		if p.info.Selections[e] != nil {
			return p.sources(e.X, seen)
		}
		return p.sources(e.Sel, seen) // of another package
	case *ast.IndexExpr:
		return p.sources(e.X, seen)
	case *ast.SliceExpr:
		return p.sources(e.X, seen)
	case *ast.StarExpr:
		return p.sources(e.X, seen)
	case *ast.TypeAssertExpr:
		return p.sources(e.X, seen)
	case *ast.UnaryExpr:
		if e.Op == token.AND {
			return p.sources(e.X, seen)
		}
	case *ast.CompositeLit:
		var list []source
		for _, element := range e.Elts {
			if pair, ok := element.(*ast.KeyValueExpr); ok {
				element = pair.Value
			}
			if t := p.info.TypeOf(element); t != nil && refers(t) {
				list = append(list, p.sources(element, seen)...)
			}
		}
		return list
	case *ast.CallExpr:
		return p.sourcesOfCall(e, seen)
	}
	return nil
}

func (p *unit) sourcesOfCall(e *ast.CallExpr, seen map[any]bool) (list []source) {
	tv := p.info.Types[e.Fun]
	switch {
	case tv.IsType(), tv.IsBuiltin() && p.isBuiltinCall(e, "append"):
		return p.sources(e.Args[0], seen)
	}
	n := p.byFunc[p.callee(e)]
	if n == nil || seen[n] {
		return nil
	}
	seen[n] = true
	for _, result := range n.results {
		if t := p.info.TypeOf(result); t == nil || !refers(t) {
			continue
		}
		for _, s := range p.sources(result, seen) {
			if s.v != nil && isPackageVar(s.v) {
				list = append(list, s)
			}
		}
	}
	return list
}

// readColumn returns the description of a column of a run that its query declares as read.
func (p *unit) readColumn(e *ast.SelectorExpr) (string, bool) {
	id, ok := ast.Unparen(e.X).(*ast.Ident)
	if !ok {
		return "", false
	}
	v, _ := p.info.ObjectOf(id).(*types.Var)
	if v == nil || !p.columns[v].aliases[e.Sel.Name] {
		return "", false
	}
	return id.Name + "." + e.Sel.Name, true
}

// isPackageVar reports whether a variable is declared at package level.
func isPackageVar(v *types.Var) bool { return v.Pkg() != nil && v.Parent() == v.Pkg().Scope() }

func writeFault(what string) fault {
	return fault{Rule: "writes", What: what, Advice: "keep it in a component or a resource; data that follows from the state belongs in ecs.Derived"}
}

// write records a write to an expression on the left of an assignment.
func (p *unit) write(n *node, left ast.Expr, pos token.Pos) {
	indirect := false
	e := ast.Unparen(left)
	for {
		switch x := e.(type) {
		case *ast.Ident:
			if indirect {
				p.writeThrough(n, x, pos, "")
			} else if v, _ := p.info.ObjectOf(x).(*types.Var); v != nil && x.Name != "_" {
				p.writeTo(n, v, false, pos, "")
			}
			return
		case *ast.SelectorExpr:
			sel := p.info.Selections[x]
			if sel == nil { // a variable of another package
				p.writeThrough(n, x, pos, "")
				return
			}
			if _, ok := p.readColumn(x); ok {
				if indirect {
					p.writeThrough(n, x, pos, "")
				}
				return
			}
			p.changeThroughRow(n, x, pos)
			indirect = indirect || sel.Indirect()
			e = ast.Unparen(x.X)
		case *ast.IndexExpr:
			if _, isArray := p.info.TypeOf(x.X).Underlying().(*types.Array); !isArray {
				indirect = true
			}
			e = ast.Unparen(x.X)
		case *ast.StarExpr:
			indirect = true
			e = ast.Unparen(x.X)
		case *ast.SliceExpr, *ast.TypeAssertExpr, *ast.CallExpr:
			p.writeThrough(n, x, pos, "")
			return
		default:
			return
		}
	}
}

// changeThroughRow records a write through a pointer of a query's row, which a hook that only reads must not make.
func (p *unit) changeThroughRow(n *node, x *ast.SelectorExpr, pos token.Pos) {
	id, ok := ast.Unparen(x.X).(*ast.Ident)
	if !ok {
		return
	}
	if v, _ := p.info.ObjectOf(id).(*types.Var); v != nil && p.columns[v].written[x.Sel.Name] {
		n.changes = append(n.changes, located{fault{Rule: "hooks", What: "a write through a query changes the world in a hook that only reads",
			Advice: "change the state in a system or an order"}, pos})
	}
}

// writeThrough records a write to the memory behind an expression. by is the function that writes, or empty.
func (p *unit) writeThrough(n *node, e ast.Expr, pos token.Pos, by string) {
	for _, s := range p.sources(e, map[any]bool{}) {
		if s.read == "" {
			p.writeTo(n, s.v, true, pos, by)
			continue
		}
		what := s.read + " is declared as read, and a save misses the write"
		if by != "" {
			what = by + " writes to " + s.read + ", which is declared as read, and a save misses the write"
		}
		n.faults = append(n.faults, located{fault{Rule: "access", What: what, Advice: "declare it with ecs.Write in the query, or write with Component.Write"}, pos})
	}
}

// writeTo records a write to a variable, or to the memory that it refers to.
func (p *unit) writeTo(n *node, v *types.Var, through bool, pos token.Pos, by string) {
	if isPackageVar(v) {
		if isEngineType(v.Type()) {
			return
		}
		n.faults = append(n.faults, located{writeFault(unsaved("package", v, by)), pos})
		return
	}
	owner := p.owners[v.Origin()]
	if owner == nil || owner != n && !p.isAround(owner, n) {
		return
	}
	if owner != n {
		n.captures = append(n.captures, capture{located{writeFault(unsaved("captured", v, by)), pos}, owner})
	}
	if i, ok := owner.params[v.Origin()]; ok && through && i < 64 && owner.writes>>i&1 == 0 {
		owner.writes |= 1 << i
		p.unsettled = true
	}
}

// unsaved describes a write to a variable outside the world.
func unsaved(kind string, v *types.Var, by string) string {
	if by == "" {
		return fmt.Sprintf("the %s variable %s is not rewound", kind, v.Name())
	}
	return fmt.Sprintf("%s writes to the %s variable %s, which is not rewound", by, kind, v.Name())
}

func (p *unit) isAround(outer, n *node) bool {
	for n = n.outer; n != nil; n = n.outer {
		if n == outer {
			return true
		}
	}
	return false
}

// settleWrites finds writes through arguments: first which functions write through their parameters, then the faults.
func (p *unit) settleWrites() {
	for p.unsettled = true; p.unsettled; {
		p.unsettled = false
		for _, n := range p.nodes {
			faults, captures := len(n.faults), len(n.captures)
			p.applyPasses(n)
			n.faults, n.captures = n.faults[:faults], n.captures[:captures] // the last round reports them
		}
	}
	for _, n := range p.nodes {
		p.applyPasses(n)
	}
}

func (p *unit) applyPasses(n *node) {
	for _, c := range n.passes {
		writes := c.writes
		if c.to != nil {
			writes = c.to.writes
		}
		for i, arg := range c.args {
			if arg != nil && writes>>min(i, c.last, 63)&1 != 0 {
				p.writeThrough(n, arg, c.pos, c.name)
			}
		}
	}
}
