package travel

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"tendon/ecs"
	"tendon/ecs/image"
)

// regionShift is how an owner and the row in the owner's region make up ecs.Entity.Row: owner 1 begins at row 1<<20.
const regionShift = 20

// EntityName returns the name of an entity: the owner, a colon, the row in the owner's region, and behind an at sign the
// tick it was born in. "w:17@0" is the world's, "p0:3@90" player 0's. A name is unique in a match.
func EntityName(e ecs.Entity) string {
	owner := "w"
	if p, ok := e.Owner().Player(); ok {
		owner = "p" + strconv.Itoa(int(p))
	}
	return fmt.Sprintf("%s:%d@%d", owner, rowOf(e), e.Born)
}

func rowOf(e ecs.Entity) uint32 { return e.Row & (1<<regionShift - 1) }

func ownerName(o ecs.Owner) string {
	if p, ok := o.Player(); ok {
		return fmt.Sprintf("player %d", p)
	}
	return "world"
}

// EntityRef is an entity as a person names it: a row, and perhaps when it was born. Without that it is whoever has the
// row in the tick that is looked at.
type EntityRef struct {
	Row  uint32 // as in ecs.Entity
	Born ecs.Tick
	Any  bool // Born was left out
}

// ParseEntity reads the name of an entity: what EntityName writes, the same without the birth ("p0:3"), or the row as
// ecs.Entity has it ("1048579").
func ParseEntity(text string) (r EntityRef, err error) {
	bad := fmt.Errorf("travel: %q names no entity: write p0:3@90 for row 3 of player 0 born in tick 90, w:17@0 for the world's, or leave out the birth for whoever has the row then", text)
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

// Entity returns the entity that is meant, with its birth; where that was left out it is zero.
func (r EntityRef) Entity() ecs.Entity { return ecs.Entity{Row: r.Row, Born: r.Born} }

// String returns the name.
func (r EntityRef) String() string {
	name := EntityName(r.Entity())
	if r.Any {
		name, _, _ = strings.Cut(name, "@")
	}
	return name
}

// Find returns the entity that is meant in the tick that the Traveller is at; ok is false if it is not there.
func (t *Traveller) Find(r EntityRef) (e ecs.Entity, ok bool) {
	if e = t.State().EntityAt(r.Row); r.Any {
		return e, !e.IsZero()
	}
	return r.Entity(), e == r.Entity()
}
