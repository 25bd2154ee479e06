package app

import (
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// Columns is the width of a terminal that every table fits without --wide.
const Columns = 80

// TableFlags are the flags of a verb whose tables have columns that do not fit Columns.
type TableFlags struct {
	Wide bool `help:"Show all columns of a table. Default: those that fit 80 characters."`
}

// Table is a table in the style of all verbs.
type Table struct {
	table.Writer
	// Extra are the columns that a narrow table leaves out, the first of them first.
	Extra []string
	// Configs configure columns by their names.
	Configs []table.ColumnConfig
	// Caption is the text below the table. Optional.
	Caption string

	columns []string
}

// NewTable returns a table with these columns. Title and columns keep their case.
func NewTable(title string, columns ...string) *Table {
	t := &Table{Writer: table.NewWriter(), columns: columns}
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = text.FormatDefault
	if title != "" {
		t.SetTitle("%s", title)
	}
	t.AppendHeader(rowOf(columns))
	return t
}

// Append appends a row of texts.
func (t *Table) Append(cells ...string) { t.AppendRow(rowOf(cells)) }

func rowOf(cells []string) (row table.Row) {
	for _, c := range cells {
		row = append(row, c)
	}
	return row
}

// Text renders the table with its caption. Unless wide is set, it leaves out columns of Extra until the table fits Columns,
// and names them below it.
func (t *Table) Text(wide bool) string {
	hidden := 0
	body := t.render(hidden)
	for !wide && hidden < len(t.Extra) && width(body) > Columns {
		hidden++
		body = t.render(hidden)
	}
	body += "\n"
	if t.Caption != "" {
		body += Wrapped(t.Caption) + "\n"
	}
	if hidden > 0 {
		left := slices.Clone(t.Extra[:hidden])
		slices.SortFunc(left, func(a, b string) int { return slices.Index(t.columns, a) - slices.Index(t.columns, b) })
		body += Wrapped("--wide adds: "+strings.ReplaceAll(strings.Join(left, ", "), "\n", " ")) + "\n"
	}
	return body
}

// render renders the table without the first columns of Extra.
func (t *Table) render(hidden int) string {
	var configs []table.ColumnConfig
	for i, name := range t.columns {
		c := table.ColumnConfig{}
		if at := slices.IndexFunc(t.Configs, func(c table.ColumnConfig) bool { return c.Name == name }); at >= 0 {
			c = t.Configs[at]
		}
		c.Name, c.Number, c.Hidden = "", i+1, slices.Contains(t.Extra[:hidden], name)
		configs = append(configs, c)
	}
	t.SetColumnConfigs(configs)
	return t.Render()
}

// Markdown renders all columns and the caption as Markdown.
func (t *Table) Markdown() string {
	t.render(0)
	t.SetCaption("%s", t.Caption)
	defer t.SetCaption("")
	return t.RenderMarkdown()
}

// width returns the length of the longest line, in characters.
func width(lines string) (longest int) {
	for line := range strings.SplitSeq(lines, "\n") {
		longest = max(longest, text.StringWidthWithoutEscSequences(line))
	}
	return longest
}

// Wrapped breaks the lines of a text at blanks so that they fit Columns.
func Wrapped(lines string) string {
	list := strings.Split(lines, "\n")
	for i, line := range list {
		if width(line) <= Columns {
			continue
		}
		list[i] = ""
		at := 0
		for word := range strings.SplitSeq(line, " ") {
			switch n := width(word); {
			case at == 0:
				list[i], at = word, n
			case at+1+n > Columns:
				list[i], at = list[i]+"\n"+word, n
			default:
				list[i], at = list[i]+" "+word, at+1+n
			}
		}
	}
	return strings.Join(list, "\n")
}
