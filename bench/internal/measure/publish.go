package measure

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// RoleVariable is the environment variable with the role of a process that a benchmark started.
const RoleVariable = "TENDON_BENCH_ROLE"

// Main is the TestMain of a package of benchmarks. With the flag -write it replaces a section of the published file with the
// rows of the benchmarks that ran. In a process that a benchmark started, it runs the function of that role.
func Main(m *testing.M, section, published string, roles map[string]func()) {
	if role, ok := roles[os.Getenv(RoleVariable)]; ok {
		role()
		return
	}
	write := flag.Bool("write", false, "replace the table of "+published+"; needs -bench .")
	flag.Parse()
	if *write && flag.Lookup("test.bench").Value.String() != "." {
		exit(errors.New("-write publishes the whole table and needs -bench ."))
	}
	if code := m.Run(); code != 0 {
		os.Exit(code)
	}
	if *write {
		exit(publish(section, published))
	}
}

// exit ends the process with an error. Without one it does nothing.
func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// publish replaces a section of the published file. Two comments with the section's name enclose it.
func publish(section, path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	begin, end := "<!-- "+section+" -->\n", "<!-- end of "+section+" -->"
	before, rest, begun := strings.Cut(string(text), begin)
	_, after, ended := strings.Cut(rest, end)
	if !begun || !ended {
		return fmt.Errorf("%s has no section between %q and %q", path, begin, end)
	}
	return os.WriteFile(path, fmt.Appendf(nil, "%s%s\nMeasured on %s.\n\n%s%s\n%s%s", before, begin, machine(),
		"| row | what | reference | times | ratio (quartiles) | reach |  |\n| --- | --- | --- | --- | --- | --- | --- |\n",
		table.String(), end, after), 0o644)
}

// machine describes the machine of a measurement: processor, cores, target, Go version and commit.
func machine() string {
	model := "unknown processor"
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if m := regexp.MustCompile(`model name\s*:\s*(.*)`).FindSubmatch(text); m != nil {
			model = string(m[1])
		}
	}
	commit := "unknown commit"
	if out, err := exec.Command("git", "rev-parse", "--short=12", "HEAD").Output(); err == nil {
		commit = "commit " + strings.TrimSpace(string(out))
	}
	return fmt.Sprintf("%s, %d cores, %s/%s, %s, %s", model, runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version(), commit)
}
