package measure

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
)

// Main runs the rows that the command line selects and prints them. section is the part of the published file that
// -write replaces; command is the start of a command line that reproduces a row, up to the row's name.
func Main(rows []Row, section, command, published string) error {
	pattern := flag.String("row", ".", "run the rows whose names match this regular expression")
	write := flag.Bool("write", false, "replace the published table; needs all rows")
	list := flag.Bool("list", false, "print the names of the rows and run none")
	flag.Parse()
	match, err := regexp.Compile(*pattern)
	switch {
	case err != nil:
		return fmt.Errorf("-row: %w", err)
	case *write && *pattern != ".":
		return errors.New("-write publishes the whole table: leave -row out")
	}
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.AppendHeader(table.Row{"row", "what", "reference", "times", "ratio (quartiles)", "reach", ""})
	for _, row := range rows {
		if !match.MatchString(row.Name) {
			continue
		}
		if *list {
			fmt.Println(row.Name)
			continue
		}
		fmt.Fprintln(os.Stderr, "measuring", row.Name)
		result, name, ratio := row.Run(), row.Name, ""
		if *write {
			name = "`" + command + " " + name + "`"
		}
		if result.Median != 0 {
			ratio = fmt.Sprintf("%.2f (%.2f–%.2f)", result.Median, result.Low, result.High)
		}
		t.AppendRow(table.Row{name, row.What, row.Reference, result.times(), ratio, row.goal(), row.verdict(result)})
	}
	switch {
	case *list:
		return nil
	case *write:
		return publish(t, section, published)
	}
	fmt.Printf("%s\n%s\n", machine(), t.Render())
	return nil
}

// publish replaces a section of the published file. Two comments with the section's name enclose it.
func publish(t table.Writer, section, path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("run this from the directory that holds %s: %w", path, err)
	}
	begin, end := []byte("<!-- "+section+" -->\n"), []byte("<!-- end of "+section+" -->")
	from, to := bytes.Index(text, begin), bytes.Index(text, end)
	if from < 0 || to < from {
		return fmt.Errorf("%s has no section between %q and %q", path, begin, end)
	}
	var out bytes.Buffer
	out.Write(text[:from+len(begin)])
	fmt.Fprintf(&out, "\nMeasured on %s.\n\n%s\n\n", machine(), t.RenderMarkdown())
	out.Write(text[to:])
	return os.WriteFile(path, out.Bytes(), 0o644)
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
