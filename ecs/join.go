package ecs

import (
	"iter"
	"math/bits"
	"unsafe"

	"tendon/ecs/image"
)

// Join is a query of up to eight components: it yields the entities that two queries have in common, in the order of rows. Declare
// it once, at package level. A parallel system cannot use a Join that writes.
type Join[A, PA, SA, B, PB, SB, C, PC, SC, D, PD, SD, E, PE, SE, F, PF, SF, G, PG, SG, H, PH, SH any] struct {
	first, second image.Plan
	swapped       bool // the second decides which rows are visited, since only it writes
}

// JoinQueries declares a Join. Components of the first query must not be in the second.
func JoinQueries[A, PA, SA, B, PB, SB, C, PC, SC, D, PD, SD, E, PE, SE, F, PF, SF, G, PG, SG, H, PH, SH any](
	first *Query[A, PA, SA, B, PB, SB, C, PC, SC, D, PD, SD], second *Query[E, PE, SE, F, PF, SF, G, PG, SG, H, PH, SH],
) *Join[A, PA, SA, B, PB, SB, C, PC, SC, D, PD, SD, E, PE, SE, F, PF, SF, G, PG, SG, H, PH, SH] {
	both := func(p, o image.Plan) image.Plan {
		p.With = append(append(append([]*image.Declaration(nil), p.With...), o.Used...), o.With...)
		p.Without = append(append([]*image.Declaration(nil), p.Without...), o.Without...)
		return p
	}
	for _, d := range first.plan.Used {
		for _, o := range second.plan.Used {
			if d == o {
				panic("ecs: JoinQueries of two queries that both use " + d.Name() + ": use it in one of them")
			}
		}
	}
	return &Join[A, PA, SA, B, PB, SB, C, PC, SC, D, PD, SD, E, PE, SE, F, PF, SF, G, PG, SG, H, PH, SH]{
		both(first.plan, second.plan), both(second.plan, first.plan), second.plan.Writes() && !first.plan.Writes()}
}

// Joined is one entity of a Join, as a row of each query.
type Joined[PA, PB, PC, PD, PE, PF, PG, PH any] struct {
	First  Row[PA, PB, PC, PD]
	Second Row[PE, PF, PG, PH]
}

// Entity returns the entity of the row.
func (r *Joined[PA, PB, PC, PD, PE, PF, PG, PH]) Entity() Entity { return r.First.Entity() }

// All returns the entities one by one.
func (j *Join[A, PA, SA, B, PB, SB, C, PC, SC, D, PD, SD, E, PE, SE, F, PF, SF, G, PG, SG, H, PH, SH]) All(w *World) iter.Seq[Joined[PA, PB, PC, PD, PE, PF, PG, PH]] {
	return func(yield func(Joined[PA, PB, PC, PD, PE, PF, PG, PH]) bool) {
		first := image.NewCursor(w.image, &j.first, w.share(&j.first))
		second := image.NewCursor(w.image, &j.second, w.share(&j.second))
		leads, follows := &first, &second
		if j.swapped {
			leads, follows = follows, leads
		}
		for leads.Next() {
			follows.Follow(leads)
			for set := leads.Bits; set != 0; set &= set - 1 {
				i := uintptr(bits.TrailingZeros64(set))
				self := (*Entity)(unsafe.Add(leads.Self, i*unsafe.Sizeof(Entity{})))
				if !yield(Joined[PA, PB, PC, PD, PE, PF, PG, PH]{
					rowAt[A, PA, B, PB, C, PC, D, PD](&first, &j.first, i, self),
					rowAt[E, PE, F, PF, G, PG, H, PH](&second, &j.second, i, self),
				}) {
					return
				}
			}
		}
	}
}

// rowAt returns row i of the cursor's block.
func rowAt[A, PA, B, PB, C, PC, D, PD any](c *image.Cursor, p *image.Plan, i uintptr, self *Entity) Row[PA, PB, PC, PD] {
	return Row[PA, PB, PC, PD]{
		at[A, PA](unsafe.Add(c.Base[0], i*unsafe.Sizeof(*new(A))), p.Write[0]),
		at[B, PB](unsafe.Add(c.Base[1], i*unsafe.Sizeof(*new(B))), p.Write[1]),
		rest[PC, PD]{
			at[D, PD](unsafe.Add(c.Base[3], i*unsafe.Sizeof(*new(D))), p.Write[3]),
			at[C, PC](unsafe.Add(c.Base[2], i*unsafe.Sizeof(*new(C))), p.Write[2]),
		},
		self,
	}
}
