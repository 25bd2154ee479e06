package rules

import (
	"encoding/json"
	"math"

	"tendon/ecs"
)

// Clock is the state of the match: rounds of play with a break after each, in which no weapon works.
type Clock struct {
	Ends    ecs.Tick // the last tick of the round or break
	Round   uint16   // from 1
	Playing bool
	Winner  uint8 // of the last round: 1 + player, 0 for a draw
	_       uint32
}

// Scores is the score table of the round; index = player.
type Scores struct{ Of [maxPlayers]Score }

// Score is one player's line in the table. Points are kills less deaths by one's own doing.
type Score struct{ Points, Kills, Deaths int16 }

// Point is a score that changed.
type Point struct {
	Player ecs.Player
	_      uint8
	Points int16
}

// Result is the end of a round. Draw means that no player was ahead of all others.
type Result struct {
	Round  uint16
	Winner ecs.Player
	Draw   bool
}

var (
	clock  = ecs.NewResource[Clock]("clock")
	scores = ecs.NewResource[Scores]("scores")
	// Points are the scores that changed in a tick.
	Points = ecs.NewIrreversibleEvent[Point]("point")
	// Results are the rounds that ended.
	Results = ecs.NewIrreversibleEvent[Result]("result")
)

// A round is a minute.
const (
	playTicks  = 55 * tickRate
	breakTicks = 5 * tickRate
)

func keepTime(w *ecs.World) {
	c := clock.Read(w)
	if w.Tick() < c.Ends {
		return
	}
	if !c.Playing {
		startRound(w)
		return
	}
	winner, draw := leader(w)
	c.Playing, c.Ends, c.Winner = false, w.Tick()+breakTicks, uint8(winner)+1
	if draw {
		c.Winner = 0
	}
	*clock.Write(w) = c
	Results.Emit(w, ecs.Entity{}, Result{Round: c.Round, Winner: winner, Draw: draw})
}

// leader returns the first player with the most points, and whether the round is a draw: another player has as many.
func leader(w *ecs.World) (best ecs.Player, draw bool) {
	table, most := scores.Read(w), math.MinInt
	draw = true
	for p := range w.Players().All() {
		switch points := int(table.Of[p].Points); {
		case points > most:
			best, most, draw = p, points, false
		case points == most:
			draw = true
		}
	}
	return best, draw
}

// result returns how the round that ended in this tick ended, nil in every other tick. It is JSON without spaces:
//
//	{"round":1,"winner":3,"points":[3,1,0,4]}
//
// Points stand in the order of seats, up to the last one taken; winner is the seat, or -1 for a draw.
func result(w *ecs.World) []byte {
	c := clock.Read(w)
	if c.Playing || c.Ends != w.Tick()+breakTicks {
		return nil
	}
	last, table := 0, scores.Read(w)
	for p := range w.Players().All() {
		last = int(p)
	}
	var points []int16
	for _, score := range table.Of[:last+1] {
		points = append(points, score.Points)
	}
	text, _ := json.Marshal(struct {
		Round  uint16  `json:"round"`
		Winner int     `json:"winner"`
		Points []int16 `json:"points"`
	}{c.Round, int(c.Winner) - 1, points}) // numbers can always be encoded
	return text
}

// startRound clears the table, revives all players at spawn points of their own and removes the rockets.
func startRound(w *ecs.World) {
	c := clock.Write(w)
	c.Round, c.Playing, c.Ends = c.Round+1, true, w.Tick()+playTicks
	*scores.Write(w) = Scores{}
	place := w.Rand().IntN(len(level.Spawns))
	for e := range seats.All(w) {
		dead.Remove(w, e.Entity())
		revive(w, e.Entity(), level.Spawns[place%len(level.Spawns)])
		place++
	}
	for e := range flying.All(w) {
		w.Despawn(e.Entity())
	}
}
