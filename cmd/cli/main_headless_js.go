//go:build headless && !replay

package cli

import (
	"context"
	"encoding/json"

	"tendon/cmd/cli/labpage"
	"tendon/cmd/cli/page"
	"tendon/systems"
	"tendon/systems/lockstep"
	"tendon/systems/predict"
	"tendon/systems/reckon"
	"tendon/systems/relay"
	"tendon/systems/verify"
)

// Run serves an exported page, of which this program is the worker. See lab --export.
func (p Program) Run() {
	s := page.NewWorker()
	begin := labpage.Usual(1)
	_ = json.Unmarshal(s.Begin(), &begin) // without settings, those of Usual
	config := labpage.Config{Game: &p.Game, Begin: begin,
		Strategies: []systems.Strategy{relay.Strategy, lockstep.Strategy, predict.Strategy, verify.Strategy, reckon.Strategy}}
	if err := labpage.Register(s, config); err != nil {
		panic(err)
	}
	s.Serve(context.Background())
}
