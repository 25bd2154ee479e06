package determinism

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// Analyzer reports code that runs in a tick and whose result does not follow from the world alone. The category of a
// diagnostic is the name of its rule.
var Analyzer = &analysis.Analyzer{
	Name:      "determinism",
	Doc:       "report code of a Tendon game that runs in a tick and is not deterministic",
	Run:       run,
	FactTypes: []analysis.Fact{(*summary)(nil)},
}

// summary is the fact about a function that packages which import it need.
type summary struct {
	Faults   []fault // of a call
	Changes  []fault // of a call: changes of a world, which a hook that only reads must not make
	Returned []fault // of the functions that it returns
	Writes   uint64  // parameters through which it writes: the receiver is bit 0, the first parameter bit 1
	Roots    uint64  // parameters whose functions run in a tick, with the same bits
}

// AFact marks summary as a fact.
func (*summary) AFact() {}

// String returns the contents for tests.
func (s *summary) String() string { return fmt.Sprintf("%+v", *s) }

// fault is one finding without its position in the package that is being analysed.
type fault struct {
	Rule   string
	What   string // "time.Now reads the clock of the machine"
	Advice string // "use w.Tick() divided by Game.TickRate"
	Where  string // file and line, for other packages
}

// located is a fault at a place of this package.
type located struct {
	fault
	pos token.Pos
}

// maxFaults bounds the faults of a summary: the first ones are enough to find the rest.
const maxFaults = 3

func run(pass *analysis.Pass) (any, error) {
	if Skipped(pass.Pkg.Path()) {
		return nil, nil
	}
	p := newUnit(pass)
	for _, n := range p.nodes {
		p.visit(n)
	}
	p.settleWrites()
	p.findRoots()
	p.report()
	p.export()
	return nil, nil
}

// Skipped reports whether a package has no summaries: the standard library and the engine are tables.
func Skipped(path string) bool { return isStandard(path) || isEngine(path) || isDonburi(path) }

// report prints the faults that the roots of the package reach.
func (p *unit) report() {
	reached := p.reach(p.roots[inTick])
	if p.callSeen(reached) {
		reached = p.reach(append(p.roots[inTick], p.roots[inSeen]...))
	}
	list := slices.Concat(p.faultsOf(reached, -1), p.changesOf(p.reach(p.roots[readOnly]), -1), p.rootFaults)
	slices.SortStableFunc(list, func(a, b located) int { return cmp.Compare(a.pos, b.pos) })
	p.reportAll(list)
	for _, c := range p.unreasoned {
		p.pass.Report(analysis.Diagnostic{Pos: c, Category: "allow", Message: "tendon:allow without a reason: write //tendon:allow and why this line is deterministic"})
	}
}

// reportAll prints each fault of a line once.
func (p *unit) reportAll(list []located) {
	for _, f := range list {
		at := p.pass.Fset.Position(f.pos)
		key := fmt.Sprint(at.Filename, at.Line, f.Rule, f.What)
		if p.reported[key] || p.allowed[line{at.Filename, at.Line}] {
			continue
		}
		p.reported[key] = true
		message := f.What + ": " + f.Advice
		if f.Where != "" {
			message = "at " + f.Where + ": " + message
		}
		p.pass.Report(analysis.Diagnostic{Pos: f.pos, Category: f.Rule, Message: message})
	}
}

// export stores the summaries of the package's functions.
func (p *unit) export() {
	clean := true // no fault anywhere: only writes and roots matter
	for _, n := range p.nodes {
		clean = clean && len(n.faults)+len(n.changes)+len(n.captures)+len(n.foreign) == 0
	}
	for _, n := range p.nodes {
		if n.fn == nil {
			continue
		}
		s := &summary{Writes: n.writes, Roots: n.rootParams}
		if !clean {
			set := p.reach([]*node{n})
			s.Faults = p.remote(p.faultsOf(set, maxFaults))
			s.Changes = p.remote(p.changesOf(set, 1))
			s.Returned = p.remote(p.returnedFaults(n))
		}
		if len(s.Faults)+len(s.Changes)+len(s.Returned) > 0 || s.Writes|s.Roots != 0 {
			p.pass.ExportObjectFact(n.fn, s)
		}
	}
}

// remote returns faults as other packages see them. Allowed lines are left out.
func (p *unit) remote(list []located) (faults []fault) {
	for _, f := range list {
		at := p.pass.Fset.Position(f.pos)
		if p.allowed[line{at.Filename, at.Line}] {
			continue
		}
		if f.Where == "" {
			f.Where = fmt.Sprintf("%s/%s:%d", path.Base(p.pass.Pkg.Path()), filepath.Base(at.Filename), at.Line)
		}
		faults = append(faults, f.fault)
	}
	return faults
}

// line is a line of a file.
type line struct {
	file   string
	number int
}

const allowPrefix = "//tendon:allow"

// readAllows finds the comments that silence a line: their own one, or the next one where nothing precedes them.
func (p *unit) readAllows(file *ast.File) {
	code := map[int]bool{} // lines on which code ends or begins
	ast.Inspect(file, func(n ast.Node) bool {
		switch n.(type) {
		case nil, *ast.Comment, *ast.CommentGroup:
			return false
		}
		code[p.pass.Fset.Position(n.Pos()).Line], code[p.pass.Fset.Position(n.End()).Line] = true, true
		return true
	})
	for _, group := range file.Comments {
		for _, c := range group.List {
			reason, ok := strings.CutPrefix(c.Text, allowPrefix)
			if !ok || reason != "" && reason[0] != ' ' {
				continue
			}
			reason, _, _ = strings.Cut(reason, "//")
			if strings.TrimSpace(reason) == "" {
				p.unreasoned = append(p.unreasoned, c.Pos())
				continue
			}
			at := p.pass.Fset.Position(c.Pos())
			if !code[at.Line] {
				at.Line++
			}
			p.allowed[line{at.Filename, at.Line}] = true
		}
	}
}
