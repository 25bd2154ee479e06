package vote

import (
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/systems"
)

// check is the vote on one tick.
type check struct {
	tick       ecs.Tick // 0: none
	registered image.PlayerSet
	dismissed  image.PlayerSet // of them, those who may neither vote nor be blamed any more
	voted      image.PlayerSet
	blamed     image.PlayerSet
	sums       [image.MaxPlayers]image.Checksum // of the players in voted
	truth      image.Checksum
	origin     origin
	until      systems.Time
	over       bool // the deadline has passed
	contested  bool // the server was or will be asked to replay
	asked      bool // it was
}

// origin says where a truth comes from.
type origin uint8

const (
	unknown origin = iota
	fromMajority
	fromServer
)

// claiming returns the players who claim sum.
func (c *check) claiming(sum image.Checksum) (set image.PlayerSet) {
	for p := range c.voted.All() {
		if c.sums[p] == sum {
			set |= 1 << p
		}
	}
	return set
}

// split reports whether two players who are not dismissed claim different things.
func (c *check) split() bool {
	counted := c.voted &^ c.dismissed
	for p := range counted.All() {
		return counted&^c.claiming(c.sums[p]) != 0
	}
	return false
}
