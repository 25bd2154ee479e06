package lockstep

import (
	"bytes"

	"github.com/cespare/xxhash/v2"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback"
	"tendon/systems"
	"tendon/systems/internal/peers"
	"tendon/systems/vote"
)

// court is where peers' checksums and results are judged, and what the server computed itself to judge by. Where the
// server does not compute the match as it goes, its world goes on, from where it stands, to what must be known: no
// frame is ever computed twice.
type court struct {
	hashes *vote.Hashes
	ballot *vote.Ballot
	ring   *rollback.Snapshots // of the server's own states
	sums   sums                // its checksums
	own    []ownResult         // its results of matches that are not decided yet, newest last
	until  ecs.Tick            // the world must be computed up to here
	roll   roll                // who had a vote when

	open    bool     // a ballot is going on
	began   ecs.Tick // the first result that it may be about is of a later tick
	said    [][]byte // the result that each player claims
	next    []claim  // what players claim of the match after, who have voted in this ballot
	replays bool     // it waits for the world to reach until
	decided ecs.Tick // the last match that was decided ended here
	voting  ecs.Tick // how long players have to vote, in ticks

	attended ecs.Tick // the last frame in which somebody was connected who may vote

	blamed    func(ecs.Player, ecs.Tick, int)
	contested func(ecs.Tick)
}

// ownResult is a result as the server computed it.
type ownResult struct {
	vote.Result
	bytes   []byte
	players ecs.PlayerSet // who was in the match when it ended
}

// claim is a result that a player claims, with its bytes; that of a tick 0 is none.
type claim struct {
	vote.Result
	bytes []byte
}

// ownKept is how many own results wait for players to vote. A server that learns of more, since it plays a log of which
// it had computed nothing, decides them.
const ownKept = 64

// replayed is how many frames the server computes at once to judge: it has to be done long before the next is due.
const replayed = 100

func digestResult(b []byte) uint64 { return xxhash.Sum64(b) }

// init makes the court of a server.
func (c *court) init(s *Server) (err error) {
	c.ring, c.decided, c.attended = rollback.NewSnapshots(2), s.done, s.done
	c.voting = ecs.Tick(s.config.VoteTime * systems.Time(s.game.TickRate) / systems.Second)
	c.roll.note(s.done, s.members)
	c.said, c.next = make([][]byte, s.game.MaxPlayers), make([]claim, s.game.MaxPlayers)
	c.blamed, c.contested = s.blame, func(f ecs.Tick) { c.until = max(c.until, f) }
	if c.hashes, err = vote.NewHashes(vote.HashesConfig{Every: checkEvery}); err != nil {
		return err
	}
	c.ballot, err = vote.NewBallot(vote.Config{Deadline: s.config.VoteTime, AuditPerMille: s.config.Audits, AuditClean: true, Seed: s.config.AuditSeed})
	return err
}

// reached opens the vote on a frame that has ended, and takes the server's own state if it has one.
func (c *court) reached(s *Server, state *image.Snapshot) {
	c.roll.note(s.done, s.members)
	c.hashes.Open(s.done, s.members, s.now)
	if s.always {
		c.computed(s, state)
	}
}

// computed takes what the server computed itself: the world is in the state of state, which may be nil.
func (c *court) computed(s *Server, state *image.Snapshot) {
	f := s.world.Tick()
	if f%checkEvery == 0 {
		if state == nil {
			state = c.ring.Save(s.world)
		}
		c.sums.add(f, state.Checksum())
		c.hashes.Truth(f, state.Checksum())
	}
	if s.game.Result == nil {
		return
	}
	result := s.game.Result(s.world)
	if result == nil {
		return
	}
	if state == nil {
		state = c.ring.Save(s.world)
	}
	own := ownResult{vote.Result{End: f, Digest: digestResult(result), Hash: state.Checksum()}, bytes.Clone(result), s.world.Players()}
	if f > c.decided {
		c.own = append(c.own, own)
	}
	switch {
	case s.always:
		s.finish()
		s.openBallot(own.players, f-1)
	case len(c.own) == ownKept:
		s.settle(true)
	}
}

// openBallot begins a vote of those registered on a match that ended after tick began.
func (s *Server) openBallot(registered ecs.PlayerSet, began ecs.Tick) {
	c := &s.court
	for p := range c.said {
		c.said[p] = c.said[p][:0]
	}
	c.open, c.began = true, began
	c.ballot.Open(registered, c.hashes.Clean(), s.now)
}

// openClaimed begins a vote on a match of which somebody says that it ended in tick f. Who is in the match now has a vote
// whatever he says, so that nobody can choose a tick in which he was alone.
func (s *Server) openClaimed(f ecs.Tick) {
	s.openBallot(s.court.roll.at(f)|s.members, s.court.decided)
}

// ownAfter returns the server's first result of a tick > f.
func (c *court) ownAfter(f ecs.Tick) *ownResult {
	for i := range c.own {
		if c.own[i].End > f {
			return &c.own[i]
		}
	}
	return nil
}

// receiveHash takes the checksum that a peer claims of a state.
func (s *Server) receiveHash(p *peer, message []byte) error {
	var m hashMessage
	if err := m.read(message); err != nil {
		p.stats.Refused++
		return err
	}
	if m.tick <= p.opened || m.tick > s.done || m.tick%checkEvery != 0 || p.resync != peers.InSync {
		return nil // of a state that a resync has replaced or will replace
	}
	if p.seat >= 0 {
		p.stats.Checked++
		s.court.hashes.Cast(ecs.Player(p.seat), m.tick, m.sum, s.now)
		return nil
	}
	if sum, known := s.court.sums.at(m.tick); known {
		p.stats.Checked++
		if sum != m.sum {
			p.stats.Desyncs++
			p.stats.Differed, p.stats.Claim = m.tick, m.sum
			p.resync.Request()
		}
	}
	return nil
}

// blame has the peer of a player who differs put right, or removed if that was tried often enough.
func (s *Server) blame(player ecs.Player, tick ecs.Tick, strikes int) {
	for i := range s.peers {
		if p := &s.peers[i]; p.open && p.seat == int(player) {
			p.stats.Desyncs++
			p.stats.Differed, p.stats.Claim = tick, 0
			p.resync.Request()
			p.stats.Expelled = p.stats.Expelled || strikes >= vote.MaxStrikes
		}
	}
}

// receiveResult takes what a player says that the match has come to.
func (s *Server) receiveResult(p *peer, message []byte) error {
	var m resultMessage
	err := m.read(message)
	if err == nil && (p.seat < 0 || m.tick > s.done || s.game.Result == nil) {
		err = ErrMessage
	}
	if err != nil {
		p.stats.Refused++
		return err
	}
	c, player := &s.court, ecs.Player(p.seat)
	if !c.roll.at(m.tick).Has(player) { // he has played it all from an older state, but was not in the match
		p.stats.Refused++
		return nil
	}
	said := claim{vote.Result{End: m.tick, Digest: digestResult(m.result), Hash: m.sum}, m.result}
	if had, voted := c.ballot.Vote(player); !s.always && c.open && voted && had.End < m.tick {
		if next := &c.next[player]; next.End == 0 {
			next.Result, next.bytes = said.Result, append(next.bytes[:0], m.result...)
		}
		return nil // until this ballot is closed
	}
	if !s.always && !c.open && m.tick > c.decided {
		s.openClaimed(m.tick)
	}
	if !s.cast(player, &said) {
		p.stats.Refused++
	}
	return nil
}

// cast takes a vote, if it can be had.
func (s *Server) cast(player ecs.Player, said *claim) (ok bool) {
	c := &s.court
	if c.ballot.Cast(player, said.Result, s.now) != nil {
		return false
	}
	if len(c.said[player]) == 0 {
		c.said[player] = append(c.said[player], said.bytes...)
	}
	return true
}

// sums remembers the server's checksums of the last frames that were checked. The check of frame f lies in slot
// (f / checkEvery) % len, which stores its frame.
type sums struct {
	ticks [sumsKept]ecs.Tick
	sums  [sumsKept]image.Checksum
}

// sumsKept is how many checks are remembered: a client may be 64 seconds behind at 60 frames per second.
const sumsKept = 64

func (h *sums) add(f ecs.Tick, sum image.Checksum) {
	i := f / checkEvery % sumsKept
	h.ticks[i], h.sums[i] = f, sum
}

func (h *sums) at(f ecs.Tick) (sum image.Checksum, known bool) {
	i := f / checkEvery % sumsKept
	return h.sums[i], f != 0 && h.ticks[i] == f
}
