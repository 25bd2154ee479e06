package cursor

import (
	"fmt"
	"sort"
	"strconv"
	"strings"

	"tendon/ecs"
	"tendon/ecs/image"
)

// regionShift is the size of an owner's region of rows, in bits: owner 1 begins at row 1<<20 of ecs.Entity.Row.
const regionShift = 20

// EntityName returns the name of an entity: the owner, a colon, the row in the owner's region, an at sign and the tick of
// its birth. "w:17@0" is the world's, "p0:3@90" player 0's. A name is unique in a match. The zero Entity has none, "".
func EntityName(e ecs.Entity) string {
	if e.IsZero() {
		return ""
	}
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
	ecs.Entity
	Any bool // Born was left out
}

// ParseEntity reads the name of an entity, as EntityName writes it. The birth may be left out ("p0:3"). The row of ecs.Entity
// may replace owner and row ("1048579").
func ParseEntity(text string) (EntityRef, error) {
	valid := true
	number := func(digits string, bits int) uint64 {
		n, err := strconv.ParseUint(digits, 10, bits)
		valid = valid && err == nil
		return n
	}
	place, birth, born := strings.Cut(text, "@")
	owner, row, owned := strings.Cut(place, ":")
	var r EntityRef
	switch player, isPlayer := strings.CutPrefix(owner, "p"); {
	case !owned:
		r.Row = uint32(number(place, 32))
	case isPlayer:
		r.Row = uint32((number(player, 8)+1)<<regionShift | number(row, regionShift))
	default:
		r.Row = uint32(number(row, regionShift))
		valid = valid && owner == "w"
	}
	if r.Any = !born; born {
		r.Born = ecs.Tick(number(birth, 64))
	}
	if !valid || r.Row == 0 || r.Row>>regionShift > image.MaxPlayers {
		return EntityRef{}, fmt.Errorf("cursor: %q names no entity: write p0:3@90 for row 3 of player 0 born in tick 90, or w:17@0 for one of the world. Without the birth, it is the entity that has the row then", text)
	}
	return r, nil
}

// String returns the name.
func (r EntityRef) String() string {
	name := EntityName(r.Entity)
	if r.Any {
		name, _, _ = strings.Cut(name, "@")
	}
	return name
}

// Find returns the entity in the tick that the Cursor is at. ok is false if it does not exist there.
func (c *Cursor) Find(r EntityRef) (e ecs.Entity, ok bool) {
	e = c.State().EntityAt(r.Row)
	if r.Any {
		return e, !e.IsZero()
	}
	return r.Entity, e == r.Entity
}

// Lifetime is the range of ticks in whose states an entity exists: [From, To].
type Lifetime struct {
	Entity string   `json:"entity"` // see EntityName
	From   ecs.Tick `json:"from"`   // its birth, or the record's first tick if it is older
	To     ecs.Tick `json:"to"`
	Alive  bool     `json:"alive"` // it exists in the record's last state
}

// Lifetime returns when an entity existed, and moves the Cursor. ok is false if the entity is in no tick of the record. It
// looks at few ticks, since an entity exists from its birth on without a break.
func (c *Cursor) Lifetime(e ecs.Entity) (l Lifetime, ok bool, err error) {
	from := max(e.Born, c.First())
	exists := func(f ecs.Tick) bool {
		if err == nil {
			err = c.Seek(f)
		}
		return err == nil && image.ExistsAt(c.State(), e)
	}
	if from > c.last || !exists(from) {
		return l, false, err
	}
	n := sort.Search(int(c.last-from), func(i int) bool { return !exists(from + 1 + ecs.Tick(i)) })
	l = Lifetime{Entity: EntityName(e), From: from, To: from + ecs.Tick(n)}
	l.Alive = l.To == c.last
	return l, err == nil, err
}
