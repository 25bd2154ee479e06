//go:build headless && replay

package cli

import (
	"context"
	"encoding/json"

	"tendon/cmd/cli/page"
	"tendon/cmd/cli/replaypage"
	"tendon/ecs"
)

// Run serves an exported replay, of which this program is the worker. See replay --export.
func (p Program) Run() {
	s := page.NewWorker()
	if err := register(s, &p.Game); err != nil {
		s.Fail(err)
		return
	}
	s.Serve(context.Background())
}

// register loads the files that were exported, and adds the page that shows them.
func register(s *page.Server, game *ecs.Game) error {
	var files []replaypage.File
	if err := json.Unmarshal(s.Begin(), &files); err != nil {
		return err
	}
	for i := range files {
		data, err := s.File(files[i].Path)
		if err != nil {
			return err
		}
		files[i].Data = data
	}
	open, err := replaypage.Matches(game, files...)
	if err == nil {
		replaypage.Register(s, "/", open)
	}
	return err
}
