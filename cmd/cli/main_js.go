//go:build !headless

package cli

import (
	"tendon/cmd/cli/playpage"
)

// Run runs the game on a page: it joins the match of the page's invitation. See the verb web.
func (p Program) Run() { playpage.Play(&p.Game) }
