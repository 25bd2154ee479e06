package measure

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
)

// measured is a row with its result.
type measured struct {
	row    Row
	result Result
}

// Main runs the rows that the command line asks for and prints them. section is the part of the published file that
// -write replaces, command what reproduces a row when its name is put behind it.
func Main(rows []Row, section, command, published string) error {
	pattern := flag.String("row", ".", "run the rows whose names match this regular expression")
	format := flag.String("format", "text", "text, markdown or json")
	write := flag.Bool("write", false, "replace the published table by what is measured now; needs all rows")
	list := flag.Bool("list", false, "name the rows and run nothing")
	flag.Parse()
	match, err := regexp.Compile(*pattern)
	if err != nil {
		return fmt.Errorf("-row: %w", err)
	}
	if *write && *pattern != "." {
		return errors.New("-write publishes the whole table: leave -row out")
	}
	var done []measured
	for _, row := range rows {
		if !match.MatchString(row.Name) {
			continue
		}
		if *list {
			fmt.Println(row.Name)
			continue
		}
		fmt.Fprintln(os.Stderr, "measuring", row.Name)
		done = append(done, measured{row, row.Run()})
	}
	if *list {
		return nil
	}
	if *write {
		return publish(done, section, command, published)
	}
	return show(os.Stdout, done, *format)
}

func show(w io.Writer, done []measured, format string) error {
	switch format {
	case "text":
		fmt.Fprintln(w, Machine())
		_, err := fmt.Fprintln(w, tableOf(done, "").Render())
		return err
	case "markdown":
		_, err := fmt.Fprintln(w, tableOf(done, "").RenderMarkdown())
		return err
	case "json":
		return encode(w, done)
	}
	return fmt.Errorf("-format is %q: want text, markdown or json", format)
}

// tableOf lays the rows out. With a command, each row says how to reproduce it.
func tableOf(done []measured, command string) table.Writer {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	header := table.Row{"row", "what", "reference", "times", "ratio (quartiles)", "reach", ""}
	t.AppendHeader(header)
	for i := range done {
		m := &done[i]
		t.AppendRow(table.Row{name(m, command), m.row.What, m.row.Reference, m.times(), m.ratio(), m.row.goal(), m.verdict()})
	}
	return t
}

func name(m *measured, command string) string {
	if command == "" {
		return m.row.Name
	}
	return "`" + command + " " + m.row.Name + "`"
}

func (m *measured) times() string {
	r := m.result
	parts := []string{}
	switch {
	case r.Text != "":
		parts = append(parts, r.Text)
	case r.Unit != "":
		parts = append(parts, fmt.Sprintf("%s : %s per %s", duration(r.Subject), duration(r.Reference), r.Unit))
	default:
		parts = append(parts, fmt.Sprintf("%s : %s", duration(r.Subject), duration(r.Reference)))
	}
	if r.Note != "" {
		parts = append(parts, r.Note)
	}
	return strings.Join(parts, "; ")
}

func (m *measured) ratio() string {
	r := m.result
	if r.Median == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f (%.2f–%.2f)", r.Median, r.Low, r.High)
}

func (m *measured) verdict() string {
	switch {
	case m.row.Reach == 0:
		return ""
	case m.row.Met(m.result):
		return "met"
	case m.row.Missed != "":
		return "missed: " + m.row.Missed
	}
	return "missed"
}

func encode(w io.Writer, done []measured) error {
	type row struct {
		Name, What, Reference string
		Reach                 float64 `json:",omitempty"`
		Met                   bool
		Result                Result
	}
	out := struct {
		Machine string
		Rows    []row
	}{Machine: Machine()}
	for i := range done {
		m := &done[i]
		out.Rows = append(out.Rows, row{m.row.Name, m.row.What, m.row.Reference, m.row.Reach, m.row.Met(m.result), m.result})
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "\t")
	return e.Encode(out)
}

// publish replaces a section of the published file, which stands between two comments that name it.
func publish(done []measured, section, command, path string) error {
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
	fmt.Fprintf(&out, "\nMeasured on %s.\n\n%s\n\n", Machine(), tableOf(done, command).RenderMarkdown())
	out.Write(text[to:])
	return os.WriteFile(path, out.Bytes(), 0o644)
}

// Machine names what the figures were measured on: processor, cores, target, Go and the commit.
func Machine() string {
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
