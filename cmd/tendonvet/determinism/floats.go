package determinism

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"math"
)

// visitProduct reports a product of floats that a compiler may fuse with a sum. An explicit conversion prevents that. A product
// that is only compared, divided, or multiplied again, is not summed.
func (p *unit) visitProduct(n *node, x ast.Node, op token.Token) {
	var left, right, whole ast.Expr
	switch x := x.(type) {
	case *ast.BinaryExpr:
		left, right, whole = x.X, x.Y, x
	case *ast.AssignStmt:
		left, right, whole = x.Lhs[0], x.Rhs[0], x.Lhs[0]
	}
	t := p.info.TypeOf(whole)
	if t == nil || op != token.MUL || p.info.Types[whole].Value != nil {
		return
	}
	b, ok := t.Underlying().(*types.Basic)
	if !ok || b.Info()&(types.IsFloat|types.IsComplex) == 0 || p.isPowerOfTwo(left) || p.isPowerOfTwo(right) {
		return
	}
	if e, ok := x.(*ast.BinaryExpr); ok && b.Info()&types.IsFloat != 0 && p.rounded(e) {
		return
	}
	name := types.TypeString(t, types.RelativeTo(p.pass.Pkg))
	p.fault(n, x, "floats", "some processors fuse a product and a sum into one rounding", "write "+name+"(x * y), or use ecs/fixed")
}

// isPowerOfTwo reports whether e is a constant by which products are exact.
func (p *unit) isPowerOfTwo(e ast.Expr) bool {
	v := p.info.Types[e].Value
	if v == nil || v.Kind() != constant.Int && v.Kind() != constant.Float {
		return false
	}
	f, _ := constant.Float64Val(v)
	fraction, _ := math.Frexp(math.Abs(f))
	return fraction == 0.5 || f == 0
}

// rounded reports whether the value of a product is rounded, or is not an operand of a sum.
func (p *unit) rounded(e ast.Expr) bool {
	var child ast.Node = e
	for {
		parent := p.parents[child]
		switch x := parent.(type) {
		case *ast.ParenExpr:
		case *ast.UnaryExpr:
			if x.Op != token.SUB && x.Op != token.ADD {
				return true
			}
		case *ast.BinaryExpr:
			switch x.Op {
			case token.MUL: // then the outer product counts
				return true
			case token.QUO, token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ:
				return true
			}
			return false
		case *ast.CallExpr:
			if p.info.Types[x.Fun].IsType() {
				return true
			}
			fn := p.callee(x)
			return fn != nil && fn.Pkg() != nil && isStandard(fn.Pkg().Path())
		default:
			return false
		}
		child = parent
	}
}
