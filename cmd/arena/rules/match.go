package rules

import (
	"strconv"

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

// tally enters a death in the score table.
func countDeath(w *ecs.World, victim, killer ecs.Player) {
	t := scores.Write(w)
	t.Of[victim].Deaths++
	if killer == victim {
		t.Of[killer].Points--
	} else {
		t.Of[killer].Points++
		t.Of[killer].Kills++
	}
	Points.Emit(w, ecs.Entity{}, Point{Player: killer, Points: t.Of[killer].Points})
}

// keepTime ends rounds and starts new ones.
func keepTime(w *ecs.World) {
	c := clock.Read(w)
	switch {
	case w.Tick() < c.Ends:
		return
	case !c.Playing:
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

// leader returns who has the most points, and whether somebody else has as many.
func leader(w *ecs.World) (best ecs.Player, draw bool) {
	table := scores.Read(w)
	draw = true
	for p := range w.Players().All() {
		switch points, most := table.Of[p].Points, table.Of[best].Points; {
		case !w.Players().Has(best) || points > most:
			best, draw = p, false
		case p == best:
			draw = false
		case points == most:
			draw = true
		}
	}
	return best, draw
}

// resultBytes is the length of the longest result: a full match of which every number is as long as it can be.
const resultBytes = 150

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
	b := strconv.AppendUint(append(make([]byte, 0, resultBytes), `{"round":`...), uint64(c.Round), 10)
	b = strconv.AppendInt(append(b, `,"winner":`...), int64(c.Winner)-1, 10)
	b = append(b, `,"points":[`...)
	last := 0
	for p := range w.Players().All() {
		last = int(p)
	}
	table := scores.Read(w)
	for p := range last + 1 {
		if p > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(table.Of[p].Points), 10)
	}
	return append(b, "]}"...)
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
