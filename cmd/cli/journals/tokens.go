package journals

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"tendon/cmd/cli/durable"
	"tendon/net/netcode"
	"tendon/rollback/record"
)

// UsedTokens records the tokens that had a connection, in a file beside the journals, until they expire. It implements
// server.UsedTokens. One goroutine writes the file and syncs it; several tokens share a sync.
//
// The first line of the file is "tendon used tokens 2 SINCE FLOOR LINES", the space for LINES lines follows. SINCE is the first
// moment of the record, in milliseconds since 1970. FLOOR is the latest expiry of the tokens that were dropped, in Unix seconds.
// Each further line is a token and its expiry. All lines end with a checksum, and the free space is zeros. The last line may be
// torn: it was never synced, so its token had no connection. The free space may be longer, or shorter by all but its first byte. Any
// other damage begins a new record.
type UsedTokens struct {
	path   string
	disk   func(path string, flags int) (File, error)
	report func(Event)
	since  time.Time
	wake   chan struct{} // has an element while the queue may have a token
	ended  chan struct{}

	mu      sync.Mutex
	floor   uint64                     // tokens that expire at this Unix second or before are refused
	earlier map[netcode.TokenID]uint64 // expiry of the tokens that earlier processes recorded
	tokens  map[netcode.TokenID]*usedToken
	queue   []netcode.TokenID // to be written
	failed  error             // of the last write
	begun   time.Time         // when the write that is under way began; zero: none is
	now     uint64            // Unix second of the last Record: tokens that expire then or before are dropped
	written fs.FileInfo       // of the file that was written last
	removed bool              // it is not in its place, and is to be written again

	// Of the goroutine that writes.
	file File  // nil if it must be rewritten
	end  int64 // of the lines
	size int64 // of the file
}

type usedToken struct {
	expires uint64
	stored  bool
}

const (
	usedTokensName   = "tokens.used"
	usedTokensHeader = "tendon used tokens 2 %020d %020d %010d"
	usedTokensSlack  = 1024 // lines that are added before the file is rewritten, in addition to as many as it had
	usedTokensHead   = 21 + 20 + 1 + 20 + 1 + 10 + checksumBytes
	usedTokensLine   = 2*len(netcode.TokenID{}) + 1 + 20 + checksumBytes
	checksumBytes    = 1 + 8 + 1 // a space, hexadecimal digits, a line break
)

// openUsedTokens reads the record of a directory. Without a file, or if it is damaged, the record begins now: earlier tokens of
// the key may have been used.
func openUsedTokens(c *Config) (*UsedTokens, error) {
	t := &UsedTokens{path: filepath.Join(c.Dir, usedTokensName), disk: c.Disk, report: c.Report, wake: make(chan struct{}, 1),
		ended: make(chan struct{}), earlier: map[netcode.TokenID]uint64{}, tokens: map[netcode.TokenID]*usedToken{}}
	content, _, err := readFile(t.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err = errNoTokens; !Exist(c.Dir) {
			err, t.since = nil, c.Clock()
		}
	case err == nil:
		err = t.parse(content)
	}
	if err != nil && !is(err, errNoTokens, errTokens, record.ErrNotRecord) {
		return nil, err
	}
	if err != nil && t.since.IsZero() {
		t.since = c.Clock()
		t.report(Event{Kind: TokensLost, File: t.path, Err: err})
	}
	if err := t.rewrite(); err != nil {
		return nil, err
	}
	go t.write()
	return t, nil
}

var (
	errTokens   = errors.New("it was cut or changed, or another version wrote it")
	errNoTokens = errors.New("it is missing, and there are journals of an earlier server")
)

// Exist reports whether a directory has journals, also of matches that are over.
func Exist(dir string) bool {
	entries, _ := os.ReadDir(dir)
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return strings.HasSuffix(e.Name(), suffix) })
}

// parse reads the file. since is set only if the file is not damaged.
func (t *UsedTokens) parse(content []byte) error {
	if len(content) < usedTokensHead || !summed(content[:usedTokensHead]) {
		return errTokens
	}
	var millis int64
	var lines int
	var floor uint64
	_, err := fmt.Sscanf(string(content[:usedTokensHead-checksumBytes]), usedTokensHeader, &millis, &floor, &lines)
	rest, space := content[usedTokensHead:], lines*usedTokensLine
	switch {
	case err != nil || space < 0:
		return errTokens
	case len(rest) > space && zero(rest[space:]):
		rest = rest[:space]
	case len(rest) > space, len(rest) < space && !bytes.HasSuffix(rest, []byte{0}): // in the latter case, lines may be missing
		return errTokens
	}
	t.floor = floor
	over := false
	for line := range slices.Chunk(rest, usedTokensLine) {
		var token []byte
		var expires uint64
		switch {
		case len(line) < usedTokensLine: // free, or torn, since rest ends with a zero
			if over && !zero(line) {
				return errTokens
			}
		case summed(line) && !over:
			if _, err := fmt.Sscanf(string(line[:usedTokensLine-checksumBytes]), "%x %d", &token, &expires); err != nil || len(token) != len(netcode.TokenID{}) {
				return errTokens
			}
			t.earlier[netcode.TokenID(token)] = expires
		case summed(line), !bytes.Contains(line, []byte{0}), over && !zero(line):
			return errTokens
		default: // free, or torn
			over = true
		}
	}
	t.since = time.UnixMilli(millis)
	return nil
}

// summed reports whether a line ends with its checksum.
func summed(line []byte) bool {
	rest := line[:len(line)-checksumBytes]
	return bytes.Equal(line, appendSum(slices.Clone(rest), 0))
}

// appendSum ends the line that begins at a byte with its checksum.
func appendSum(b []byte, from int) []byte {
	return fmt.Appendf(b, " %08x\n", crc32.ChecksumIEEE(b[from:]))
}

func zero(line []byte) bool { return len(bytes.Trim(line, "\x00")) == 0 }

// Since returns the first moment of the record.
func (t *UsedTokens) Since() time.Time { return t.since }

// Floor returns the latest expiry of the tokens that were dropped, in Unix seconds.
func (t *UsedTokens) Floor() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.floor
}

// Used reports whether an earlier process recorded a token.
func (t *UsedTokens) Used(token netcode.TokenID, expires uint64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, used := t.earlier[token]
	return used || expires <= t.floor
}

// tokensLimit is how long a write may take before Record returns errStalled.
const tokensLimit = time.Second

// Record begins to record a token, and reports whether it is on the disk. After a failed write, it begins again and returns the
// error of that write. It returns errStalled while a write takes longer than tokensLimit. now is the time by which tokens expire.
func (t *UsedTokens) Record(token netcode.TokenID, expires uint64, now time.Time) (recorded bool, err error) {
	t.mu.Lock()
	t.now = uint64(max(now.Unix(), 0))
	u := t.tokens[token]
	if u == nil {
		u = &usedToken{expires: expires}
		t.tokens[token] = u
		t.queue = append(t.queue, token)
	}
	recorded, err = u.stored, t.failed
	hangs := !t.begun.IsZero() && time.Since(t.begun) > tokensLimit
	t.mu.Unlock()
	if recorded {
		return true, nil
	}
	if hangs && err == nil {
		err = errStalled
		t.fail(err)
	}
	select {
	case t.wake <- struct{}{}:
	default:
	}
	return false, err
}

// write stores the queue each time it has tokens, until close.
func (t *UsedTokens) write() {
	defer close(t.ended)
	for range t.wake {
		t.mu.Lock()
		t.begun = time.Now()
		t.mu.Unlock()
		batch, err := t.flush()
		t.mu.Lock()
		t.begun = time.Time{}
		if err == nil {
			t.queue, t.failed = t.queue[len(batch):], nil
			for _, token := range batch {
				if u := t.tokens[token]; u != nil { // otherwise it has expired
					u.stored = true
				}
			}
		}
		t.mu.Unlock()
		if err != nil {
			t.fail(err)
		}
	}
}

// fail stores the error of a write, and reports the first one after a success.
func (t *UsedTokens) fail(err error) {
	t.mu.Lock()
	begins := t.failed == nil
	t.failed = err
	t.mu.Unlock()
	if begins {
		t.report(Event{Kind: TokensFailed, File: t.path, Err: advised(err, filepath.Dir(t.path), 1)})
	}
}

// flush adds the queue to the file, and returns it. If the file has no space left, or if the last write failed, it rewrites the file
// without the expired tokens.
func (t *UsedTokens) flush() (batch []netcode.TokenID, err error) {
	t.mu.Lock()
	batch = t.queue
	var b []byte
	for _, token := range batch {
		b = appendUsed(b, token, t.tokens[token].expires)
	}
	removed := t.removed
	t.mu.Unlock()
	if len(batch) == 0 && !removed {
		return nil, nil
	}
	if t.file == nil || removed || t.end+int64(len(b)) > t.size {
		err = t.rewrite()
	} else if _, err = t.file.WriteAt(b, t.end); err == nil {
		t.end += int64(len(b))
		err = t.file.Sync()
	}
	if err != nil {
		t.closeFile()
	}
	return batch, err
}

// rewrite replaces the file by one with the tokens that have not expired, and with space for as many again.
func (t *UsedTokens) rewrite() error {
	t.closeFile()
	content, size := t.content()
	_ = os.Remove(t.path + ".new") // of a process that was killed, or a pipe, which would block
	f, err := t.disk(t.path+".new", os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	if _, err = f.Write(content); err == nil {
		err = errors.Join(f.Truncate(size), f.Sync())
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = durable.Rename(t.path+".new", t.path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(t.path+".new"))
	}
	t.end, t.size = int64(len(content)), size
	if t.file, err = t.disk(t.path, 0); err != nil {
		return err
	}
	written, err := t.file.Stat()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.written, t.removed = written, false
	return err
}

// check has the file written again if it was removed or replaced, and reports that once.
func (t *UsedTokens) check() {
	state := func() (fs.FileInfo, bool) {
		t.mu.Lock()
		defer t.mu.Unlock()
		return t.written, t.begun.IsZero()
	}
	written, idle := state()
	if !idle || !durable.Gone(written, t.path) {
		return
	}
	if again, idle := state(); !idle || again != written { // a write replaced it meanwhile
		return
	}
	t.mu.Lock()
	begins := !t.removed
	t.removed = true
	t.mu.Unlock()
	if begins {
		t.report(Event{Kind: TokensRemoved, File: t.path})
	}
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// content drops the expired tokens and returns the lines of the others, and the size of their file. It encodes them without the
// lock, which a server takes for each packet that begins a connection.
func (t *UsedTokens) content() (content []byte, size int64) {
	type line struct {
		token   netcode.TokenID
		expires uint64
	}
	t.mu.Lock()
	list := make([]line, 0, len(t.earlier)+len(t.tokens))
	add := func(token netcode.TokenID, expires uint64) bool {
		if expires <= t.now {
			t.floor = max(t.floor, expires)
			return false
		}
		list = append(list, line{token, expires})
		return true
	}
	for token, expires := range t.earlier {
		if !add(token, expires) {
			delete(t.earlier, token)
		}
	}
	for token, u := range t.tokens {
		if !add(token, u.expires) && u.stored {
			delete(t.tokens, token)
		}
	}
	floor := t.floor
	t.mu.Unlock()
	lines := 2*len(list) + usedTokensSlack
	content = appendSum(fmt.Appendf(nil, usedTokensHeader, t.since.UnixMilli(), floor, lines), 0)
	for i := range list {
		content = appendUsed(content, list[i].token, list[i].expires)
	}
	return content, int64(usedTokensHead + lines*usedTokensLine)
}

func appendUsed(b []byte, token netcode.TokenID, expires uint64) []byte {
	from := len(b)
	return appendSum(fmt.Appendf(b, "%x %020d", token[:], expires), from)
}

func (t *UsedTokens) closeFile() {
	if t.file != nil {
		_ = t.file.Close() // what counts was synced
		t.file = nil
	}
}

// close ends the goroutine. No method may be called after it.
func (t *UsedTokens) close() {
	close(t.wake)
	<-t.ended
	t.closeFile()
}
