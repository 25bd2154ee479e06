package session

import "tendon/systems"

// End ends the session, as common.End does. If the client is to connect to the next process and was sent no reconnect token, End
// sends tokens before the reason.
func (s *Server) End(code Code, text string) {
	if s.err != nil || code != CodeRestarting || s.tokensSent || s.config.MintToken == nil {
		s.common.End(code, text)
		return
	}
	s.sendTokens(s.now)
	s.send(systems.Reliable, message{kind: kindEnd, epoch: s.epoch, code: code, text: text}) // a datagram might arrive before the tokens
	s.err = &Error{Code: code, Text: Clip(text, MaxText)}
}

func (s *Server) sendTokens(now systems.Time) {
	tokens := 1
	if !s.tokensSent {
		tokens, s.tokensSent = firstTokens, true
	}
	for range tokens {
		if token := s.config.MintToken(now); len(token) > 0 && len(token) <= MaxToken {
			s.send(systems.Reliable, message{kind: kindToken, data: token})
		}
	}
}
