package replay

import (
	"fmt"
	"strings"
	"text/template"

	"tendon/ecs/image"
	"tendon/rollback/record/bundle"
	"tendon/rollback/record/cursor"
)

// texts describe for people what the events of the same names describe for programs.
var texts = template.Must(template.New("").Funcs(template.FuncMap{"fields": fieldsText, "match": matchText, "played": playedText}).Parse(`
{{- define "frame" -}}
tick {{.Tick}} · {{printf "%.2f" .Seconds}} s · checksum {{.Checksum}}, {{match .Frame}}
{{range .Players}}player {{.Player}}{{if .Late}}, substituted by the server{{end}}{{if not .In}}, not in the match{{end}}: {{fields .Input}}
{{end}}{{range .Orders}}{{.Kind}} of player {{.Player}}
{{- if .Seen}}: saw tick {{printf "%.2f" .Seen}}{{else if .Payload}}: {{printf "%q" .Payload}}{{end}}{{with .Entity}} to {{.}}{{end}}
{{end}}{{range .Events}}event {{.Name}}{{with .Entity}} of {{.}}{{end}}: {{fields .Fields}}
{{end}}{{range .Resources}}resource {{.Name}}: {{fields .Fields}}
{{end}}{{range .Entities}}{{template "entity" .}}{{end -}}
{{range .Costs}}{{if .System}}system {{.Section}} took {{.Nanoseconds}}
{{end}}{{end}}{{end}}

{{- define "entity" -}}
entity {{.ID}} of {{if eq .Owner "world"}}the {{end}}{{.Owner}}, born in tick {{.Born}}
{{range .Components}}  {{.Name}}: {{fields .Fields}}
{{end}}{{end}}

{{- define "comparison" -}}
tick {{.Tick}} is the first that differs: checksum {{.Here}} here and {{.There}} there
{{if ne .StateTick .Tick -}}
both lead to the same state in this build, so one was recorded by a build that computes otherwise; replay each alone to see which
{{end}}{{range .Differences}}  {{.Sentence}}
{{end}}{{end}}

{{- define "bundle" -}}
{{.Game}} · desync of {{.Peer}} in tick {{.Tick}}, written by the {{.By}}
{{range .Settings}}{{.Name}}: {{.Value}}
{{end}}{{range .Differences}}{{.Sentence}}
{{end}}{{if .Claimed}}tick {{.Claimed}}: the other side's checksum is {{.Claim}}{{with .Own}}, this one's {{.}}{{end}}
{{end}}{{.Table}}
{{played .Examination}}
{{if lt .First .Tick}}--at shows the ticks {{.First}} to {{.Tick}}
{{end}}{{end}}`))

// text executes a template of texts.
func text(name string, data any) string {
	var b strings.Builder
	if err := texts.ExecuteTemplate(&b, name, data); err != nil {
		panic(err)
	}
	return b.String()
}

func fieldsText(list []image.FieldValue) string {
	parts := make([]string, len(list))
	for i, f := range list {
		parts[i] = strings.TrimPrefix(f.Path+" "+f.Text, " ")
	}
	return strings.Join(parts, ", ")
}

func matchText(f *cursor.Frame) string {
	return map[cursor.Match]string{cursor.Matches: "as recorded", cursor.Differs: "recorded as " + f.Recorded, cursor.Unknown: "not compared",
		cursor.Unproven: "recorded as " + f.Recorded + ", and a player's view looks back to before the recording"}[f.Match]
}

func playedText(x *bundle.Examination) string {
	if x.Played == bundle.NotPlayed {
		return "there is no earlier state to begin from"
	}
	return fmt.Sprintf("simulated from tick %d with this build, the match comes to ", x.First) + map[bundle.Played]string{
		bundle.LeadsHere:  "the state here",
		bundle.LeadsThere: "the state there: this side did not follow the rules, or had other inputs",
		bundle.Elsewhere:  "neither state",
	}[x.Played]
}
