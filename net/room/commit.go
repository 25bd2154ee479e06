package room

import (
	"errors"

	"tendon/net/session"
	"tendon/systems"
)

// ErrPending is returned by a Sink.Commit that is under way.
var ErrPending = errors.New("room: the commit is under way")

// waitsForJournal is the reason of a request that would be lost with the process.
const waitsForJournal = "the match waits for its journal: try again when it continues"

// errHeld ends a session whose held reliable messages exceed heldBytes.
var errHeld = errors.New("room: too many messages wait for a commit")

// heldBytes bounds the reliable messages of a peer that wait for a commit.
const heldBytes = 1 << 20

// keptBytes is the largest capacity of commits.bytes that is kept when no message is held.
const keptBytes = 64 << 10

// commits is the state of the commits of a room. One commit is under way at a time. The strategy sends once for each commit, when it
// begins. These messages are held until the commit has ended, while the room computes further ticks.
type commits struct {
	fresh   bool         // ticks were computed whose commit has not begun
	pending bool         // a commit is under way
	failing bool         // the last commit failed: the match waits
	excused systems.Time // see Room.receive
	sink    int          // the sink whose Commit is under way

	holding bool // a commit began in this Frame: all messages may depend on its ticks
	notice  bool // Room.noticeCommits sends a notice, which is not held
	welcome bool // Room.welcome sends a Welcome
	held    []heldMessage
	bytes   []byte // of these messages
}

type heldMessage struct {
	to      *heldTransport
	channel systems.Channel
	end     int // of the message, in commits.bytes
}

// heldTransport is the transport of a peer in a room with commits. While a commit is under way, it holds all messages of the Frame
// in which the commit began. It also holds all later reliable messages, even while the commit fails: their order is kept, and an
// image may be of an uncommitted tick. Later datagrams do not depend on uncommitted ticks, so they are sent at once.
type heldTransport struct {
	session.Transport
	commits *commits
	waiting int   // bytes of held reliable messages
	unknown bool  // the Welcome is held, so the client expects no notice
	err     error // of a held reliable message that could not be sent
}

func (t *heldTransport) Send(ch systems.Channel, message []byte) error {
	c, reliable := t.commits, ch == systems.Reliable
	switch {
	case t.err != nil:
		return t.err
	case !c.holding && !(reliable && c.pending), c.notice && !t.unknown:
		return t.Transport.Send(ch, message)
	case reliable && t.waiting+len(message) > heldBytes:
		return errHeld
	}
	if reliable {
		t.waiting += len(message)
		t.unknown = t.unknown || c.welcome
	}
	c.bytes = append(c.bytes, message...)
	c.held = append(c.held, heldMessage{t, ch, len(c.bytes)})
	return nil
}

func (t *heldTransport) Room() int { return max(t.Transport.Room()-t.waiting, 0) }

// release sends the held messages.
func (c *commits) release() {
	from := 0
	for _, m := range c.held {
		err := m.to.Transport.Send(m.channel, c.bytes[from:m.end])
		if m.channel == systems.Reliable && err != nil {
			m.to.err = err // the session ends when it sends the next message
		}
		from = m.end
	}
	c.drop()
}

// drop discards the held messages.
func (c *commits) drop() {
	for _, m := range c.held {
		m.to.waiting, m.to.unknown = 0, false
	}
	clear(c.held) // so that it does not keep transports alive
	if c.held, c.bytes = c.held[:0], c.bytes[:0]; cap(c.bytes) > keptBytes {
		c.held, c.bytes = nil, nil
	}
}

// transport returns the transport for a new peer. It holds messages if a sink has a Commit.
func (r *Room) transport(t session.Transport) session.Transport {
	for i := range r.config.Sinks {
		if r.config.Sinks[i].Commit != nil {
			return &heldTransport{Transport: t, commits: &r.commits}
		}
	}
	return t
}

// Committing reports whether a commit is under way, and has not failed.
func (r *Room) Committing() bool { return r.commits.pending && !r.commits.failing }

// uncommitted reports whether messages about the last tick must not be sent now.
func (r *Room) uncommitted() bool {
	c := &r.commits
	return !c.holding && (c.fresh || c.pending || c.failing)
}

// commit begins to commit the computed ticks. It reports whether messages about them may be sent now. They are held while the commit
// is under way.
func (r *Room) commit() bool {
	c := &r.commits
	err := r.commitSinks()
	if err != nil && err != ErrPending {
		r.commitFailed()
		return false
	}
	c.fresh, c.pending, c.holding = false, err != nil, err != nil
	r.commitWorks()
	return true
}

// Settle sends the messages that are held for a commit if the commit has ended. It reports whether it sent any. Frame calls it too.
// Call it after a sink has called Config.Wake.
func (r *Room) Settle() bool {
	c := &r.commits
	if !c.pending {
		return false
	}
	if err := r.commitSinks(); err == ErrPending {
		return false
	} else if err != nil {
		r.commitFailed()
		return false
	}
	c.pending = false
	r.commitWorks()
	sent := len(c.held) > 0
	c.release()
	return sent
}

func (r *Room) commitFailed() {
	r.stats.Unwritten++
	if !r.commits.failing {
		r.commits.failing = true
		r.noticeCommits("the match waits: the server cannot write its journal")
	}
}

func (r *Room) noticeCommits(text string) {
	r.commits.notice = true
	r.Notice(0, text)
	r.commits.notice = false
}

func (r *Room) commitWorks() {
	if r.commits.failing {
		r.commits.failing, r.commits.excused = false, r.now+excuse
		r.postpone(1)
		r.noticeCommits("the match continues: the server can write its journal again")
	}
}

// commitSinks calls Commit of all sinks, or continues with the one whose Commit is under way.
func (r *Room) commitSinks() error {
	from := r.commits.sink
	r.commits.sink = 0
	for i := from; i < len(r.config.Sinks); i++ {
		if s := &r.config.Sinks[i]; s.Commit != nil {
			if err := s.Commit(); err != nil {
				if err == ErrPending {
					r.commits.sink = i
				}
				return err
			}
		}
	}
	return nil
}

// endCommits sends the held messages if their commit has ended, and discards them otherwise. Later messages are not held.
func (r *Room) endCommits() {
	r.Settle()
	r.commits.drop()
	r.commits.fresh, r.commits.pending, r.commits.failing, r.commits.holding, r.commits.sink = false, false, false, false, 0
}
