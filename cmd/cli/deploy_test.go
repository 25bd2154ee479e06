package cli

import (
	"regexp"
	"strings"
	"testing"
)

// flowList matches the arguments of a container in YAML or in a Containerfile.
var flowList = regexp.MustCompile(`(?:args: |command: |CMD )\[([^\]]*)\]`)

// containerCommands returns the command lines of a game's program in a file about containers.
func containerCommands(text string) (list [][]string) {
	for _, found := range flowList.FindAllStringSubmatch(text, -1) {
		var args []string
		for _, arg := range regexp.MustCompile(`"[^"]*"|[^,\s]+`).FindAllString(found[1], -1) {
			args = append(args, strings.Trim(arg, `"`))
		}
		if word.MatchString(args[0]) {
			list = append(list, args)
		}
	}
	return list
}

// Verbs, flags and values in the files of cmd/cli/deploy exist.
func TestEveryCommandOfTheDeploymentIsValid(t *testing.T) {
	count := map[string]int{}
	check := func(path string, args []string) {
		valid(t, path, args)
		count[args[0]]++
		if args[0] == "serve" && args[1] != "--help" && !strings.Contains(strings.Join(args, " "), "--cluster nats://") {
			t.Errorf("%s: a server without the cluster: %q", path, args)
		}
	}
	for _, suffix := range []string{".yaml", "Containerfile", ".service"} {
		each(t, suffix, func(path, text string) {
			if !strings.HasPrefix(path, "cmd/cli/deploy/") {
				return
			}
			for _, args := range containerCommands(text) {
				check(path, args)
			}
			for _, words := range commands(text) {
				if args, ok := arguments(words); ok && suffix == ".service" {
					check(path, args)
				}
			}
		})
	}
	if count["serve"] != 6 || count["backend"] != 3 { // Kubernetes, systemd, three and one of compose, and the Containerfile
		t.Errorf("%v command lines were found: the test reads the wrong files", count)
	}
}
