package matchlog

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"tendon/cmd/cli/internal/tokens"
)

// TokenStore keeps a client's reconnect tokens in a file, so that the next process comes back to the seat after this one
// was killed. It belongs to the client's goroutine.
//
// The first line of the file is the token of the command line that the client joined with, which is used. Each further
// line is a token that is not used yet, in the order in which they are to be presented.
type TokenStore struct {
	Path   string
	Given  []byte // by the command line; empty before load and start
	tokens [][]byte
	failed func(error) // receives why the file cannot be written
}

// Load reads the file. A file that does not exist holds no tokens. Lines that are not tokens are skipped. They are an error if
// no other line is a token that is not used yet.
func (s *TokenStore) Load() error {
	content, err := tokens.ReadPrivate(s.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	damaged := 0 // the first such line
	for i, line := range strings.Split(strings.TrimSuffix(string(content), "\n"), "\n") {
		line = strings.TrimSpace(line)
		token, ok := tokens.Decode(line)
		switch {
		case !ok && damaged == 0 && line != "":
			damaged = i + 1
		case ok && i == 0:
			s.Given = token
		case ok:
			s.tokens = append(s.tokens, token)
		}
	}
	if damaged > 0 && len(s.tokens) == 0 {
		return fmt.Errorf("%s is damaged: line %d is not a connect token, and no other is a reconnect token", s.Path, damaged)
	}
	return nil
}

// Store replaces the tokens in the file.
func (s *TokenStore) Store(list [][]byte) {
	var b strings.Builder
	b.WriteString(tokens.Text(s.Given) + "\n")
	for _, token := range list {
		b.WriteString(tokens.Text(token) + "\n")
	}
	if err := writeWhole(s.Path, []byte(b.String())); err != nil {
		s.failed(err)
	}
}

// StartedWith reports whether the stored tokens followed on a token of the command line.
func (s *TokenStore) StartedWith(given []byte) bool { return bytes.Equal(s.Given, given) }

// Usable returns the stored tokens that check accepts. Without any, the error is that of the first.
func (s *TokenStore) Usable(check func([]byte) error) (tokens [][]byte, err error) {
	for _, token := range s.tokens {
		if why := check(token); why == nil {
			tokens = append(tokens, token)
		} else if err == nil {
			err = why
		}
	}
	switch {
	case len(tokens) > 0:
		return tokens, nil
	case err != nil:
		return nil, fmt.Errorf("the reconnect tokens in %s cannot be used: %w", s.Path, err)
	case len(s.Given) > 0:
		return nil, fmt.Errorf("%s has no reconnect token left: each was used for a connection that ended before the server sent another", s.Path)
	}
	return nil, fmt.Errorf("there is no reconnect token in %s", s.Path)
}
