package determinism

import (
	"go/types"
	"slices"
)

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

// callSeen reports whether the set interpolates components, by which their Lerp roles run in a tick.
func (p *unit) callSeen(set []bool) bool {
	return slices.ContainsFunc(p.nodes, func(n *node) bool { return set[n.index] && n.seen })
}
