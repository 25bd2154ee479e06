package state

import (
	"tendon/ecs"
	"tendon/ecs/image"
)

// schema describes the values in a delta. Its parts are the game's components, the set of players, and the game's
// resources. A part is a list of scalars; scalars of one context share models.
type schema struct {
	game       *ecs.Game
	image      *image.Schema
	parts      []part
	components int                // number of components, which are the first parts
	contexts   int                // of all parts
	shared     image.ComponentSet // those with the role Predicted
	columns    []int              // by part: see image.Schema.Columns
}

type part struct {
	context []int32 // by scalar
	pattern []bool  // by scalar
	places  []int   // scalars of an entity's position
	numbers []int   // scalars that are neither patterns nor in a rotation
	// rotations are the first scalars of rotations. scale is image.Scalar.Rotation by scalar.
	rotations []int
	scale     []int64
}

// newSchema returns the schema of a game. It fails for a game with values that cannot be converted to scalars.
func newSchema(g *ecs.Game) (*schema, error) {
	if err := g.Schema().CheckScalars(); err != nil {
		return nil, err
	}
	s := &schema{game: g, image: g.Schema(), components: len(g.Components), shared: g.Schema().Predicted()}
	for i := range g.Components {
		s.add(s.image.Components[i].Scalars())
		s.columns = append(s.columns, s.image.ComponentColumn(i))
	}
	s.add([]image.Scalar{{Path: "players", Pattern: true}})
	s.columns = append(s.columns, image.PartTick)
	for i := range g.Resources {
		s.add(s.image.Resources[i].Scalars())
		s.columns = append(s.columns, s.image.ResourceColumn(i))
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
		p.scale = append(p.scale, scalar.Rotation)
		if n := len(p.rotations); scalar.Rotation != 0 {
			p.rotations = append(p.rotations, i)
		} else if !scalar.Pattern && (n == 0 || i >= p.rotations[n-1]+4) {
			p.numbers = append(p.numbers, i)
		}
		most = max(most, scalar.Group)
	}
	s.contexts += most + 1
	s.parts = append(s.parts, p)
}

// globals returns the number of parts that are no components.
func (s *schema) globals() int { return len(s.parts) - s.components }
