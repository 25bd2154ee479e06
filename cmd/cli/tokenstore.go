package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// tokenStore keeps a client's reconnect tokens in a file, so that the next process comes back to the seat after this one
// was killed. It belongs to the client's goroutine.
//
// The first line of the file is the token of the command line that the client joined with, which is used. Each further
// line is a token that is not used yet, in the order in which they are to be presented.
type tokenStore struct {
	path   string
	given  []byte // by the command line; empty before load and start
	tokens [][]byte
	failed func(error) // receives why the file cannot be written
}

// load reads the file. A file that does not exist holds no tokens.
func (s *tokenStore) load() error {
	content, err := os.ReadFile(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var list [][]byte
	for line := range strings.Lines(string(content)) {
		token, ok := tokenOf(strings.TrimSpace(line))
		if !ok {
			return fmt.Errorf("%s is damaged: line %d is no connect token", s.path, len(list)+1)
		}
		list = append(list, token)
	}
	if len(list) > 0 {
		s.given, s.tokens = list[0], list[1:]
	}
	return nil
}

// store replaces the tokens in the file.
func (s *tokenStore) store(list [][]byte) {
	var b strings.Builder
	b.WriteString(tokenText(s.given) + "\n")
	for _, token := range list {
		b.WriteString(tokenText(token) + "\n")
	}
	if err := writeWhole(s.path, []byte(b.String()), 0o600); err != nil {
		s.failed(err)
	}
}

// startedWith reports whether the stored tokens followed on a token of the command line.
func (s *tokenStore) startedWith(given []byte) bool { return bytes.Equal(s.given, given) }

// usable returns the stored tokens that check accepts. Without any, the error is that of the first.
func (s *tokenStore) usable(check func([]byte) error) (tokens [][]byte, err error) {
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
		return nil, fmt.Errorf("the reconnect tokens in %s cannot be used: %w", s.path, err)
	case len(s.given) > 0:
		return nil, fmt.Errorf("%s has no reconnect token left: each was used for a connection that ended before the server sent another", s.path)
	}
	return nil, fmt.Errorf("there is no reconnect token in %s", s.path)
}
