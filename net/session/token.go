package session

import "tendon/systems"

// Suspend ends the session with CodeRestarting: the client is to connect to the next process of the server. A client that may
// have no reconnect token receives tokens before the reason.
func (s *Server) Suspend() {
	if s.tokens >= firstTokens || s.config.MintToken == nil {
		s.End(CodeRestarting, "")
	}
	if s.err != nil {
		return
	}
	s.sendTokens(firstTokens-s.tokens, s.now)
	s.send(systems.Reliable, message{kind: kindEnd, epoch: s.epoch, code: CodeRestarting}) // a datagram might arrive before the tokens
	s.err = &Error{Code: CodeRestarting}
}

// sendTokens sends reconnect tokens, and sets when the next is due.
func (s *Server) sendTokens(n int, now systems.Time) {
	s.tokens, s.nextToken = s.tokens+n, now+tokenInterval
	for range n {
		if token := s.config.MintToken(now); len(token) > 0 && len(token) <= MaxToken {
			s.send(systems.Reliable, message{kind: kindToken, data: token})
		}
	}
}

// frameTokens sends the tokens that are due. They wait until the peer has loaded its state, which they would delay.
func (s *Server) frameTokens(now systems.Time) {
	switch {
	case s.config.MintToken == nil || s.phase != open:
	case s.tokens < firstTokens:
		s.sendTokens(firstTokens-s.tokens, now)
	case now >= s.nextToken:
		s.sendTokens(1, now)
	}
}
