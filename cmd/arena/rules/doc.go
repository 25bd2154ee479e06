// Package rules is the game arena: a small top-down shooter for 2 to 16 players, and an example of how a game is
// written for Tendon. It is the whole game without a main: a host imports it and runs the [Game] it returns.
//
//	w, err := ecs.NewWorld(rules.Game(), seed)
//	w.Step(ecs.TickInputs{Orders: []image.Order{{Kind: image.OrderJoin, Player: 0}}})
//	w.Step(ecs.TickInputs{Players: []ecs.InputBytes{w.Game().Bot(w, 0, dice)}})
//
// Players run, dash, jump, shoot rifles, send rockets and pick up med kits in a yard with walls, low walls and doors. A
// round is a minute: 55 s of play and a break. All numbers are fixed-point, in metres and seconds.
//
// # How a tick goes
//
// [Game] lists the systems in three groups. Actions come first and use the scene that the last tick left, which the players
// saw. Their results follow. Then bodies and doors move, and keepTime ends and starts rounds.
//
// Under a strategy that shows remote players late, a rifle's shot is judged in the scene that the shooter saw. Rockets fly
// in the present. Some strategies let a client write only the rows that it predicts: Write returns nil for the others.
//
// Players can be in a team: red or blue by their card, or by the key T. A team has one colour, and its players do not hurt each other. Each
// player has points and rounds of their own.
//
// A kill cam shows a killed player the last 2 s from the killer's side, under relay and lockstep. Under other strategies there
// is none, since their clients do not simulate the match.
//
// # Tasks
//
//   - inputs: pad.go; from a bot: bot.go; orders: [Surrender], [NextTeam]
//   - moving: body.go; weapons: weapons.go; life and med kits: health.go; teams: teams.go
//   - the place: level.go; obstacles, doors and lag compensation: scene.go; rounds and results: match.go
//   - drawing: draw.go, hud.go; the view's own components, effects and camera: view.go; the kill cam: replay.go
//
// The match of testdata/golden.txt and the recording testdata/amd64.tendon hold the rules to the same bits on every target.
// After a change of the rules, go test -update writes both again.
package rules
