package lockstep

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"tendon/net/wire"
	"tendon/systems"
	"tendon/systems/vote"
)

// Config is the settings of a match. The zero Config is the default. The strategy's Params carry those that a client
// needs.
type Config struct {
	// Interval is N, the number of frames that one sync covers: 1, 2, 3, 5, 10 or 15; 0: 2. Larger means fewer packets and
	// more delay.
	Interval int
	// AdaptInterval lets the server change the interval a step at a time. It rises when more than a fifth of the
	// clients stall, and falls when none has stalled for half a minute.
	AdaptInterval bool
	// Eager ends an interval with each frame that has an operation, which then takes effect up to N − 1 frames earlier. It
	// costs packets.
	Eager bool
	// Margin is M, the number of frames that a client buffers: 1 to 12, or NoMargin. 0: each client adapts it to the
	// jitter of syncs, from 3 on.
	Margin int
	// NoCatchUp makes a client keep every stall as delay. By default it runs a tenth faster until its margin is right.
	NoCatchUp bool
	// Closing is whether the server waits for players before it ends a frame.
	Closing Closing
	// Wait is the longest time that Hybrid waits after a frame was due, in nanoseconds, at most two frames' time.
	Wait systems.Time
	// Reliable sends everything once, on the reliable channel.
	Reliable bool
	// RelayAtOnce sends operations to all clients when they come, before the sync that covers them.
	RelayAtOnce bool
	// OnDemand lets the server keep only its log. The server then computes the match as far as needed if
	//
	//   - checksums of players differ,
	//   - no result has a majority, or a result is audited (Audits, DissentReplays),
	//   - the log exceeds Backlog,
	//   - all players have left, or Conclude is called.
	//
	// By default the server computes every frame when it ends. It also does so if systems.ServerConfig.States is set, or if the
	// game has Validate, which needs a state. While the world is behind, an order is validated only when it is executed.
	OnDemand bool
	// Backlog bounds the log that the server keeps, in bytes, up to 32 MiB; 0: 8 MiB. A peer that lacks earlier frames cannot
	// be served. A plain frame takes 5 bytes, an operation some more.
	Backlog int
	// VoteTime is the time that the server waits for results, in nanoseconds; 0: 10 s.
	VoteTime systems.Time
	// Audits is the number of accepted results per 1000 that the server replays, in [0, 1000].
	Audits int
	// DissentReplays is the maximum number of replays that one player can cause by dissenting from a majority, in [0, 100],
	// while the player holds the seat. A dissent that the replay confirms does not count. A player whose state was wrong
	// causes none. A dissent without a replay makes the result systems.Disputed.
	DissentReplays int
	// AuditSeed seeds the choice of audits. It must be secret: draw it from crypto/rand, another one for each server.
	AuditSeed uint64
}

// NoMargin is a Config.Margin of no frames.
const NoMargin = -1

// Closing is what ends a frame.
type Closing uint8

// The ways to end a frame.
const (
	// Optimistic ends it when its time is over. A slow client delays only its own player.
	Optimistic Closing = iota
	// Waiting ends it when the operations of every connected player are complete. It waits at most 5 s for one player, and
	// for a tenth of the time after that.
	Waiting
	// Hybrid is Waiting for at most Config.Wait.
	Hybrid
	closings
)

// FieldError is the error of a field of a Config.
type FieldError struct {
	Field string // its name
	Value string // its value, with the unit
	Want  string // what to choose instead, as a sentence without a full stop
}

// Error returns all of it.
func (e *FieldError) Error() string {
	return fmt.Sprintf("lockstep: bad Config: %s %s: %s", e.Field, e.Value, e.Want)
}

// intervals are the values that the interval may have.
var intervals = []int{1, 2, 3, 5, 10, 15}

const (
	defaultInterval = 2
	defaultMargin   = 3
	maxMargin       = 12
	defaultBacklog  = 8 << 20
	maxBacklog      = 32 << 20
)

// Strategy is lockstep with the defaults.
var Strategy = New(Config{})

// Article returns the settings of Cloud Wu's article on frame sync, for comparison: 5 frames to a sync, no margin, no catching up,
// operations relayed when they come.
func Article() Config {
	return Config{Interval: 5, Margin: NoMargin, NoCatchUp: true, RelayAtOnce: true}
}

// Check returns the error of an invalid Config, a *FieldError, or nil. NewServer checks Wait against the game's rate.
func (c Config) Check() error {
	_, err := c.withDefaults()
	return err
}

// New returns lockstep with settings. An invalid Config is an error of NewServer and NewClient.
func New(c Config) systems.Strategy {
	full, err := c.withDefaults()
	s := systems.Strategy{Name: "lockstep", Needs: systems.Needs{Exact: true},
		NewServer: func(sc systems.ServerConfig) (systems.Server, error) { return newServer(c, sc) },
		NewClient: func(cc systems.ClientConfig) (systems.Client, error) { return newClient(c, cc) },
	}
	if err == nil {
		s.Params = full.appendParams(nil)
	}
	return s
}

func (c Config) withDefaults() (Config, error) {
	c.Interval = cmp.Or(c.Interval, defaultInterval)
	c.Backlog = cmp.Or(c.Backlog, defaultBacklog)
	c.VoteTime = cmp.Or(c.VoteTime, vote.DefaultDeadline)
	bad := func(field, value, want string, args ...any) (Config, error) {
		return c, &FieldError{field, value, fmt.Sprintf(want, args...)}
	}
	switch {
	case !slices.Contains(intervals, c.Interval):
		return bad("Interval", fmt.Sprint(c.Interval), "choose 1, 2, 3, 5, 10 or 15")
	case c.Margin < NoMargin || c.Margin > maxMargin:
		return bad("Margin", fmt.Sprint(c.Margin), "choose 1 to %d frames, %d for none, or 0 to follow the jitter", maxMargin, NoMargin)
	case c.Closing >= closings:
		return bad("Closing", fmt.Sprint(uint8(c.Closing)), "choose Optimistic, Waiting or Hybrid")
	case c.Wait < 0 || c.Wait > systems.Second:
		return bad("Wait", duration(c.Wait), "choose 0 to two frames' time")
	case c.Backlog < 0 || c.Backlog > maxBacklog:
		return bad("Backlog", fmt.Sprintf("%d bytes", c.Backlog), "choose 1 to %d, or 0 for %d", maxBacklog, defaultBacklog)
	case c.VoteTime < 0:
		return bad("VoteTime", duration(c.VoteTime), "choose a time above 0, or 0 for %s", duration(vote.DefaultDeadline))
	case c.Audits < 0 || c.Audits > 1000:
		return bad("Audits", fmt.Sprint(c.Audits), "choose 0 to 1000, of 1000 results")
	case c.DissentReplays < 0 || c.DissentReplays > 100:
		return bad("DissentReplays", fmt.Sprint(c.DissentReplays), "choose 0 to 100 replays per player")
	}
	return c, nil
}

func duration(t systems.Time) string { return fmt.Sprintf("%g ms", float64(t)/1e6) }

// The flags of the Params.
const (
	paramNoCatchUp = 1 << iota
	paramReliable
	paramWaits // the server waits for players: it needs a message for each frame
	paramFlags
)

// appendParams writes the settings for clients: flags, first interval, margin + 1.
func (c *Config) appendParams(dst []byte) []byte {
	w := wire.NewWriter(dst, 3)
	flags := uint8(0)
	if c.NoCatchUp {
		flags |= paramNoCatchUp
	}
	if c.Reliable {
		flags |= paramReliable
	}
	if c.Closing != Optimistic {
		flags |= paramWaits
	}
	w.U8(flags)
	w.U8(uint8(c.Interval))
	w.U8(uint8(c.Margin + 1))
	return w.Bytes()
}

// readParams sets the settings of a server's Params; c is unchanged on an error.
func (c *Config) readParams(params []byte) error {
	r := wire.NewReader(params)
	flags, interval, margin := r.U8(), int(r.U8()), int(r.U8())-1
	if r.Close() != nil || flags >= paramFlags || !slices.Contains(intervals, interval) || margin > maxMargin {
		return errors.New("lockstep: bad Config: the server's Params are malformed")
	}
	c.Interval, c.Margin = interval, margin
	c.NoCatchUp, c.Reliable = flags&paramNoCatchUp != 0, flags&paramReliable != 0
	c.Closing = Optimistic
	if flags&paramWaits != 0 {
		c.Closing = Waiting
	}
	return nil
}
