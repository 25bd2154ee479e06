package determinism

import (
	"fmt"
	"go/ast"
	"go/types"
	"strings"
)

// kind says when the engine runs a function that a game gives it.
type kind int

const (
	inTick   kind = iota // in a tick, or in code that must agree with ticks
	readOnly             // it must not change the world
	inSeen               // in a tick in which Component.Seen is called
	kinds
)

// runs are the kinds of a hook.
type runs []kind

var (
	never  = runs{}
	tick   = runs{inTick}
	reads  = runs{inTick, readOnly}
	inputs = runs{readOnly} // a bot's result is an input, so it need not be the same twice
	drawn  = runs{inSeen}
)

// hooks are the function fields of package ecs and ecs/image, and the functions that have function parameters. A field or function
// that is not listed runs in a tick if its function receives a *World. In other packages below ecs, all of them run in ticks.
var hooks = map[string]runs{
	"System.Run":       tick,
	"Systems":          tick,
	"Game.Setup":       tick,
	"Game.Join":        tick,
	"Game.Leave":       tick,
	"Game.Bot":         inputs,
	"Game.BotOrders":   inputs,
	"Game.Validate":    reads,
	"Game.Result":      reads,
	"Game.See":         reads,
	"Order.Do":         tick,
	"OrderRule.If":     reads,
	"Physics.MoveCost": reads,
	"Physics.Floor":    reads,
	"Physics.Blocked":  reads,
	"Physics.Carrier":  reads,
	"Physics.Track":    reads,
	"Physics.Path":     reads,
	"NewDerived":       reads,
	"Roles.Lerp":       drawn,
	"Roles.Motion":     tick,
	"Roles.SetMotion":  tick,
	"Roles.Quantise":   tick,
	"Roles.Bounds":     tick,
	"Screen.Controls":  never,
	"Screen.Draw":      never,
	"Screen.Effect":    never,
	"Screen.Dress":     never,
	"Screen.Undress":   never,
	"Screen.Sound":     never,
	"Screen.Score":     never,
}

// runsOf returns the kinds of a hook by its package, its name and the type of its function.
func runsOf(pkg *types.Package, name string, t types.Type) runs {
	inCore := pkg.Path() == enginePath+"/ecs" || pkg.Path() == enginePath+"/ecs/image"
	if kinds, ok := hooks[name]; ok && inCore {
		return kinds
	}
	if !inCore || takesWorld(funcIn(t)) {
		return tick
	}
	return never
}

// funcIn returns the signature of a function type, or of the functions in a slice of them.
func funcIn(t types.Type) *types.Signature {
	switch t := t.Underlying().(type) {
	case *types.Signature:
		return t
	case *types.Slice:
		return funcIn(t.Elem())
	}
	return nil
}

func takesWorld(f *types.Signature) bool {
	for v := range f.Params().Variables() {
		if isNamed(v.Type(), "ecs", "World") {
			return true
		}
	}
	return false
}

// isNamed reports whether t is a type of the engine or a pointer to it.
func isNamed(t types.Type, pkg string, names ...string) bool {
	t = types.Unalias(t)
	if pointer, ok := t.(*types.Pointer); ok {
		t = types.Unalias(pointer.Elem())
	}
	named, ok := t.(*types.Named)
	if !ok || named.Obj().Pkg() == nil || named.Obj().Pkg().Path() != enginePath+"/"+pkg {
		return false
	}
	for _, name := range names {
		if named.Obj().Name() == name {
			return true
		}
	}
	return false
}

// declares reports whether a package declares hooks.
func declares(pkg *types.Package) bool {
	return pkg != nil && (pkg.Path() == enginePath+"/ecs" || strings.HasPrefix(pkg.Path(), enginePath+"/ecs/"))
}

// findRoots finds the functions that the package gives to the engine.
func (p *unit) findRoots() {
	for _, f := range p.pass.Files {
		if strings.HasSuffix(p.pass.Fset.Position(f.Package).Filename, "_test.go") {
			continue // tests plant faults and count calls
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CompositeLit:
				p.rootsInLiteral(n)
			case *ast.AssignStmt:
				for i, left := range n.Lhs {
					if s, ok := ast.Unparen(left).(*ast.SelectorExpr); ok && len(n.Lhs) == len(n.Rhs) {
						if sel := p.info.Selections[s]; sel != nil && sel.Kind() == types.FieldVal {
							p.rootField(sel.Recv(), sel.Obj().(*types.Var), n.Rhs[i])
						}
					}
				}
			case *ast.CallExpr:
				p.rootsInCall(n)
			}
			return true
		})
	}
}

func (p *unit) rootsInLiteral(n *ast.CompositeLit) {
	typ := p.info.TypeOf(n)
	if typ == nil {
		return
	}
	fields, ok := typ.Underlying().(*types.Struct)
	if !ok {
		return
	}
	for i, element := range n.Elts {
		if pair, ok := element.(*ast.KeyValueExpr); ok {
			if v := p.variable(pair.Key); v != nil {
				p.rootField(typ, v, pair.Value)
			}
		} else if i < fields.NumFields() {
			p.rootField(typ, fields.Field(i), element)
		}
	}
}

func (p *unit) rootField(typ types.Type, field *types.Var, value ast.Expr) {
	typ = types.Unalias(typ)
	if pointer, ok := typ.(*types.Pointer); ok {
		typ = types.Unalias(pointer.Elem())
	}
	if named, ok := typ.(*types.Named); ok && declares(named.Obj().Pkg()) && funcIn(field.Type()) != nil {
		name := named.Obj().Name() + "." + field.Name()
		p.root(name, runsOf(named.Obj().Pkg(), name, field.Type()), value)
	}
}

func (p *unit) rootsInCall(n *ast.CallExpr) {
	fn := p.callee(n)
	if fn == nil || fn.Pkg() == nil {
		return
	}
	if !declares(fn.Pkg()) {
		if fn.Pkg() != p.pass.Pkg && !Skipped(fn.Pkg().Path()) {
			p.rootArgs(fn.Name(), n, fn, p.summaryOf(fn).Roots)
		}
		return
	}
	if fn.Name() == "NewInput" {
		p.rootMethods(n)
	}
	params := fn.Signature().Params()
	for i, arg := range n.Args {
		if at := min(i, params.Len()-1); at >= 0 {
			if t := params.At(at).Type(); funcIn(t) != nil {
				p.root(funcName(fn), runsOf(fn.Pkg(), funcName(fn), t), arg)
			}
		}
	}
}

// rootMethods marks Predict and MergeLate of an input type.
func (p *unit) rootMethods(n *ast.CallExpr) {
	index, ok := ast.Unparen(n.Fun).(*ast.IndexExpr)
	if !ok {
		return
	}
	for _, name := range []string{"Predict", "MergeLate"} {
		method, _, _ := types.LookupFieldOrMethod(p.info.TypeOf(index.Index), true, p.pass.Pkg, name)
		if fn, ok := method.(*types.Func); ok && p.byFunc[fn.Origin()] != nil {
			p.roots[inTick] = append(p.roots[inTick], p.byFunc[fn.Origin()])
		}
	}
}

// rootArgs marks the arguments whose parameters run in a tick.
func (p *unit) rootArgs(name string, n *ast.CallExpr, fn *types.Func, which uint64) {
	last := fn.Signature().Params().Len()
	for i, arg := range n.Args {
		if which>>min(i+1, last)&1 != 0 {
			p.root(name, tick, arg)
		}
	}
}

// root marks the functions that an expression can be.
func (p *unit) root(name string, kinds runs, value ast.Expr) {
	if len(kinds) == 0 || p.rooted[value] {
		return
	}
	p.rooted[value] = true
	r := p.resolver(func(v *types.Var, n *node) bool {
		i := n.params[v]
		if n.fn == nil || i == 0 || i > 63 || n.rootParams>>i&1 != 0 {
			return true
		}
		n.rootParams |= 1 << i
		for _, site := range p.sites[n.fn] {
			if !p.nodeInTest(site) {
				p.rootArgs(name, site, n.fn, 1<<i)
			}
		}
		return true
	})
	r.resolve(value)
	for _, t := range r.found {
		for _, k := range kinds {
			if t.node != nil {
				p.roots[k] = append(p.roots[k], t.node)
				continue
			}
			s := p.summaryOf(t.foreign)
			call := foreignCall{fn: t.foreign, pos: value.Pos()}
			switch {
			case k == readOnly:
				p.rootFaults = append(p.rootFaults, p.elsewhere(call, s.Changes)...)
			case k == inTick && t.returned:
				p.rootFaults = append(p.rootFaults, p.elsewhere(call, s.Returned)...)
			case k == inTick:
				p.rootFaults = append(p.rootFaults, p.elsewhere(call, s.Faults)...)
			}
		}
		if t.bound != nil && kinds[0] == inTick {
			p.boundReceiver(name, t, value)
		}
	}
}

// boundReceiver reports a method that writes to the value it was taken from.
func (p *unit) boundReceiver(name string, t target, value ast.Expr) {
	var writes uint64
	var fn *types.Func
	if t.node != nil {
		writes, fn = t.node.writes, t.node.fn
	} else {
		writes, fn = p.summaryOf(t.foreign).Writes, t.foreign
	}
	if writes&1 == 0 {
		return
	}
	pos := value.Pos()
	if t.node != nil {
		pos = fn.Pos()
	}
	f := writeFault(fmt.Sprintf("%s, given as %s, writes to its receiver, which is not rewound", fn.Name(), name))
	p.rootFaults = append(p.rootFaults, located{f, pos})
}

func (p *unit) nodeInTest(n ast.Node) bool {
	return strings.HasSuffix(p.pass.Fset.Position(n.Pos()).Filename, "_test.go")
}
