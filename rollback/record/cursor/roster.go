package cursor

import (
	"tendon/ecs"
	"tendon/ecs/image"
)

// Roster appends the players of the match after the present tick, by seat, as far as the record has their joins: names without pings.
func (c *Cursor) Roster(dst []ecs.Seated) []ecs.Seated {
	if c.joins == nil {
		c.joins = []join{}
		for t := range c.record.Ticks(c.record.Start()+1, c.last) {
			for i := range t.Orders {
				if o := &t.Orders[i]; o.Kind == image.OrderJoin {
					card, _ := image.ParseCard(o.Payload)
					c.joins = append(c.joins, join{t.Tick, o.Player, card.Name})
				}
			}
		}
	}
	dst = append(dst, make([]ecs.Seated, c.game.MaxPlayers)...)
	seats := dst[len(dst)-c.game.MaxPlayers:]
	for p := range c.State().Players().All() {
		seats[p].Connected = true
	}
	for _, j := range c.joins {
		if s := &seats[j.player]; j.tick <= c.tick && s.Connected {
			s.Name = j.name
		}
	}
	return dst
}

// join is the join of a player.
type join struct {
	tick   ecs.Tick
	player ecs.Player
	name   string
}
