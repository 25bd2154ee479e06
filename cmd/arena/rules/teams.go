package rules

import "tendon/ecs"

// Team is the side of a player. Players of one team do not hurt each other and have one colour. Each player has points of their own.
type Team uint8

// The teams. A player without a team plays against all others.
const (
	NoTeam Team = iota
	Red
	Blue
	teamCount
)

// Teams are the teams of the players; index = player.
type Teams struct{ Of [maxPlayers]Team }

var (
	teams = ecs.NewResource[Teams]("teams")
	// NextTeam is an order: the player goes from no team to red, to blue, and to none.
	NextTeam = ecs.NewOrder[struct{}]("team")
)

// teamOf returns the team in a player's card.
func teamOf(card ecs.Card) Team {
	switch string(card.Data) {
	case "red":
		return Red
	case "blue":
		return Blue
	}
	return NoTeam
}

// mayChangeTeam refuses a change by which a player in a fight would be safe.
func mayChangeTeam(w *ecs.World, p ecs.Player, _ ecs.Entity, _ struct{}) string {
	who := avatar(w, p)
	if who.IsZero() || clock.Read(w).Playing && !dead.Has(w, who) {
		return "change the team in the break, or until you are back"
	}
	return ""
}

func changeTeam(w *ecs.World, p ecs.Player, _ ecs.Entity, _ struct{}) {
	t := &teams.Write(w).Of[p]
	*t = (*t + 1) % teamCount
}

// allied reports whether two different players are of one team.
func allied(w *ecs.World, a, b ecs.Player) bool {
	t := teams.Read(w)
	return a != b && t.Of[a] != NoTeam && t.Of[a] == t.Of[b]
}
