package journals

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"tendon/cmd/cli/durable"
)

// quarantineDir is the folder of the journals that could not be recovered.
const quarantineDir = "quarantine"

// Quarantined returns the number of journals in quarantine when the directory was opened.
func (s *Store) Quarantined() int { return s.quarantined }

// quarantine moves a journal that cannot be recovered into the folder. It replaces no file.
func (s *Store) quarantine(path string, reason error) error {
	dir := filepath.Join(s.config.Dir, quarantineDir)
	err := durable.MakeDirectory(dir)
	to := filepath.Join(dir, filepath.Base(path))
	for n := 2; err == nil; n++ {
		if _, missing := os.Lstat(to); errors.Is(missing, fs.ErrNotExist) {
			break
		}
		to = filepath.Join(dir, fmt.Sprintf("%s.%d", filepath.Base(path), n))
	}
	if err == nil {
		err = durable.Rename(path, to)
	}
	if err == nil {
		err = durable.SyncDirectory(s.config.Dir)
	}
	if err != nil {
		return fmt.Errorf("%s cannot be recovered: %w; it cannot be moved to %s: %w", path, reason, dir, err)
	}
	s.config.Report(Event{Kind: Quarantined, File: to, Err: fmt.Errorf("%s cannot be recovered: %w", path, reason)})
	return nil
}

// count returns the number of files in a folder, which may be missing.
func count(dir string) (int, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return len(entries), err
}
