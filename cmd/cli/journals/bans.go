package journals

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"tendon/cmd/cli/durable"
	"tendon/net/server"
)

// ErrBans is wrapped by the errors about a file of banned clients.
var ErrBans = errors.New("journals: not a list of banned clients")

const (
	bansFile    = "bans.json"
	bansVersion = 1
)

// banFile is the contents of the file.
type banFile struct {
	Version int          `json:"version"`
	Bans    []server.Ban `json:"bans"`
}

// Bans reads the clients that the previous server had banned. Without a file there are none. The error of a damaged file
// wraps ErrBans and contains the remedy. The file is not changed.
func (s *Store) Bans() ([]server.Ban, error) {
	path := filepath.Join(s.config.Dir, bansFile)
	text, _, err := readFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var list []server.Ban
	if err == nil {
		list, err = parseBans(text)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w: put an undamaged copy in its place, or move the file away to begin without bans", ErrBans, path, err)
	}
	return list, nil
}

func parseBans(text []byte) ([]server.Ban, error) {
	var f banFile
	err := json.Unmarshal(text, &f)
	if err == nil && f.Version != bansVersion {
		err = fmt.Errorf("it has version %d, this build reads %d", f.Version, bansVersion)
	}
	return f.Bans, err
}

// SaveBans replaces the file of banned clients. It survives a power cut. It fails after 5 s if the disk does not answer. One
// goroutine may call it at a time.
func (s *Store) SaveBans(list []server.Ban) error {
	text, err := json.MarshalIndent(banFile{Version: bansVersion, Bans: list}, "", " ")
	if err != nil {
		return fmt.Errorf("journals: the banned clients cannot be encoded: %w", err)
	}
	select {
	case s.saving <- struct{}{}:
	default:
		return errUnanswered
	}
	saved := make(chan error, 1)
	go func() {
		err := durable.Replace(filepath.Join(s.config.Dir, bansFile), append(text, '\n'))
		<-s.saving
		saved <- err
	}()
	select {
	case err := <-saved:
		return err
	case <-time.After(saveLimit):
		return errUnanswered
	}
}

// saveLimit bounds the wait for the file of banned clients.
const saveLimit = 5 * time.Second

var errUnanswered = errors.New("journals: the disk does not answer")
