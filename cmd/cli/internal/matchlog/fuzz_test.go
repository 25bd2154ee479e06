package matchlog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/crumbs"
	"tendon/cmd/cli/internal/tokens"
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/client"
	"tendon/net/netcode"
	"tendon/net/wire/vectors"
	"tendon/rollback/record"
)

// FuzzTokenStore checks that any file is refused, or its lines that are connect tokens are stored and loaded as they are. The
// memory is in proportion to the file.
func FuzzTokenStore(f *testing.F) {
	path := filepath.Join(f.TempDir(), "log.token")
	store := func(t testing.TB) *TokenStore {
		return &TokenStore{Path: path, failed: func(err error) { t.Error(err) }}
	}
	k := someTokens(f, 4)
	for n := range k {
		s := store(f)
		s.Given = k[0]
		s.Store(k[1 : n+1])
		file, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(file)
		f.Add(bytes.ReplaceAll(file, []byte("\n"), []byte("\r\n ")))
		f.Add(file[:len(file)/2])
	}
	f.Add([]byte{})
	f.Add(bytes.Repeat([]byte("\n"), 100))
	f.Add([]byte(tokens.Text(append(slices.Clone(k[0]), 1)))) // a byte too long
	f.Fuzz(func(t *testing.T, file []byte) {
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		s, again := store(t), store(t)
		var err error
		if n := vectors.Allocated(func() { err = s.Load() }); n > 64<<10+16*uint64(len(file)) {
			t.Fatalf("%d bytes allocated for %d", n, len(file))
		}
		if err != nil {
			if !strings.Contains(err.Error(), path) || s.tokens != nil {
				t.Fatalf("%v, %d tokens", err, len(s.tokens))
			}
			return
		}
		if s.Given == nil && s.tokens == nil && len(bytes.TrimSpace(file)) > 0 {
			t.Fatalf("%q holds nothing", file)
		}
		for _, token := range append(s.tokens, s.Given) {
			if token == nil {
				continue // the given one, whose line is damaged
			}
			if _, err := netcode.ParseConnectToken(token); err != nil {
				t.Fatal(err)
			}
		}
		s.Store(s.tokens)
		if err := again.Load(); err != nil || !again.StartedWith(s.Given) || !slices.EqualFunc(again.tokens, s.tokens, bytes.Equal) {
			t.Fatalf("%d tokens became %d: %v", len(s.tokens), len(again.tokens), err)
		}
	})
}

// reseal gives every block of a record the checksums of its content, so that fuzzing reaches the parsers. The layout is in
// rollback/record/STANDARD.md.
func reseal(data []byte) {
	table := crc32.MakeTable(crc32.Castagnoli)
	for at := 9; at < len(data); {
		length, n := binary.Uvarint(data[at:min(len(data), at+4)])
		from := at + n + 8
		if n <= 0 || from > len(data) || length > uint64(len(data)-from) {
			return
		}
		head := crc32.Update(0, table, data[at:at+n])
		binary.LittleEndian.PutUint32(data[from-8:], head)
		binary.LittleEndian.PutUint32(data[from-4:], crc32.Update(head^uint32(at), table, data[from:from+int(length)]))
		at = from + int(length)
	}
}

// FuzzLog checks that any file is a match that continues in the file, or is left as it is. FuzzOpen of rollback/record
// checks the memory.
func FuzzLog(f *testing.F) {
	game, path := crumbs.Game(), filepath.Join(f.TempDir(), "match.log")
	log := func(t testing.TB) *Log {
		return &Log{app: app.New(t.Context(), game, io.Discard, io.Discard), path: path, unlock: func() error { return nil }}
	}
	world, err := ecs.NewWorld(game, 7)
	if err != nil {
		f.Fatal(err)
	}
	var state image.Snapshot
	join := []image.Order{{Kind: image.OrderJoin, Player: 1}}
	for _, ticks := range []int{0, 3} {
		world.Image().Save(&state)
		l := log(f)
		if err := l.begin(client.Match{Number: 5, Strategy: "relay"}, record.PositionOf(world, 4711), &state); err != nil {
			f.Fatal(err)
		}
		for range ticks {
			tick := record.Tick{Tick: world.Tick() + 1, Inputs: []ecs.InputBytes{{}, {1}}, Orders: join}
			world.Step(ecs.TickInputs{Players: []ecs.InputBytes{{}, {1}, {}, {}}, Orders: join})
			if err := errors.Join(l.writer.Tick(tick), l.writer.Flush()); err != nil {
				f.Fatal(err)
			}
			join = nil
		}
		l.Close()
		file, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(file, true)
		f.Add(file[:len(file)-3], false)
		f.Add(append(slices.Clone(file), file...), true)
	}
	f.Add([]byte{}, false)
	f.Fuzz(func(t *testing.T, file []byte, whole bool) {
		if file = slices.Clone(file); whole {
			reseal(file)
		}
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		l := log(t)
		resume, err := l.Open()
		if err != nil {
			t.Fatal(err)
		}
		if resume == nil {
			if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, file) {
				t.Fatalf("a file that is not used was changed: %v", err)
			}
			return
		}
		at := resume.World.Tick()
		l.Tick(record.Tick{Tick: at + 1})
		ended := l.broken // a server ended it, or the tick number is the maximum
		l.Close()
		l = log(t)
		again, err := l.Open()
		if err != nil || again == nil {
			t.Fatalf("the match up to tick %d cannot be opened again: %v", at, err)
		}
		l.Close()
		want := at + 1
		if ended {
			want = at
		}
		if again.World.Tick() != want || again.Match != resume.Match || ended && again.Chain != resume.Chain {
			t.Fatalf("tick %d of match %x became tick %d of match %x", at, resume.Match, again.World.Tick(), again.Match)
		}
	})
}
