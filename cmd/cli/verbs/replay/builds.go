package replay

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/replaypage"
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback/record"
	"tendon/rollback/record/cursor"
)

// redoSeconds is the length of the match that --redo plays again.
const redoSeconds = 10

// otherBuild plays a recording of another build with that build, or again with this one. It returns false if this build made
// the recording.
func (v *Verb) otherBuild(a *app.App, data []byte) (played bool, err error) {
	h, err := record.ReadHeader(data)
	switch {
	case err != nil:
		return false, refusal(v.File, err)
	case h.Build == app.Build() && v.Redo:
		return false, errors.New("--redo: this build has made the recording: change a rule first")
	case h.Build == app.Build():
		return false, nil
	}
	path, err := filepath.Abs(filepath.Join(v.Builds, app.BuildFile(h.Build)))
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		return false, fmt.Errorf("--builds: build %q, which made the recording, is not there: %w; dev keeps the last builds of a directory", h.Build, err)
	}
	if v.Redo {
		return true, v.again(a, path)
	}
	a.Logf("build %s plays it", h.Build)
	c := exec.CommandContext(a.Ctx, path, a.Args...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, a.Out, a.Note
	if err = c.Run(); errors.As(err, new(*exec.ExitError)) && c.ProcessState.ExitCode() == app.ExitFailed {
		err = fmt.Errorf("%w: see above", app.ErrFailed)
	}
	return true, err
}

// states writes the last seconds of a recording with the state of each tick.
func (v *Verb) states(r *record.Record) error {
	last := r.Last().Tick
	first := last - min(last-r.Start(), ecs.Tick(redoSeconds*r.Game().TickRate))
	w, err := r.WorldAt(first)
	if err != nil {
		return err
	}
	h := r.Header()
	chain, _ := r.Chain(first)
	h.Start = record.PositionOf(w, chain)
	var to bytes.Buffer
	out, err := record.NewWriter(&to, r.Game(), h)
	if err != nil {
		return err
	}
	var state image.Snapshot
	keep := func() error {
		w.Image().Save(&state)
		defer state.Release()
		return out.Image(&state)
	}
	err = keep()
	for t := range r.Play(w, last) {
		if err = errors.Join(err, out.Tick(*t), keep()); err != nil {
			return err
		}
	}
	return cmp.Or(err, out.End(), os.WriteFile(v.StateFile, to.Bytes(), 0o600))
}

// again plays the last seconds of a recording of another build, whose program is at a path, with the rules of this build.
func (v *Verb) again(a *app.App, path string) error {
	dir, err := os.MkdirTemp("", "redo-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "states")
	if out, err := exec.CommandContext(a.Ctx, path, "replay", v.File, "--states", file).CombinedOutput(); err != nil {
		return fmt.Errorf("the build that made the recording cannot play it: %w: %s", err, bytes.TrimSpace(out))
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, err := record.Migrate(data, a.Game, app.Build(), 0)
	if err != nil {
		return err
	}
	now, err := inputsOf(before)
	if err != nil {
		return err
	}
	if v.Page || v.Export != "" {
		return v.browse(a, replaypage.Match{Name: "the old rules", Record: before}, replaypage.Match{Name: "the rules of this build", Record: now})
	}
	here, err := cursor.New(before, nil)
	if err != nil {
		return err
	}
	there, err := cursor.New(now, nil)
	if err != nil {
		return err
	}
	c, err := cursor.Compare(here, there, maxPlaces, continues(a))
	if err != nil {
		return err
	}
	a.Emit("comparison", app.Fields{"here": v.File, "there": app.Build(), "comparison": c})
	if c.Divergence == nil {
		a.Print(fmt.Sprintf("ticks %d to %d are the same with the rules of this build\n", c.From, c.To))
		return nil
	}
	a.Print(divergenceText(c.Divergence))
	return nil
}

// inputsOf returns a record with the first state and the inputs of another.
func inputsOf(r *record.Record) (*record.Record, error) {
	var to bytes.Buffer
	w, err := record.NewWriter(&to, r.Game(), r.Header())
	if err != nil {
		return nil, err
	}
	first, err := r.State(r.Start())
	if err != nil {
		return nil, err
	}
	defer first.Release()
	err = w.Image(first)
	for t := range r.Ticks(r.Start()+1, r.Last().Tick) {
		err = errors.Join(err, w.Tick(*t))
	}
	if err = errors.Join(err, w.End()); err != nil {
		return nil, err
	}
	return record.Open(to.Bytes(), r.Game())
}
