package state

import (
	"tendon/ecs"
	"tendon/ecs/image"
)

// schema is what a body's values are made of: parts, which are the game's components, the set of players and the
// game's resources, in this order. A part is a run of scalars; scalars of one kind share models.
type schema struct {
	game       *ecs.Game
	image      *image.Schema
	parts      []part
	components int // the first parts
	contexts   int // kinds of scalars of all parts
	// entityContexts are those of components, which come first.
	entityContexts int
}

type part struct {
	context []int32 // by scalar
	pattern []bool  // by scalar
	places  []int   // scalars that say where an entity is
}

// newSchema returns the schema of a game, or why it has none.
func newSchema(g *ecs.Game) (*schema, error) {
	if err := g.Schema().CheckScalars(); err != nil {
		return nil, err
	}
	s := &schema{game: g, image: g.Schema(), components: len(g.Components)}
	for i := range g.Components {
		s.add(s.image.Components[i].Scalars())
	}
	s.entityContexts = s.contexts
	s.add([]image.Scalar{{Path: "players", Pattern: true}})
	for i := range g.Resources {
		s.add(s.image.Resources[i].Scalars())
	}
	return s, nil
}

func (s *schema) add(scalars []image.Scalar) {
	var p part
	most := -1
	for i, scalar := range scalars {
		p.context = append(p.context, int32(s.contexts+scalar.Group))
		p.pattern = append(p.pattern, scalar.Pattern)
		if scalar.Place {
			p.places = append(p.places, i)
		}
		most = max(most, scalar.Group)
	}
	s.contexts += most + 1
	s.parts = append(s.parts, p)
}

// specials is how many parts are no components: one item of each is always wanted.
func (s *schema) specials() int { return len(s.parts) - s.components }
