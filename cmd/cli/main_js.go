//go:build !headless

package cli

import (
	"tendon/cmd/cli/playpage"
	"tendon/ecs"
	"tendon/net/lab"
)

// Main runs the game on a page: it joins the match of the page's invitation. See the verb web.
func Main(game ecs.Game, _ ...lab.Gate) { playpage.Play(&game) }
