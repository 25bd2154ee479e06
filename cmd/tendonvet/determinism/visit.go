package determinism

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strings"
)

// visit finds the faults and the calls of one function. Literals in it have nodes of their own.
func (p *unit) visit(n *node) {
	if n.body == nil {
		return
	}
	ast.Inspect(n.body, func(x ast.Node) bool {
		switch x := x.(type) {
		case *ast.FuncLit:
			n.calls = append(n.calls, call{to: p.byLit[x]})
			return false
		case *ast.Ident:
			p.use(n, x)
		case *ast.GoStmt:
			p.fault(n, x, "concurrency", "a goroutine has no order", adviceParallel)
		case *ast.SelectStmt:
			p.fault(n, x, "concurrency", "select has no order", adviceChannel)
		case *ast.SendStmt:
			p.fault(n, x, "concurrency", "a channel is state outside the world", adviceChannel)
		case *ast.UnaryExpr:
			if x.Op == token.ARROW {
				p.fault(n, x, "concurrency", "a channel is state outside the world", adviceChannel)
			}
		case *ast.RangeStmt:
			p.visitRange(n, x)
		case *ast.CallExpr:
			p.visitCall(n, x)
		case *ast.BinaryExpr:
			p.visitProduct(n, x, x.Op)
		case *ast.AssignStmt:
			p.visitAssign(n, x)
		case *ast.IncDecStmt:
			p.write(n, x.X, x.Pos())
		}
		return true
	})
	p.lostWrites(n)
}

func (p *unit) fault(n *node, at ast.Node, rule, what, advice string) {
	n.faults = append(n.faults, located{fault{Rule: rule, What: what, Advice: advice}, at.Pos()})
}

const (
	adviceParallel = "list the queries of the system in System.Parallel to use several cores"
	adviceChannel  = "keep the data in a component or a resource"
	adviceMaps     = "sort the keys first, as in slices.Sorted(maps.Keys(m)), or use a slice"
	adviceView     = "read the *ecs.World of the system; views belong to ecs.Screen"
)

func (p *unit) visitRange(n *node, x *ast.RangeStmt) {
	if t := p.info.TypeOf(x.X); t != nil {
		switch t.Underlying().(type) {
		case *types.Chan:
			p.fault(n, x, "concurrency", "a channel is state outside the world", adviceChannel)
		case *types.Map:
			if !p.orderFree(n, x) {
				p.fault(n, x, "maps", "the order of a map differs each time", adviceMaps)
			}
		}
	}
	if x.Tok == token.ASSIGN {
		for _, e := range []ast.Expr{x.Key, x.Value} {
			if e != nil {
				p.write(n, e, e.Pos())
			}
		}
	}
}

func (p *unit) visitAssign(n *node, x *ast.AssignStmt) {
	for _, left := range x.Lhs {
		if id, ok := left.(*ast.Ident); ok && x.Tok == token.DEFINE && p.info.Defs[id] != nil {
			continue
		}
		p.write(n, left, x.Pos())
	}
	if x.Tok == token.MUL_ASSIGN {
		p.visitProduct(n, x, token.MUL)
	}
}

// use looks at one mention of a function, a variable or a constant.
func (p *unit) use(n *node, id *ast.Ident) {
	switch o := p.info.Uses[id].(type) {
	case *types.Func:
		p.useFunc(n, id, o.Origin())
	case *types.Var:
		p.useVar(n, id, o.Origin())
	case *types.Const:
		if o.Pkg() != nil && o.Pkg().Path() == "runtime" && o.Parent() == o.Pkg().Scope() {
			p.fault(n, id, "io", "runtime."+o.Name()+" differs between targets", adviceAsset)
		}
	}
}

func (p *unit) useFunc(n *node, id *ast.Ident, fn *types.Func) {
	if fn.Pkg() == nil { // error.Error
		return
	}
	path := fn.Pkg().Path()
	switch {
	case isInterfaceMethod(fn):
		for _, m := range p.implementations(fn) {
			n.calls = append(n.calls, call{to: m})
		}
	case fn.Pkg() == p.pass.Pkg:
		if to := p.byFunc[fn]; to != nil {
			n.calls = append(n.calls, call{to: to})
		}
		return
	}
	switch {
	case isEngine(path):
		p.useEngine(n, id, fn)
	case isDonburi(path):
		p.useDonburi(n, id, fn)
	case isStandard(path):
		if fault, ok := standardFault(path, funcName(fn), isExempt(p, id, path, fn)); ok {
			n.faults = append(n.faults, located{fault, id.Pos()})
		}
	case fn.Pkg() != p.pass.Pkg && !isInterfaceMethod(fn):
		n.foreign = append(n.foreign, foreignCall{fn: fn, pos: id.Pos()})
	}
}

func (p *unit) useVar(n *node, id *ast.Ident, v *types.Var) {
	if v.Pkg() != nil && isStandard(v.Pkg().Path()) && !v.IsField() {
		if fault, ok := standardFault(v.Pkg().Path(), v.Name(), false); ok {
			n.faults = append(n.faults, located{fault, id.Pos()})
		}
	}
	if isNamed(v.Type(), "ecs", "View", "Canvas", "Controls", "Past") || isNamed(v.Type(), "ecs/image", "Picture") {
		p.fault(n, id, "views", v.Name()+" is a view: its values are interpolated and differ between peers", adviceView)
	}
	if !holdsFunc(v.Type()) || isEngineType(v.Type()) {
		return
	}
	r := p.resolver(func(v *types.Var, owner *node) bool {
		if owner != n { // a captured parameter: its arguments count if the outer function has returned
			for _, value := range p.bindings[v] {
				p.parameterValues(n, owner, value)
			}
		}
		return true
	})
	r.object(v, nil)
	p.addTargets(n, r.found, nil, id.Pos())
}

// parameterValues adds the functions that a captured parameter can be. If the outer function runs in the tick too, its callers
// mention them.
func (p *unit) parameterValues(n, owner *node, value ast.Expr) {
	r := p.resolver(func(*types.Var, *node) bool { return true })
	r.resolve(value)
	p.addTargets(n, r.found, owner, value.Pos())
}

func (p *unit) addTargets(n *node, found []target, unless *node, pos token.Pos) {
	for _, t := range found {
		if t.node != nil {
			n.calls = append(n.calls, call{to: t.node, unless: unless})
		} else if unless == nil {
			n.foreign = append(n.foreign, foreignCall{fn: t.foreign, pos: pos, returned: t.returned})
		}
	}
}

// useEngine looks at the use of a function of the engine.
func (p *unit) useEngine(n *node, id *ast.Ident, fn *types.Func) {
	path, name := strings.TrimPrefix(fn.Pkg().Path(), enginePath+"/"), funcName(fn)
	recv := fn.Signature().Recv()
	switch {
	case recv != nil && isNamed(recv.Type(), "ecs", "View", "Canvas", "Controls", "Past"), name == "NewView", recv != nil && isNamed(recv.Type(), "ecs/image", "Picture"):
		p.fault(n, id, "views", name+" is for views, whose values differ between peers", adviceView)
	case path == "ecs" && (name == "Component.Iter" || name == "Component.First"):
		p.fault(n, id, "order", name+" visits entities in donburi's order, which depends on history", "use a query of ecs, or ecs.Ordered for a donburi query")
	case name == "Component.Seen", name == "Grid.SeenIn", path == "systems/lagcomp":
		n.seen = true
	case path == "ecs" && worldChanges[name]:
		n.changes = append(n.changes, located{fault{Rule: "hooks", What: name + " changes the world in a hook that only reads",
			Advice: "read with Component.Read and queries; change the state in a system or an order"}, id.Pos()})
	case path == "ecs" && strings.HasPrefix(name, "New") && declarations[name]:
		p.fault(n, id, "writes", name+" in a tick declares data again each time", "declare it once, at package level")
	case path == "ecs/image" && localImage[name]:
		p.fault(n, id, "engine", name+" depends on the rewinds of this peer", "read the state with components, resources and queries")
	case path == "ecs/fixed" && name == "FromFloat":
		p.useFromFloat(n, id)
	case strings.HasPrefix(path, "net/") || strings.HasPrefix(path, "rollback"):
		p.fault(n, id, "io", fmt.Sprintf("%s of %s is outside the simulation", name, path), "pass data into the world as an input or an order")
	}
}

// useFromFloat refuses floats that are computed in a tick. A parameter is a float that the engine computed, as in Roles.Lerp.
func (p *unit) useFromFloat(n *node, id *ast.Ident) {
	call, ok := p.enclosingCall(id)
	if !ok || len(call.Args) != 1 || p.info.Types[call.Args[0]].Value != nil {
		return
	}
	if v := p.variable(call.Args[0]); v != nil {
		if _, ok := n.params[v]; ok {
			return
		}
	}
	p.fault(n, id, "floats", "fixed.FromFloat of a float that is computed in a tick differs between targets", "compute in fixed.Num; fixed.FromRatio(1, 3) makes fractions")
}

// enclosingCall returns the call whose function is named by id.
func (p *unit) enclosingCall(id *ast.Ident) (*ast.CallExpr, bool) {
	var e ast.Node = id
	for {
		parent := p.parents[e]
		switch x := parent.(type) {
		case *ast.SelectorExpr:
			if x.Sel != id {
				return nil, false
			}
		case *ast.ParenExpr, *ast.IndexExpr, *ast.IndexListExpr:
		case *ast.CallExpr:
			return x, x.Fun == e
		default:
			return nil, false
		}
		e = parent
	}
}

func (p *unit) useDonburi(n *node, id *ast.Ident, fn *types.Func) {
	switch name := fn.Name(); name {
	case "Each", "EachEntity", "Iter", "First", "FirstEntity", "MustFirst", "MustFirstEntity", "Archetypes", "StorageAccessor":
		p.fault(n, id, "order", funcName(fn)+" visits entities in donburi's order, which depends on history", "use a query of ecs, or ecs.Ordered")
	case "EachOrdered", "IterOrdered":
		p.fault(n, id, "order", funcName(fn)+" has no order for entities with equal keys", "use ecs.Ordered, or a stable sort of its entries")
	}
}

func (p *unit) visitCall(n *node, x *ast.CallExpr) {
	if tv := p.info.Types[x.Fun]; tv.IsType() {
		p.visitConversion(n, x, tv.Type)
		return
	} else if tv.IsBuiltin() {
		p.visitBuiltin(n, x)
		return
	}
	fn := p.callee(x)
	if fn == nil || fn.Pkg() == nil {
		return
	}
	args := append([]ast.Expr{nil}, x.Args...)
	if s, ok := ast.Unparen(x.Fun).(*ast.SelectorExpr); ok && fn.Signature().Recv() != nil {
		args[0] = s.X
	}
	pass := pass{to: p.byFunc[fn], name: fn.Name(), args: args, last: fn.Signature().Params().Len(), pos: x.Pos()}
	path := fn.Pkg().Path()
	switch {
	case isStandard(path):
		pass.writes, pass.name = standardWrites(path, fn), path+"."+funcName(fn)
		p.visitSort(n, x, path, fn)
	case !Skipped(path) && fn.Pkg() != p.pass.Pkg:
		pass.writes, pass.name = p.summaryOf(fn).Writes, fn.Pkg().Name()+"."+funcName(fn)
	}
	n.passes = append(n.passes, pass)
	if fn.Pkg() != p.pass.Pkg {
		p.visitInterfaceArgs(n, x, fn)
	}
}

// visitInterfaceArgs follows the methods of values that another package calls, such as Less of a sort.Interface, and finds
// addresses in texts.
func (p *unit) visitInterfaceArgs(n *node, x *ast.CallExpr, fn *types.Func) {
	params := fn.Signature().Params()
	for i, arg := range x.Args {
		at := min(i, params.Len()-1)
		if at < 0 {
			break
		}
		if v := p.info.Types[arg].Value; v != nil && fn.Pkg().Path() == "fmt" && v.Kind() == constant.String && strings.Contains(constant.StringVal(v), "%p") {
			p.fault(n, arg, "io", "%p prints an address, which differs between peers", "identify data by its ecs.Entity or its index")
		}
		iface, ok := params.At(at).Type().Underlying().(*types.Interface)
		if !ok {
			continue
		}
		for m := range iface.Methods() {
			method, _, _ := types.LookupFieldOrMethod(p.info.TypeOf(arg), true, p.pass.Pkg, m.Name())
			if f, ok := method.(*types.Func); ok && p.byFunc[f.Origin()] != nil {
				n.calls = append(n.calls, call{to: p.byFunc[f.Origin()]})
			}
		}
	}
}

func (p *unit) visitConversion(n *node, x *ast.CallExpr, to types.Type) {
	if b, ok := to.Underlying().(*types.Basic); ok && b.Kind() == types.Uintptr && len(x.Args) == 1 {
		if from, ok := p.info.TypeOf(x.Args[0]).Underlying().(*types.Basic); ok && from.Kind() == types.UnsafePointer {
			p.fault(n, x, "io", "an address differs between peers", "identify data by its ecs.Entity or its index")
		}
	}
}

func (p *unit) visitBuiltin(n *node, x *ast.CallExpr) {
	id, _ := ast.Unparen(x.Fun).(*ast.Ident)
	if id == nil {
		return
	}
	switch id.Name {
	case "copy", "clear", "delete":
		p.writeThrough(n, x.Args[0], x.Pos(), "")
	case "append":
		if s, ok := ast.Unparen(x.Args[0]).(*ast.SliceExpr); ok { // it writes behind the part that it keeps
			p.writeThrough(n, s, x.Pos(), "")
		}
	case "print", "println":
		p.fault(n, x, "io", id.Name+" prints again with each resimulation", adviceEvent)
	case "close":
		p.fault(n, x, "concurrency", "a channel is state outside the world", adviceChannel)
	case "make":
		if _, ok := p.info.TypeOf(x).Underlying().(*types.Chan); ok {
			p.fault(n, x, "concurrency", "a channel is state outside the world", adviceChannel)
		}
	}
}
