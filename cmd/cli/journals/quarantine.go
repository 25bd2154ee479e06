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

// quarantine moves a journal that cannot be recovered into the folder. It replaces no file. If that fails, the journal stays where
// it is, and the next start tries it again.
func (s *Store) quarantine(path string, reason error) {
	reason = fmt.Errorf("%s cannot be recovered: %w", path, reason)
	dir := filepath.Join(s.config.Dir, quarantineDir)
	err := durable.MakeDirectory(dir)
	to := filepath.Join(dir, filepath.Base(path))
	for n := 2; err == nil; n++ {
		if _, err = os.Lstat(to); err == nil {
			to = filepath.Join(dir, fmt.Sprintf("%s.%d", filepath.Base(path), n))
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = durable.Rename(path, to)
	}
	if err == nil {
		err = durable.SyncDirectory(s.config.Dir)
	}
	if err != nil {
		s.config.Report(Event{Kind: NotQuarantined, File: path, Err: fmt.Errorf("%w; it cannot be moved to %s: %w", reason, dir, err)})
		return
	}
	s.config.Report(Event{Kind: Quarantined, File: to, Err: reason})
}

// count returns the number of files in a folder, which may be missing or another kind of file.
func count(dir string) int {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() { // opening a pipe would block
		return 0
	}
	entries, _ := os.ReadDir(dir)
	return len(entries)
}
