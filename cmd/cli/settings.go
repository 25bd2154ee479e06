package cli

import (
	"bytes"
	"fmt"
	"time"

	"tendon/cmd/cli/journals"
	"tendon/systems"
	"tendon/systems/lockstep"
	"tendon/systems/predict"
	"tendon/systems/reckon"
	"tendon/systems/verify"
)

// otherStrategy is a journals.StrategyError in the words of the command line: the flags that a match was begun with, and
// those of this server.
func otherStrategy(e *journals.StrategyError) error {
	was, known := flagsOf(e.Strategy, e.Params)
	here, knownHere := flagsOf(e.Here, e.HereParams)
	if e.Strategy == e.Here && !(known && knownHere) {
		return fmt.Errorf("%s: %w: it was begun with --sync %s and other settings of it than this server's: start the server with the flags that it was begun with, or move the journal away%s",
			e.File, journals.ErrStrategy, e.Strategy, e.Others)
	}
	return fmt.Errorf("%s: %w: it was begun with %s, this server with %s: start the server with %s, or move the journal away%s",
		e.File, journals.ErrStrategy, was, here, was, e.Others)
}

// flagsOf returns the flags that choose a strategy and set it up as its parameters say. known is false if these cannot
// be told from the parameters.
func flagsOf(name string, params []byte) (flags string, known bool) {
	flags = "--sync " + name
	for setting, s := range settings(name) {
		if bytes.Equal(s.Params, params) {
			return flags + setting, true
		}
	}
	more, err := "", error(nil)
	switch name {
	case predict.Strategy.Name:
		more, err = predictFlags(params)
	case reckon.Strategy.Name:
		more, err = reckonFlags(params)
	default:
		return flags, len(params) == 0
	}
	return flags + more, err == nil
}

// predictFlags returns the flags for parameters, as far as those say: of --interest, that it was given.
func predictFlags(params []byte) (flags string, err error) {
	c, err := predict.ConfigOf(params)
	if err != nil {
		return "", err
	}
	usual, _ := predict.ConfigOf(predict.Strategy.Params)
	if c.SnapshotRate != usual.SnapshotRate {
		flags += fmt.Sprint(" --snapshots ", c.SnapshotRate)
	}
	if c.Interest != 0 {
		flags += " --interest RADIUS"
	}
	if c.MaxView < 0 {
		flags += " --look-back=-1ns"
	}
	return flags, nil
}

// reckonFlags returns the flags for parameters, which say nothing of --interest.
func reckonFlags(params []byte) (flags string, err error) {
	c, err := reckon.ConfigOf(params)
	if err != nil {
		return "", err
	}
	usual, _ := reckon.ConfigOf(reckon.Strategy.Params)
	if c.StateRate != usual.StateRate {
		flags += fmt.Sprint(" --snapshots ", c.StateRate)
	}
	if c.Trusting {
		flags += " --trusting"
	}
	if c.MaxSpeed != 0 {
		flags += fmt.Sprintf(" --max-speed %.6g", c.MaxSpeed.Float())
	}
	if c.Assumed != 0 {
		flags += fmt.Sprintf(" --assumed %v", time.Duration(c.Assumed))
	}
	return flags, nil
}

// settings yields a strategy as it can be set up, if there are only so many ways, each with the flags for it; those with
// few flags come first.
func settings(name string) func(yield func(string, systems.Strategy) bool) {
	return func(yield func(string, systems.Strategy) bool) {
		for _, reliable := range []string{"", " --reliable"} {
			if name == verify.Strategy.Name && !yield(reliable, verify.New(verify.Config{Reliable: reliable != ""})) {
				return
			}
		}
		if name == lockstep.Strategy.Name {
			lockstepSettings(yield)
		}
	}
}

func lockstepSettings(yield func(string, systems.Strategy) bool) {
	margins := []int{0, lockstep.NoMargin}
	for m := range 12 {
		margins = append(margins, m+1)
	}
	for _, closing := range []string{"", " --closing waiting"} {
		for _, reliable := range []string{"", " --reliable"} {
			for _, interval := range []int{0, 1, 2, 3, 5, 10, 15} {
				for _, margin := range margins {
					c := lockstep.Config{Interval: interval, Margin: margin, Reliable: reliable != ""}
					given := reliable + closing
					if closing != "" {
						c.Closing = lockstep.Waiting
					}
					if margin != 0 {
						given = fmt.Sprintf(" --margin=%d%s", margin, given)
					}
					if interval != 0 {
						given = fmt.Sprintf(" --interval %d%s", interval, given)
					}
					if c.Check() == nil && !yield(given, lockstep.New(c)) {
						return
					}
				}
			}
			c := lockstep.Article()
			c.Reliable = reliable != ""
			if closing != "" {
				c.Closing = lockstep.Waiting
			}
			if !yield(" --article"+reliable+closing, lockstep.New(c)) {
				return
			}
		}
	}
}
