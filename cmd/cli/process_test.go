package cli

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tendon/cmd/cli/internal/app"
)

// process is a running program whose lines of JSON are read one by one.
type process struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines *bufio.Scanner
}

func start(t *testing.T, args ...string) *process {
	t.Helper()
	return startProgram(t, dotsBinary, nil, args...)
}

// startProgram starts a program. A nil environment is that of this process.
func startProgram(t *testing.T, path string, environment []string, args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command(path, append(args, "--json")...)}
	p.cmd.Env = environment
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.lines = bufio.NewScanner(out)
	p.lines.Buffer(nil, 1<<20)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	return p
}

// until reads lines up to the first that fits.
func (p *process) until(fits func(event string, f map[string]any) bool) map[string]any {
	p.t.Helper()
	for p.lines.Scan() {
		var f map[string]any
		if err := json.Unmarshal(p.lines.Bytes(), &f); err != nil {
			p.t.Fatalf("no JSON: %s", p.lines.Text())
		}
		if event, _ := f["event"].(string); fits(event, f) {
			return f
		}
	}
	p.t.Fatalf("%v ended without the line that was waited for", p.cmd.Args)
	return nil
}

// end sends a signal and returns the exit code, -1 if the process was killed.
func (p *process) end(s os.Signal) int {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
	for p.lines.Scan() {
	}
	_ = p.cmd.Wait() // the exit code says it
	return p.cmd.ProcessState.ExitCode()
}

// is matches an event by name.
func is(want string) func(string, map[string]any) bool {
	return func(event string, _ map[string]any) bool { return event == want }
}

// playing matches the statistics of a bot that has been live for a while.
func playing(event string, f map[string]any) bool {
	c, _ := f["client"].(map[string]any)
	tick, _ := c["tick"].(float64)
	return event == "stats" && c["state"] == "live" && tick > 60
}

// A recorded match is the match that is replayed. Ctrl-C loses nothing: the server disconnects its clients, closes the file
// and exits with 0, as does a bot.
func TestCtrlCEndsServerAndBotInOrderAndTheRecordingIsWhole(t *testing.T) {
	slow(t)
	dir := t.TempDir()
	server := start(t, "serve", "--listen", "127.0.0.1:0", "--record", dir)
	address := server.until(is("listening"))["public"].(string)
	token := server.until(is("join"))["token"].(string)
	bot := start(t, "join", address, "--token", token, "--bot")
	bot.until(playing)
	if code := bot.end(os.Interrupt); code != app.ExitFine {
		t.Errorf("the bot exits with %d", code)
	}
	if code := server.end(os.Interrupt); code != app.ExitFine {
		t.Errorf("the server exits with %d", code)
	}
	out, err := exec.Command(dotsBinary, "replay", recordingIn(t, dir)).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "come out as recorded") || strings.Contains(string(out), "cut off") {
		t.Errorf("replay: %v\n%s", err, out)
	}
}

// The recording of a killed server lacks at most the last two seconds.
func TestTheRecordingOfAKilledServerReplays(t *testing.T) {
	slow(t)
	dir := t.TempDir()
	server := start(t, "serve", "--listen", "127.0.0.1:0", "--record", dir)
	address := server.until(is("listening"))["public"].(string)
	token := server.until(is("join"))["token"].(string)
	bot := start(t, "join", address, "--token", token, "--bot")
	bot.until(func(event string, f map[string]any) bool {
		c, _ := f["client"].(map[string]any)
		tick, _ := c["tick"].(float64)
		return playing(event, f) && tick > 180
	})
	if code := server.end(syscall.SIGKILL); code != -1 {
		t.Fatalf("the killed server exits with %d", code)
	}
	out, err := exec.Command(dotsBinary, "replay", recordingIn(t, dir), "--json").Output()
	if err != nil {
		t.Fatalf("replay: %v\n%s", err, out)
	}
	var verified struct {
		Event string `json:"event"`
		To    int    `json:"to"`
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &verified); err != nil || verified.Event != "verified" || verified.To < 60 {
		t.Errorf("%v; of at least 180 ticks were replayed: %s", err, lines[len(lines)-1])
	}
}

// Ctrl-C ends a demo with exit code 0 if no state differed.
func TestCtrlCEndsADemoInOrder(t *testing.T) {
	slow(t)
	demo := start(t, "demo", "--bots", "2")
	demo.until(is("stats"))
	if code := demo.end(os.Interrupt); code != app.ExitFine {
		t.Errorf("the demo exits with %d", code)
	}
}

// A demo of a game with state outside the image ends with exit code 1 and names the difference.
func TestADemoOfADesyncingGameFails(t *testing.T) {
	slow(t)
	r := do(t, desyncingGame(), "demo", "--for", "8s", "--bots", "2")
	if r.code != app.ExitFailed || !strings.Contains(r.note, "differ") || !strings.Contains(r.note, "body") {
		t.Errorf("exit code %d: %s", r.code, r.note)
	}
}

// recordingIn returns the one recording of a directory.
func recordingIn(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"+".tendonrec"))
	if err != nil || len(files) != 1 {
		t.Fatalf("recordings: %v, %v", files, err)
	}
	return files[0]
}
