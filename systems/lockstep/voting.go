package lockstep

import (
	"bytes"

	"github.com/cespare/xxhash/v2"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback"
	"tendon/systems"
	"tendon/systems/authority"
	"tendon/systems/internal/code"
	"tendon/systems/vote"
)

// voting holds the votes on checksums and results, and what the server has computed to check them. A world on demand
// continues from its frame to the one that must be known: no frame is computed twice.
type voting struct {
	hashes  *vote.Hashes
	ballot  *vote.Ballot
	own     []ownResult                   // the server's results of matches without a decision, newest last
	sums    rollback.Ring[image.Checksum] // the server's of State(n × checkEvery), by n
	until   ecs.Tick                      // the world must be computed up to here
	members memberHistory

	open     bool     // a ballot is open
	began    ecs.Tick // the ballot is on a result of a later frame
	claimed  [][]byte // by player: the result that they claim
	next     []claim  // by player: the result of a later match that they claim during the ballot
	replays  bool     // the ballot waits for the world to reach until
	decided  ecs.Tick // the end of the last match with a decision
	duration ecs.Tick // of a ballot

	attended ecs.Tick // last frame in which a player was connected

	blamed    func(ecs.Player, ecs.Tick, int)
	contested func(ecs.Tick)
}

// ownResult is a result as the server computed it.
type ownResult struct {
	vote.Result
	bytes   []byte
	players image.PlayerSet // in the match when it ended
}

// claim is a result that a player claims, with its bytes. An end at tick 0 stands for none.
type claim struct {
	vote.Result
	bytes []byte
}

// ownKept is how many own results wait for votes. Beyond that, which a log that is replayed reaches, the server decides
// them.
const ownKept = 64

// replaySteps is how many frames a world on demand computes per tick to check votes: far less than a frame's time.
const replaySteps = 100

// checksumsKept is the number of own checksums that are kept. A client may be 64 seconds behind at 60 frames per second.
const checksumsKept = 64

func digestResult(b []byte) uint64 { return xxhash.Sum64(b) }

func (v *voting) init(s *Server) (err error) {
	v.decided, v.attended, v.sums = s.Done(), s.Done(), rollback.NewRing[image.Checksum](checksumsKept)
	v.duration = ecs.Tick(s.settings.VoteTime * systems.Time(s.Game.TickRate) / systems.Second)
	v.members.add(s.Done(), s.members)
	v.claimed, v.next = make([][]byte, s.Game.MaxPlayers), make([]claim, s.Game.MaxPlayers)
	v.blamed, v.contested = s.blame, func(f ecs.Tick) { v.until = max(v.until, f) }
	if v.hashes, err = vote.NewHashes(vote.HashesConfig{Every: checkEvery}); err != nil {
		return err
	}
	v.ballot, err = vote.NewBallot(vote.Config{Deadline: s.settings.VoteTime, AuditPerMille: s.settings.Audits, AuditClean: true, Seed: s.settings.AuditSeed})
	return err
}

// reached opens the vote on the checksum of frame f, which has ended.
func (v *voting) reached(s *Server, f ecs.Tick) {
	v.members.add(f, s.members)
	v.hashes.Open(f, s.members, s.now)
	if s.always {
		v.computed(s, s.Step.State)
	}
}

// computed takes the checksum and the result of the frame that the world is in. state is the world's, or nil.
func (v *voting) computed(s *Server, state *image.Snapshot) {
	f := s.World().Tick()
	if f%checkEvery == 0 {
		if state == nil {
			state = s.States.Save(s.World())
		}
		v.sums.Put(f/checkEvery, state.Checksum())
		v.hashes.Truth(f, state.Checksum())
	}
	if s.Game.Result == nil {
		return
	}
	result := s.Game.Result(s.World())
	if result == nil {
		return
	}
	if state == nil {
		state = s.States.Save(s.World())
	}
	own := ownResult{vote.Result{End: f, Digest: digestResult(result), Hash: state.Checksum()}, bytes.Clone(result), s.World().Players()}
	if f > v.decided {
		v.own = append(v.own, own)
	}
	switch {
	case s.always:
		s.closeBallot()
		s.openBallot(own.players, f-1)
	case len(v.own) == ownKept:
		s.settle(true)
	}
}

// openBallot opens the ballot on a match that ended after tick began.
func (s *Server) openBallot(registered image.PlayerSet, began ecs.Tick) {
	v := &s.votes
	for p := range v.claimed {
		v.claimed[p] = v.claimed[p][:0]
	}
	v.open, v.began = true, began
	v.ballot.Open(registered, v.hashes.Clean(), s.now)
}

// openClaimed opens the ballot on a match that ended in tick f, as a player claims. The present members have a vote, too, so
// that a player cannot claim a tick in which they were alone.
func (s *Server) openClaimed(f ecs.Tick) {
	s.openBallot(s.votes.members.at(f)|s.members, s.votes.decided)
}

// ownAfter returns the server's first result of a tick > f, nil for none.
func (v *voting) ownAfter(f ecs.Tick) *ownResult {
	for i := range v.own {
		if v.own[i].End > f {
			return &v.own[i]
		}
	}
	return nil
}

// receiveHash accepts the checksum that a peer claims of a state.
func (s *Server) receiveHash(m systems.Message) error {
	s.pass(m.Now)
	p := &s.Peers[m.From]
	tick, sum, ok := code.ReadChecksum(m.Body, kindHash)
	if !ok {
		return ErrMessage
	}
	if tick <= p.Opened || tick > s.Done() || tick%checkEvery != 0 || p.Resync != authority.InSync {
		return nil // of a state that a resync has replaced or will replace
	}
	if p.Seat >= 0 {
		p.Stats.Checked++
		s.votes.hashes.Cast(p.Player(), tick, sum, s.now)
		return nil
	}
	if own, kept := s.votes.sums.At(tick / checkEvery); kept {
		p.Stats.Checked++
		if *own != sum {
			p.Stats.Desyncs++
			p.Stats.Differed, p.Stats.Claim = tick, sum
			p.Resync.Request()
		}
	}
	return nil
}

// blame requests an image for the peer of a player whose state differs, or its removal if that happened too often.
func (s *Server) blame(player ecs.Player, tick ecs.Tick, strikes int) {
	if p := s.PeerOf(player); p != nil {
		p.Stats.Desyncs++
		p.Stats.Differed, p.Stats.Claim = tick, 0
		p.Resync.Request()
		p.Stats.Expelled = p.Stats.Expelled || strikes >= vote.MaxStrikes
	}
}

// receiveResult accepts a player's vote on the result of a match.
func (s *Server) receiveResult(m systems.Message) error {
	s.pass(m.Now)
	var r resultMessage
	p := &s.Peers[m.From]
	if r.read(m.Body) != nil || p.Seat < 0 || r.tick > s.Done() || s.Game.Result == nil {
		return ErrMessage
	}
	v, player := &s.votes, p.Player()
	if !v.members.at(r.tick).Has(player) { // the player resimulated it from an older state, but was not in the match
		p.Stats.Refused++
		return nil
	}
	c := claim{vote.Result{End: r.tick, Digest: digestResult(r.result), Hash: r.sum}, r.result}
	if had, voted := v.ballot.Vote(player); !s.always && v.open && voted && had.End < r.tick {
		if next := &v.next[player]; next.End == 0 {
			next.Result, next.bytes = c.Result, append(next.bytes[:0], r.result...)
		}
		return nil // until this ballot is closed
	}
	if !s.always && !v.open && r.tick > v.decided {
		s.openClaimed(r.tick)
	}
	if !s.cast(player, &c) {
		p.Stats.Refused++
	}
	return nil
}

// cast casts a vote. It reports whether the ballot accepts it.
func (s *Server) cast(player ecs.Player, c *claim) (ok bool) {
	v := &s.votes
	if v.ballot.Cast(player, c.Result, s.now) != nil {
		return false
	}
	if len(v.claimed[player]) == 0 {
		v.claimed[player] = append(v.claimed[player], c.bytes...)
	}
	return true
}
