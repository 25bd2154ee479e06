// Package rules is the game arena: a small top-down shooter for 2 to 16 players, and an example of how a game is
// written for Tendon. It is the whole game without a main: a host imports it and runs the [Game] it returns.
//
//	w, err := ecs.NewWorld(rules.Game(), seed)
//	w.Step(ecs.TickInputs{Orders: []ecs.Order{{Kind: ecs.OrderJoin, Player: 0}}})
//	w.Step(ecs.TickInputs{Players: []ecs.InputBytes{w.Game().Bot(w, 0, dice)}})
//
// Players run, dash, jump, shoot rifles, send rockets and pick up med kits in a yard with walls, low walls and doors. A
// round is a minute: 55 s of play and a break. All numbers are fixed-point, in metres and seconds.
//
// # How a tick goes
//
// [Game] lists the systems in three groups. Deeds come first, and happen in the scene as the last tick left it, which is
// what the players saw: face, fire, launch, fly, fade, takeKits, layKits. Then what comes of them: judge, respawn. Then
// everything moves: startDashes, move, slideDoors. keepTime ends and starts rounds, survey closes the tick by bringing
// the [Scene] in step.
//
// Under a strategy that shows the others late, a rifle's shot is judged in the scene that the shooter saw. Rockets fly in
// the present, where everybody sees them come.
//
// Systems never assume that a component is theirs to write: under some strategies a client writes only what it predicts,
// and Write returns nil for the rest.
//
// # Index
//
//   - what a player says: [Pad]; from keys and mouse: controls.go; from a bot: bot.go; from a script: [Script]
//   - what a host may ask: the one order, [Surrender]
//   - what a view is told: [Shots], [Hits], [Explosions], [Pickups], [Deaths], [Points], [Results]
//   - what a shooter saw: sight.go
//   - moving: [Body], [Look], [Dash]; weapons: [Arms], [Rocket], [Blast]; life: [Health], [Dead], [Kit]
//   - the place: [Level], [Box], [Doorway], [Door]; what is in the way: [Scene], [Ray]
//   - the match: [Clock], [Scores]; how a round ended, as Game.Result says it: match.go
//   - the picture: draw.go and hud.go; where it looks: [Camera]; what it heard: [Picture]
//
// The match of testdata/golden.txt and the recording testdata/amd64.tendon hold the rules to the same bits on every
// target; whoever changes the rules writes both anew with go test -update.
//
// # What it is not
//
// It knows no network, no clock, no files and no window.
package rules
