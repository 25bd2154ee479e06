package cli

import (
	"bytes"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tendon/cmd/cli/internal/app"
	"tendon/cmd/cli/internal/crumbs"
	"tendon/cmd/cli/internal/tokens"
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/netcode"
	"tendon/net/server"
	"tendon/rollback/record"
)

// refused fails unless a command line ended with exit code 2 and one sentence that contains every text of want.
func refused(t *testing.T, r result, want ...string) {
	t.Helper()
	if r.code != app.ExitUsage || strings.Count(r.note, "\n") != 1 || !strings.HasSuffix(r.note, "\n") || r.out != "" {
		t.Errorf("exit code %d, want 2 and one line on the standard error:\n%sout:\n%s", r.code, r.note, r.out)
	}
	for _, w := range want {
		if !strings.Contains(r.note, w) {
			t.Errorf("%q does not say %q", r.note, w)
		}
	}
	if strings.Contains(r.note, "goroutine ") {
		t.Errorf("a stack: %s", r.note)
	}
}

// untouched fails unless a directory holds exactly these files.
func untouched(t *testing.T, dir string, want ...string) {
	t.Helper()
	if got := files(t, dir); strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("the directory holds %q, want %q", got, want)
	}
}

// write creates a file with that mode.
func write(t *testing.T, path string, content []byte, mode os.FileMode) string {
	t.Helper()
	if err := os.WriteFile(path, content, mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil { // the umask may have removed some bits
		t.Fatal(err)
	}
	return path
}

// ticketFor mints a token that no verb would mint.
func ticketFor(t *testing.T, name string, issued time.Time, life time.Duration) string {
	t.Helper()
	token, err := server.Mint(server.Ticket{ProtocolID: server.ProtocolID(name), Key: netcode.Key{1}, Lifetime: life,
		Addresses: []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:7777")}, Pass: server.Pass{Room: "main", Seat: server.AnySeat}, Timeout: time.Second}, issued)
	if err != nil {
		t.Fatal(err)
	}
	return tokens.Text(token)
}

func TestJoinRefusesAnInvalidToken(t *testing.T) {
	dir := t.TempDir()
	good := ticketFor(t, "crumbs", time.Now(), time.Hour)
	for _, token := range []string{"nonsense", "", good[:len(good)/4], good + good, "%%%", "@" + write(t, filepath.Join(dir, "empty"), nil, 0o600)} {
		refused(t, do(t, crumbs.Game(), "join", "127.0.0.1:7777", "--bot", "--token", token), "that is not a connect token", "copy the whole text", "@FILE")
	}
	refused(t, do(t, crumbs.Game(), "join", "127.0.0.1:7777", "--bot", "--token", "@"+filepath.Join(dir, "missing")), "the token file cannot be read")
}

// The clock of the client may be wrong, so the server decides whether a token has expired.
func TestJoinWarnsOfAnExpiredToken(t *testing.T) {
	token := ticketFor(t, "crumbs", time.Now().Add(-time.Hour), time.Minute)
	r := do(t, crumbs.Game(), "join", "127.0.0.1:7777", "--bot", "--token", token, "--for", "10ms")
	refusedLater(t, r, "no server responds")
	if !strings.HasPrefix(r.note, "the token expired at ") || !strings.Contains(r.note, "joining") {
		t.Errorf("got %q", r.note)
	}
	r = do(t, crumbs.Game(), "join", "127.0.0.1:7777", "--bot", "--token", token, "--for", "10ms", "--json")
	if !strings.Contains(r.out, `"token_expired"`) {
		t.Errorf("got %q", r.out)
	}
}

func TestJoinRefusesATokenForAnotherGame(t *testing.T) {
	token := ticketFor(t, "chess", time.Now(), time.Hour)
	refused(t, do(t, crumbs.Game(), "join", "127.0.0.1:7777", "--bot", "--token", token), "another game than crumbs", "ask for one")
}

func TestJoinRefusesAnAddressThatTheTokenDoesNotName(t *testing.T) {
	token := ticketFor(t, "crumbs", time.Now(), time.Hour)
	refused(t, do(t, crumbs.Game(), "join", "127.0.0.1:7778", "--bot", "--token", token), "127.0.0.1:7777", "not for 127.0.0.1:7778", "join that address")
}

// A server does not respond to a token of another key, so the client ends by itself and lists the possible reasons.
func TestJoinEndsIfTheTokenIsOfAnotherKey(t *testing.T) {
	slow(t)
	g := crumbs.Game()
	_, address, token := serving(t, g)
	real, err := tokens.Parse(token)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := netcode.ParseConnectToken(real)
	if err != nil {
		t.Fatal(err)
	}
	wrong, err := server.Mint(server.Ticket{ProtocolID: parsed.ProtocolID, Key: netcode.Key{1}, Addresses: parsed.Servers(),
		Pass: server.Pass{Room: "main", Seat: server.AnySeat}, Timeout: time.Second, Lifetime: time.Hour}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	r := do(t, g, "join", address, "--bot", "--token", tokens.Text(wrong))
	r.note = chosen(t, r.note, "joining "+address+" as a bot")
	r.note = r.note[strings.LastIndex(strings.TrimSuffix(r.note, "\n"), "\n")+1:] // without the progress of ten seconds
	refused(t, r, "no server responds", "check the address", "minted with the server's key")
}

// chosen removes the first line of a note, which has the settings.
func chosen(t *testing.T, note, want string) string {
	t.Helper()
	line, rest, _ := strings.Cut(note, "\n")
	if line != want {
		t.Errorf("the first line is %q, want %q", line, want)
	}
	return rest
}

func TestJoinIsRefusedByAServerWithAnotherVersionOfTheGame(t *testing.T) {
	_, address, token := serving(t, crumbs.Game())
	r := do(t, widerGame(), "join", address, "--bot", "--token", token)
	r.note = chosen(t, r.note, "joining "+address+" as a bot")
	refused(t, r, "the server runs another version of the game", "install the same version on both sides")
}

func TestInvalidAddressesAreErrors(t *testing.T) {
	dir := t.TempDir()
	token := ticketFor(t, "crumbs", time.Now(), time.Hour)
	key := filepath.Join(dir, "server.key")
	for _, address := range []string{"nonsense", "127.0.0.1", "127.0.0.1:99999", ":7777", "0.0.0.0:7777", "127.0.0.1:0", ""} {
		refused(t, do(t, crumbs.Game(), "join", address, "--bot", "--token", token), "is not an address", "host:port")
		refused(t, do(t, crumbs.Game(), "token", address, "--key-file", key, "--new-key"), "is not an address", "host:port")
		if address == "" {
			continue // an empty --public is none
		}
		refused(t, do(t, crumbs.Game(), "serve", "--listen", "127.0.0.1:0", "--public", address, "--record", dir+"/r"), "--public", "host:port")
	}
	for _, address := range []string{"nonsense", "127.0.0.1:99999"} {
		refused(t, do(t, crumbs.Game(), "serve", "--listen", address, "--record", dir+"/r"), "--listen", "is not an address", "host:port")
	}
	refused(t, do(t, crumbs.Game(), "serve", "--listen", ":0", "--record", dir+"/r"), "--public", "listen on 127.0.0.1:0")
	refused(t, do(t, crumbs.Game(), "serve", "--listen", "192.0.2.1:7777", "--record", dir+"/r"), "192.0.2.1", "listen on one of its own")
	untouched(t, dir)
}

// A second server on the same port creates no directory.
func TestServeOnAPortInUseCreatesNoDirectory(t *testing.T) {
	socket, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	dir := t.TempDir()
	address := socket.LocalAddr().String()
	refused(t, do(t, crumbs.Game(), "serve", "--listen", address, "--record", filepath.Join(dir, "recordings")), address+" is in use", "stop it or choose another --listen")
	untouched(t, dir)
}

// The error of a negative value names the flag, also if the value is a separate argument.
func TestANegativeValueIsRefusedByItsFlag(t *testing.T) {
	for _, test := range []struct{ args, says []string }{
		{[]string{"serve", "--sync", "predict", "--snapshots", "-1"}, []string{"--snapshots -1: give 1 to 1000"}},
		{[]string{"serve", "--sync", "reckon", "--max-speed", "-.5"}, []string{"--max-speed -0.5: give 0 to"}},
		{[]string{"demo", "--rtt", "-5ms"}, []string{"--rtt -5ms: give 0s to 2m"}},
		{[]string{"demo", "--rtt", "1h"}, []string{"--rtt 1h0m0s: give 0s to 2m"}},
		{[]string{"demo", "--jitter", "2m"}, []string{"--jitter 2m0s: give 0s to 1m"}},
		{[]string{"demo", "--net", "P3", "--rtt", "5ms"}, []string{"--net sets the whole network: leave out --rtt"}},
		{[]string{"demo", "--net", "P13"}, []string{"--net P13: there is no such profile"}},
		{[]string{"lab", "--jobs", "-3"}, []string{"--jobs -3: give 1 to 64"}},
		{[]string{"demo", "--for", "0s"}, []string{"--for 0s: give a time above 0, or leave it out"}},
		{[]string{"serve", "--listen", "127.0.0.1:0", "--for", "0s"}, []string{"--for 0s: give a time above 0, or leave it out"}},
		{[]string{"lab", "-5"}, []string{"-5", "lab --help"}},
		{[]string{"lab", "--export"}, []string{"--export needs a value", "lab --help"}},
		{[]string{"lab", "--net", "P5..P2"}, []string{"P5..P2 ends before it begins: write P2..P5"}},
	} {
		refused(t, do(t, crumbs.Game(), test.args...), test.says...)
	}
}

// The error is one line, although the server was started.
func TestDemoFailsIfItCannotRecord(t *testing.T) {
	file := write(t, filepath.Join(t.TempDir(), "file"), nil, 0o600)
	refused(t, do(t, crumbs.Game(), "demo", "--for", "1s", "--record", file), "recordings cannot be written", "choose another --record")
}

// A file is in the place of the directory, since a superuser may write into any directory.
func TestADirectoryThatCannotBeWrittenIsAnErrorBeforeAnythingRuns(t *testing.T) {
	dir := t.TempDir()
	file := write(t, filepath.Join(dir, "file"), []byte("mine"), 0o600)
	for _, at := range []string{file, filepath.Join(file, "below")} {
		refused(t, do(t, crumbs.Game(), "serve", "--listen", "127.0.0.1:0", "--record", at), "recordings cannot be written", "choose another --record")
		refused(t, do(t, crumbs.Game(), "synctest", "--profile", "cpu", "--profile-dir", at), "the profile cannot be written", "choose another --profile-dir")
		refused(t, do(t, crumbs.Game(), "token", "127.0.0.1:7777", "--key-file", filepath.Join(at, "server.key"), "--new-key"), "key file", "choose another --key-file")
	}
	if content, err := os.ReadFile(file); err != nil || string(content) != "mine" {
		t.Errorf("the file holds %q, %v", content, err)
	}
	untouched(t, dir, "file")
}

// The profiler would end the process if it cannot write.
func TestAProfileThatCannotBeReplacedIsAnError(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "cpu.pprof"), 0o755); err != nil {
		t.Fatal(err)
	}
	refused(t, do(t, crumbs.Game(), "synctest", "--profile", "cpu", "--profile-dir", dir), "cpu.pprof", "choose another --profile-dir")
	untouched(t, dir, "cpu.pprof")
}

func TestAnInvalidKeyFileIsAnErrorAndNotChanged(t *testing.T) {
	dir := t.TempDir()
	for _, test := range []struct {
		name    string
		content []byte
		mode    os.FileMode
		want    []string
	}{
		{"short", bytes.Repeat([]byte("a"), 31), 0o600, []string{"holds no key", "32 bytes or 64 hexadecimal digits"}},
		{"long", bytes.Repeat([]byte("a"), 65), 0o600, []string{"holds no key", "32 bytes or 64 hexadecimal digits"}},
		{"huge", bytes.Repeat([]byte("a"), 1<<20), 0o600, []string{"is 1048576:", "32 bytes or 64 hexadecimal digits"}},
		{"words", bytes.Repeat([]byte("z"), 64), 0o600, []string{"holds no key"}},
		{"zero", make([]byte, 32), 0o600, []string{"not all zero"}},
		{"empty", nil, 0o600, []string{"32 bytes or 64 hexadecimal digits"}},
		{"readable", bytes.Repeat([]byte("a"), 64), 0o644, []string{"other users may read", "chmod 600"}},
		{"group", bytes.Repeat([]byte("a"), 64), 0o640, []string{"other users may read", "chmod 600"}},
	} {
		path := write(t, filepath.Join(dir, "key"), test.content, test.mode)
		want := append(test.want, path)
		refused(t, do(t, crumbs.Game(), "serve", "--listen", "127.0.0.1:0", "--key-file", path, "--record", dir+"/r"), want...)
		refused(t, do(t, crumbs.Game(), "token", "127.0.0.1:7777", "--key-file", path), want...)
		if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, test.content) {
			t.Errorf("%s: the file was changed, %v", test.name, err)
		}
		untouched(t, dir, "key")
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	refused(t, do(t, crumbs.Game(), "serve", "--listen", "127.0.0.1:0", "--key-file", dir), "is not a plain file", "name the file that holds the key")
	missing := filepath.Join(dir, "missing")
	refused(t, do(t, crumbs.Game(), "serve", "--listen", "127.0.0.1:0", "--key-file", missing), missing+" does not exist", "token", "--new-key")
	refused(t, do(t, crumbs.Game(), "token", "127.0.0.1:7777", "--key-file", missing), missing+" does not exist", "--new-key")
	untouched(t, dir)
}

// recorded plays a match of two bots without a clock and returns its recording.
func recorded(t *testing.T, g *ecs.Game, ticks int) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := record.NewWriter(&b, g, record.HeaderOf(g, 7, "a build"))
	if err != nil {
		t.Fatal(err)
	}
	world, err := ecs.NewWorld(g, 7)
	if err != nil {
		t.Fatal(err)
	}
	inputs, r := make([]ecs.InputBytes, g.MaxPlayers), image.NewRand(7)
	var state image.Snapshot
	for f := range ticks {
		var orders []image.Order
		if f == 0 {
			orders = []image.Order{{Kind: image.OrderJoin, Player: 0}, {Kind: image.OrderJoin, Player: 1}}
		} else {
			inputs[0], inputs[1] = g.Bot(world, 0, r), g.Bot(world, 1, r)
		}
		world.Step(ecs.TickInputs{Players: inputs, Orders: orders})
		world.Image().Save(&state)
		if err := w.Tick(record.Tick{Tick: world.Tick(), Inputs: inputs, Orders: orders, Checksum: state.Checksum()}); err != nil {
			t.Fatal(err)
		}
		if w.ImageDue(record.RecordingImages) {
			if err := w.Image(&state); err != nil {
				t.Fatal(err)
			}
		}
		if f%g.TickRate == 0 {
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.End(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestReplayRefusesWhatIsNoSoundRecordingOfThisGame(t *testing.T) {
	dir := t.TempDir()
	sound := recorded(t, crumbs.Game(), 300)
	damaged := bytes.Clone(sound)
	damaged[len(damaged)/2] ^= 1 // not in the last block
	newer := bytes.Clone(sound)
	newer[8] = 99 // the version
	chess := crumbs.Game()
	chess.Name = "chess"
	for _, test := range []struct {
		name    string
		content []byte
		want    []string
	}{
		{"text", []byte("a diary"), []string{"is not a recording", "name a file that --record of serve or demo wrote"}},
		{"empty", nil, []string{"is not a recording", "name a file that --record of serve or demo wrote"}},
		{"damaged", damaged, []string{"damaged", "take another copy"}},
		{"stump", sound[:12], []string{"the end was cut off", "none of it can be read", "take another copy"}},
		{"recording of an earlier version", []byte("TENDONRC\x01"), []string{"the format of an earlier version", "with the build that wrote it"}},
		{"newer", newer, []string{"a format version that this build cannot read"}},
		{"foreign", recorded(t, chess, 100), []string{`of "chess"`, `this is "crumbs"`, "start the game that wrote it"}},
		{"version", recorded(t, widerGame(), 100), []string{"the build that wrote it"}},
	} {
		path := write(t, filepath.Join(dir, "file"), test.content, 0o600)
		for _, mode := range [][]string{{}, {"--dump"}, {"--to", "5"}} {
			refused(t, do(t, crumbs.Game(), append([]string{"replay", path}, mode...)...), append(test.want, path)...)
		}
		if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, test.content) {
			t.Errorf("%s: the file was changed, %v", test.name, err)
		}
		untouched(t, dir, "file")
	}
	refused(t, do(t, crumbs.Game(), "replay", dir), dir, "is a directory", "name a recording")
	refused(t, do(t, crumbs.Game(), "replay", filepath.Join(dir, "missing")), "does not exist", "name a recording")
	path := write(t, filepath.Join(dir, "file"), sound, 0o600)
	if r := do(t, crumbs.Game(), "replay", path, "--to", "301"); r.code != app.ExitUsage || !strings.Contains(r.note, "--to 301: the recording has the ticks 0 to 300") {
		t.Errorf("%+v", r)
	}
	path = write(t, filepath.Join(dir, "later"), recordedLater(t, crumbs.Game(), 300), 0o600)
	for _, mode := range [][]string{{}, {"--verify"}, {"--dump"}} {
		r := do(t, crumbs.Game(), append([]string{"replay", path, "--to", "299"}, mode...)...)
		if r.code != app.ExitUsage || !strings.Contains(r.note, "--to 299: the recording has the ticks 300 to 300") {
			t.Errorf("a tick before the start, %q: %+v", mode, r)
		}
	}
}

// recordedLater returns a recording that has the state of a tick and nothing else.
func recordedLater(t *testing.T, g *ecs.Game, tick ecs.Tick) []byte {
	t.Helper()
	var state image.Snapshot
	r, err := record.Open(recorded(t, g, int(tick)), g)
	if err != nil {
		t.Fatal(err)
	}
	world, err := r.WorldAt(tick)
	if err != nil {
		t.Fatal(err)
	}
	world.Image().Save(&state)
	if r, err = record.Collect(g, r.Header(), []record.Image{record.ImageOf(&state)}, nil); err != nil {
		t.Fatal(err)
	}
	return r.Bytes()
}

// Only the server can read the role in a token: the bot learns it when it joins, and ends.
func TestABotWithASpectatorsTokenEnds(t *testing.T) {
	slow(t)
	key := filepath.Join(t.TempDir(), "server.key")
	if r := do(t, crumbs.Game(), "token", "127.0.0.1:7777", "--key-file", key, "--new-key"); r.code != app.ExitFine {
		t.Fatal(r.note)
	}
	s := background(t, crumbs.Game(), "serve", "--json", "--listen", "127.0.0.1:0", "--key-file", key)
	address := awaitEvent(t, s.out, s.ended, "listening").text("public")
	token := strings.TrimSpace(do(t, crumbs.Game(), "token", address, "--key-file", key, "--role", "spectator").out)
	r := do(t, crumbs.Game(), "join", address, "--token", token, "--bot")
	if r.code != app.ExitUsage || !strings.Contains(r.note, "a spectator's") || !strings.Contains(r.note, "leave --bot out") {
		t.Errorf("%+v", r)
	}
	if r := do(t, crumbs.Game(), "join", address, "--token", strings.TrimSpace(do(t, crumbs.Game(), "token", address, "--key-file", key,
		"--role", "spectator").out), "--headless", "--for", "1s"); r.code != app.ExitFine {
		t.Errorf("without --bot: %+v", r)
	}
}
