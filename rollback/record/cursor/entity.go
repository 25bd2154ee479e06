package cursor

import (
	"cmp"
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"

	"tendon/ecs"
	"tendon/ecs/image"
)

// regionShift is the size of an owner's region of rows, in bits: owner 1 begins at row 1<<20 of ecs.Entity.Row.
const regionShift = 20

// EntityName returns the name of an entity: the owner, a colon, the row in the owner's region, an at sign and the tick of
// its birth. "w:17@0" is the world's, "p0:3@90" player 0's. A name is unique in a match.
func EntityName(e ecs.Entity) string {
	owner := "w"
	if p, ok := e.Owner().Player(); ok {
		owner = "p" + strconv.Itoa(int(p))
	}
	return fmt.Sprintf("%s:%d@%d", owner, rowOf(e), e.Born)
}

func rowOf(e ecs.Entity) uint32 { return e.Row & (1<<regionShift - 1) }

func ownerName(o image.Owner) string {
	if p, ok := o.Player(); ok {
		return fmt.Sprintf("player %d", p)
	}
	return "world"
}

// EntityRef is an entity as a person names it: a row, and possibly its birth. Without the birth it is the entity that has
// the row in the tick in question.
type EntityRef struct {
	Row  uint32 // as in ecs.Entity
	Born ecs.Tick
	Any  bool // Born was left out
}

// ParseEntity reads the name of an entity: as EntityName writes it, the same without the birth ("p0:3"), or the row as
// ecs.Entity has it ("1048579").
func ParseEntity(text string) (r EntityRef, err error) {
	bad := fmt.Errorf("cursor: %q names no entity: write p0:3@90 for row 3 of player 0 born in tick 90, w:17@0 for one of the world, or leave out the birth for the entity that has the row then", text)
	row, born, exact := strings.Cut(text, "@")
	if r.Any = !exact; exact {
		f, err := strconv.ParseUint(born, 10, 64)
		if err != nil {
			return r, bad
		}
		r.Born = ecs.Tick(f)
	}
	owner, number, both := strings.Cut(row, ":")
	if !both {
		n, err := strconv.ParseUint(row, 10, 32)
		if err != nil || n == 0 || n > math.MaxUint32 {
			return r, bad
		}
		r.Row = uint32(n)
		return r, nil
	}
	region := uint64(0)
	if owner != "w" {
		digits, ok := strings.CutPrefix(owner, "p")
		p, err := strconv.ParseUint(digits, 10, 8)
		if !ok || err != nil || p >= image.MaxPlayers {
			return r, bad
		}
		region = p + 1
	}
	n, err := strconv.ParseUint(number, 10, regionShift)
	if err != nil || region == 0 && n == 0 {
		return r, bad
	}
	r.Row = uint32(region<<regionShift | n)
	return r, nil
}

// Entity returns the entity with its birth, which is 0 if it was left out.
func (r EntityRef) Entity() ecs.Entity { return ecs.Entity{Row: r.Row, Born: r.Born} }

// String returns the name.
func (r EntityRef) String() string {
	name := EntityName(r.Entity())
	if r.Any {
		name, _, _ = strings.Cut(name, "@")
	}
	return name
}

// Find returns the entity in the tick that the Cursor is at. ok is false if it does not exist there.
func (c *Cursor) Find(r EntityRef) (e ecs.Entity, ok bool) {
	if e = c.State().EntityAt(r.Row); r.Any {
		return e, !e.IsZero()
	}
	return r.Entity(), e == r.Entity()
}

// Lifetime is the range of ticks in whose states an entity exists: [From, To].
type Lifetime struct {
	Entity string   `json:"entity"` // see EntityName
	From   ecs.Tick `json:"from"`   // its birth, or the record's first tick if it is older
	To     ecs.Tick `json:"to"`
	Alive  bool     `json:"alive"` // it exists in the record's last state
}

// Lifetime returns when an entity existed. ok is false if it is in no tick of the record. The Cursor stays where it is. It
// looks at few ticks, since an entity exists from its birth on without a break.
func (c *Cursor) Lifetime(e ecs.Entity) (l Lifetime, ok bool, err error) {
	home, from := c.tick, max(e.Born, c.First())
	exists := func(f ecs.Tick) bool {
		if err == nil {
			err = c.Seek(f)
		}
		return err == nil && image.ExistsAt(c.State(), e)
	}
	if from > c.last || !exists(from) {
		return l, false, cmp.Or(err, c.Seek(home))
	}
	n := sort.Search(int(c.last-from), func(i int) bool { return !exists(from + 1 + ecs.Tick(i)) })
	l = Lifetime{Entity: EntityName(e), From: from, To: from + ecs.Tick(n)}
	l.Alive = l.To == c.last
	return l, err == nil, cmp.Or(err, c.Seek(home))
}

// Lifetimes returns the entities that had a row, in order. It simulates the whole match, and calls progress now and then
// with the tick that was reached, until progress returns false. Optional. The Cursor stays where it is.
func (c *Cursor) Lifetimes(row uint32, progress func(ecs.Tick) bool) (list []Lifetime, err error) {
	var last ecs.Entity
	err = c.each(c.First(), c.last, 1, progress, func() {
		e := c.State().EntityAt(row)
		if !e.IsZero() && e == last {
			list[len(list)-1].To = c.tick
		} else if !e.IsZero() {
			list = append(list, Lifetime{Entity: EntityName(e), From: c.tick, To: c.tick})
		}
		last = e
	})
	if n := len(list); n > 0 {
		list[n-1].Alive = list[n-1].To == c.last
	}
	return list, err
}
