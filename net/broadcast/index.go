package broadcast

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"tendon/ecs"
)

const (
	// IndexName is the name of the index.
	IndexName = "index.json"
	// FragmentSeconds is the length of a fragment.
	FragmentSeconds = 3

	listedFragments = 8                    // in an index
	keptFragments   = 2 * listedFragments  // fragments with files
	maxIndexBytes   = 16 << 10             // of an index
	maxTicksBytes   = 8 << 20              // of a file of ticks
	maxFullBytes    = 64 << 20             // of a file with a state
	indexVersion    = 1                    // of the format
	maxFragment     = 60 * FragmentSeconds // seconds; the maximum that a reader accepts
)

// Index describes a broadcast and its newest fragments.
type Index struct {
	Version       int        `json:"version"` // 1
	Game          string     `json:"game"`
	Build         string     `json:"build"` // build that computes the match
	Room          string     `json:"room"`
	Match         string     `json:"match"` // identity of the match, 16 hexadecimal digits
	Run           string     `json:"run"`   // directory of the fragments
	TickRate      int        `json:"tick_rate"`
	FragmentTicks int        `json:"fragment_ticks"` // of a whole fragment
	DelayTicks    int        `json:"delay_ticks"`    // minimum, from the last tick of a fragment until it is visible
	Fragments     []ecs.Tick `json:"fragments"`      // the tick before each of the newest fragments, ascending; a fragment ends with the next entry
	Last          ecs.Tick   `json:"last"`           // the last tick of the newest fragment
	Over          bool       `json:"over"`           // the match has ended: no fragment follows
}

// ErrIndex is wrapped by errors about an invalid index.
var ErrIndex = errors.New("broadcast: invalid index")

// runName matches an Index.Run. It excludes characters with a meaning in paths.
var runName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,63}$`)

// ParseIndex reads an index. It refuses one that a Writer cannot have written.
func ParseIndex(data []byte) (*Index, error) {
	x := new(Index)
	if len(data) > maxIndexBytes {
		return nil, fmt.Errorf("%w: %d bytes, want at most %d", ErrIndex, len(data), maxIndexBytes)
	}
	if err := json.Unmarshal(data, x); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrIndex, err)
	}
	ordered := len(x.Fragments) <= listedFragments
	for i, f := range x.Fragments {
		next := x.Last
		if i+1 < len(x.Fragments) {
			next = x.Fragments[i+1]
		}
		ordered = ordered && f < next
	}
	switch {
	case x.Version != indexVersion:
		return nil, fmt.Errorf("%w: version %d, this build reads %d", ErrIndex, x.Version, indexVersion)
	case !runName.MatchString(x.Run):
		return nil, fmt.Errorf("%w: the run %q, want a-z, 0-9 and -", ErrIndex, x.Run)
	case x.TickRate < 1 || x.TickRate > 1000 || x.FragmentTicks < 1 || x.FragmentTicks > maxFragment*x.TickRate:
		return nil, fmt.Errorf("%w: %d ticks a second, %d in a fragment", ErrIndex, x.TickRate, x.FragmentTicks)
	case !ordered:
		return nil, fmt.Errorf("%w: the fragments are not in ascending order", ErrIndex)
	}
	return x, nil
}

// FullName returns the path of the state of tick f.
func (x *Index) FullName(f ecs.Tick) string { return fileName(x.Run, f, ".full") }

// TicksName returns the path of the ticks after tick f.
func (x *Index) TicksName(f ecs.Tick) string { return fileName(x.Run, f, ".ticks") }

func fileName(run string, f ecs.Tick, suffix string) string {
	return run + "/" + strconv.FormatUint(uint64(f), 10) + suffix
}
