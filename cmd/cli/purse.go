package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"
)

// purse keeps the tokens with which a player can come back in a file, so that another process can, whenever this one is
// killed: a token is marked before it is presented, and a new one is stored before the server hears that it arrived. It
// belongs to the client's goroutine.
//
// The file has a line for each token in the order in which they are to be presented, those that were presented and may
// be spent last; then how many were presented since the server handed one out, and a hash of the token that the player
// was given at first.
type purse struct {
	path   string
	held   []heldToken
	tries  int // tokens presented since one was handed out
	origin uint64
	failed func(error) // told of a file that cannot be written
}

// heldToken is a token in a purse.
type heldToken struct {
	token []byte
	tried bool // it was presented, and may be spent
}

// The words of the file.
const (
	purseTried  = "tried"
	purseTries  = "presented"
	purseOrigin = "from"
)

// purseRoom is how many tokens are kept: a client's own number, and the one that it began with.
const purseRoom = 5

// load reads the file. None is an empty purse.
func (p *purse) load() error {
	content, err := os.ReadFile(p.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var read purse
	for line := range strings.Lines(string(content)) {
		if err := read.line(strings.Fields(line)); err != nil {
			return fmt.Errorf("%s is damaged: %w", p.path, err)
		}
	}
	p.held, p.tries, p.origin = read.held, read.tries, read.origin
	return nil
}

func (p *purse) line(words []string) (err error) {
	switch {
	case len(words) == 2 && words[0] == purseTries:
		p.tries, err = strconv.Atoi(words[1])
	case len(words) == 2 && words[0] == purseOrigin:
		p.origin, err = strconv.ParseUint(words[1], 16, 64)
	case len(words) == 1 || len(words) == 2 && words[1] == purseTried:
		token, ok := tokenOf(words[0])
		if !ok {
			return errors.New("a line holds no connect token")
		}
		p.held = append(p.held, heldToken{token: token, tried: len(words) == 2})
	default:
		return errors.New("a line is none of a token's")
	}
	return err
}

// store writes the file. What a process that is killed leaves is the old content or the new one.
func (p *purse) store() {
	var b strings.Builder
	for _, h := range p.held {
		b.WriteString(tokenText(h.token))
		if h.tried {
			b.WriteString(" " + purseTried)
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "%s %d\n%s %016x\n", purseTries, p.tries, purseOrigin, p.origin)
	if err := writeWhole(p.path, []byte(b.String()), 0o600); err != nil {
		p.failed(err)
	}
}

// Handed takes a token that the server handed out.
func (p *purse) Handed(token []byte) {
	p.held = slices.Insert(p.held, 0, heldToken{token: bytes.Clone(token)})
	p.held = p.held[:min(len(p.held), purseRoom)]
	p.tries = 0
	p.store()
}

// Presented marks a token that may be spent from now on, and puts it behind the others.
func (p *purse) Presented(token []byte) {
	i := p.index(token)
	if i < 0 {
		return // one that had its connection, presented for want of another
	}
	p.held = append(slices.Delete(p.held, i, i+1), heldToken{token: bytes.Clone(token), tried: true})
	p.tries++
	p.store()
}

// Spent takes a token out that had its connection.
func (p *purse) Spent(token []byte) {
	if i := p.index(token); i >= 0 {
		p.held = slices.Delete(p.held, i, i+1)
		p.store()
	}
}

func (p *purse) index(token []byte) int {
	return slices.IndexFunc(p.held, func(h heldToken) bool { return bytes.Equal(h.token, token) })
}

// begin makes a token that the player was given the only one.
func (p *purse) begin(token []byte) {
	p.held, p.tries, p.origin = []heldToken{{token: token}}, 0, xxhash.Sum64(token)
}

// descends reports whether the tokens are those that followed one that the player was given at first.
func (p *purse) descends(from []byte) bool { return p.origin == xxhash.Sum64(from) }

// usable returns the tokens that check has nothing against, in the order in which they are to be presented; without
// any, the error is that of the first.
func (p *purse) usable(check func([]byte) error) (tokens [][]byte, err error) {
	for _, h := range p.held {
		if why := check(h.token); why == nil {
			tokens = append(tokens, h.token)
		} else if err == nil {
			err = why
		}
	}
	switch {
	case len(tokens) > 0:
		return tokens, nil
	case err != nil:
		return nil, fmt.Errorf("the tokens to come back with in %s are of no use: %w", p.path, err)
	case p.tries > 0:
		return nil, fmt.Errorf("%s has no token left to come back with: each was used for a connection that ended before the server handed out another", p.path)
	}
	return nil, fmt.Errorf("there is no token to come back with in %s", p.path)
}

// mostPause is the longest pause before a token is presented: the seat does not wait for long.
const mostPause = 4 * time.Second

// pause returns how long to wait before the next token is presented. A process that is killed again and again right
// after its start would spend one each time; the longer it must live for that, the fewer it spends.
func (p *purse) pause() time.Duration {
	if p.tries == 0 {
		return 0
	}
	return min(time.Second<<min(p.tries-1, 8), mostPause)
}
