package journals

import (
	"errors"
	"time"

	"tendon/ecs"
	"tendon/net/cluster"
)

// Config describes a Store.
type Config struct {
	// Dir is the directory of the files. Required without Cluster; it is made if it does not exist.
	Dir string
	// Cluster keeps the journals in the logs of rooms that several servers share, instead of in files. Open then claims the room. The
	// error wraps a *cluster.OwnedError if another server has it. Optional.
	Cluster *cluster.Node
	// Game is the game that is played. Required.
	Game *ecs.Game
	// Build names this program. A match that another build began is recovered if the game has no floats and this build computes
	// the recorded states. Empty: unknown.
	Build string
	// Strategy and Params are those of the room.Config's Strategy: a match continues with the strategy that it began with.
	Strategy string
	Params   []byte
	// Flags are the strategy's settings as flags of the command line, for people.
	Flags string
	// Quarantine moves a journal that cannot be recovered into the folder quarantine, and the other matches continue. Open still
	// fails if the build or the strategy fits none of the matches. Without it, one such journal fails Open.
	Quarantine bool
	// Sync bounds the loss of a power cut; the zero value is Always.
	Sync Sync
	// RefuseOthers opens the directory although there are journals that this build cannot continue. Their rooms are then refused
	// with ErrOtherBuild, and the files stay as they are. Otherwise Open fails.
	RefuseOthers bool
	// ChangeRules continues every match that another build began, with the rules of this one: see record.Migrate. The journal of
	// the ticks before stays beside the new one, as ROOM-MATCH-TICK.ended.journal.
	ChangeRules bool
	// Settled reports whether the results of a room's earlier ticks are stored. Until then its journal in a cluster does not begin
	// anew, so that the next server finds these results in it. Optional.
	Settled func(room string) bool
	// Report receives events, on any goroutine. Optional.
	Report func(Event)
	// Clock returns the time of the host. Tests replace it. Default: time.Now.
	Clock func() time.Time
	// Disk opens a file for writing, with flags as in os.OpenFile. Tests use a faulty disk. Optional.
	Disk func(path string, flags int) (File, error)
}

// Event is a change of a journal.
type Event struct {
	Kind Kind
	Room string
	File string
	Tick ecs.Tick // last one in the journal
	// Returned is the number of the ticks up to Tick that the journal had lost and players returned, for Resumed.
	Returned uint64
	Paused   bool  // the match is still paused, for Resumed
	Err      error // for all kinds that are about a failure, and for Torn, Empty and Slow
}

// Kind is the kind of an Event.
type Kind uint8

// The kinds.
const (
	Started        Kind = iota // a journal was started for a new match
	Resumed                    // a recovered match continues after Tick
	Torn                       // the end of a journal was cut: the server was killed while it wrote it
	Empty                      // a journal without a tick was removed
	Failed                     // a write failed, or too many bytes wait to be written, so the match waits
	Recovered                  // a write succeeded again
	Broken                     // a journal cannot be written any more: its match waits for good
	Ended                      // a match is over, and its file was archived
	Abandoned                  // the same, since no player came back
	NotArchived                // a match is over, and its file could not be renamed: the next start tries it again
	Refused                    // a journal cannot be made, so its room is not; reported once until one can
	TokensFailed               // used tokens cannot be recorded, so no client can connect; reported once until one can
	NotKept                    // the last state of a match that is kept cannot be written: it continues where the journal ends
	Changed                    // another build began the match: it continues from Tick with the rules of this one, and File has the ticks before
	OtherBuild                 // this build cannot continue the match, so its room is refused: see Config.RefuseOthers
	TokensLost                 // the record of used tokens is damaged and begins anew, so tokens that were issued before are refused
	TokensRemoved              // the record of used tokens was removed or replaced while the server runs, and is written again
	Slow                       // a write or a sync takes too long: Err names the consequence; reported once, and again after a minute without one
	Unused                     // the journal of a room that no player entered was removed
	Removed                    // the directory, File, was removed while the server runs: its matches wait, and no room is opened
	Quarantined                // a journal that cannot be recovered was moved to File
	NotQuarantined             // the same, but it cannot be moved and stays in its place, File
	Lost                       // another server of the cluster continues the match: the room must be suspended
)

// Errors of Open. Those about a journal wrap package record's.
var (
	// ErrLocked is returned if another process uses the directory.
	ErrLocked = errors.New("journals: the directory is in use")
	// ErrStrategy is returned for a journal of a match with another strategy, or with other settings of the same one.
	ErrStrategy = errors.New("journals: of a match with another strategy or settings")
	// ErrOtherBuild is returned by Store.Open for a room whose match this build cannot continue. See Config.RefuseOthers.
	ErrOtherBuild = errors.New("journals: of a match that this build cannot continue")
	// ErrTwice is returned if two journals are of the same room.
	ErrTwice = errors.New("journals: two matches of one room")
)
