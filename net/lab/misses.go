package lab

// Miss is a gate that is known not to be met in a game.
type Miss struct {
	Game              string // its name
	Strategy, Profile string
	Measure           Measure
	Best              float64 // that was measured
	Reason            string
}

// Misses are the gates that cannot be met, with the best value that was measured of them and why it is no better.
var Misses = []Miss{
	{"runners", "predict", "P7", SnapRate, 3.1, "the round trip goes up to two seconds; 30 ticks of delay and 30 of prediction cover one, so that inputs come too late whatever is predicted"},
	{"runners", "predict", "P3", ShotsOff, 11.7, oldView},
}

// oldView is why server and screen differ where views are older than the cap.
const oldView = "with 20 snapshots a second a view is 285 ms old when the server uses what was done at it, of which the cap forgives 250"

// knownMiss returns the miss that belongs to a gate in a game, nil if it is to be met.
func knownMiss(game string, g Gate) *Miss {
	for i := range Misses {
		if m := &Misses[i]; m.Game == game && m.Strategy == g.Strategy && m.Profile == g.Profile && m.Measure == g.Measure {
			return m
		}
	}
	return nil
}
