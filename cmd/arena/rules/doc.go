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
// [Game] lists the systems in three groups. Actions come first and use the scene that the last tick left, which the players
// saw: face, fire, launch, fly, fade, takeKits, layKits. Their results follow: judge, respawn. Then bodies and doors move:
// startDashes, move, slideDoors. keepTime ends and starts rounds, and survey updates the [Scene].
//
// Under a strategy that shows remote players late, a rifle's shot is judged in the scene that the shooter saw. Rockets fly
// in the present.
//
// A system must not assume that it may write a component. Under some strategies a client writes only the rows that it
// predicts, and Write returns nil for the others.
//
// # Index
//
//   - inputs: [Pad]; from keys and mouse: controls.go; from a bot: bot.go; from a script: [Script]
//   - the one order: [Surrender]
//   - events: [Shots], [Hits], [Explosions], [Pickups], [Deaths], [Points], [Results]
//   - lag compensation of rifles: sight.go
//   - moving: [Body], [Look], [Dash]; weapons: [Arms], [Rocket], [Blast]; life: [Health], [Dead], [Kit]
//   - the place: [Level], [Box], [Doorway], [Door]; obstacles: [Scene], [Ray]
//   - the match: [Clock], [Scores]; the result of a round: match.go
//   - drawing: draw.go and hud.go with donburi queries of sprite.go; [Camera]; effects of events: effects.go
//
// The match of testdata/golden.txt and the recording testdata/amd64.tendon hold the rules to the same bits on every target.
// After a change of the rules, go test -update writes both again.
//
// # What it is not
//
// The package contains no network, clock, file or window code.
package rules
