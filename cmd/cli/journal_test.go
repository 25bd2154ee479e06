package cli

import (
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/crumbs"
	"tendon/cmd/cli/internal/syncflags"
	"tendon/ecs"
	"tendon/ecs/fixed"
	"tendon/ecs/image"
	"tendon/net/client"
	"tendon/net/server"
	"tendon/rollback/record"
	"tendon/systems"
)

// crumbsServer is a server of crumbs in a process of its own, with journals.
type crumbsServer struct {
	cmd   *exec.Cmd
	out   *pipe
	ended chan int
	at    netip.AddrPort
}

// serveCrumbs starts a server and waits until it listens.
func serveCrumbs(t *testing.T, listen, dir string, args ...string) *crumbsServer {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := serveProgram(t, executable, "1", listen, dir, args...)
	s.at = netip.MustParseAddrPort(awaitEvent(t, s.out, s.ended, "listening").text("public"))
	return s
}

// serveProgram starts a server of a program that plays one of the variants of crumbs.
func serveProgram(t *testing.T, executable, variant, listen, dir string, args ...string) *crumbsServer {
	t.Helper()
	s := &crumbsServer{out: newPipe(), ended: make(chan int, 1)}
	s.cmd = exec.Command(executable, append([]string{"serve", "--json", "--listen", listen, "--journal", dir}, args...)...)
	s.cmd.Env = append(os.Environ(), asCrumbs+"="+variant)
	s.cmd.Stdout, s.cmd.Stderr = s.out, s.out
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = s.cmd.Wait() // the exit code is enough
		s.ended <- s.cmd.ProcessState.ExitCode()
	}()
	t.Cleanup(func() { _ = s.cmd.Process.Kill() })
	return s
}

// end sends a signal and returns the exit code, −1 for one that was killed.
func (s *crumbsServer) end(t *testing.T, signal os.Signal) int {
	t.Helper()
	if err := s.cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	return <-s.ended
}

// recovered returns the tick up to which each room was recovered.
func (s *crumbsServer) recovered(t *testing.T) map[string]ecs.Tick {
	t.Helper()
	ticks := map[string]ecs.Tick{}
	rooms, _ := awaitEvent(t, s.out, s.ended, "recovered")["rooms"].([]any)
	for _, r := range rooms {
		r := r.(map[string]any)
		ticks[r["room"].(string)] = ecs.Tick(r["tick"].(float64))
	}
	return ticks
}

// returned waits until a match is resumed, and returns the number of ticks that clients returned.
func (s *crumbsServer) returned(t *testing.T) float64 {
	t.Helper()
	n, _ := awaitEvent(t, s.out, s.ended, "journal")["returned"].(float64)
	return n
}

// checkedClient is a client with a bot that keeps every tick and state that was confirmed to it.
type checkedClient struct {
	*client.Client
	room   string
	game   *ecs.Game
	codec  *record.Codec
	at     record.Position
	chains map[ecs.Tick]record.Chain
	sums   map[ecs.Tick]image.Checksum
	last   ecs.Tick   // newest tick whose state was final
	kind   replicated // part of the state in sums
	errs   []error
	proven ecs.Tick // newest tick that the client could prove
	cut    bool     // a power cut took ticks, and the client has loaded no state since
}

// Begin keeps the position of a state that was loaded. After a power cut, the final ticks that the client cannot prove do not
// count any more.
func (w *checkedClient) Begin(_ client.Match, at record.Position, _ *image.Snapshot) {
	if w.cut {
		w.cut = false
		maps.DeleteFunc(w.chains, func(f ecs.Tick, _ record.Chain) bool { return f > w.proven })
		maps.DeleteFunc(w.sums, func(f ecs.Tick, _ image.Checksum) bool { return f > w.proven })
	}
	w.at = at
	w.keepChain()
}

// Tick keeps a tick that is final.
func (w *checkedClient) Tick(t record.Tick) {
	code := w.codec.AppendTick(nil, w.at.Inputs, &t)
	w.at = record.Position{Tick: t.Tick, Chain: w.at.Chain.Next(code), Inputs: slices.Clone(t.Inputs)}
	w.keepChain()
}

func (w *checkedClient) keepChain() {
	if old, known := w.chains[w.at.Tick]; known && old != w.at.Chain {
		w.errs = append(w.errs, fmt.Errorf("tick %d was final and is another one now", w.at.Tick))
	}
	w.chains[w.at.Tick] = w.at.Chain
}

// frame plays a frame and keeps the confirmed state.
func (w *checkedClient) frame(now time.Time) error {
	if err := w.Frame(now); err != nil {
		return err
	}
	w.Effects(func(systems.Effect) {})
	w.proven = max(w.proven, w.Stats().Proven)
	_, _, confirmed, _ := w.Core.Snapshots(0)
	if half, ok := w.Core.Strategy().(systems.Replicated); ok { // only a complete replica equals the server's state
		var complete bool
		if confirmed, complete = half.Replica(); !complete {
			return nil
		}
		if w.kind = replicaState; !half.Places() {
			w.kind = placelessPart
		}
	}
	if confirmed.Empty() {
		return nil
	}
	f, sum := confirmed.Tick(), w.kind.sum(w.game, confirmed)
	if old, known := w.sums[f]; known && old != sum {
		w.errs = append(w.errs, fmt.Errorf("the state of tick %d was final and is another one now", f))
	}
	w.sums[f], w.last = sum, max(w.last, f)
	return nil
}

// replicated is the part of the server's states that a client has.
type replicated uint8

const (
	wholeState    replicated = iota // everything: the client simulates
	replicaState                    // without inputs and the random source
	placelessPart                   // also without the places of moving entities, which motion records replicate
	replicatedParts
)

// sum is the checksum of this part of a state.
func (k replicated) sum(g *ecs.Game, s *image.Snapshot) (sum image.Checksum) {
	if k == wholeState {
		return s.Checksum()
	}
	parts := s.ComponentChecksums(nil)
	if parts = parts[systems.UnreplicatedColumns:]; k == placelessPart {
		parts = append(parts[:len(parts)-len(g.Components)], withoutPlaces(g, s)...)
	}
	for _, part := range parts {
		sum = sum*31 + part
	}
	return sum
}

// withoutPlaces returns all numbers of a state's entities apart from their places.
func withoutPlaces(g *ecs.Game, s *image.Snapshot) (numbers []image.Checksum) {
	var values []uint64
	for e := range s.Entities {
		var set image.ComponentSet
		e, set, values = s.AppendScalars(values[:0], e.Row)
		numbers = append(numbers, image.Checksum(e.Row), image.Checksum(e.Born), image.Checksum(set))
		from := 0
		for ; set != 0; set &= set - 1 {
			for _, scalar := range g.Schema().Components[bits.TrailingZeros64(uint64(set))].Scalars() {
				if !scalar.Place {
					numbers = append(numbers, image.Checksum(values[from]))
				}
				from++
			}
		}
	}
	return numbers
}

// group is a server with a directory of its own, and the clients in its rooms.
type group struct {
	*crumbsServer
	served
	t    *testing.T
	game *ecs.Game
	dir  string
	than map[string]ecs.Tick // tick from which ticks count, by room
	all  []*checkedClient
}

// served is a server's strategy with its flags.
type served struct {
	name  string
	flags []string
	exact bool // clients simulate, and so have every tick
}

// groupsOf starts a server for each strategy, or for the exact ones only, and connects two bots to each of its rooms. onStop is the
// flag of the servers.
func groupsOf(t *testing.T, exact bool, onStop string, rooms ...string) (groups []*group) {
	t.Helper()
	kinds := []served{{"lockstep --relay-only", []string{"--sync", "lockstep", "--relay-only", "--on-stop", onStop}, true}}
	for _, s := range syncflags.All {
		if s.Needs.Exact || !exact {
			kinds = append(kinds, served{s.Name, []string{"--sync", s.Name, "--on-stop", onStop}, s.Needs.Exact})
		}
	}
	for _, kind := range kinds {
		if onStop == "keep" { // the servers are replaced one after the other, and the clients of the others wait meanwhile
			kind.flags = append(kind.flags, "--keep-seat", "1m")
		}
		c := &group{t: t, served: kind, game: crumbs.Game(), dir: filepath.Join(t.TempDir(), "journals")}
		c.crumbsServer = serveCrumbs(t, "127.0.0.1:0", c.dir, kind.flags...)
		for _, room := range rooms {
			for seat := range 2 {
				c.enter(room, seat)
			}
		}
		groups = append(groups, c)
	}
	return groups
}

// enter connects a bot to a room.
func (c *group) enter(room string, seat int) {
	c.t.Helper()
	key, err := server.LoadKey(filepath.Join(c.dir, "server.key"))
	if err != nil {
		c.t.Fatal(err)
	}
	token, err := server.Mint(server.Ticket{ProtocolID: server.ProtocolID(c.game.Name), Key: key, Addresses: []netip.AddrPort{c.at},
		Pass: server.Pass{Room: room, Seat: seat}, Lifetime: time.Minute, Timeout: time.Second}, time.Now())
	if err != nil {
		c.t.Fatal(err)
	}
	w := &checkedClient{room: room, game: c.game, codec: record.NewCodec(c.game), chains: map[ecs.Tick]record.Chain{}, sums: map[ecs.Tick]image.Checksum{}}
	if w.Client, err = client.Dial(client.DialConfig{Token: token, Config: client.Config{Game: c.game, Strategies: syncflags.All,
		Bot: true, BotSeed: uint64(len(c.all)), Timeout: 2 * systems.Second, Log: w}}); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(w.Close)
	c.all = append(c.all, w)
}

// kill ends the server as kill -9 does, calls then, and starts it again on the same port.
func (c *group) kill(then func(), flags ...string) (recovered map[string]ecs.Tick) {
	c.t.Helper()
	if code := c.end(c.t, syscall.SIGKILL); code != -1 {
		c.t.Fatalf("%s: the killed server exits with %d", c.name, code)
	}
	then()
	c.crumbsServer = serveCrumbs(c.t, c.at.String(), c.dir, append(slices.Clone(c.flags), flags...)...)
	return c.recovered(c.t)
}

// behind plays a frame of every client and returns how many have fewer final ticks than more after c.than.
func (c *group) behind(now time.Time, more ecs.Tick) (n int) {
	c.t.Helper()
	for i, w := range c.all {
		if err := w.frame(now); err != nil {
			c.t.Fatalf("%s: client %d of room %s: %v", c.name, i, w.room, err)
		}
		if w.last < c.than[w.room]+more || w.State() != client.Live {
			n++
		}
	}
	return n
}

// mostFrames bounds a wait: a minute.
const mostFrames = 60 * 60

// playOn plays until every client has so many more final ticks.
func playOn(t *testing.T, groups []*group, more ecs.Tick) {
	t.Helper()
	ticker := time.NewTicker(time.Second / 60)
	defer ticker.Stop()
	for range mostFrames {
		now, behind := <-ticker.C, 0
		for _, c := range groups {
			behind += c.behind(now, more)
		}
		if behind == 0 {
			return
		}
	}
	for _, c := range groups {
		for i, w := range c.all {
			t.Errorf("%s: client %d of room %s is %v at tick %d, after tick %d: %+v", c.name, i, w.room, w.State(), w.last, c.than[w.room], w.Stats())
		}
	}
	t.FailNow()
}

// enough reports whether a client has enough ticks, and states that differ, for a comparison.
func (c *group) enough(w *checkedClient) bool {
	least, unlike := 50, 50
	if w.kind != wholeState {
		least, unlike = 20, 8 // states arrive a few times a second, without motion
	}
	return (!c.exact || len(w.chains) >= 100) && len(w.sums) >= least && len(w.different()) >= unlike
}

// different returns the different states that a client had.
func (w *checkedClient) different() map[image.Checksum]bool {
	d := map[image.Checksum]bool{}
	for _, sum := range w.sums {
		d[sum] = true
	}
	return d
}

// playEnough plays until every client has enough for a comparison.
func playEnough(t *testing.T, groups []*group) {
	t.Helper()
	for range mostFrames / 60 {
		playOn(t, groups, 60)
		seen := true
		for _, c := range groups {
			c.than = c.final()
			for _, w := range c.all {
				seen = seen && c.enough(w)
			}
		}
		if seen {
			return
		}
	}
}

// final returns the newest final tick of any client in each room.
func (c *group) final() map[string]ecs.Tick {
	last := map[string]ecs.Tick{}
	for _, w := range c.all {
		last[w.room] = max(last[w.room], w.last, w.at.Tick)
	}
	return last
}

// verify compares every tick and state that was ever final on a client with the journals.
func (c *group) verify() {
	c.t.Helper()
	replayed := map[string][replicatedParts][]image.Checksum{}
	journals := map[string]*record.Record{}
	paths, _ := filepath.Glob(filepath.Join(c.dir, "*.journal"))
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			c.t.Fatal(err)
		}
		j, err := record.Open(data, c.game)
		if err != nil {
			c.t.Fatal(err)
		}
		room := j.Header().Room
		if journals[room] != nil {
			c.t.Fatalf("two matches of room %s", room)
		}
		journals[room] = j
		replayed[room] = checksums(c.t, c.game, j)
	}
	for i, w := range c.all {
		wrong := w.errs
		for f, chain := range w.chains {
			if have, ok := journals[w.room].Chain(f); !ok || have != chain {
				wrong = append(wrong, fmt.Errorf("tick %d is not in the journal as it was final", f))
			}
		}
		leads := replayed[w.room][w.kind]
		for f, sum := range w.sums {
			if f >= ecs.Tick(len(leads)) || leads[f] != sum {
				wrong = append(wrong, fmt.Errorf("the journal leads to another state in tick %d", f))
			}
		}
		if len(wrong) > 0 {
			c.t.Errorf("%s: client %d of room %s: %d of %d ticks and %d states: %v", c.name, i, w.room, len(wrong), len(w.chains), len(w.sums), errors.Join(wrong[:min(len(wrong), 5)]...))
		}
		if !c.enough(w) || len(w.Core.Desyncs()) > 0 {
			c.t.Errorf("%s: client %d of room %s: %d ticks, %d states, %d of them different, desyncs: %v", c.name, i, w.room, len(w.chains), len(w.sums), len(w.different()), w.Core.Desyncs())
		}
	}
}

// checksums replays a journal from its beginning, without its images, and returns the checksums of every part of every state.
func checksums(t *testing.T, g *ecs.Game, j *record.Record) (sums [replicatedParts][]image.Checksum) {
	t.Helper()
	w, err := ecs.NewWorld(g, j.Header().Seed)
	if err != nil {
		t.Fatal(err)
	}
	var state image.Snapshot
	defer state.Release()
	save := func() {
		w.Image().Save(&state)
		for k := range replicatedParts {
			sums[k] = append(sums[k], k.sum(g, &state))
		}
	}
	save()
	for tick := range j.Ticks(1, j.Last().Tick) {
		w.Step(ecs.TickInputs{Players: tick.Inputs, Orders: tick.Orders})
		save()
	}
	return sums
}

// A server with --journal is killed in the middle of its matches, and once more after its restart. Its clients continue
// without help, and every tick that was final on one of them stays as it was.
func TestAServerThatIsKilledRecoversEveryMatchAndClientsContinue(t *testing.T) {
	slow(t)
	groups := groupsOf(t, false, "end", "duel", "main")
	playOn(t, groups, 100)
	for _, fsync := range []string{"always", "20ms"} { // it may change
		for _, c := range groups {
			final := c.final()
			c.than = c.kill(func() {}, "--fsync", fsync)
			for room, tick := range final {
				if c.than[room] < tick {
					t.Errorf("%s: room %s is recovered at tick %d of %d", c.name, room, c.than[room], tick)
				}
			}
		}
		playOn(t, groups, 60)
	}
	playEnough(t, groups)
	for _, c := range groups {
		if code := c.end(t, syscall.SIGTERM); code != app.ExitFine {
			t.Errorf("%s: the server exits with %d:\n%s", c.name, code, c.out)
		}
		for _, w := range c.all {
			if n := w.Stats().Reconnects; n < 2 {
				t.Errorf("%s: a client of room %s reconnected %d times, the server was killed twice", c.name, w.room, n)
			}
		}
		c.verify()
		if found := serveCrumbs(t, c.at.String(), c.dir, c.flags...).recovered(t); len(found) > 0 {
			t.Errorf("%s: after an orderly stop these were recovered: %v", c.name, found)
		}
	}
}

// A power cut loses the end of the file, which was written and not synced. Clients have these ticks and return them.
func TestClientsReturnTheTicksThatAPowerCutLost(t *testing.T) {
	slow(t)
	groups := groupsOf(t, true, "end", "main")
	playOn(t, groups, 200)
	for _, c := range groups {
		final := c.final()
		for _, w := range c.all {
			w.cut = true
		}
		found := c.kill(func() { c.shorten() })["main"]
		if found == 0 || found+20 > final["main"] {
			t.Fatalf("%s: the match is recovered at tick %d of %d: no tick was lost, or all were", c.name, found, final["main"])
		}
		for _, w := range c.all {
			if w.proven+30 < w.at.Tick {
				t.Errorf("%s: a client can prove ticks up to %d of %d", c.name, w.proven, w.at.Tick)
			}
		}
		c.than = final
	}
	playOn(t, groups, 90)
	playEnough(t, groups)
	for _, c := range groups {
		if c.returned(t) == 0 {
			t.Errorf("%s: no tick was returned", c.name)
		}
		if code := c.end(t, syscall.SIGTERM); code != app.ExitFine {
			t.Errorf("%s: the server exits with %d", c.name, code)
		}
		c.verify()
	}
}

// shorten cuts the end of the journal off, with the last 60 ticks that a client has as final.
func (c *group) shorten() {
	c.t.Helper()
	paths, err := filepath.Glob(filepath.Join(c.dir, "*.journal"))
	if err != nil || len(paths) != 1 {
		c.t.Fatal(paths, err)
	}
	data, err := os.ReadFile(paths[0])
	if err != nil {
		c.t.Fatal(err)
	}
	for size := len(data); ; size -= size/50 + 1 {
		j, err := record.Open(data[:size], c.game)
		if err != nil {
			c.t.Fatal(err)
		}
		if j.Last().Tick+60 > c.final()["main"] {
			continue
		}
		if err := os.Truncate(paths[0], int64(size)); err != nil {
			c.t.Fatal(err)
		}
		return
	}
}

// left makes the directory of a server that was killed after one tick, with its journal.
func left(t *testing.T, g *ecs.Game, change func(*record.Header)) (dir, path string) {
	t.Helper()
	build := app.Build()
	dir = t.TempDir()
	path = filepath.Join(dir, "main-0000000000000001.journal")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	h := record.HeaderOf(g, 7, build)
	h.Strategy, h.Room, h.Match = "relay", "main", 1
	change(&h)
	w, err := record.NewWriter(f, g, h)
	if err == nil {
		err = errors.Join(w.Tick(record.Tick{Tick: 1}), w.Flush(), f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir, path
}

// A match must not continue with other rules than those with which clients simulated it.
func TestServeRefusesAJournalThatIsNotItsOwn(t *testing.T) {
	hash := func(g *ecs.Game) string { return fmt.Sprintf("%016x", g.Fingerprint()) }
	for _, test := range []struct {
		game   *ecs.Game
		change func(*record.Header)
		want   []string
	}{
		{widerGame(), func(*record.Header) {}, []string{hash(widerGame()), hash(crumbs.Game()), "start the build that wrote it, or move the journal away"}},
		{crumbs.Game(), func(h *record.Header) { h.Strategy = "telepathy" }, []string{"telepathy", "relay", "move the journal away"}},
	} {
		dir, path := left(t, test.game, test.change)
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		refused(t, do(t, crumbs.Game(), "serve", "--listen", "127.0.0.1:0", "--journal", dir), append(test.want, path)...)
		if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
			t.Errorf("the journal was changed, %v", err)
		}
	}
	for _, content := range []string{"a diary of a server", "TENDONJL\x63and so on"} {
		dir := t.TempDir()
		path := write(t, filepath.Join(dir, "main-1.journal"), []byte(content), 0o600)
		refused(t, do(t, crumbs.Game(), "serve", "--listen", "127.0.0.1:0", "--quarantine=false", "--journal", dir), path, "journal:", "away")
	}
	dir, path := left(t, crumbs.Game(), func(*record.Header) {})
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[20] ^= 1 // in the header, with a tick behind it
	write(t, path, data, 0o600)
	refused(t, do(t, crumbs.Game(), "serve", "--listen", "127.0.0.1:0", "--quarantine=false", "--journal", dir), path, "damaged", "move the journal away")
}

func TestServeRefusesADirectoryThatCannotHoldJournals(t *testing.T) {
	dir := t.TempDir()
	file := write(t, filepath.Join(dir, "file"), []byte("mine"), 0o600)
	for _, at := range []string{file, filepath.Join(file, "below")} {
		refused(t, do(t, crumbs.Game(), "serve", "--listen", "127.0.0.1:0", "--journal", at), "choose another --journal")
	}
	refused(t, do(t, crumbs.Game(), "serve", "--listen", "127.0.0.1:0", "--journal", dir, "--fsync", "sometimes"), "always, never, or a time")
	refused(t, do(t, crumbs.Game(), "serve", "--listen", "nowhere", "--journal", filepath.Join(dir, "j")), "is not an address")
	refused(t, do(t, crumbs.Game(), "serve", "--listen", "127.0.0.1:0", "--key-file", file, "--journal", filepath.Join(dir, "j")), "holds no key")
	untouched(t, dir, "file")
}

// Two servers that write the same journals would damage every match.
func TestASecondServerOnTheSameJournalsIsRefused(t *testing.T) {
	dir := t.TempDir()
	r, _, _ := serving(t, crumbs.Game(), "--journal", dir)
	refused(t, do(t, crumbs.Game(), "serve", "--listen", "127.0.0.1:0", "--journal", dir), dir, "another process uses it", "stop that server or choose another --journal")
	r.stop()
	if code := <-r.ended; code != app.ExitFine {
		t.Errorf("the first one exits with %d: %s", code, r.note)
	}
	if r := do(t, crumbs.Game(), "serve", "--listen", "127.0.0.1:0", "--journal", dir, "--for", "1ms"); r.code != app.ExitFine {
		t.Errorf("after it: %+v", r)
	}
}

// A reader of the key could take any seat in any match.
func TestTheKeyIsStoredWithTheJournalsForItsOwnerOnly(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "journals")
	path := filepath.Join(dir, "server.key")
	args := []string{"serve", "--listen", "127.0.0.1:0", "--journal", dir, "--for", "1ms"}
	if r := do(t, crumbs.Game(), args...); r.code != app.ExitFine {
		t.Fatalf("%+v", r)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info, err)
	}
	first, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if r := do(t, crumbs.Game(), args...); r.code != app.ExitFine {
		t.Fatalf("%+v", r)
	}
	if again, err := os.ReadFile(path); err != nil || string(again) != string(first) {
		t.Errorf("the second server has another key, %v", err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	r := do(t, crumbs.Game(), args...)
	refused(t, r, "other users may read", "chmod 600", path)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(t.TempDir(), "other.key")
	if _, err := server.GenerateKey(key); err != nil {
		t.Fatal(err)
	}
	if r := do(t, crumbs.Game(), append(args, "--key-file", key)...); r.code != app.ExitFine || slices.Contains(files(t, dir), "server.key") {
		t.Errorf("with another key file: %+v, %q", r, files(t, dir))
	}
}

// The checksum for reckon's replicas leaves out places and nothing else. Otherwise the comparison would prove nothing.
func TestReplicasAreComparedWithoutPlacesOnly(t *testing.T) {
	state := func(pos int, left int32, entities int) (placeless, full image.Checksum) {
		g := crumbs.Game()
		g.Setup = func(w *ecs.World) {
			for range entities {
				e := w.Spawn(ecs.OwnedByWorld, crumbs.Bodies, crumbs.Wears)
				crumbs.Bodies.Put(w, e, crumbs.Body{Pos: fixed.Vec2{X: fixed.FromInt(pos)}})
				crumbs.Wears.Put(w, e, crumbs.Wear{Left: left})
			}
		}
		w, err := ecs.NewWorld(g, 1)
		if err != nil {
			t.Fatal(err)
		}
		var s image.Snapshot
		defer s.Release()
		w.Image().Save(&s)
		return placelessPart.sum(g, &s), replicaState.sum(g, &s)
	}
	want, full := state(1, 5, 1)
	if moved, fullMoved := state(2, 5, 1); moved != want || fullMoved == full {
		t.Errorf("a body that moved: without places %x and %x, with them %x and %x", want, moved, full, fullMoved)
	}
	if worn, _ := state(1, 6, 1); worn == want {
		t.Error("another wear has the same checksum")
	}
	if more, _ := state(1, 5, 2); more == want {
		t.Error("one more entity has the same checksum")
	}
}
